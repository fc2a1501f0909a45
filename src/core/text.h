// Text: numbers that read back unchanged in every locale, and suggestions for misspelt names.
#pragma once
#include "error.h"

#include <string>
#include <string_view>
#include <vector>

namespace mercer {

std::string number_text(double value); // the shortest text that reads back exactly; inf, -inf, nan
std::string number_text(int64_t value);
bool parse_number(std::string_view text, double *out);
bool parse_number(std::string_view text, int64_t *out);

std::vector<std::string> split(std::string_view text, char separator); // trims the pieces
std::string trim(std::string_view text);
bool is_utf8(std::string_view text);
// Returns the text in one line for messages: at most its first 40 bytes, and "..." if something is
// cut. Control characters become '?', and if the text is not UTF-8, so do all bytes outside ASCII.
std::string printable(std::string_view text);
// Returns true if the text consists of 1 to 64 lower-case letters, digits and '-', and starts with
// a letter.
bool is_name(std::string_view text);

// Returns the known name that was probably meant: the nearest one if it is near enough, or else the
// only name that begins with this text (ignoring case); "" if there is none.
std::string nearest_name(std::string_view name, const std::vector<std::string> &known);

// Fails with a message such as "unknown kernel 'gausian': did you mean 'gaussian'?". If there is no
// nearest_name(), the message lists all names; a name that contains a blank or a comma is then in
// quotes.
[[noreturn]] void fail_unknown(const char *kind, std::string_view name, const std::vector<std::string> &known);

} // namespace mercer
