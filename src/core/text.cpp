#include "text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mercer {

std::string number_text(double value) {
    char text[40];
    auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return std::string(text, end);
}

std::string number_text(int64_t value) {
    char text[24];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

namespace {

constexpr size_t longest_shown = 80; // bytes of a name in a message

template <class T>
bool parse_whole(std::string_view text, T *out) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The Damerau-Levenshtein distance of two short names.
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (size_t i = 1; i <= a.size(); ++i)
        for (size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool begins_with(std::string_view name, std::string_view text) {
    return text.size() <= name.size() &&
           std::equal(text.begin(), text.end(), name.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

// Returns the only name that begins with text, which must have at least two letters, or nullptr.
const std::string *find_begun(std::string_view text, const std::vector<std::string> &names) {
    const auto begun = [&](const std::string &name) { return begins_with(name, text); };
    const auto first = std::find_if(names.begin(), names.end(), begun);
    if (text.size() < 2 || first == names.end() || std::any_of(first + 1, names.end(), begun)) return nullptr;
    return &*first;
}

std::string quoted_where_needed(const std::string &name) {
    return name.find_first_of(", ") == name.npos ? name : "'" + name + "'";
}

} // namespace

bool parse_number(std::string_view text, double *out) { return parse_whole(text, out); }
bool parse_number(std::string_view text, int64_t *out) { return parse_whole(text, out); }

std::string trim(std::string_view text) {
    size_t from = text.find_first_not_of(" \t"), to = text.find_last_not_of(" \t");
    return from == text.npos ? std::string() : std::string(text.substr(from, to - from + 1));
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> pieces;
    while (true) {
        size_t at = text.find(separator);
        pieces.push_back(trim(text.substr(0, at)));
        if (at == text.npos) return pieces;
        text.remove_prefix(at + 1);
    }
}

bool is_utf8(std::string_view text) {
    for (size_t k = 0; k < text.size();) {
        const unsigned char lead = static_cast<unsigned char>(text[k]);
        const size_t length = lead < 0x80   ? 1
                              : lead < 0xc2 ? 0
                              : lead < 0xe0 ? 2
                              : lead < 0xf0 ? 3
                              : lead < 0xf5 ? 4
                                            : 0;
        if (length == 0 || k + length > text.size()) return false;
        uint32_t code = length == 1 ? lead : lead & (0x7fu >> length);
        for (size_t b = 1; b < length; ++b) {
            const unsigned char next = static_cast<unsigned char>(text[k + b]);
            if ((next & 0xc0) != 0x80) return false;
            code = code << 6 | (next & 0x3fu);
        }
        if ((length == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
            (length == 4 && (code < 0x10000 || code > 0x10ffff)))
            return false;
        k += length;
    }
    return true;
}

std::string printable(std::string_view text) {
    constexpr size_t most = 40;
    const bool readable = is_utf8(text);
    size_t length = std::min(text.size(), most);
    while (readable && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
    std::string out(text.substr(0, length));
    for (char &c : out) {
        const unsigned char byte = static_cast<unsigned char>(c);
        if (byte < ' ' || byte == 0x7f || (byte > '~' && !readable)) c = '?';
    }
    return length < text.size() ? out + "..." : out;
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= 64 && text[0] >= 'a' && text[0] <= 'z' &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::string nearest_name(std::string_view name, const std::vector<std::string> &known) {
    const std::string_view shown = name.substr(0, longest_shown);
    const std::string *nearest = nullptr;
    size_t best = (shown.size() < 4 ? 1 : std::max<size_t>(2, shown.size() / 3)) + 1;
    for (const std::string &candidate : known) {
        size_t distance = edit_distance(shown, candidate);
        // A distance below the length of the candidate means that the two names share a letter.
        if (distance < best && distance < candidate.size()) best = distance, nearest = &candidate;
    }
    if (!nearest) nearest = find_begun(shown, known);
    return nearest ? *nearest : "";
}

void fail_unknown(const char *kind, std::string_view name, const std::vector<std::string> &known) {
    const std::string shown(name.substr(0, longest_shown)), nearest = nearest_name(name, known);
    if (!nearest.empty())
        fail(MERCER_E_NAME, "unknown %s '%s': did you mean '%s'?", kind, shown.c_str(), nearest.c_str());
    std::string list;
    for (const std::string &candidate : known) list += (list.empty() ? "" : ", ") + quoted_where_needed(candidate);
    fail(MERCER_E_NAME, "unknown %s '%s': known names are %.700s", kind, shown.c_str(),
         list.empty() ? "none" : list.c_str());
}

} // namespace mercer
