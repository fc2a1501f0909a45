// bench [--check] [--full] [--tiny] [--list] [--data DIR] [--threads N] [--rounds N] [--json FILE] [ROW...]
//
// Measures the rows whose names begin with one of ROW, or all rows if there is none; README.md
// describes the rows. The exit status with --check is 1 if a row missed a demand, failed or is not
// built yet, else 3 if a row has no verdict, else 0.
#include "bench.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <unistd.h>

namespace {

std::string python_of(const std::string &here) { return here + "/peers/peer.py"; }

std::string temporary_folder() {
    std::string name = std::filesystem::temp_directory_path() / "mercer-bench-XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    return name;
}

Options parse(int count, char **words) {
    Options out;
    if (const char *folder = std::getenv("MERCER_DATA")) out.data = folder;
    out.here = BENCH_SOURCE;
    for (int k = 1; k < count; ++k) {
        const std::string word = words[k];
        const auto value = [&] {
            if (++k == count) throw std::runtime_error(word + " needs a value");
            return std::string(words[k]);
        };
        if (word == "--check")
            out.check = true;
        else if (word == "--full")
            out.full = true;
        else if (word == "--tiny")
            out.tiny = true, out.rounds = 2;
        else if (word == "--list")
            out.list = true;
        else if (word == "--data")
            out.data = value();
        else if (word == "--json")
            out.json = value();
        else if (word == "--threads")
            out.threads = std::stoi(value());
        else if (word == "--rounds")
            out.rounds = std::stoi(value());
        else if (word.rfind("--", 0) == 0)
            throw std::runtime_error("unknown: " + word);
        else
            out.rows.push_back(word);
    }
    return out;
}

std::vector<Entry> chosen(const Options &options) {
    std::vector<Entry> out;
    for (const auto &part : {kernel_rows(), exact_rows(), reduced_rows(), centre_rows(), akfa_rows(), manifold_rows(),
                             transform_rows(), data_rows(), method_rows(), shadow_rows(), rskpca_rows()})
        for (const Entry &entry : part) {
            bool wanted = options.rows.empty();
            for (const std::string &start : options.rows) wanted |= entry.name.rfind(start, 0) == 0;
            if (wanted) out.push_back(entry);
        }
    if (out.empty()) throw std::runtime_error("no such row; --list names them");
    return out;
}

Row run_row(Bench &bench, const Entry &entry) {
    Row row;
    row.name = entry.name;
    row.what = entry.what;
    const auto end = [&](const char *verdict, const std::string &why) {
        row.verdict = verdict, row.reason = " " + why;
    };
    try {
        if (entry.full && !bench.options.full) throw Skipped("only with --full");
        entry.make(bench, row);
        measure(row, bench.options);
    } catch (const Skipped &why) {
        end("skipped", why.what());
    } catch (const mercer::Error &error) {
        end(error.code() == MERCER_E_NAME ? "not built yet" : "failed", error.what());
    } catch (const std::exception &error) {
        end("failed", error.what());
    }
    row.ours = row.limit = nullptr; // this also frees the data of the row
    for (Contestant &peer : row.peers) peer.run = nullptr;
    return row;
}

int status_of(const std::vector<Row> &rows) {
    int status = 0;
    for (const Row &row : rows) {
        if (row.verdict == "missed" || row.verdict == "failed" || row.verdict == "not built yet") return 1;
        if (row.verdict == "no verdict") status = 3;
    }
    return status;
}

int run(const Options &options) {
    const std::vector<Entry> entries = chosen(options);
    if (options.list) {
        for (const Entry &entry : entries) std::printf("%-22s %s\n", entry.name.c_str(), entry.what.c_str());
        return 0;
    }
    Bench bench(options);
    Json json;
    print_head(bench, json);
    std::vector<Row> rows;
    for (const Entry &entry : entries) {
        rows.push_back(run_row(bench, entry));
        print(rows.back());
        json["rows"].push_back(json_of(rows.back()));
        std::ofstream(options.json) << json.dump(1) << "\n"; // written after each row, in case the run is stopped
    }
    print_table(rows);
    if (options.tiny) // the times mean nothing, but no row may fail
        return std::any_of(rows.begin(), rows.end(), [](const Row &row) { return row.verdict == "failed"; });
    return options.check ? status_of(rows) : 0;
}

} // namespace

Bench::Bench(Options given)
    : options(std::move(given)), python({"/usr/bin/python3", "-B", python_of(options.here)}),
      spectra({BENCH_BUILD "/bench_spectra"}),
      octave({"octave-cli", "--no-init-file", "--norc", "--no-history", "-q", options.here + "/peers/peer.m"}),
      r({"Rscript", "--vanilla", options.here + "/peers/peer.R"}), folder_(temporary_folder()) {
    context.set_run(run());
}

Bench::~Bench() { std::filesystem::remove_all(folder_); }

mercer::Run Bench::run(int64_t memory) const {
    mercer::Run out;
    out.threads = options.threads;
    out.memory = memory;
    return out;
}

void Bench::against(Row &row, Peer &peer, std::string name, double demanded, std::string request, std::string path,
                    std::vector<double> numbers, double times) {
    Contestant contestant{std::move(name), demanded, nullptr, "", {}};
    const size_t place = row.peers.size();
    contestant.run = [&peer, &row, place, request, path, numbers, times] {
        const Answer answer = peer.ask(request, path, numbers);
        row.peers[place].remark = answer.remark;
        return answer.seconds * times;
    };
    row.peers.push_back(std::move(contestant));
}

int main(int count, char **words) {
    try {
        return run(parse(count, words));
    } catch (const std::exception &error) {
        std::cerr << "bench: " << error.what() << "\n";
        return 2;
    }
}
