// Splits comma-separated text into records of fields, as RFC 4180 defines them, but with any
// separator between fields (a comma, semicolon, tab, blank or |) and with lines that end in LF,
// CRLF or CR. Blanks around fields and empty lines are ignored. If the separator is a blank, any
// number of blanks counts as one. The input is not trusted: NUL bytes, quotes that are not closed
// and records that are too long fail with E_DATA.
#pragma once
#include "../core/memory.h"
#include "files.h"

#include <deque>
#include <string_view>
#include <vector>

namespace mercer {

struct CsvField {
    std::string_view text; // without the quotes around it
    bool quoted;
};

class CsvRecords {
  public:
    // The file must outlive this object.
    CsvRecords(const InputFile &file, char separator);
    // Reads text in memory, which must outlive this object; `what` names it in messages.
    CsvRecords(std::string_view text, const std::string &what, char separator);

    // Reads the next record; returns false at the end. Fields are valid until the next call.
    bool next();
    const std::vector<CsvField> &fields() const { return fields_; }
    int64_t line() const { return line_; } // line on which the record begins, from 1
    int64_t bytes_read() const { return offset_; }

    static constexpr int64_t longest_record = int64_t{64} << 20;

  private:
    enum class Scanned { record, more };
    Scanned scan();
    bool quoted(const char *&at);
    bool plain(const char *&at);
    bool fill();
    [[noreturn]] void fail_here(const char *at, const char *what) const;

    const InputFile *file_;
    std::string what_;
    char separator_;
    bool stops_[256] = {}; // true for the bytes that end a field without quotes
    std::vector<char> window_;
    const char *begin_ = nullptr, *end_ = nullptr; // the bytes that were read and do not belong to a record yet
    int64_t offset_ = 0;                           // position in the file that corresponds to end_
    bool over_ = false;                            // the text ends at end_
    int64_t line_ = 1, lines_before_ = 0;          // line of the record; number of lines before begin_
    std::vector<CsvField> fields_;
    std::deque<std::string> unescaped_; // texts of fields that contain doubled quotes, which became single ones
};

} // namespace mercer
