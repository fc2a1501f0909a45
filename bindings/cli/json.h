#ifndef MERCER_CLI_JSON_H
#define MERCER_CLI_JSON_H

#include <string>
#include <utility>
#include <vector>

// JSON by nlohmann's library. The command writes small objects, and reads texts of the library such
// as that of mercer_model_info.
namespace cli::json {

std::string text(const std::string &s);
std::string number(double x); // round-trips; null if it is not finite
std::string boolean(bool b);
std::string array(const std::vector<std::string> &items);
std::string object(const std::vector<std::pair<std::string, std::string>> &members);

enum class Kind { null, boolean, number, text, array, object };

struct Value {
    Kind kind = Kind::null;
    std::string name; // within its object; "" for an element of an array
    std::string text; // of a boolean, number or text, without quotes; otherwise ""
    std::vector<Value> members;
};

// Parses what the library wrote; "" gives null.
Value parse(const std::string &json);

// The member of that name; a null value if there is none.
const Value &member(const Value &object, const std::string &name);

// The value as a number; 0 if it is not one.
double number_of(const Value &value);

// Turns a value into rows {dotted name, text}. An array of numbers or texts is one row, which shows
// at most `most` of its elements.
std::vector<std::vector<std::string>> flatten(const Value &value, size_t most);

} // namespace cli::json

#endif
