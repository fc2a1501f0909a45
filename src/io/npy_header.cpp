#include "npy.h"

#include "../core/text.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace mercer {
namespace {

constexpr int64_t longest_preamble = 12, longest_text = npy_header_bytes - longest_preamble;

// Parses the text of the header, a Python dict with three known keys. It accepts nothing else.
class HeaderText {
  public:
    HeaderText(std::string_view text, const std::string &path) : text_(text), path_(shown_path(path)) {}
    void parse(NpyHeader *out);

  private:
    [[noreturn]] void refuse(const std::string &reason) const {
        fail(MERCER_E_DATA, "'%s': %s", path_.c_str(), reason.c_str());
    }
    [[noreturn]] void expected(const char *what) const {
        refuse(format("npy header, character %zu: expected %s", at_ + 1, what));
    }
    char next() {
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(char c) {
        if (next() != c) return false;
        ++at_;
        return true;
    }
    void demand(char c, const char *what) {
        if (!take(c)) expected(what);
    }
    std::string_view string(const char *what);
    int64_t length();
    void entry(std::string_view key, NpyHeader *out);
    void descr(NpyHeader *out);
    void shape(NpyHeader *out);

    std::string_view text_;
    std::string path_;
    size_t at_ = 0;
};

struct Refused {
    std::string_view prefix;
    const char *reason;
};
constexpr Refused refused_types[] = {
    {"O", "Python objects (pickle), which are not supported"},
    {"c", "complex numbers; save the real and imaginary parts as columns"},
    {"U", "text, must be numbers"},
    {"S", "text, must be numbers"},
    {"a", "text, must be numbers"},
    {"M", "dates, must be numbers"},
    {"m", "durations, must be numbers"},
    {"V", "raw records, must be numbers"},
    {"f2", "half precision; save x.astype('<f4')"},
    {"f12", "long double; save x.astype('<f8')"},
    {"f16", "long double; save x.astype('<f8')"},
};

std::string_view HeaderText::string(const char *what) {
    char quote = next();
    if (quote != '\'' && quote != '"') expected(what);
    size_t from = ++at_, to = text_.find(quote, from);
    std::string_view found = text_.substr(from, to - from);
    if (to == text_.npos || found.find_first_of("\\\n") != found.npos) expected("a string without escapes");
    at_ = to + 1;
    return found;
}

// Reads one length of the shape. It may end in L, because Python 2 wrote long integers so.
int64_t HeaderText::length() {
    if (next() == '-') refuse("npy header: shape has a negative length");
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument) expected("a length");
    if (error != std::errc()) refuse("npy header: shape has a length beyond 2^63");
    size_t digits = static_cast<size_t>(end - (text_.data() + at_));
    if (text_[at_] == '0' && digits > 1) expected("a length without leading zeros");
    at_ += digits;
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
}

void HeaderText::parse(NpyHeader *out) {
    std::vector<std::string_view> seen;
    demand('{', "a dict");
    while (!take('}')) {
        std::string_view key = string("a key or the dict's end");
        if (std::find(seen.begin(), seen.end(), key) != seen.end())
            refuse("npy header: key '" + printable(key) + "' is given twice");
        seen.push_back(key);
        demand(':', "':'");
        entry(key, out);
        if (next() != '}') demand(',', "',' or '}'");
    }
    if (next() != '\0' || at_ < text_.size()) expected("the end of the header after the dict");
    for (const char *key : {"descr", "fortran_order", "shape"})
        if (std::find(seen.begin(), seen.end(), key) == seen.end()) refuse(format("npy header: no key '%s'", key));
}

void HeaderText::entry(std::string_view key, NpyHeader *out) {
    if (key == "descr") return descr(out);
    if (key == "shape") return shape(out);
    if (key != "fortran_order")
        refuse("npy header: unknown key '" + printable(key) + "', must be descr, fortran_order, shape");
    next();
    std::string_view rest = text_.substr(at_);
    out->column_major = rest.starts_with("True");
    if (!out->column_major && !rest.starts_with("False")) expected("True or False for fortran_order");
    at_ += out->column_major ? 4 : 5;
}

void HeaderText::descr(NpyHeader *out) {
    if (next() == '[' || next() == '(')
        refuse("structured npy files (named fields) are not supported, only plain numbers");
    std::string_view text = string("descr's string");
    std::string name = printable(text);
    std::string_view type = text.substr(std::min<size_t>(text.size(), 1));
    char order = text.empty() ? '\0' : text[0];
    for (const Refused &refused : refused_types)
        if (type.starts_with(refused.prefix)) refuse("npy type '" + name + "' is " + refused.reason);
    constexpr std::string_view known[] = {"f4", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "b1"};
    bool has_order = order == '<' || order == '=' || order == '>' || order == '|';
    if (!has_order || std::find(std::begin(known), std::end(known), type) == std::end(known))
        refuse("npy type '" + name + "' is unknown, must be f4 f8 u1 i1 u2 i2 u4 i4 u8 i8 b1 after '<', '=' or '|'");
    out->kind = type[0];
    out->item = type[1] - '0';
    if (out->item == 1) return; // types of one byte have no byte order
    if (order == '>') refuse("npy type '" + name + "' is big-endian; save x.astype('<" + std::string(type) + "')");
    if (order == '|') refuse("npy type '" + name + "' has no byte order, must be '<" + std::string(type) + "'");
}

void HeaderText::shape(NpyHeader *out) {
    demand('(', "a tuple for shape");
    size_t from = at_ - 1;
    std::vector<int64_t> lengths;
    bool comma = true;
    while (!take(')')) {
        if (!comma) expected("',' or ')'");
        lengths.push_back(length());
        comma = take(',');
    }
    std::string shown = printable(text_.substr(from, at_ - from));
    if (lengths.size() == 1 && !comma) refuse("npy header: shape = " + shown + " is a number, must be a tuple");
    if (lengths.empty()) refuse("shape = () is a single number, must be a matrix or a vector");
    if (lengths.size() > 2)
        refuse(format("shape = %s has %zu dimensions, must be 1 or 2", shown.c_str(), lengths.size()));
    out->rows = lengths[0];
    out->cols = lengths.size() == 2 ? lengths[1] : 1;
}

} // namespace

NpyHeader parse_npy_header(const unsigned char *bytes, int64_t count, int64_t file_size, const std::string &path) {
    const std::string shown = shown_path(path);
    const char *name = shown.c_str();
    if (count < 10) fail(MERCER_E_DATA, "'%s' is not an npy file: it has only %" PRId64 " bytes", name, count);
    if (std::memcmp(bytes, "\x93NUMPY", 6) != 0)
        fail(MERCER_E_DATA, "'%s' is not an npy file: the first bytes are wrong", name);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        fail(MERCER_E_DATA, "'%s': npy version %d.%d, must be 1.0, 2.0 or 3.0", name, bytes[6], bytes[7]);
    int64_t preamble = bytes[6] == 1 ? 10 : longest_preamble, length = 0;
    if (count < preamble) fail(MERCER_E_DATA, "'%s' ends inside its npy header", name);
    for (int64_t k = preamble - 1; k >= 8; --k) length = length << 8 | bytes[k];
    if (length > longest_text)
        fail(MERCER_E_DATA, "'%s': npy header of %" PRId64 " bytes, must be at most %" PRId64, name, length,
             longest_text);
    if (count < preamble + length) fail(MERCER_E_DATA, "'%s' ends inside its npy header", name);

    NpyHeader header;
    HeaderText({reinterpret_cast<const char *>(bytes) + preamble, static_cast<size_t>(length)}, path).parse(&header);
    header.offset = preamble + length;
    if (header.cols == 0) fail(MERCER_E_DATA, "'%s': the matrix has no columns", name);
    int64_t entries = 0, size = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(header.rows, 1), header.cols, &entries) ||
        __builtin_mul_overflow(entries, int64_t{header.item}, &size) ||
        __builtin_add_overflow(size, header.offset, &size))
        fail(MERCER_E_DATA, "'%s': shape = (%" PRId64 ", %" PRId64 ") is too large", name, header.rows, header.cols);
    if (header.rows == 0) size = header.offset;
    if (file_size != size)
        fail(MERCER_E_DATA, "'%s' is %" PRId64 " bytes %s than its header declares", name, std::abs(file_size - size),
             file_size < size ? "shorter" : "longer");
    return header;
}

} // namespace mercer
