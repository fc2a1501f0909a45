#include "json.h"
#include "failure.h"

#include <cmath>
#include <cstdlib>
#include <mercer/mercer.h>
#include <nlohmann/json.hpp>

// Only this file includes nlohmann's header, which would add a second to the compilation of every
// other file.
namespace cli::json {

namespace {

// Builds a Value from the events of nlohmann's parser, so that numbers keep the digits of the text.
class Builder : public nlohmann::json_sax<nlohmann::json> {
  public:
    Value whole;

    bool null() override { return add(Kind::null, ""); }
    bool boolean(bool value) override { return add(Kind::boolean, json::boolean(value)); }
    bool number_integer(int64_t value) override { return add(Kind::number, std::to_string(value)); }
    bool number_unsigned(uint64_t value) override { return add(Kind::number, std::to_string(value)); }
    bool number_float(double, const std::string &text) override { return add(Kind::number, text); }
    bool string(std::string &value) override { return add(Kind::text, value); }
    bool binary(nlohmann::json::binary_t &) override { return false; }
    bool start_object(size_t) override { return open(Kind::object); }
    bool start_array(size_t) override { return open(Kind::array); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(std::string &name) override {
        name_ = name;
        return true;
    }
    bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &error) override {
        throw Failure(MERCER_E_INTERNAL, std::string("the library's JSON cannot be read: ") + error.what());
    }

  private:
    Value &place() { return open_.empty() ? whole : open_.back()->members.emplace_back(); }

    bool add(Kind kind, const std::string &text) {
        Value &value = place();
        value.kind = kind;
        value.name = std::exchange(name_, "");
        value.text = text;
        return true;
    }

    // The pointers in open_ stay valid: adding a member may move only the members of the innermost
    // open value, and none of these is open.
    bool open(Kind kind) {
        Value &value = place();
        value.kind = kind;
        value.name = std::exchange(name_, "");
        open_.push_back(&value);
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    std::vector<Value *> open_;
    std::string name_; // name of the next member
};

bool is_scalar(const Value &value) { return value.kind != Kind::array && value.kind != Kind::object; }

std::string joined(const Value &list, size_t most) {
    std::string out;
    for (size_t i = 0; i < list.members.size() && i < most; ++i) out += (i ? " " : "") + list.members[i].text;
    return list.members.size() <= most ? out : out + " ... (" + std::to_string(list.members.size()) + ")";
}

void flatten_into(std::vector<std::vector<std::string>> &rows, const std::string &name, const Value &value,
                  size_t most) {
    const bool plain_list = value.kind == Kind::array && (value.members.empty() || is_scalar(value.members[0]));
    if (is_scalar(value) || plain_list) {
        rows.push_back({name, is_scalar(value) ? value.text : joined(value, most)});
        return;
    }
    for (size_t i = 0; i < value.members.size(); ++i) {
        const Value &member = value.members[i];
        const std::string part = member.name.empty() ? std::to_string(i + 1) : member.name,
                          whole = name.empty() ? part : name + "." + part;
        if (member.name == "component") // people count from 1, as the table of eigenvalues does
            rows.push_back({whole, std::to_string(std::stoll(member.text) + 1)});
        else
            flatten_into(rows, whole, member, most);
    }
}

} // namespace

std::string text(const std::string &s) {
    return nlohmann::json(s).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number(double x) {
    constexpr double largest_exact = 0x1p53; // a larger whole number is written with an exponent
    const bool whole = x == std::floor(x) && std::fabs(x) <= largest_exact && !(x == 0 && std::signbit(x));
    return whole ? nlohmann::json(static_cast<int64_t>(x)).dump() : nlohmann::json(x).dump();
}

std::string boolean(bool b) { return b ? "true" : "false"; }

std::string array(const std::vector<std::string> &items) {
    std::string out;
    for (const auto &item : items) out += (out.empty() ? "" : ", ") + item;
    return "[" + out + "]";
}

std::string object(const std::vector<std::pair<std::string, std::string>> &members) {
    std::string out;
    for (const auto &[name, value] : members) out += (out.empty() ? "" : ", ") + text(name) + ": " + value;
    return "{" + out + "}";
}

Value parse(const std::string &json) {
    Builder builder;
    if (!json.empty()) nlohmann::json::sax_parse(json, &builder);
    return builder.whole;
}

double number_of(const Value &value) { return std::strtod(value.text.c_str(), nullptr); }

const Value &member(const Value &object, const std::string &name) {
    static const Value none;
    for (const Value &value : object.members)
        if (value.name == name) return value;
    return none;
}

std::vector<std::vector<std::string>> flatten(const Value &value, size_t most) {
    std::vector<std::vector<std::string>> rows;
    flatten_into(rows, "", value, most);
    return rows;
}

} // namespace cli::json
