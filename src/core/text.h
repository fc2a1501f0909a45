// Text: numbers that round-trip in every locale, and the nearest known name for a misspelt one.
#pragma once
#include "error.h"

#include <string>
#include <string_view>
#include <vector>

namespace mercer {

std::string number_text(double value); // shortest that reads back as the same bits; inf, -inf, nan
std::string number_text(int64_t value);
bool parse_number(std::string_view text, double *out);
bool parse_number(std::string_view text, int64_t *out);

std::vector<std::string> split(std::string_view text, char separator); // pieces trimmed of blanks
std::string trim(std::string_view text);
bool is_utf8(std::string_view text);
std::string
printable(std::string_view text);    // for messages: at most 40 bytes, one line, UTF-8 as it is, '?' for the rest
bool is_name(std::string_view text); // lower-case letters, digits and '-', beginning with a letter

// "unknown kernel 'gausian': did you mean 'gaussian'?": the nearest name, else the only one that begins with this text in letters
// of any case, else all of them, in quotes where a name contains a blank or a comma.
[[noreturn]] void fail_unknown(const char *kind, std::string_view name, const std::vector<std::string> &known);

} // namespace mercer
