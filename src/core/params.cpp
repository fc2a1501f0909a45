#include "params.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>

namespace mercer {
namespace {

constexpr int64_t unset_int = INT64_MIN;

size_t value_size(int32_t type) {
    switch (type) {
    case MERCER_REAL: return sizeof(double);
    case MERCER_INT: return sizeof(int64_t);
    case MERCER_TEXT: return sizeof(const char *);
    default: return sizeof(int32_t);
    }
}

template <class T>
T load(const unsigned char *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <class T>
void store(unsigned char *to, T value) {
    std::memcpy(to, &value, sizeof value);
}

// Describes the allowed values for messages: "must be > 0", "must be >= 0 and <= 1", "must be one
// of a, b".
std::string allowed(const mercer_row &row) {
    if (row.type == MERCER_BOOL) return "must be true or false";
    if (row.type == MERCER_CHOICE) {
        std::string list;
        for (const std::string &choice : split(row.choices, '|')) list += (list.empty() ? "" : ", ") + choice;
        return "must be one of " + list;
    }
    auto end = [&](double x) { // bounds of whole numbers are shown with all their digits
        return row.type == MERCER_INT && std::fabs(x) < 0x1p63 ? number_text(static_cast<int64_t>(x)) : number_text(x);
    };
    const std::string lo = end(row.lo), hi = end(row.hi);
    const char *ge = row.flags & MERCER_LO_OPEN ? "> " : ">= ", *le = row.flags & MERCER_HI_OPEN ? "< " : "<= ";
    if (std::isinf(row.lo) && std::isinf(row.hi))
        return row.type == MERCER_INT ? "must be a whole number" : "must be a finite number";
    if (std::isinf(row.hi)) return "must be " + (ge + lo);
    if (std::isinf(row.lo)) return "must be " + (le + hi);
    return "must be " + (ge + lo) + " and " + (le + hi);
}

bool in_range(const mercer_row &row, double value) {
    return (row.flags & MERCER_LO_OPEN ? value > row.lo : value >= row.lo) &&
           (row.flags & MERCER_HI_OPEN ? value < row.hi : value <= row.hi);
}

[[noreturn]] void refuse(const mercer_row &row, std::string_view text, const char *shown) {
    double number = 0;
    const bool finite = row.type > MERCER_INT || (parse_number(text, &number) && std::isfinite(number));
    const bool fraction = row.type == MERCER_INT && finite && number != std::floor(number);
    const bool too_long = row.type == MERCER_INT && finite && std::fabs(number) > 0x1p53 && in_range(row, number);
    const std::string nearest = row.type == MERCER_CHOICE ? nearest_name(text, split(row.choices, '|')) : "";
    fail(MERCER_E_VALUE, "%s = %.*s%s, %s%s%s", shown, static_cast<int>(std::min<size_t>(text.size(), 80)), text.data(),
         !finite    ? " is not a finite number"
         : fraction ? " is not a whole number"
                    : "",
         allowed(row).c_str(), too_long ? ", in at most 18 digits" : "",
         nearest.empty() ? "" : (": did you mean '" + nearest + "'?").c_str());
}

// These functions return the value that a text gives to a row. They refuse the empty text, and a
// value that the row does not allow.
double read_real(const mercer_row &row, std::string_view text, const char *shown) {
    double value = 0;
    if (!parse_number(text, &value) || !std::isfinite(value) || !in_range(row, value)) refuse(row, text, shown);
    return value;
}

int64_t read_int(const mercer_row &row, std::string_view text, const char *shown) {
    int64_t value = 0;
    if (!parse_number(text, &value)) { // 1e6 and 10.0 are whole numbers, too
        double real = 0;
        if (!parse_number(text, &real) || real != std::floor(real) || std::fabs(real) > 0x1p53)
            refuse(row, text, shown);
        value = static_cast<int64_t>(real);
    }
    const bool beyond = row.hi < 0x1p63 && static_cast<double>(value) >= row.hi &&
                        value > static_cast<int64_t>(row.hi); // compared as integers, because a double may be rounded
    if (beyond || !in_range(row, static_cast<double>(value))) refuse(row, text, shown);
    return value;
}

int32_t read_bool(const mercer_row &row, std::string_view text, const char *shown) {
    if (text == "true" || text == "1") return 1;
    if (text != "false" && text != "0") refuse(row, text, shown);
    return 0;
}

int32_t read_choice(const mercer_row &row, std::string_view text, const char *shown) {
    const std::vector<std::string> choices = split(row.choices, '|');
    const auto found = std::find(choices.begin(), choices.end(), text);
    if (found == choices.end()) refuse(row, text, shown);
    return static_cast<int32_t>(found - choices.begin());
}

mercer_param widen(const char *owner, const mercer_param *from, int64_t index) {
    mercer_param param{};
    if (from->struct_size < static_cast<int64_t>(offsetof(mercer_param, row)) + 8)
        fail(MERCER_E_PLUGIN, "%s: parameter row %" PRId64 " has struct_size %" PRId64, owner, index,
             from->struct_size);
    int64_t row_size =
        std::min<int64_t>(from->row.struct_size, from->struct_size - static_cast<int64_t>(offsetof(mercer_param, row)));
    param.struct_size = from->struct_size;
    param.offset = from->offset;
    std::memcpy(&param.row, &from->row, static_cast<size_t>(std::clamp<int64_t>(row_size, 0, sizeof param.row)));
    for (const char **text :
         {&param.row.name, &param.row.doc, &param.row.initial, &param.row.choices, &param.row.group})
        if (!*text) *text = "";
    return param;
}

} // namespace

ParamTable::ParamTable(const char *owner, const mercer_param *params, int64_t count, int64_t struct_size)
    : struct_size_(struct_size) {
    const unsigned char *at = reinterpret_cast<const unsigned char *>(params);
    for (int64_t i = 0; i < count; ++i) {
        mercer_param param = widen(owner, reinterpret_cast<const mercer_param *>(at), i);
        at += param.struct_size;
        const mercer_row &row = param.row;
        std::string name = row.name;
        std::replace(name.begin(), name.end(), '_', '-');
        // Dots are allowed, because rows of the library itself have names like lift.alpha.
        std::replace(name.begin(), name.end(), '.', '-');
        if (!is_name(name))
            fail(MERCER_E_PLUGIN, "%s: row %" PRId64 " has the invalid name '%.80s'", owner, i, row.name);
        if (row.type < MERCER_REAL || row.type > MERCER_TEXT)
            fail(MERCER_E_PLUGIN, "%s: row '%s' has the unknown type %d", owner, row.name, row.type);
        if (param.offset < 0 || param.offset + static_cast<int64_t>(value_size(row.type)) > struct_size)
            fail(MERCER_E_PLUGIN, "%s: row '%s' is outside its struct", owner, row.name);
        if (find(row.name) >= 0) fail(MERCER_E_PLUGIN, "%s: two rows are named '%s'", owner, row.name);
        if (row.type == MERCER_CHOICE && !*row.choices)
            fail(MERCER_E_PLUGIN, "%s: row '%s' has no choices", owner, row.name);
        if (row.type <= MERCER_INT && !(row.lo <= row.hi))
            fail(MERCER_E_PLUGIN, "%s: row '%s' has an empty range", owner, row.name);
        rows_.push_back(param);
    }
    auto self = std::make_shared<ParamTable>(*this);
    try {
        Params defaults(self);
    } catch (const Error &e) {
        fail(MERCER_E_PLUGIN, "%s: a default violates its own row: %s", owner, e.what());
    }
}

int64_t ParamTable::find(std::string_view name) const {
    for (size_t i = 0; i < rows_.size(); ++i)
        if (name == rows_[i].row.name) return static_cast<int64_t>(i);
    return -1;
}

int64_t ParamTable::find_flag(int32_t flag) const {
    for (size_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].row.flags & flag) return static_cast<int64_t>(i);
    return -1;
}

Params::Params(std::shared_ptr<const ParamTable> table)
    : table_(std::move(table)), values_(static_cast<size_t>(table_->struct_size())), touched_(table_->rows().size()) {
    for (size_t i = 0; i < table_->rows().size(); ++i) {
        const mercer_row &row = table_->rows()[i].row;
        write(static_cast<int64_t>(i), row.initial, row.name);
    }
}

Params::Params(const Params &) = default;
Params &Params::operator=(const Params &) = default;

void Params::write(int64_t index, std::string_view text, const char *shown) {
    const mercer_param &param = table_->rows()[static_cast<size_t>(index)];
    const mercer_row &row = param.row;
    unsigned char *at = values_.data() + param.offset;
    const bool unset = text.empty();
    switch (row.type) {
    case MERCER_REAL: return store(at, unset ? std::numeric_limits<double>::quiet_NaN() : read_real(row, text, shown));
    case MERCER_INT: return store(at, unset ? unset_int : read_int(row, text, shown));
    case MERCER_BOOL: return store(at, unset ? -1 : read_bool(row, text, shown));
    case MERCER_CHOICE: return store(at, unset ? -1 : read_choice(row, text, shown));
    default: {
        auto kept = std::make_shared<const std::string>(text);
        store(at, text.empty() ? static_cast<const char *>(nullptr) : kept->c_str());
        texts_[index] = std::move(kept);
    }
    }
}

void Params::set(int64_t index, std::string_view text, const char *shown) {
    const mercer_row &row = table_->rows()[static_cast<size_t>(index)].row;
    if (*row.group && !text.empty())
        for (size_t i = 0; i < touched_.size(); ++i) {
            const mercer_row &other = table_->rows()[i].row;
            if (static_cast<int64_t>(i) != index && touched_[i] && std::strcmp(other.group, row.group) == 0)
                fail(MERCER_E_VALUE, "%s = %.*s: '%s' is already set, and only one of the two can be", shown,
                     static_cast<int>(std::min<size_t>(text.size(), 80)), text.data(), other.name);
        }
    std::string trimmed = trim(text);
    write(index, trimmed.empty() ? row.initial : trimmed, shown);
    touched_[static_cast<size_t>(index)] = !trimmed.empty();
}

bool Params::is_unset_value(int64_t index) const {
    const mercer_param &param = table_->rows()[static_cast<size_t>(index)];
    const unsigned char *at = values_.data() + param.offset;
    switch (param.row.type) {
    case MERCER_REAL: return std::isnan(load<double>(at));
    case MERCER_INT: return load<int64_t>(at) == unset_int;
    case MERCER_TEXT: return load<const char *>(at) == nullptr;
    default: return load<int32_t>(at) < 0;
    }
}

std::string Params::get(int64_t index) const {
    if (is_unset_value(index)) return "";
    const mercer_param &param = table_->rows()[static_cast<size_t>(index)];
    const unsigned char *at = values_.data() + param.offset;
    switch (param.row.type) {
    case MERCER_REAL: return number_text(load<double>(at));
    case MERCER_INT: return number_text(load<int64_t>(at));
    case MERCER_BOOL: return load<int32_t>(at) ? "true" : "false";
    case MERCER_CHOICE: return split(param.row.choices, '|').at(static_cast<size_t>(load<int32_t>(at)));
    default: return load<const char *>(at);
    }
}

bool Params::is_set(int64_t index) const { return touched_[static_cast<size_t>(index)] || !is_unset_value(index); }

bool Params::group_is_set(int64_t index) const {
    const char *group = table_->rows()[static_cast<size_t>(index)].row.group;
    for (size_t i = 0; *group && i < touched_.size(); ++i)
        if (static_cast<int64_t>(i) != index && std::strcmp(table_->rows()[i].row.group, group) == 0 &&
            !is_unset_value(static_cast<int64_t>(i)))
            return true;
    return false;
}

std::map<std::string, std::string> Params::stored() const {
    std::map<std::string, std::string> out;
    for (size_t i = 0; i < touched_.size(); ++i) {
        const mercer_row &row = table_->rows()[i].row;
        int64_t index = static_cast<int64_t>(i);
        bool gives_way = *row.group && row.type == MERCER_CHOICE && group_is_set(index);
        if (!is_unset_value(index) && !gives_way) out[row.name] = get(index);
    }
    return out;
}

void check_value(const mercer_row &row, std::string_view text) {
    if (row.type <= MERCER_INT && !(row.lo <= row.hi))
        fail(MERCER_E_ARGUMENT, "row: lo = %g and hi = %g, must be an increasing range", row.lo, row.hi);
    switch (row.type) {
    case MERCER_REAL: read_real(row, text, row.name); return;
    case MERCER_INT: read_int(row, text, row.name); return;
    case MERCER_BOOL: read_bool(row, text, row.name); return;
    case MERCER_CHOICE:
        if (!row.choices || !*row.choices) fail(MERCER_E_ARGUMENT, "row: choices are missing");
        read_choice(row, text, row.name);
        return;
    case MERCER_TEXT: return;
    default: fail(MERCER_E_ARGUMENT, "row: type = %d, must be MERCER_REAL to MERCER_TEXT", row.type);
    }
}

} // namespace mercer
