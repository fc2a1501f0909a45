#include "csv.h"

#include "../core/run.h"
#include "../core/text.h"
#include "csv_source.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace mercer {
namespace {

// The order matters: fields that are separated by one of these characters often contain characters
// that come after it in this list, but seldom characters that come before it.
constexpr char separators[] = {'\t', ';', ',', ' '};
constexpr size_t most_labels = 1 << 20, most_columns = 1 << 20;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_missing(std::string_view text) {
    constexpr std::string_view markers[] = {"", "NA", "NaN", "nan", "null", "NULL", "?", "N/A", "n/a", "#N/A", "None"};
    return std::find(std::begin(markers), std::end(markers), text) != std::end(markers);
}

// Given digits that std::from_chars finds out of range, returns true if their value is too small
// rather than too large.
bool vanishes(std::string_view digits) {
    const size_t e = std::min(digits.find_first_of("eE"), digits.size());
    const std::string_view mantissa = digits.substr(0, e);
    int64_t exponent = 0;
    if (e < digits.size()) {
        std::string_view text = digits.substr(e + 1);
        if (text.starts_with('+')) text.remove_prefix(1);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
        if (error != std::errc()) return text.starts_with('-');
    }
    const size_t point = std::min(mantissa.find('.'), mantissa.size()), first = mantissa.find_first_of("123456789");
    return static_cast<double>(exponent) + static_cast<double>(point) - static_cast<double>(first) < 0;
}

bool is_hexadecimal(std::string_view digits) {
    return digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') &&
           digits.find_first_not_of("0123456789abcdefABCDEF.pP+-", 2) == digits.npos;
}

bool has_decimal_comma(std::string_view digits) {
    return digits.find(',') != digits.npos && digits.find_first_of("0123456789") != digits.npos &&
           digits.find_first_not_of("0123456789.,eE+-") == digits.npos;
}

// ---- names in messages

// Names a column as in "column 'height'" or, if it has no name, by its number from 0 as in "column
// 2".
std::string column_text(size_t column, bool header, const std::string &name) {
    const bool named = header && name != number_text(static_cast<int64_t>(column));
    return named ? "column '" + printable(name) + "'" : format("column %zu", column);
}

std::string fields_text(size_t count) { return format("%zu field%s", count, count == 1 ? "" : "s"); }

// ---- detection of the separator and the header

struct RecordShape {
    int64_t line;
    size_t fields;
};

std::vector<RecordShape> first_records(const InputFile &file, char separator) {
    constexpr size_t enough = 10;
    std::vector<RecordShape> shapes;
    try {
        CsvRecords records(file, separator);
        while (shapes.size() < enough && records.next()) shapes.push_back({records.line(), records.fields().size()});
    } catch (const Error &) { // the records before the error are returned
    }
    return shapes;
}

// Guesses the separator from the first records of the file. The rules are tried in this order, each
// on all candidates, and the first candidate to which a rule applies is the separator:
//   1. It splits all records into the same number of fields, at least two.
//   2. It is not a blank, it splits the first record, and no other candidate gives more records the
//      same number of fields as the first. (Some record is too short or too long, and an error
//      will follow; with this choice the error names the right record.)
//   3. It is not a blank and splits the last of the records. (Lines may precede the header.)
// If none applies, it is a comma.
char find_separator(const InputFile &file) {
    char best = ',', later = '\0';
    std::ptrdiff_t most = 0;
    for (char separator : separators) {
        const std::vector<RecordShape> shapes = first_records(file, separator);
        if (separator != ' ' && !later && !shapes.empty() && shapes.back().fields > 1) later = separator;
        if (shapes.empty() || shapes[0].fields < 2) continue;
        const auto alike = std::count_if(shapes.begin(), shapes.end(),
                                         [&](const RecordShape &shape) { return shape.fields == shapes[0].fields; });
        if (alike == static_cast<std::ptrdiff_t>(shapes.size())) return separator;
        if (alike > most && separator != ' ') best = separator, most = alike;
    }
    return most == 0 && later ? later : best;
}

// A record is taken for a header if each of its fields is text or empty, and at least one is text.
bool looks_like_header(const std::vector<CsvField> &fields) {
    bool text = false;
    for (const CsvField &field : fields) {
        const CsvValue::Kind kind = read_csv_value(field.text).kind;
        if (kind != CsvValue::Kind::text && !field.text.empty()) return false;
        text |= kind == CsvValue::Kind::text;
    }
    return text;
}

// ---- the parser

class CsvParser {
  public:
    CsvParser(Run &run, const InputFile &file, const CsvOptions &options)
        : run_(run), options_(options), file_(file), name_(shown_path(file.path())),
          separator_(options.separator ? options.separator : find_separator(file_)), records_(file_, separator_) {}

    CsvFile parse() {
        if (!records_.next()) fail(MERCER_E_DATA, "'%s' has no rows: the file is empty", name_.c_str());
        begin();
        do {
            if (rows_ % 1024 == 0)
                run_.progress(static_cast<double>(records_.bytes_read()) / static_cast<double>(file_.size()));
            add_row();
        } while (records_.next());
        return finish();
    }

  private:
    enum class Column { open, number, text }; // open: all values so far were missing

    [[noreturn]] void refuse(size_t column, std::string_view text, const char *what) const {
        fail(MERCER_E_DATA, "'%s': line %" PRId64 ", %s: '%s' %s", name_.c_str(), records_.line(),
             column_text(column, header_, names_[column]).c_str(), printable(text).c_str(), what);
    }

    void begin();
    void refuse_preamble() const;
    void name_columns(const std::vector<CsvField> &fields);
    size_t find(const std::string &what, std::string_view asked) const;
    void choose_columns(const std::vector<CsvField> &first);
    void add_row();
    double value_of(size_t slot, std::string_view text);
    int64_t label_of(size_t column, std::string_view text);
    void check_skipped() const;
    CsvFile finish();
    void settle_labels(CsvFile &out) const;

    Run &run_;
    const CsvOptions &options_;
    const InputFile &file_;
    std::string name_;
    char separator_;
    CsvRecords records_;
    bool header_ = false;
    std::vector<std::string> names_;               // names of all columns
    std::optional<size_t> labels_, weights_, ids_; // the number of the column of each, if there is one
    // A slot is a column that is read as numbers. chosen_ has the number of each slot among all
    // columns, and kinds_ has its kind.
    std::vector<size_t> chosen_;
    std::vector<Column> kinds_;
    // A column that is not read, because it has text in the first row. first, line: this text and
    // its line. In the rows after it, `seen` counts the values that are not missing, and `numbers`
    // counts the values that are numbers, until `seen` reaches 50.
    struct Skipped {
        size_t column;
        std::string first;
        int64_t line, seen = 0, numbers = 0;
    };
    std::vector<Skipped> skipped_;
    int64_t rows_ = 0;
    RowLines lines_;
    std::vector<Buffer<double>> pieces_;
    CountedVector<int64_t> label_values_;
    CountedVector<double> weight_values_;
    CountedVector<char> id_texts_;
    std::map<std::string, int64_t, std::less<>> categories_;
};

// Refuses a file whose first line has one field and whose later lines have several: such a first
// line is not a header, but a title or a remark of the instrument that wrote the file.
void CsvParser::refuse_preamble() const {
    if (records_.fields().size() != 1) return;
    const std::vector<RecordShape> shapes = first_records(file_, separator_);
    for (const RecordShape &shape : shapes)
        if (shape.fields > 1 && shape.fields == shapes.back().fields)
            fail(MERCER_E_DATA,
                 "'%s': line %" PRId64 " has 1 field and line %" PRId64 " has %zu: remove the lines before the header",
                 name_.c_str(), records_.line(), shape.line, shape.fields);
}

// Reads the header if there is one. Afterwards the current record is the first row.
void CsvParser::begin() {
    refuse_preamble();
    header_ = options_.header == CsvOptions::Header::yes ||
              (options_.header == CsvOptions::Header::found && looks_like_header(records_.fields()));
    if (records_.fields().size() > most_columns)
        fail(MERCER_E_DATA, "'%s': line %" PRId64 " has %zu fields, must be at most %zu", name_.c_str(),
             records_.line(), records_.fields().size(), most_columns);
    name_columns(records_.fields());
    if (header_ && !records_.next()) fail(MERCER_E_DATA, "'%s' has no rows: the file has only a header", name_.c_str());
    if (!options_.labels.empty()) labels_ = find("labels", options_.labels);
    if (!options_.weights.empty()) weights_ = find("weights", options_.weights);
    if (!options_.ids.empty()) ids_ = find("ids", options_.ids);
    choose_columns(records_.fields());
}

void CsvParser::name_columns(const std::vector<CsvField> &fields) {
    std::map<std::string_view, size_t> seen;
    for (size_t k = 0; k < fields.size(); ++k) {
        const std::string_view text = header_ ? fields[k].text : std::string_view();
        names_.push_back(text.empty() ? number_text(static_cast<int64_t>(k)) : std::string(text));
        if (text.empty()) continue;
        if (!is_utf8(text)) refuse(k, text, "is not UTF-8 text");
        if (const auto [other, added] = seen.emplace(text, k); !added)
            fail(MERCER_E_DATA, "'%s': line %" PRId64 ", column %zu: '%s' is already the name of column %zu",
                 name_.c_str(), records_.line(), k, printable(text).c_str(), other->second);
    }
}

// Finds a column by its name or, if none has this name, by its number.
size_t CsvParser::find(const std::string &what, std::string_view asked) const {
    const auto named = std::find(names_.begin(), names_.end(), asked);
    if (named != names_.end()) return static_cast<size_t>(named - names_.begin());
    int64_t number = 0;
    if (parse_number(asked, &number)) {
        if (number >= 0 && number < static_cast<int64_t>(names_.size())) return static_cast<size_t>(number);
        fail(MERCER_E_NAME, "'%s': %s: column %" PRId64 ", must be 0 to %zu", name_.c_str(), what.c_str(), number,
             names_.size() - 1);
    }
    if (!header_)
        fail(MERCER_E_NAME, "'%s': %s: column '%s', but the file has no header: use the column's number", name_.c_str(),
             what.c_str(), printable(asked).c_str());
    fail_unknown(("column of '" + name_ + "'").c_str(), printable(asked), names_);
}

void CsvParser::choose_columns(const std::vector<CsvField> &first) {
    if (!options_.columns.empty()) {
        CsvRecords list(options_.columns, "columns", ',');
        if (!list.next()) fail(MERCER_E_VALUE, "columns = '%s' contains no name", options_.columns.c_str());
        for (const CsvField &field : list.fields()) {
            chosen_.push_back(find("columns", field.text));
            if (std::count(chosen_.begin(), chosen_.end(), chosen_.back()) > 1)
                fail(MERCER_E_VALUE, "columns: '%s' is listed twice", printable(field.text).c_str());
        }
    }
    for (size_t k = 0; options_.columns.empty() && k < names_.size(); ++k) {
        if (k == labels_ || k == weights_ || k == ids_) continue;
        if (k < first.size() && read_csv_value(first[k].text).kind == CsvValue::Kind::text)
            skipped_.push_back({k, std::string(first[k].text), records_.line()});
        else
            chosen_.push_back(k);
    }
    kinds_.assign(chosen_.size(), options_.columns.empty() ? Column::open : Column::number);
    if (chosen_.empty()) fail(MERCER_E_DATA, "'%s' has no numeric column", name_.c_str());
}

double CsvParser::value_of(size_t slot, std::string_view text) {
    if (kinds_[slot] == Column::text) return NAN;
    const CsvValue value = read_csv_value(text);
    if (value.kind == CsvValue::Kind::number) {
        kinds_[slot] = Column::number;
        return value.number;
    }
    if (value.kind == CsvValue::Kind::refused) refuse(chosen_[slot], text, value.reason);
    if (value.kind == CsvValue::Kind::text && kinds_[slot] == Column::number)
        refuse(chosen_[slot], text, "is not a number");
    if (value.kind == CsvValue::Kind::text) kinds_[slot] = Column::text;
    return NAN;
}

int64_t CsvParser::label_of(size_t column, std::string_view text) {
    const auto known = categories_.find(text);
    if (known != categories_.end()) return known->second;
    if (!is_utf8(text)) refuse(column, text, "is not UTF-8 text");
    if (categories_.size() == most_labels)
        refuse(column, text, format("exceeds the maximum of %zu labels", most_labels).c_str());
    const int64_t number = static_cast<int64_t>(categories_.size());
    categories_.emplace(text, number);
    return number;
}

void CsvParser::add_row() {
    const std::vector<CsvField> &fields = records_.fields();
    if (fields.size() != names_.size())
        fail(MERCER_E_DATA, "'%s': line %" PRId64 " has %s, but the first line has %zu", name_.c_str(), records_.line(),
             fields_text(fields.size()).c_str(), names_.size());
    const int64_t width = static_cast<int64_t>(chosen_.size()), most = CsvSource::rows_of_piece(width);
    if (rows_ % most == 0) pieces_.push_back(run_.buffer<double>(most, width));
    double *row = pieces_.back().data() + rows_ % most * width;
    for (size_t slot = 0; slot < chosen_.size(); ++slot) row[slot] = value_of(slot, fields[chosen_[slot]].text);
    if (labels_) label_values_.push_back(label_of(*labels_, fields[*labels_].text));
    if (weights_) {
        const CsvValue weight = read_csv_value(fields[*weights_].text);
        if (weight.kind != CsvValue::Kind::number || weight.number < 0)
            refuse(*weights_, fields[*weights_].text, "is not a weight, must be a number >= 0");
        weight_values_.push_back(weight.number);
    }
    if (ids_) {
        const std::string_view text = fields[*ids_].text;
        if (!is_utf8(text)) refuse(*ids_, text, "is not UTF-8 text");
        id_texts_.insert(id_texts_.end(), text.begin(), text.end());
        id_texts_.push_back('\0');
    }
    constexpr int64_t enough = 50; // so many values suffice to decide whether a column contains numbers
    for (Skipped &one : skipped_)
        if (rows_ > 0 && one.seen < enough) {
            const CsvValue value = read_csv_value(fields[one.column].text);
            one.seen += value.kind != CsvValue::Kind::missing;
            one.numbers += value.kind == CsvValue::Kind::number;
        }
    lines_.add(rows_++, records_.line());
}

// Fails if a column would be left out only because of its first entry: all other entries that were
// examined are numbers.
void CsvParser::check_skipped() const {
    for (const Skipped &one : skipped_)
        if (one.seen > 1 && one.numbers == one.seen)
            fail(MERCER_E_DATA,
                 "'%s': line %" PRId64
                 ", %s: '%s' is not a number, but the entries below it are: correct it, or choose "
                 "columns",
                 name_.c_str(), one.line, column_text(one.column, header_, names_[one.column]).c_str(),
                 printable(one.first).c_str());
}

// If all labels are whole numbers, the rows get these numbers. Otherwise the rows keep the numbers
// of the labels in order of appearance, and label_names has their texts.
void CsvParser::settle_labels(CsvFile &out) const {
    out.label_names.resize(categories_.size());
    std::vector<int64_t> numbers(categories_.size());
    bool whole = true;
    for (const auto &[text, at] : categories_) {
        const CsvValue value = read_csv_value(text);
        whole &= value.kind == CsvValue::Kind::number && value.number == std::floor(value.number) &&
                 std::fabs(value.number) <= 0x1p53;
        if (whole) numbers[static_cast<size_t>(at)] = static_cast<int64_t>(value.number);
        out.label_names[static_cast<size_t>(at)] = text;
    }
    if (!whole) return;
    for (int64_t &label : out.labels) label = numbers[static_cast<size_t>(label)];
    out.label_names.clear();
}

CsvFile CsvParser::finish() {
    check_skipped();
    CsvFile out;
    std::vector<CsvSource::Column> kept;
    std::vector<size_t> left_out;
    for (const Skipped &one : skipped_) left_out.push_back(one.column);
    for (size_t slot = 0; slot < chosen_.size(); ++slot)
        if (kinds_[slot] == Column::number) {
            kept.push_back({static_cast<int64_t>(slot), column_text(chosen_[slot], header_, names_[chosen_[slot]])});
            out.columns.push_back(names_[chosen_[slot]]);
        } else {
            left_out.push_back(chosen_[slot]);
        }
    if (kept.empty()) fail(MERCER_E_DATA, "'%s' has no numeric column", name_.c_str());
    std::sort(left_out.begin(), left_out.end());
    for (size_t column : left_out) out.left_out.push_back(names_[column]);
    out.labels = std::move(label_values_);
    settle_labels(out);
    out.weights = std::move(weight_values_);
    out.ids = std::move(id_texts_);
    if (ids_) out.ids_name = names_[*ids_];
    out.source = std::make_shared<CsvSource>(name_, std::move(pieces_), std::move(lines_), rows_,
                                             static_cast<int64_t>(chosen_.size()), std::move(kept));
    return out;
}

} // namespace

CsvValue read_csv_value(std::string_view text) {
    // No marker of a missing value ends in a digit. So numbers, which do, need not be compared with
    // all markers; these comparisons would dominate the time.
    if (text.empty() || !is_digit(text.back()))
        if (is_missing(text)) return {CsvValue::Kind::missing, NAN, nullptr};
    const bool plus = text.size() > 1 && text[0] == '+' && (is_digit(text[1]) || text[1] == '.');
    const char *from = text.data() + plus, *end = text.data() + text.size();
    double value = 0;
    const auto [at, error] = std::from_chars(from, end, value);
    const std::string_view digits = text.substr(text[0] == '+' || text[0] == '-' ? 1 : 0);
    if (at == end && error == std::errc()) {
        if (std::isnan(value)) return {CsvValue::Kind::missing, NAN, nullptr};
        if (std::isinf(value)) return {CsvValue::Kind::refused, 0, "is infinite, must be finite"};
        return {CsvValue::Kind::number, value, nullptr};
    }
    if (at == end && error == std::errc::result_out_of_range) {
        if (vanishes(digits)) return {CsvValue::Kind::number, text[0] == '-' ? -0.0 : 0.0, nullptr};
        return {CsvValue::Kind::refused, 0, "is out of the range of f64"};
    }
    if (is_hexadecimal(digits)) return {CsvValue::Kind::refused, 0, "is hexadecimal, must be decimal"};
    if (has_decimal_comma(text)) return {CsvValue::Kind::refused, 0, "contains a comma, must have a decimal point"};
    return {CsvValue::Kind::text, 0, nullptr};
}

CsvFile open_csv(Run &run, const InputFile &file, const CsvOptions &options) {
    return CsvParser(run, file, options).parse();
}

} // namespace mercer
