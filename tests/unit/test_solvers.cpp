// Random matrices, requests and settings through all solvers, with and without rough products, against Jacobi rotations.
// What must hold whatever is asked: residuals are true, vectors orthonormal, figures within the forecast; and a solver that
// says converged has the algebraic top.
#include "check/check_matrix.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <cstdlib>
#include <string>

using namespace mercer;

namespace {

constexpr int64_t problems = 240;

// ---- matrices

oracle::Vector spectrum_of(oracle::Numbers &random, int64_t n, std::string *text) {
    const char *names[] = {"fast",    "slow",       "even",      "clusters",   "flat",
                           "low rank", "indefinite", "large negative", "two-sided clusters"};
    const int64_t kind = static_cast<int64_t>(9 * random.uniform());
    const double scale = std::pow(10, 6 * random()), count = static_cast<double>(n);
    const int64_t rank = 1 + static_cast<int64_t>(random.uniform() * std::min<double>(count, 12));
    *text = names[kind];
    oracle::Vector out;
    for (int64_t i = 0; i < n; ++i) {
        const double at = static_cast<double>(i), cluster = std::floor(6 * random.uniform());
        const double values[] = {std::exp(-at / 2),
                                 1 / std::sqrt(1 + at),
                                 1 - at / count,
                                 std::pow(0.3, cluster),
                                 1 + 1e-9 * random(),
                                 i < rank ? std::pow(0.5, at) : 0,
                                 random(),
                                 i < rank ? 1 / (1 + at) : -30 * random.uniform(),
                                 cluster - 2};
        out.push_back(scale * values[kind]);
    }
    return out;
}

// Q diag(spectrum) Q^T, Q of random reflections.
class Problem {
  public:
    std::string text;
    mercer::Matrix matrix; // only its operator is used: the values in it are made here
    oracle::Vector exact;
    oracle::Matrix vectors;

    Problem(uint64_t seed) : Problem(oracle::Numbers(seed)) {}

  private:
    Problem(oracle::Numbers random)
        : matrix("", oracle::Vector(static_cast<size_t>(1 + 199 * std::pow(random.uniform(), 2)))) {
        const int64_t n = matrix.n;
        oracle::Vector spectrum = spectrum_of(random, n, &text);
        oracle::Matrix a(n, n);
        for (int64_t i = 0; i < n; ++i) a(i, i) = spectrum[static_cast<size_t>(i)];
        for (int turn = 0; turn < 3; ++turn) reflect(a, random);
        exact = oracle::eigen(a, vectors);
        matrix.a = a.v;
        for (double value : exact) matrix.norm = std::max(matrix.norm, std::fabs(value));
        for (size_t i = 0; i < a.v.size(); ++i)
            matrix.a_32[i] = matrix.norm > 0 ? static_cast<float>(a.v[i] / matrix.norm) : 0;
    }
    static void reflect(oracle::Matrix &a, oracle::Numbers &random) { // H A H, exactly symmetric
        const int64_t n = a.rows;
        oracle::Vector v, w;
        for (int64_t i = 0; i < n; ++i) v.push_back(random());
        const double length = std::sqrt(oracle::dot(v.data(), v.data(), n));
        for (double &value : v) value /= length;
        for (int64_t i = 0; i < n; ++i) w.push_back(2 * oracle::dot(a.row(i), v.data(), n));
        const double half = oracle::dot(w.data(), v.data(), n) / 2;
        for (int64_t i = 0; i < n; ++i) w[static_cast<size_t>(i)] -= 2 * half * v[static_cast<size_t>(i)];
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j <= i; ++j) {
                const size_t s = static_cast<size_t>(i), t = static_cast<size_t>(j);
                a(i, j) -= v[s] * w[t] + w[s] * v[t];
                a(j, i) = a(i, j);
            }
    }
};

// ---- one call

struct Case {
    const Problem &problem;
    mercer_eigen_request request;
    std::string text; // for messages
    bool rough;
    const oracle::Vector &exact() const { return problem.exact; }
};

void expect(bool holds, const Case &c, const char *what, double value, double allowed) {
    if (holds) return;
    char text[400];
    std::snprintf(text, sizeof text, "%s: %s = %.6g, allowed %.6g; norm %g products %d rough %d", c.text.c_str(), what, value, allowed, c.problem.matrix.norm, int(c.problem.matrix.products), int(c.problem.matrix.roughs));
    if (getenv("KEEP")) { fprintf(stderr, "FAIL %s\n", text); return; }
    TEST_FAIL_MESSAGE(text);
}

double residual(const mercer::Matrix &m, const Solution &s, int64_t j) {
    const double *v = s.vectors.data() + j * m.n, scale = m.norm > 0 ? m.norm : 1;
    double sum = 0;
    for (int64_t i = 0; i < m.n; ++i) {
        const double e = (oracle::dot(m.a.data() + i * m.n, v, m.n) - s.values[static_cast<size_t>(j)] * v[i]) / scale;
        sum += e * e;
    }
    return scale * std::sqrt(sum);
}

void check(const Case &c, const Solution &s) {
    const mercer::Matrix &m = c.problem.matrix;
    const double rounding = m.rounding(), allowed = std::max(c.request.tol * std::fabs(s.values[0]), rounding);
    const double room = m.roughs > 0 ? 16 * tolerance::u32 * m.norm : 0; // of f32, in what is told
    expect(s.status == MERCER_OK, c, s.error.c_str(), s.status, 0);
    for (int64_t j = 0; j < c.request.r; ++j) {
        const size_t at = static_cast<size_t>(j);
        const double is = residual(m, s, j), said = s.residuals[at], lambda = c.exact()[at];
        expect(is <= said * (1 + 1e-6) + (m.products > 0 ? rounding : room), c, "true residual", is, said);
        expect(said <= is * (1 + 1e-6) + rounding + room, c, "residual told", said, is);
        for (int64_t k = 0; k <= j; ++k) {
            const double dot = oracle::dot(s.vectors.data() + k * m.n, s.vectors.data() + j * m.n, m.n);
            expect(std::fabs(dot - (k == j)) <= 128 * static_cast<double>(m.n) * tolerance::u64, c, "product", dot, k == j);
        }
        expect(s.values[at] <= lambda + rounding + room, c, "a value above its eigenvalue", s.values[at], lambda);
        if (!s.out.converged) continue;
        expect(is <= allowed * (1 + 1e-6), c, "residual of a converged pair", is, allowed);
        expect(s.values[at] >= lambda - 4 * allowed, c, "a value below its eigenvalue", s.values[at], lambda);
    }
    expect(s.out.most_negative >= c.exact().back() - rounding - room, c, "most negative", s.out.most_negative, c.exact().back());
    expect(s.out.passes == m.calls() && s.out.passes <= s.cost.passes, c, "passes", double(s.out.passes),
           double(s.cost.passes));
    expect(s.allocated <= s.cost.bytes, c, "bytes", double(s.allocated), double(s.cost.bytes));
    if (c.request.max_passes > 0)
        expect(m.products + m.roughs <= c.request.max_passes, c, "products", double(m.products + m.roughs),
               double(c.request.max_passes));
}

struct Tally {
    int64_t calls = 0, converged = 0, passes = 0, roughs = 0;
};

void run_all(uint64_t seed, Registry &registry, std::map<std::string, Tally> &tally) {
    Problem problem(seed);
    oracle::Numbers random(seed + 1000003);
    const mercer::Matrix &m = problem.matrix;
    const double which = random.uniform(), tols[] = {1e-3, 1e-5, 1e-7, 1e-9, 1e-12};
    int64_t r = which < 0.1 ? m.n : which < 0.2 ? 1 : 1 + static_cast<int64_t>(random.uniform() * std::min<double>(double(m.n), 20));
    r = std::min(r, m.n);
    mercer_eigen_request request{sizeof request, r, tols[static_cast<int64_t>(5 * random.uniform())], 0, nullptr, 0, nullptr, 0, nullptr, nullptr};
    if (random.uniform() < 0.2) request.max_passes = 1 + static_cast<int64_t>(6 * random.uniform());
    oracle::Vector start;
    const double guess = random.uniform();
    if (guess < 0.4) { // the top with an error, or anything: a zero, equal columns
        request.start_count = 1 + static_cast<int64_t>(random.uniform() * std::min<double>(double(m.n), 1.5 * double(r)));
        const double error = guess < 0.1 ? 0 : guess < 0.2 ? 1e-4 : 1;
        for (int64_t j = 0; j < request.start_count; ++j)
            for (int64_t i = 0; i < m.n; ++i)
                start.push_back(guess > 0.3 ? (j % 3 == 0 ? 0 : double(i)) : problem.vectors(i, j) + error * random());
        request.start = start.data();
    }
    Run run({}, nullptr);
    for (const char *name : {"dense", "orthogonal", "block-krylov"}) {
        auto plugin = registry.find(Kind::solver, name);
        Params params(plugin->params);
        int64_t row = plugin->params->rows().empty() ? -1 : 0;
        std::string value = "0";
        if (row == 0 && random.uniform() < 0.5) value = std::to_string(1 + int64_t(10 * random.uniform()));
        if (row == 0) params.set(row, value, "row");
        for (bool rough : {false, true}) {
            Case c{problem, request, "", rough};
            c.text = std::string(name) + (row == 0 ? " " + value : "") + (rough ? ", rough" : "") + ", problem " + std::to_string(seed) + ": " +
                     problem.text + ", n = " + std::to_string(m.n) + ", r = " + std::to_string(request.r) +
                     ", tol = " + std::to_string(std::log10(request.tol)) + ", max_passes = " + std::to_string(request.max_passes) + ", start " + std::to_string(guess) + " count " + std::to_string(request.start_count);
            if (getenv("VERBOSE")) fprintf(stderr, "%s\n", c.text.c_str());
            m.applies = m.products = m.roughs = m.denses = 0;
            Solution s = solve(run, *plugin, params, m.op(rough), request, seed);
            check(c, s);
            Tally &t = tally[std::string(name) + (rough ? ", rough" : "")];
            t.calls += 1, t.converged += s.out.converged, t.passes += s.out.passes, t.roughs += m.roughs;
            if (!s.out.converged && request.max_passes == 0 && getenv("SHOW")) fprintf(stderr, "not converged in %d (%d rough): %s: residual %g scale %g\n", int(s.out.passes), int(m.roughs), c.text.c_str(), *std::max_element(s.residuals.begin(), s.residuals.end())/m.norm, s.values[0]/m.norm);
        }
    }
}

void test_random() {
    Registry registry;
    std::map<std::string, Tally> tally;
    int64_t first = getenv("FIRST") ? atoll(getenv("FIRST")) : 1, count = getenv("COUNT") ? atoll(getenv("COUNT")) : problems;
    for (int64_t seed = first; seed < first + count; ++seed) run_all(static_cast<uint64_t>(seed), registry, tally);
    for (auto &[name, t] : tally) fprintf(stderr, "%s: %d calls, %d converged, %d passes, %d rough\n", name.c_str(), int(t.calls), int(t.converged), int(t.passes), int(t.roughs));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_random);
    return UNITY_END();
}
