// CSV files as data. A file is parsed once, when it is opened, into f64 columns in memory: text is several times as dear to
// read as numbers, and every method reads its rows more than once.
#pragma once
#include "csv_records.h"
#include "source.h"

namespace mercer {

class Run;

struct CsvOptions {
    char separator = 0; // 0: found
    enum class Header { found, yes, no } header = Header::found;
    std::string labels, weights; // a column, by its name or its number from 0; "": none
    std::string columns;         // those of the source, as one record of names or numbers; "": all that are numbers
    std::string ids = {};        // a column whose text is kept; "": none
};

struct CsvFile {
    std::shared_ptr<Source> source;
    std::vector<std::string> columns; // their names; without a header their numbers
    CountedVector<int64_t> labels;    // empty: none
    std::vector<std::string>
        label_names;                   // text of label 0, 1 ... in order of appearance; empty: the labels are numbers
    CountedVector<double> weights;     // empty: none
    std::vector<std::string> left_out; // columns of text, or of nothing
    std::string ids_name;              // of the column of ids
    CountedVector<char> ids;           // a text a row, each ended by a zero; empty: none
};

// Everything that grows with the file counts on the run's budget while it is read, and is held_bytes of the source later.
CsvFile open_csv(Run &run, const InputFile &file, const CsvOptions &options);
inline CsvFile open_csv(Run &run, const std::string &path, const CsvOptions &options) {
    return open_csv(run, InputFile(run, path), options);
}

// What a field holds. Missing: "" NA NaN nan null ?, with and without quotes.
struct CsvValue {
    enum class Kind { number, missing, text, refused } kind;
    double number;
    const char *reason; // refused: what looks like a number, but is none that can be taken
};
CsvValue read_csv_value(std::string_view text);

} // namespace mercer
