#ifndef MERCER_CLI_RASTER_H
#define MERCER_CLI_RASTER_H

#include <string>

namespace cli {

/* A picture as a file of this ending holds it: ".svg" as it is; ".png", with two dots to a pixel of the picture, and ".pdf" by
 * librsvg and cairo, which are looked for when they are needed and are no part of the command. Failure where they are not
 * there: its text says how to convert. */
std::string encoded(const std::string &svg, const std::string &ending, double width, double height);

/* Fails before the work where encoded() would. */
void check_encoder(const std::string &ending);

} // namespace cli

#endif
