// bench.h - a row of the bench: what it runs, what it must reach, what came out.
#pragma once

#include "limit.h"
#include "peer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <mercer/mercer.hpp>
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

struct Options {
    bool check = false, full = false, tiny = false, list = false;
    int threads = 2, rounds = 5;
    std::string data, json = "bench.json", here; // here: folder of the bench's own files (peers)
    std::vector<std::string> rows;
};

// What cannot be measured here; what() says why.
struct Skipped : std::runtime_error {
    using runtime_error::runtime_error;
};

class Clock {
  public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr double NONE = 0; // no ratio is demanded: printed only
constexpr double PRINTED = INFINITY;

inline double best(const std::vector<double> &runs) { return *std::min_element(runs.begin(), runs.end()); }

struct Contestant {
    std::string name;
    double demanded = NONE;      // its seconds / ours, at least
    std::function<double()> run; // seconds; empty: see remark
    std::string remark;          // why it did not run, or what it was
    std::vector<double> runs;    // all, in order
    bool judged() const { return demanded > NONE && !runs.empty(); }
};

struct Check { // what no clock decides
    std::string what;
    double value, most; // NaN: not known, which is a miss; most = PRINTED: printed only
    bool missed() const { return most != PRINTED && !(value <= most); }
};

struct Row {
    std::string name, what;
    std::function<double()> ours, limit; // seconds
    double allowed = NONE;               // ours / limit, at most
    bool physical = true;                // limit is code of this bench: it shows as well whether the machine is quiet
    int rounds = 0;                      // 0: as the options say
    std::vector<Contestant> peers;
    std::vector<Check> checks;

    // What is demanded of this peer would take less than the limit on this machine: nobody can meet it, the limit decides.
    bool beyond(const Contestant &peer) const {
        return physical && peer.judged() && !limit_runs.empty() && best(peer.runs) < peer.demanded * best(limit_runs);
    }

    std::vector<double> ours_runs, limit_runs;
    double before = 0, after = 0; // the probe
    int attempts = 0;
    std::string verdict, reason; // met, missed, no verdict, printed, skipped, not built yet, failed
};

class Bench {
  public:
    explicit Bench(Options given);
    Bench(const Bench &) = delete;
    ~Bench();

    const Options options;
    mercer::Context context;
    Peer python, spectra, octave, r;

    mercer::Run run(int64_t memory = 0) const;
    int64_t rows(int64_t n) const { return options.tiny ? std::max<int64_t>(n / 50, 200) : n; }
    int64_t centres(int64_t m) const { return options.tiny ? m / 10 : m; }
    std::string file(const std::string &name) const { return folder_ + "/" + name; }

    // A contestant that is asked for `name` with these numbers; one that is absent says so in the output.
    void against(Row &row, Peer &peer, std::string name, double demanded, std::string request, std::string path,
                 std::vector<double> numbers, double times = 1);

  private:
    std::string folder_; // temporary
};

struct Entry {
    std::string name, what;
    bool full; // with --full only
    std::function<void(Bench &, Row &)> make;
};
std::vector<Entry> kernel_rows();
std::vector<Entry> exact_rows();
std::vector<Entry> reduced_rows();
std::vector<Entry> centre_rows();
std::vector<Entry> transform_rows();
std::vector<Entry> data_rows();
std::vector<Entry> method_rows();
std::vector<Entry> manifold_rows();
std::vector<Entry> shadow_rows();
std::vector<Entry> rskpca_rows();

void measure(Row &row, const Options &options); // runs all contestants in turn, then decides
void print(const Row &row);
void print_head(Bench &bench, Json &json);
void print_table(const std::vector<Row> &rows);
Json json_of(const Row &row);

// Bytes by which this process's resident memory has grown at its highest since the constructor.
class Growth {
  public:
    Growth();
    double mebibytes() const;

  private:
    double start_;
};
