#include "json.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cli::json {

std::string text(const std::string &s) {
    std::string out = "\"";
    for (const char c : s) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += {'\\', c};
        } else if (code < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", code);
            out += escape;
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string number(double x) {
    if (!std::isfinite(x)) return "null";
    char shortest[32];
    for (int digits = 6; digits <= 17; ++digits) {
        std::snprintf(shortest, sizeof shortest, "%.*g", digits, x);
        if (std::strtod(shortest, nullptr) == x) break;
    }
    return shortest;
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

namespace {

class Reader {
  public:
    explicit Reader(const std::string &json) : json_(json) {}

    Value value(int depth = 0) {
        Value v;
        const char open = peek();
        if (depth > 64 || (open != '{' && open != '[')) {
            v.text = scalar();
            return v;
        }
        v.kind = open == '{' ? Kind::object : Kind::array;
        ++at_;
        while (peek() != '\0' && peek() != '}' && peek() != ']') {
            std::string name;
            if (open == '{') {
                name = scalar();
                skip(':');
            }
            v.members.push_back(value(depth + 1));
            v.members.back().name = name;
            if (!skip(',')) break;
        }
        skip(open == '{' ? '}' : ']');
        return v;
    }

  private:
    char peek() {
        at_ = std::min(json_.find_first_not_of(" \t\r\n", at_), json_.size());
        return at_ < json_.size() ? json_[at_] : '\0';
    }

    bool skip(char c) {
        const bool is = peek() == c;
        at_ += is;
        return is;
    }

    std::string scalar() {
        if (peek() != '"') {
            const size_t begin = at_;
            at_ = std::min(json_.find_first_of(",:]} \t\r\n", at_), json_.size());
            return json_.substr(begin, at_ - begin);
        }
        std::string out;
        for (++at_; at_ < json_.size() && json_[at_] != '"'; ++at_) {
            const bool escaped = json_[at_] == '\\' && at_ + 1 < json_.size() && json_[at_ + 1] != 'u';
            at_ += escaped; // \uXXXX is shown as it stands
            out += !escaped ? json_[at_] : json_[at_] == 'n' ? '\n' : json_[at_] == 't' ? '\t' : json_[at_];
        }
        ++at_;
        return out;
    }

    const std::string &json_;
    size_t at_ = 0;
};

std::string joined(const Value &list, size_t most) {
    std::string out;
    for (size_t i = 0; i < list.members.size() && i < most; ++i) out += (i ? " " : "") + list.members[i].text;
    return list.members.size() <= most ? out : out + " ... (" + std::to_string(list.members.size()) + ")";
}

void flatten_into(std::vector<std::vector<std::string>> &rows, const std::string &name, const Value &value,
                  size_t most) {
    const bool plain_list =
        value.kind == Kind::array && (value.members.empty() || value.members[0].kind == Kind::scalar);
    if (value.kind == Kind::scalar || plain_list) {
        rows.push_back({name, value.kind == Kind::scalar ? value.text : joined(value, most)});
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

Value parse(const std::string &json) { return Reader(json).value(); }

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
