// Benchmark rows for files: a CSV file is read into memory as numbers.
#include "problem.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace {

constexpr int64_t D = 16;

// Writes a line of column names, and numbers with enough digits to be read back unchanged.
void write_csv(const std::string &path, const Table<double> &x) {
    std::ofstream file(path);
    for (int64_t j = 0; j < x.d; ++j) file << (j ? "," : "") << "column" << j;
    char text[32];
    for (int64_t k = 0; k < x.n * x.d; ++k) {
        const char *end = std::to_chars(text, text + sizeof text, x.values[static_cast<size_t>(k)]).ptr;
        file << (k % x.d ? ',' : '\n') << std::string_view(text, static_cast<size_t>(end - text));
    }
    file << '\n';
}

// Returns the seconds of reading the file into memory and converting each number by
// std::from_chars, which no reader with one thread can avoid.
double seconds_of_numbers(const std::string &path, int64_t count) {
    Clock clock;
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    const std::string text = std::move(all).str();
    std::vector<double> values(static_cast<size_t>(count));
    const char *at = text.data() + text.find('\n'), *end = text.data() + text.size();
    for (double &value : values) at = std::from_chars(at + 1, end, value).ptr;
    return clock.seconds();
}

void csv(Bench &bench, Row &row) {
    const Table<double> x = clusters<double>(bench.rows(200000), D, 20, 1);
    const std::string path = bench.file(row.name + ".csv");
    write_csv(path, x);
    Bench *own = &bench;
    row.ours = [=] {
        Clock clock;
        mercer::Data::from_file(own->context, path);
        return clock.seconds();
    };
    row.limit = [path, count = x.n * x.d] { return seconds_of_numbers(path, count); };
    const double bytes = static_cast<double>(std::ifstream(path, std::ios::ate).tellg());
    row.checks.push_back({"MB of text", bytes / 1e6, PRINTED});
    row.checks.push_back({"MB a second", bytes / 1e6 / row.ours(), PRINTED});
    bench.against(row, bench.python, "NumPy loadtxt", NONE, "csv_numpy", path, {});
    bench.against(row, bench.python, "pandas, as exact", NONE, "csv_pandas", path, {});
}

} // namespace

std::vector<Entry> data_rows() {
    return {{"csv", "a CSV file of 200 000 x 16 numbers of 17 digits, read into memory", false, csv}};
}
