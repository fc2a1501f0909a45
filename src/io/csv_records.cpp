#include "csv_records.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace mercer {
namespace {

constexpr int64_t first_window = int64_t{1} << 20;

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_line(char c) { return c == '\n' || c == '\r'; }

} // namespace

CsvRecords::CsvRecords(const InputFile &file, char separator)
    : file_(&file), what_(shown_path(file.path())), separator_(separator) {
    for (char c : {separator, '\n', '\r', '\0'}) stops_[static_cast<unsigned char>(c)] = true;
    window_.resize(static_cast<size_t>(std::clamp<int64_t>(file.size(), 1, first_window)));
    begin_ = end_ = window_.data();
    fill();
    const std::string_view start(begin_, static_cast<size_t>(end_ - begin_));
    if (start.starts_with("\xef\xbb\xbf")) begin_ += 3;
    if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff"))
        fail(MERCER_E_DATA, "'%s' is UTF-16 text, must be UTF-8", what_.c_str());
}

CsvRecords::CsvRecords(std::string_view text, const std::string &what, char separator)
    : file_(nullptr), what_(what), separator_(separator), begin_(text.data()), end_(text.data() + text.size()),
      over_(true) {
    for (char c : {separator, '\n', '\r', '\0'}) stops_[static_cast<unsigned char>(c)] = true;
}

// Moves the unused bytes to the front of the window and reads more after them; returns false at the
// end of the file.
bool CsvRecords::fill() {
    if (over_) return false;
    const int64_t kept = end_ - begin_;
    std::memmove(window_.data(), begin_, static_cast<size_t>(kept));
    if (kept == static_cast<int64_t>(window_.size())) {
        if (kept >= longest_record)
            fail(MERCER_E_DATA, "'%s': line %" PRId64 ": a record of more than %" PRId64 " bytes", what_.c_str(),
                 lines_before_ + 1, longest_record);
        window_.resize(static_cast<size_t>(std::min(2 * kept, longest_record)));
    }
    const int64_t take = std::min(static_cast<int64_t>(window_.size()) - kept, file_->size() - offset_);
    if (take > 0) file_->read(offset_, window_.data() + kept, take);
    offset_ += take;
    over_ = offset_ == file_->size();
    begin_ = window_.data();
    end_ = begin_ + kept + take;
    return true;
}

void CsvRecords::fail_here(const char *at, const char *what) const {
    fail(MERCER_E_DATA, "'%s': line %" PRId64 ", column %zu: %s", what_.c_str(),
         lines_before_ + 1 + std::count(begin_, at, '\n'), fields_.size(), what);
}

bool CsvRecords::next() {
    for (;;) {
        if (begin_ == end_ && !fill()) return false;
        if (scan() == Scanned::more) {
            fill();
            continue;
        }
        const bool nothing = fields_.empty() || (fields_.size() == 1 && !fields_[0].quoted && fields_[0].text.empty());
        if (!nothing) return true;
    }
}

// Reads the record at begin_ and moves begin_ past it. Returns `more`, with begin_ unchanged, if
// the record does not end in the window.
CsvRecords::Scanned CsvRecords::scan() {
    fields_.clear();
    unescaped_.clear();
    const char *at = begin_;
    for (;;) {
        while (at < end_ && is_blank(*at) && (*at != separator_ || separator_ == ' ')) ++at;
        if (at == end_ && !over_) return Scanned::more;
        // Blanks at the end of a line do not begin another field.
        const bool trailing = separator_ == ' ' && (at == end_ || ends_line(*at));
        if (!trailing && !(at < end_ && *at == '"' ? quoted(at) : plain(at))) return Scanned::more;
        if (at < end_ && *at == separator_) {
            ++at;
            continue;
        }
        // If the window ends in a CR, the LF that may belong to it has not been read yet.
        if (at < end_ && *at == '\r' && at + 1 == end_ && !over_) return Scanned::more;
        line_ = lines_before_ + 1;
        lines_before_ += std::count(begin_, at, '\n') + (at < end_);
        if (at < end_) at += *at == '\r' && at + 1 < end_ && at[1] == '\n' ? 2 : 1;
        begin_ = at;
        return Scanned::record;
    }
}

// Reads the quoted field that begins at `at` and moves `at` past it. Returns false if it continues
// beyond the window.
bool CsvRecords::quoted(const char *&at) {
    const char *from = at + 1, *to = from;
    bool doubled = false;
    for (;;) {
        to = static_cast<const char *>(std::memchr(to, '"', static_cast<size_t>(end_ - to)));
        if (!to && !over_) return false;
        if (!to) fail_here(at, "a quote that is never closed");
        if (to + 1 == end_ && !over_) return false; // the next byte may be a quote, which doubles this one
        if (to + 1 == end_ || to[1] != '"') break;
        doubled = true;
        to += 2;
    }
    std::string_view text(from, static_cast<size_t>(to - from));
    if (text.find('\0') != text.npos) fail_here(at, "a NUL byte: this is not text");
    for (++to; to < end_ && is_blank(*to) && *to != separator_;) ++to;
    if (to == end_ && !over_) return false;
    if (to < end_ && *to != separator_ && !ends_line(*to)) fail_here(to, "text follows a closing quote");
    if (doubled) {
        std::string &plain = unescaped_.emplace_back();
        for (size_t k = 0; k < text.size(); ++k) plain += text[k], k += text[k] == '"';
        text = plain;
    }
    fields_.push_back({text, true});
    at = to;
    return true;
}

bool CsvRecords::plain(const char *&at) {
    const char *from = at, *to = at;
    while (to < end_ && !stops_[static_cast<unsigned char>(*to)]) ++to;
    if (to == end_ && !over_) return false;
    if (to < end_ && *to == '\0') fail_here(to, "a NUL byte: this is not text");
    at = to;
    while (to > from && is_blank(to[-1])) --to;
    fields_.push_back({{from, static_cast<size_t>(to - from)}, false});
    return true;
}

} // namespace mercer
