// bench.h - a row of the bench: what it runs, which ratios it must reach, and its results.
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
    // data: the folder of the data sets; json: the file of results; here: the folder of the bench's
    // own sources, among them the peers.
    std::string data, json = "bench.json", here;
    std::vector<std::string> rows;
};

// Thrown by a row that cannot be measured on this machine or with these options; what() says why.
struct Skipped : std::runtime_error {
    using runtime_error::runtime_error;
};

class Clock {
  public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr double NONE = 0;           // as a demanded or allowed ratio: the ratio is only printed
constexpr double PRINTED = INFINITY; // as the bound of a check: the value is only printed

inline double best(const std::vector<double> &runs) { return *std::min_element(runs.begin(), runs.end()); }

struct Contestant {
    std::string name;
    double demanded = NONE;      // the least ratio of its seconds to ours that meets the demand
    std::function<double()> run; // returns the seconds of one run; empty if it cannot run
    std::string remark;          // why it cannot run, or what it reported about itself
    std::vector<double> runs;    // the seconds of all runs, in order
    bool judged() const { return demanded > NONE && !runs.empty(); }
};

// A demand on a value that does not depend on the clock, such as an error, a number of passes or an
// amount of memory.
struct Check {
    std::string what;
    // value must be at most `most`. An unknown value is NaN, which counts as missed. If `most` is
    // PRINTED, the value is only printed.
    double value, most;
    bool missed() const { return most != PRINTED && !(value <= most); }
};

struct Row {
    std::string name, what;
    std::function<double()> ours, limit; // each returns the seconds of one run
    double allowed = NONE;               // the largest ratio of our seconds to those of the limit
    // True if `limit` is code of this bench. `limit` then also serves as the probe, which shows
    // whether the machine is quiet.
    bool physical = true;
    int rounds = 0; // number of rounds; 0: as many as the options demand
    std::vector<Contestant> peers;
    std::vector<Check> checks;

    // Returns true if we would have to be faster than the limit to reach the ratio demanded for
    // this peer. No implementation can be that fast on this machine, so the limit alone decides.
    bool beyond(const Contestant &peer) const {
        return physical && peer.judged() && !limit_runs.empty() && best(peer.runs) < peer.demanded * best(limit_runs);
    }

    std::vector<double> ours_runs, limit_runs; // the seconds of all runs of the last attempt
    double before = 0, after = 0;              // the seconds of the probe before and after the row
    int attempts = 0;                          // how often the row was measured
    // verdict is "met", "missed", "no verdict", "printed", "skipped", "not built yet" or "failed".
    std::string verdict, reason;
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

    // Adds a contestant to the row: the peer is sent `request` with this path and these numbers,
    // and the seconds that it answers are multiplied by `times`. An absent peer is shown as absent.
    void against(Row &row, Peer &peer, std::string name, double demanded, std::string request, std::string path,
                 std::vector<double> numbers, double times = 1);

  private:
    std::string folder_; // a temporary folder for files that peers read
};

struct Entry {
    std::string name, what;
    bool full; // whether the row is measured with --full only
    std::function<void(Bench &, Row &)> make;
};
std::vector<Entry> kernel_rows();
std::vector<Entry> exact_rows();
std::vector<Entry> reduced_rows();
std::vector<Entry> centre_rows();
std::vector<Entry> akfa_rows();
std::vector<Entry> transform_rows();
std::vector<Entry> data_rows();
std::vector<Entry> method_rows();
std::vector<Entry> manifold_rows();
std::vector<Entry> shadow_rows();
std::vector<Entry> rskpca_rows();

void measure(Row &row, const Options &options); // runs all contestants in turn and sets the verdict
void print(const Row &row);
void print_head(Bench &bench, Json &json);
void print_table(const std::vector<Row> &rows);
Json json_of(const Row &row);

// Measures the largest resident memory of this process since the object was constructed, minus the
// resident memory at that time.
class Growth {
  public:
    Growth();
    double mebibytes() const;

  private:
    double start_;
};
