#ifndef MERCER_CLI_CHART_SVG_H
#define MERCER_CLI_CHART_SVG_H

#include <string>

// Pieces of SVG text. All lengths are pixels.
namespace cli::chart {

__attribute__((format(printf, 1, 2))) std::string format(const char *pattern, ...);

// A length rounded to a tenth of a pixel, in as few characters as possible: "12", "0.5".
std::string px(double length);

// A command of a path: "M1.5 2", "h-3".
std::string step(char command, double x, double y);
std::string step(char command, double length);

// The text with &, < and > escaped. What XML cannot hold (control characters, broken UTF-8) becomes
// U+FFFD.
std::string escaped(const std::string &text);

// An estimate of a text's width, on the large side, because the reader's font is unknown.
double text_width(const std::string &text, double size);

enum class Anchor { start, middle, end };

struct Place {
    double x, y;
    Anchor anchor = Anchor::start;
    double size = 12;
    double room = 0; // largest width in pixels, for which a text is made smaller, then cut; 0: no limit
    bool bold = false, upwards = false;
};

std::string text(const std::string &content, const Place &place);

} // namespace cli::chart

#endif
