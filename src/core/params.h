// Parameters. This is the only module that parses, checks and stores the value of a parameter and
// converts it back to text. A row describes one parameter. A Params consists of rows and of a
// struct that holds each parameter's value at the offset that its row names. A plugin defines the
// struct for its own parameters, the library for all others.
#pragma once
#include "text.h"

#include <mercer/plugin.h>

#include <map>
#include <memory>

namespace mercer {

// The rows of a plugin, converted from the struct size with which it was compiled to that of this
// library, and checked. The constructor fails with a message that says which row breaks which rule.
class ParamTable {
  public:
    ParamTable() = default;
    ParamTable(const char *owner, const mercer_param *params, int64_t count, int64_t struct_size);

    const std::vector<mercer_param> &rows() const { return rows_; }
    int64_t struct_size() const { return struct_size_; }
    int64_t find(std::string_view name) const; // -1 if there is no such row
    int64_t find_flag(int32_t flag) const;     // the first row with this flag; -1 if there is none

  private:
    std::vector<mercer_param> rows_;
    int64_t struct_size_ = 0;
};

class Params {
  public:
    Params() = default;
    explicit Params(std::shared_ptr<const ParamTable> table); // sets every row to its default
    Params(const Params &other);
    Params &operator=(const Params &other);
    Params(Params &&) = default;
    Params &operator=(Params &&) = default;

    const ParamTable &table() const { return *table_; }
    const void *values() const { return values_.data(); }
    void *values() { return values_.data(); }

    // Sets the value of a row; text "" restores its default. shown is the name for messages
    // ("kernel.sigma").
    void set(int64_t row, std::string_view text, const char *shown);
    std::string get(int64_t row) const; // "" if the row has no value
    // Returns true if set() gave the row a value, or if it has one otherwise, such as its default.
    bool is_set(int64_t row) const;
    // Returns true if another row of the same group has a value.
    bool group_is_set(int64_t row) const;
    // Returns the rows that have a value, as name and text, for storage in a model. A choice in a
    // group is left out if another row of the group has a value, because that one replaces it.
    std::map<std::string, std::string> stored() const;

  private:
    bool is_unset_value(int64_t row) const;
    void write(int64_t row, std::string_view text, const char *shown);

    std::shared_ptr<const ParamTable> table_ = std::make_shared<ParamTable>();
    std::vector<unsigned char> values_;
    std::vector<bool> touched_;
    // The texts to which pointers in values_ point, by row.
    std::map<int64_t, std::shared_ptr<const std::string>> texts_;
};

// Checks a value against a row that the caller has made. Fails with E_VALUE as Params::set does,
// with the row's own name, which may be any text. Blanks around the value are not removed, and ""
// is refused, except as a text. Fails with E_ARGUMENT if the row has no known type, an empty range,
// or no choices although it is a choice.
void check_value(const mercer_row &row, std::string_view text);

} // namespace mercer
