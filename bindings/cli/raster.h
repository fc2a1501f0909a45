#ifndef MERCER_CLI_RASTER_H
#define MERCER_CLI_RASTER_H

#include <string>

namespace cli {

// Returns the picture as the contents of a file with this ending. For ".svg" that is the text
// itself. librsvg and cairo make ".png", with two dots to a pixel of the picture, and ".pdf". These
// libraries are not part of the command: they are loaded when they are needed. If they are not
// installed, throws a Failure whose text says how to convert the SVG.
std::string encoded(const std::string &svg, const std::string &ending, double width, double height);

// Throws, before any work is done, the Failure that encoded() would throw if these libraries are
// not installed.
void check_encoder(const std::string &ending);

} // namespace cli

#endif
