#ifndef MERCER_CLI_JSON_H
#define MERCER_CLI_JSON_H

#include <string>
#include <utility>
#include <vector>

/* What the command does with JSON, by nlohmann's library: it writes small objects, and looks into texts of the library
 * such as mercer_model_info's. */
namespace cli::json {

std::string text(const std::string &s);
std::string number(double x); // round-trips; null if it is not finite
std::string boolean(bool b);
std::string array(const std::vector<std::string> &items);
std::string object(const std::vector<std::pair<std::string, std::string>> &members);

enum class Kind { null, boolean, number, text, array, object };

struct Value {
    Kind kind = Kind::null;
    std::string name; // within its object; "" within an array
    std::string text; // of what is neither array nor object, without quotes; "" of null
    std::vector<Value> members;
};

/* Reads what the library wrote; "" gives null. */
Value parse(const std::string &json);

/* The member of that name; null if there is none. */
const Value &member(const Value &object, const std::string &name);

/* The value as a number; 0 if it is not one. */
double number_of(const Value &value);

/* Rows {dotted name, value}; an array of numbers or texts is one row, cut after `most` entries. */
std::vector<std::vector<std::string>> flatten(const Value &value, size_t most);

} // namespace cli::json

#endif
