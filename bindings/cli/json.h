#ifndef MERCER_CLI_JSON_H
#define MERCER_CLI_JSON_H

#include <string>
#include <utility>
#include <vector>

/* As much JSON as the command needs: to write small objects, and to look into mercer_model_info's text. */
namespace cli::json {

std::string text(const std::string &s);
std::string number(double x); // round-trips; null where it is not finite
std::string boolean(bool b);
std::string array(const std::vector<std::string> &items);
std::string object(const std::vector<std::pair<std::string, std::string>> &members);

enum class Kind { scalar, array, object };

struct Value {
    Kind kind = Kind::scalar;
    std::string name; // within its object; "" within an array
    std::string text; // of a scalar, without quotes
    std::vector<Value> members;
};

/* Reads what the library wrote; text that is no JSON gives what was read so far. */
Value parse(const std::string &json);

/* The member of that name; an empty scalar where there is none. */
const Value &member(const Value &object, const std::string &name);

/* A scalar as a number; 0 where it is none. */
double number_of(const Value &value);

/* The scalars as rows {dotted name, value}; arrays of scalars are one row, cut after `most` entries. */
std::vector<std::vector<std::string>> flatten(const Value &value, size_t most);

} // namespace cli::json

#endif
