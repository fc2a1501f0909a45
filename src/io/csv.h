// CSV files as data. A file is parsed once, when it is opened, into f64 columns in memory, because
// parsing text takes several times as long as reading binary numbers, and every method reads its
// rows more than once.
#pragma once
#include "csv_records.h"
#include "source.h"

namespace mercer {

class Run;

struct CsvOptions {
    char separator = 0; // 0: detected
    enum class Header { found, yes, no } header = Header::found;
    std::string labels, weights; // the column of each, by name or by number from 0; "": none
    // The columns of the source, as one CSV record of names or numbers; "": all columns of numbers.
    std::string columns;
    std::string ids = {}; // the column whose text is kept for each row; "": none
};

struct CsvFile {
    std::shared_ptr<Source> source;
    std::vector<std::string> columns; // names of the source's columns; numbers if there is no header
    CountedVector<int64_t> labels;    // of the rows; empty: none
    // The texts of labels 0, 1 ... in order of appearance; empty: the labels are numbers.
    std::vector<std::string> label_names;
    CountedVector<double> weights;     // of the rows; empty: none
    std::vector<std::string> left_out; // names of columns that were left out: they have text, or no values
    std::string ids_name;              // name of the column of ids
    CountedVector<char> ids;           // one text per row, each ended by a zero byte; empty: none
};

// Parses a file. The columns, line numbers, labels, weights and ids count in the budget of the run
// that reads them. Of these, only the columns and the line numbers, which stored_bytes() of the
// source reports, also count in later runs.
CsvFile open_csv(Run &run, const InputFile &file, const CsvOptions &options);
inline CsvFile open_csv(Run &run, const std::string &path, const CsvOptions &options) {
    return open_csv(run, InputFile(run, path), options);
}

// The content of a field. The following fields, with or without quotes, are missing values: an
// empty field, NA, N/A, n/a, #N/A, null, NULL, None, ?, and NaN in upper or lower case.
struct CsvValue {
    enum class Kind { number, missing, text, refused } kind;
    double number;
    const char *reason; // if refused: why this number cannot be accepted
};
CsvValue read_csv_value(std::string_view text);

} // namespace mercer
