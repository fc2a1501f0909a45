// Parameters. This is the only module that parses, checks, stores and writes back the value of a
// parameter row. A Params consists of rows and of a struct that holds their values at the rows'
// offsets; a plugin defines the struct for its own rows, the library for all others.
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
    int64_t find(std::string_view name) const; // -1: no such row

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

    // Sets a row; text "" restores its default. shown is the name for messages ("kernel.sigma").
    void set(int64_t row, std::string_view text, const char *shown);
    std::string get(int64_t row) const; // "": the row has no value
    bool is_set(int64_t row) const;     // by set(), or because its value differs from unset
    // Returns true if another row of the same group holds a value.
    bool group_is_set(int64_t row) const;
    // The values that differ from unset, by name, which a model stores. A choice in a group is left
    // out if another row of the group holds a value.
    std::map<std::string, std::string> stored() const;

  private:
    bool is_unset_value(int64_t row) const;
    void write(int64_t row, std::string_view text, const char *shown);

    std::shared_ptr<const ParamTable> table_ = std::make_shared<ParamTable>();
    std::vector<unsigned char> values_;
    std::vector<bool> touched_;
    std::map<int64_t, std::shared_ptr<const std::string>> texts_; // texts that values_ points to
};

// Checks a value against a row that the caller has made: E_VALUE as from Params::set, with the
// row's own name, which may be any text. Blanks around the value are not removed, and "" is
// refused, except as a text. E_ARGUMENT: the row has no known type, an empty range or no choices.
void check_value(const mercer_row &row, std::string_view text);

} // namespace mercer
