// Compares the CSV reader with a naive parser of the same grammar, and its numbers with strtod.
// Checks that every error names the place of the fault.
#include "core/run.h"
#include "io/csv.h"
#include "oracle.h"
#include "temp_files.h"

#include <clocale>
#include <cmath>
#include <cstring>

using namespace mercer;

namespace {

using Table = std::vector<std::vector<std::string>>;

// Parses one character after the other by the rules of RFC 4180; blanks around fields are ignored.
Table naive(const std::string &text, char separator) {
    Table table;
    std::vector<std::string> record;
    std::string field, blanks;
    bool quoted = false, inside = false;
    auto end_field = [&] {
        record.push_back(field);
        field.clear(), blanks.clear();
        quoted = false;
    };
    auto end_record = [&](bool was_quoted) {
        end_field();
        if (record.size() > 1 || was_quoted || !record[0].empty()) table.push_back(record);
        record.clear();
    };
    for (size_t k = 0; k < text.size(); ++k) {
        const char c = text[k];
        if (inside) {
            if (c != '"')
                field += c;
            else if (k + 1 < text.size() && text[k + 1] == '"')
                field += text[k++];
            else
                inside = false;
        } else if (c == '"' && field.empty() && !quoted) {
            quoted = inside = true;
        } else if (c == separator) {
            end_field();
        } else if (c == '\n' || c == '\r') {
            if (c == '\r' && k + 1 < text.size() && text[k + 1] == '\n') ++k;
            end_record(quoted);
        } else if (c == ' ') {
            blanks += c;
        } else {
            if (!field.empty()) field += blanks;
            blanks.clear();
            field += c;
        }
    }
    if (!record.empty() || !field.empty() || quoted) end_record(quoted);
    return table;
}

Table read_all(const std::string &path, char separator) {
    InputFile file(path);
    CsvRecords records(file, separator);
    Table table;
    while (records.next()) {
        table.emplace_back();
        for (const CsvField &field : records.fields()) table.back().emplace_back(field.text);
    }
    return table;
}

void test_records() {
    TempFolder folder;
    oracle::Numbers numbers(3);
    const std::string letters = "ab1, ;\n\r\"";
    int64_t compared = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text;
        const int fields = 1 + static_cast<int>(numbers.uniform() * 12);
        for (int f = 0; f < fields; ++f) {
            std::string field;
            for (int k = static_cast<int>(numbers.uniform() * 6); k > 0; --k)
                field += letters[static_cast<size_t>(numbers.uniform() * static_cast<double>(letters.size()))];
            const bool quotes = numbers.uniform() < 0.5;
            for (char &c : field)
                if (!quotes && std::strchr(",\n\r\"", c)) c = 'x';
            if (!quotes) {
                text += field;
            } else {
                text += '"';
                for (char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
                text += numbers.uniform() < 0.3 ? "\" " : "\"";
            }
            const double next = numbers.uniform();
            text += next < 0.6 ? "," : next < 0.8 ? "\n" : next < 0.9 ? "\r\n" : "\r";
        }
        const Table right = naive(text, ','), got = read_all(folder.write("r.csv", text), ',');
        TEST_ASSERT_TRUE_MESSAGE(got == right, text.c_str());
        for (const auto &record : right) compared += static_cast<int64_t>(record.size());
    }
    TEST_ASSERT_TRUE(compared > 10000);
}

// Checks records that cross the end of the reader's window, and one that is larger than a window.
void test_windows() {
    TempFolder folder;
    std::string text;
    for (int i = 0; i < 60000; ++i)
        text += std::to_string(i) + ",\"a \"\"" + std::string(static_cast<size_t>(i % 50), 'x') + "\"\"\n\"," +
                std::to_string(i % 7) + "\r\n";
    text += "1,\"" + std::string(3 << 20, 'y') + "\",2\n";
    const Table right = naive(text, ','), got = read_all(folder.write("w.csv", text), ',');
    TEST_ASSERT_TRUE(got == right && right.size() == 60001);
}

// ---- values

void test_numbers() {
    for (const char *text :
         {"0", "-0", "1", "+1.5", "-2.5e-3", "1e5", "1E+05", ".5", "5.", "123456789.123456789", "1e308", "4.9e-324",
          "2.2250738585072011e-308", "9007199254740993", "1e-400", "-1e-999999999999999999999",
          "0.00000000000000000000000000000000000000000000000000000000000000000000000000001e-300"}) {
        const CsvValue value = read_csv_value(text);
        TEST_ASSERT_TRUE_MESSAGE(value.kind == CsvValue::Kind::number, text);
        TEST_ASSERT_TRUE_MESSAGE(value.number == std::strtod(text, nullptr), text);
        TEST_ASSERT_TRUE_MESSAGE(std::signbit(value.number) == (text[0] == '-'), text);
    }
    oracle::Numbers numbers(5);
    for (int k = 0; k < 20000; ++k) {
        char text[40];
        std::snprintf(text, sizeof text, "%.*g", 1 + k % 20, numbers() * std::pow(10.0, 600 * numbers.uniform() - 300));
        TEST_ASSERT_TRUE_MESSAGE(read_csv_value(text).number == std::strtod(text, nullptr), text);
    }
    for (const char *text : {"", "NA", "NaN", "nan", "null", "NULL", "?", "N/A", "n/a", "#N/A", "None"})
        TEST_ASSERT_TRUE_MESSAGE(read_csv_value(text).kind == CsvValue::Kind::missing, text);
    for (const char *text : {"1e309", "1e999", "-1e999", "1e99999999999999999999", "inf", "-Inf", "infinity", "0x1F",
                             "-0X1p3", "1,5", "-1.000,5", "1,000"})
        TEST_ASSERT_TRUE_MESSAGE(read_csv_value(text).kind == CsvValue::Kind::refused, text);
    for (const char *text :
         {"a", "1a", "1 2", "--1", "+-1", "+", "-", ".", "e5", "1e", "0x", "2020-01-01", "n.d.", "1_000"})
        TEST_ASSERT_TRUE_MESSAGE(read_csv_value(text).kind == CsvValue::Kind::text, text);
}

// ---- files

CsvFile open_text(const TempFolder &folder, const std::string &text, const CsvOptions &options = {}) {
    RunSettings settings;
    Run run(settings, nullptr);
    return open_csv(run, folder.write("x.csv", text), options);
}

std::vector<double> values_of(const CsvFile &file) {
    std::vector<double> out(static_cast<size_t>(file.source->rows() * file.source->cols()));
    file.source->fill(0, file.source->rows(), out.data());
    return out;
}

std::string joined(const std::vector<std::string> &names) {
    std::string out;
    for (const std::string &name : names) out += (out.empty() ? "" : " ") + name;
    return out;
}

void test_header_and_separator() {
    TempFolder folder;
    struct Case {
        const char *text, *columns;
    };
    const Case cases[] = {
        {"x,y\n1,2\n3,4\n", "x y"},
        {"x;y\n1;2\n3;4", "x y"},
        {"x\ty\r\n1\t2\r\n3\t4\r\n", "x y"},
        {"x y\n1 2\n3 4\n", "x y"},
        {"  x   y \n   1  2\n  3 4   \n", "x y"},
        {"1,2\n3,4\n", "0 1"},
        {"1;2\n3;4", "0 1"},
        {"1 2\r3 4\r", "0 1"},
        {"\xef\xbb\xbfx,y\n1,2\n3,4", "x y"},
        {"\"x\",\"y\"\n\"1\",\"2\"\n\n\n\"3\",\"4\"\n\n", "x y"},
        {",y\n1,2\n3,4\n", "0 y"},
        {"a x,a y\n1,2\n3,4\n", "a x|a y"},
        {"a x;\"a,y\"\n1;2\n3;4\n", "a x|a,y"},
        {"\"x\ny\",z\n1,2\n3,4\n", "x\ny|z"},
        {"\xc3\xa4,\xe2\x82\xac\n1,2\n3,4\n", "\xc3\xa4|\xe2\x82\xac"},
    };
    for (const Case &c : cases) {
        const CsvFile file = open_text(folder, c.text);
        std::string names = joined(file.columns);
        if (std::strchr(c.columns, '|')) {
            names = file.columns[0];
            for (size_t k = 1; k < file.columns.size(); ++k) names += "|" + file.columns[k];
        }
        TEST_ASSERT_EQUAL_STRING_MESSAGE(c.columns, names.c_str(), c.text);
        TEST_ASSERT_TRUE_MESSAGE((values_of(file) == std::vector<double>{1, 2, 3, 4}), c.text);
    }
    CsvOptions options;
    options.header = CsvOptions::Header::yes;
    TEST_ASSERT_EQUAL_STRING("2019 2020", joined(open_text(folder, "2019,2020\n1,2\n", options).columns).c_str());
    options.header = CsvOptions::Header::no;
    options.separator = '|';
    TEST_ASSERT_EQUAL_INT64(2, open_text(folder, "1|2\n3|4\n", options).source->rows());
    // A missing value must not be taken for a header.
    TEST_ASSERT_EQUAL_INT64(3, open_text(folder, "?\n1\n2\n").source->rows());
    TEST_ASSERT_EQUAL_INT64(2, open_text(folder, "a value\n1\n2\n").source->rows());
}

void test_columns_and_labels() {
    TempFolder folder;
    const std::string text = "id,height,species,w,\"a,b\"\na,1.5,setosa,2,9\nb,,virginica,1,8\nc,3,setosa,0,7\n";
    CsvFile file = open_text(folder, text);
    TEST_ASSERT_EQUAL_STRING("height w a,b", joined(file.columns).c_str());
    TEST_ASSERT_EQUAL_STRING("id species", joined(file.left_out).c_str());
    std::vector<double> values = values_of(file);
    TEST_ASSERT_TRUE(values[0] == 1.5 && std::isnan(values[3]) && values[8] == 7);
    expect_error(MERCER_E_DATA, "x.csv': line 3, column 'height' is NaN, must be finite (data.missing = rows",
                 [&] { file.source->read(0, 3, values.data()); });

    // A column is refused if only its first entry is not a number, because it would otherwise be
    // left out silently. A column with several texts is left out.
    expect_error(MERCER_E_DATA, "x.csv': line 2, column 'a': '<LOD' is not a number, but the entries below it are",
                 [&] { open_text(folder, "a,b\n<LOD,1\n2,2\n3,3\n"); });
    TEST_ASSERT_EQUAL_STRING("a", joined(open_text(folder, "a,b\nx1,1\n2,2\ny3,3\n").left_out).c_str());

    CsvOptions options{0, CsvOptions::Header::found, "species", "w", ""};
    file = open_text(folder, text, options);
    TEST_ASSERT_EQUAL_STRING("height a,b", joined(file.columns).c_str());
    TEST_ASSERT_TRUE(file.labels[0] == 0 && file.labels[1] == 1 && file.labels[2] == 0);
    TEST_ASSERT_EQUAL_STRING("setosa virginica", joined(file.label_names).c_str());
    TEST_ASSERT_TRUE(file.weights[0] == 2 && file.weights[1] == 1 && file.weights[2] == 0);

    options.columns = "\"a,b\", 1";
    file = open_text(folder, text, options);
    TEST_ASSERT_EQUAL_STRING("a,b height", joined(file.columns).c_str());
    values = values_of(file);
    TEST_ASSERT_TRUE(values[0] == 9 && values[1] == 1.5 && values[4] == 7 && values[5] == 3);

    options = {0, CsvOptions::Header::found, "1", "", ""};
    file = open_text(folder, "1,-3\n2,4.0\n3,-3\n", options);
    TEST_ASSERT_TRUE(file.label_names.empty() && file.labels[0] == -3 && file.labels[1] == 4 && file.labels[2] == -3);
    file = open_text(folder, "1,3\n2,4.5\n3,\n", options);
    TEST_ASSERT_TRUE(joined(file.label_names) == "3 4.5 " && file.labels[2] == 2);
    file = open_text(folder, "x,y,z\n,,1\nNA,b,2\n", {}); // x has no values, and y has text
    TEST_ASSERT_EQUAL_STRING("z", joined(file.columns).c_str());
}

// The error for a fault that is found after parsing must name the column and the line in the file,
// where empty lines and line breaks within quotes count.
void test_lines_of_the_file() {
    TempFolder folder;
    const std::string text = "a,\"name\",b\n\n1,x,2\n\n\n3,\"two\nlines\",4\r\n5,y,NA\n\n7,z,-8\n9,z,10\n";
    CsvFile file = open_text(folder, text);
    std::vector<double> values(10);
    expect_error(MERCER_E_DATA, "x.csv': line 8, column 'b' is NaN", [&] { file.source->read(0, 5, values.data()); });
    TEST_ASSERT_EQUAL_STRING("line 3, column 'a'", file.source->place(0, 0).c_str());
    TEST_ASSERT_EQUAL_STRING("line 6, column 'b'", file.source->place(1, 1).c_str());
    TEST_ASSERT_EQUAL_STRING("line 10, column 'b'", file.source->place(3, 1).c_str());
    TEST_ASSERT_EQUAL_STRING("line 11, column 'a'", file.source->place(4, 0).c_str());
    file = open_text(folder, "1,2\n3,\n");
    TEST_ASSERT_EQUAL_STRING("line 2, column 1", file.source->place(1, 1).c_str());

    // The same through the C functions: the kernel refuses negative values, and the error must name
    // the line of the file although a row before it was left out.
    mercer_context *context = nullptr;
    mercer_data *data = nullptr;
    mercer_recipe *recipe = nullptr;
    mercer_model *model = nullptr;
    TEST_ASSERT_EQUAL_INT(MERCER_OK, mercer_context_create(&context));
    TEST_ASSERT_EQUAL_INT(MERCER_OK,
                          mercer_data_from_file(&data, context, folder.write("x.csv", text).c_str(), nullptr));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, mercer_recipe_create(&recipe, context, "kpca"));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, mercer_recipe_set(recipe, "kernel", "chi2"));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, mercer_recipe_set(recipe, "data.missing", "rows"));
    TEST_ASSERT_EQUAL_INT(MERCER_E_DATA, mercer_model_fit(&model, recipe, data, nullptr));
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "line 10, column 'b' is -8, but the kernel needs"),
                                 mercer_last_error());
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_context_destroy(context);
}

void test_refused() {
    TempFolder folder;
    struct Case {
        int32_t code;
        const char *part;
        std::string text;
        CsvOptions options = {};
    };
    auto with = [](const char *labels, const char *weights, const char *columns) {
        return CsvOptions{0, CsvOptions::Header::found, labels, weights, columns};
    };
    using namespace std::string_literals;
    const Case cases[] = {
        {MERCER_E_DATA, "has no rows: the file is empty", ""},
        {MERCER_E_DATA, "has no rows: the file is empty", "\n\r\n\n"},
        {MERCER_E_DATA, "has no rows: the file is empty", "\xef\xbb\xbf"},
        {MERCER_E_DATA, "has no rows: the file has only a header", "x,y\n"},
        {MERCER_E_DATA, "UTF-16", "\xff\xfe"s + "1\0,\0"s},
        {MERCER_E_DATA, "UTF-16", "\xfe\xff"},
        {MERCER_E_DATA, "line 3 has 1 field, but the first line has 2", "x,y\n1,2\n3\n"},
        {MERCER_E_DATA, "line 2 has 3 fields, but the first line has 2", "1,2\n3,4,5\n"},
        {MERCER_E_DATA, "line 2 has 3 fields", "x,y\n1,2,\n"},
        {MERCER_E_DATA, "line 4 has 2 fields, but the first line has 3",
         "id,\"IL-2; log\",b\nA,1,2\nB,3,4\nC,5\n"}, // not split at ';', although the first line contains one
        {MERCER_E_DATA, "line 1 has 1 field and line 3 has 3: remove the lines before the header",
         "Instrument: XYZ\n\na,b,c\n1,2,3\n"},
        {MERCER_E_DATA, "line 1 has 1 field and line 4 has 2: remove the lines before the header",
         "Instrument: XYZ\nOperator: A B\n\na;b\n1;2\n"},
        {MERCER_E_DATA, "line 3, column 1: '0x1F' is hexadecimal",
         "x,\"\"\n1,2\n1,0x1F\n"}, // the header has no name for column 1
        {MERCER_E_DATA, "line 3, column 'y': '1e999' is out of the range of f64", "x,y\n1,2\n3,1e999\n"},
        {MERCER_E_DATA, "line 2, column 'x': '0x1F' is hexadecimal", "x,y\n0x1F,2\n"},
        {MERCER_E_DATA, "line 1, column 1: 'inf' is infinite", "1,inf\n"},
        {MERCER_E_DATA, "line 1, column 1: '2,5' contains a comma, must have a decimal point", "1;2,5\n"},
        {MERCER_E_DATA, "line 2, column 1: 'abc' is not a number", "1,2\n3,abc\n"},
        {MERCER_E_DATA, "line 2, column 1: '4 5' is not a number", "1,2\n3,4 5\n"},
        {MERCER_E_DATA, "line 2, column 'x': 'a' is not a number", "x,y\na,1\n", with("", "", "x")},
        {MERCER_E_DATA, "line 1, column 1: a NUL byte", "1,\0\n"s},
        {MERCER_E_DATA, "line 2, column 0: a NUL byte", "1,2\n\"a\0\",2\n"s},
        {MERCER_E_DATA, "line 1, column 0: a NUL byte", "\0\0\0\0"s},
        {MERCER_E_DATA, "line 2, column 1: a quote that is never closed", "1,2\n3,\"4\n5,6\n"},
        {MERCER_E_DATA, "line 2, column 1: a quote that is never closed", "1,2\n3,\"4\"\"\n"},
        {MERCER_E_DATA, "line 1, column 0: text follows a closing quote", "\"1\"2,3\n"},
        {MERCER_E_DATA, "line 2, column 0: text follows a closing quote", "\"1\n\"2,3\n"},
        {MERCER_E_DATA, "'?? z' is not UTF-8 text", "x,\xc0\x80 z\n1,2\n"},
        {MERCER_E_DATA, "is not UTF-8 text", "\xed\xa0\x80,y\n1,2\n"},
        {MERCER_E_DATA, "column 1: '?' is not UTF-8 text", "1,\xff\n", with("1", "", "")},
        {MERCER_E_DATA, "line 1, column 2: 'x' is already the name of column 0", "x,y,x\n1,2,3\n"},
        {MERCER_E_DATA, "has no numeric column", "x,y\na,b\n"},
        {MERCER_E_DATA, "has no numeric column", "x,y\n,NA\n"},
        {MERCER_E_DATA, "has no numeric column", "1\n2\n", with("0", "", "")},
        {MERCER_E_DATA, "line 3, column 'w': '-1' is not a weight, must be a number >= 0", "x,w\n1,2\n3,-1\n",
         with("", "w", "")},
        {MERCER_E_DATA, "'NA' is not a weight", "x,w\n1,NA\n", with("", "w", "")},
        {MERCER_E_NAME, "labels: column 2, must be 0 to 1", "1,2\n", with("2", "", "")},
        {MERCER_E_NAME, "weights: column -1, must be 0 to 1", "1,2\n", with("", "-1", "")},
        {MERCER_E_NAME, "labels: column 'y', but the file has no header", "1,2\n", with("y", "", "")},
        {MERCER_E_NAME, "'hight': did you mean 'height'?", "height,y\n1,2\n", with("", "", "hight")},
        {MERCER_E_VALUE, "columns: '0' is listed twice", "x,y\n1,2\n", with("", "", "x,0")},
        {MERCER_E_VALUE, "columns = ' ' contains no name", "1,2\n", with("", "", " ")},
        {MERCER_E_DATA, "columns': line 1, column 0: a quote that is never closed", "1,2\n", with("", "", "\"x")},
    };
    for (const Case &c : cases) expect_error(c.code, c.part, [&] { open_text(folder, c.text, c.options); });
    CsvOptions commas;
    commas.separator = ',';
    const std::string endless(static_cast<size_t>(CsvRecords::longest_record) + 1, '1');
    expect_error(MERCER_E_DATA, "line 2: a record of more than 67108864 bytes",
                 [&] { open_text(folder, "1,2\n" + endless + "\n", commas); });
    expect_error(MERCER_E_DATA, "fields, must be at most 1048576",
                 [&] { open_text(folder, std::string(1 << 20, ',') + "\n", commas); });
    expect_error(MERCER_E_IO, "No such file", [&] {
        RunSettings settings;
        Run run(settings, nullptr);
        open_csv(run, folder.path("missing.csv"), {});
    });
}

// The decimal point of numbers does not depend on the locale of the process.
void test_locale() {
    TempFolder folder;
    const std::string before = std::setlocale(LC_ALL, nullptr);
    for (const char *name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C"}) {
        if (!std::setlocale(LC_ALL, name)) continue;
        TEST_ASSERT_TRUE((values_of(open_text(folder, "1.5;2.25\n3;4\n")) == std::vector<double>{1.5, 2.25, 3, 4}));
    }
    std::setlocale(LC_ALL, before.c_str());
}

// Checks rows that are stored in several pieces, a window of rows that crosses pieces, and that the
// stored rows count in the budget.
void test_pieces() {
    TempFolder folder;
    constexpr int64_t n = 40000, d = 7;
    oracle::Numbers numbers(1);
    std::string text;
    std::vector<double> right;
    for (int64_t k = 0; k < n * d; ++k) {
        right.push_back(numbers());
        char number[32];
        std::snprintf(number, sizeof number, "%.17g", right.back());
        text += std::string(number) + (k % d == d - 1 ? "\n" : ",");
    }
    const CsvFile file = open_text(folder, text);
    TEST_ASSERT_TRUE(values_of(file) == right);
    std::vector<float> window(static_cast<size_t>(30000 * d));
    file.source->read(9999, 30000, window.data());
    for (size_t k = 0; k < window.size(); ++k) TEST_ASSERT_TRUE(window[k] == static_cast<float>(right[9999 * d + k]));
    const int64_t held = file.source->stored_bytes();
    TEST_ASSERT_TRUE(held >= n * d * 8 && held <= n * d * 8 + (int64_t{1} << 20));
    RunSettings settings;
    settings.run.memory = held / 2;
    Run small(settings, nullptr);
    expect_error(MERCER_E_BUDGET, "budget", [&] { open_csv(small, folder.path("x.csv"), {}); });
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_records);
    RUN_TEST(test_windows);
    RUN_TEST(test_numbers);
    RUN_TEST(test_header_and_separator);
    RUN_TEST(test_columns_and_labels);
    RUN_TEST(test_lines_of_the_file);
    RUN_TEST(test_refused);
    RUN_TEST(test_locale);
    RUN_TEST(test_pieces);
    return UNITY_END();
}
