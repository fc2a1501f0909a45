// Parameters: the one place where a row is parsed, checked, stored and written back. A Params is a set of rows with a
// struct of values at the rows' offsets: a plugin's own, or one of the core's.
#pragma once
#include "text.h"

#include <mercer/plugin.h>

#include <map>
#include <memory>

namespace mercer {

// Rows as the plugin compiled them, widened to ours, and checked: fail() says which row breaks which rule.
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
    explicit Params(std::shared_ptr<const ParamTable> table); // every row at its default
    Params(const Params &other);
    Params &operator=(const Params &other);
    Params(Params &&) = default;
    Params &operator=(Params &&) = default;

    const ParamTable &table() const { return *table_; }
    const void *values() const { return values_.data(); }
    void *values() { return values_.data(); }

    // text "" unsets. shown is the name for messages ("kernel.sigma").
    void set(int64_t row, std::string_view text, const char *shown);
    std::string get(int64_t row) const; // "" = unset
    bool is_set(int64_t row) const;     // by set, or no longer unset
    // Does another row of the same group hold a value?
    bool group_is_set(int64_t row) const;
    // Values that differ from unset, by name: what a model stores. Rows of a group that give way to one that is set are
    // left out.
    std::map<std::string, std::string> stored() const;

  private:
    bool is_unset_value(int64_t row) const;
    void write(int64_t row, std::string_view text, const char *shown);

    std::shared_ptr<const ParamTable> table_ = std::make_shared<ParamTable>();
    std::vector<unsigned char> values_;
    std::vector<bool> touched_;
    std::map<int64_t, std::shared_ptr<const std::string>> texts_; // what the struct's const char * point at
};

} // namespace mercer
