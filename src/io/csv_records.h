// Comma-separated text as records of fields: RFC 4180, with any of , ; tab blank | between fields, and lines that end in LF, CRLF
// or CR. Blanks around fields do not count, nor do lines with nothing in them; between fields that blanks part, any number is one.
// Trusts nothing: NUL bytes, quotes that are not closed and endless records are E_DATA.
#pragma once
#include "../core/memory.h"
#include "files.h"

#include <deque>
#include <string_view>
#include <vector>

namespace mercer {

struct CsvField {
    std::string_view text; // without its quotes
    bool quoted;
};

class CsvRecords {
  public:
    // The file must outlive it.
    CsvRecords(const InputFile &file, char separator);
    // Of text in memory; what names it in messages. It must outlive it.
    CsvRecords(std::string_view text, const std::string &what, char separator);

    // The next record; false at the end. Fields live until the next call.
    bool next();
    const std::vector<CsvField> &fields() const { return fields_; }
    int64_t line() const { return line_; } // where the record begins, from 1
    int64_t bytes_read() const { return offset_; }

    static constexpr int64_t longest_record = int64_t{64} << 20;

  private:
    enum class Seen { record, more };
    Seen scan();
    bool quoted(const char *&at);
    bool plain(const char *&at);
    bool fill();
    [[noreturn]] void fail_here(const char *at, const char *what) const;

    const InputFile *file_;
    std::string what_;
    char separator_;
    bool stops_[256] = {};
    std::vector<char> window_;
    const char *begin_ = nullptr, *end_ = nullptr; // what is read and not used yet
    int64_t offset_ = 0;                           // of the file, behind end_
    bool over_ = false;                            // nothing comes behind end_
    int64_t line_ = 1, lines_before_ = 0;
    std::vector<CsvField> fields_;
    std::deque<std::string> unescaped_; // fields with quotes in them
};

} // namespace mercer
