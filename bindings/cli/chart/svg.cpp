#include "svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace cli::chart {

namespace {

constexpr const char *unknown = "\xef\xbf\xbd"; // U+FFFD

// The characters of a text, each with its bytes. What is not UTF-8, or not allowed in XML 1.0,
// becomes U+FFFD.
std::vector<std::string> characters(const std::string &text) {
    // The least code of a character of 1 to 4 bytes: UTF-8 does not allow a longer form than
    // necessary.
    static constexpr std::array<uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size();) {
        const auto lead = static_cast<unsigned char>(text[at]);
        const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
        uint32_t code = length == 1 ? lead : lead & (0xffU >> (length + 1));
        bool valid = lead < 0x80 || (lead >= 0xc2 && lead < 0xf5 && at + length <= text.size());
        for (size_t i = 1; valid && i < length; ++i) {
            const auto next = static_cast<unsigned char>(text[at + i]);
            valid = (next & 0xc0) == 0x80;
            code = code << 6 | (next & 0x3f);
        }
        const bool allowed = code >= 0x20 && (code < 0xd800 || code > 0xdfff) && code < 0x110000 && code != 0xfffe &&
                             code != 0xffff && code >= least[length];
        out.push_back(valid && allowed ? text.substr(at, length) : unknown);
        at += valid ? length : 1;
    }
    return out;
}

// The width of a character, as a multiple of the font's size.
double width_of(const std::string &character) {
    const char c = character.size() == 1 ? character[0] : 'n';
    constexpr std::string_view narrow = "iljtfI.,:;|!'()[] -", wide = "mwMW%@";
    if (narrow.find(c) != std::string_view::npos) return 0.38;
    if (wide.find(c) != std::string_view::npos || character.size() > 2) return character == "−" ? 0.8 : 0.95;
    return c >= 'A' && c <= 'Z' ? 0.7 : 0.63;
}

std::string cut(const std::string &content, double size, double room) {
    std::string out;
    double width = size; // begins with the width of the dots
    for (const std::string &character : characters(content)) {
        width += size * width_of(character);
        if (width > room) break;
        out += character;
    }
    return out + "…";
}

} // namespace

std::string format(const char *pattern, ...) {
    std::array<char, 256> text;
    va_list list;
    va_start(list, pattern);
    std::vsnprintf(text.data(), text.size(), pattern, list);
    va_end(list);
    return text.data();
}

std::string px(double length) {
    std::string out = format("%.1f", length);
    if (out.ends_with(".0")) out.erase(out.size() - 2);
    return out == "-0" ? "0" : out;
}

std::string step(char command, double x, double y) { return command + px(x) + ' ' + px(y); }
std::string step(char command, double length) { return command + px(length); }

std::string escaped(const std::string &text) {
    std::string out;
    for (const std::string &c : characters(text)) out += c == "&" ? "&amp;" : c == "<" ? "&lt;" : c == ">" ? "&gt;" : c;
    return out;
}

double text_width(const std::string &text, double size) {
    double width = 0;
    for (const std::string &character : characters(text)) width += width_of(character);
    return size * width;
}

std::string text(const std::string &content, const Place &place) {
    constexpr double smallest = 0.7; // smallest size, as a share of the one that is wanted
    const double width = text_width(content, place.size);
    const bool tight = place.room > 0 && width > place.room;
    const double size = tight ? place.size * std::max(smallest, place.room / width) : place.size;
    const bool too_long = tight && place.room < smallest * width;
    const std::string position = place.upwards
                                     ? "transform='translate(" + px(place.x) + " " + px(place.y) + ") rotate(-90)'"
                                     : "x='" + px(place.x) + "' y='" + px(place.y) + "'";
    constexpr std::array<const char *, 3> anchors = {"", " text-anchor='middle'", " text-anchor='end'"};
    return "<text " + position + anchors[static_cast<size_t>(place.anchor)] + " font-size='" + px(size) + "'" +
           (place.bold ? " font-weight='bold'" : "") + ">" +
           escaped(too_long ? cut(content, size, place.room) : content) + "</text>\n";
}

} // namespace cli::chart
