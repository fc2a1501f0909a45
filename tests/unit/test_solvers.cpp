// Compares all solvers with Jacobi rotations on random matrices, requests and settings, with and
// without rough products. For every request, the reported residuals must be true, the vectors
// orthonormal and the costs within the forecast. A solver that reports convergence must have found
// the algebraically largest eigenvalues.
#include "check/check_matrix.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <cstdlib>
#include <string>

using namespace mercer;

namespace {

uint64_t first_problem = 1;
int64_t problems = 240;

// ---- matrices

oracle::Vector spectrum_of(oracle::Numbers &random, int64_t n, std::string *text) {
    const char *names[] = {"fast",     "slow",       "even",           "clusters",          "flat",
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

// Q diag(spectrum) Q^T, where Q is a product of random reflections.
class Problem {
  public:
    std::string text;
    mercer::Matrix matrix; // only its operator is used; its values are replaced below
    oracle::Vector exact;
    oracle::Matrix vectors;

    Problem(uint64_t seed) : Problem(oracle::Numbers(seed)) {}

  private:
    Problem(oracle::Numbers random)
        : matrix("", oracle::Vector(static_cast<size_t>(1 + 199 * std::pow(random.uniform(), 3)))) {
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
    static void reflect(oracle::Matrix &a, oracle::Numbers &random) { // A becomes H A H, exactly symmetric
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

// ---- what is asked

struct Case {
    const Problem &problem;
    Request request;
    std::string text; // for messages
};

Case case_of(const Problem &problem, uint64_t seed) {
    oracle::Numbers random(seed + 1000003);
    const int64_t n = problem.matrix.n;
    auto up_to = [&](int64_t most) { return 1 + static_cast<int64_t>(random.uniform() * static_cast<double>(most)); };
    const double all = random.uniform(), tols[] = {1e-4, 1e-5, 1e-7, 1e-9, 1e-12};
    const int64_t r = all < 0.1 ? n : up_to(std::min<int64_t>(n, 20));
    Case c{problem, {r, tols[up_to(5) - 1]}, ""};
    if (random.uniform() < 0.2) c.request.max_passes = up_to(6);
    // Start vectors: none, or the top eigenvectors with or without an error, or columns that are 0
    // or dependent.
    const double guess = random.uniform();
    const int64_t given = guess < 0.4 ? std::min(n, up_to(2 * r)) : 0;
    for (int64_t j = 0; j < given; ++j)
        for (int64_t i = 0; i < n; ++i)
            c.request.guess.push_back(guess > 0.3 ? static_cast<double>(j % 3 * i)
                                                  : problem.vectors(i, j) + (guess > 0.2   ? 1
                                                                             : guess > 0.1 ? 1e-4
                                                                                           : 0) *
                                                                                random());
    char text[200];
    std::snprintf(text, sizeof text, "problem %d: %s, n = %d, r = %d, tol = %g, max_passes = %d, start = %d", int(seed),
                  problem.text.c_str(), int(n), int(r), c.request.tol, int(c.request.max_passes), int(given));
    c.text = text;
    return c;
}

// ---- what must hold

void expect(bool holds, const std::string &text, const char *what, double value, double allowed) {
    if (holds) return;
    char message[500];
    std::snprintf(message, sizeof message, "%s: %s = %.9g, allowed %.9g", text.c_str(), what, value, allowed);
    TEST_FAIL_MESSAGE(message);
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

void check_pairs(const Case &c, const Solution &s, const std::string &text) {
    const mercer::Matrix &m = c.problem.matrix;
    const double rounding = m.rounding(), f32 = m.roughs > 0 ? tolerance::rough_image(m.norm) : 0;
    const double unseen = rounding + (m.products > 0 ? 0 : f32),
                 allowed = std::max(c.request.tol * std::fabs(s.values[0]), rounding);
    for (int64_t j = 0; j < c.request.r; ++j) {
        const double is = residual(m, s, j), said = s.residuals[static_cast<size_t>(j)];
        const double value = s.values[static_cast<size_t>(j)], lambda = c.problem.exact[static_cast<size_t>(j)];
        expect(is <= said * (1 + 1e-6) + unseen, text, "true residual", is, said);
        expect(said <= is * (1 + 1e-6) + rounding + f32, text, "residual told", said, is);
        for (int64_t k = 0; k <= j; ++k) {
            const double dot = oracle::dot(s.vectors.data() + k * m.n, s.vectors.data() + j * m.n, m.n);
            expect(std::fabs(dot - (k == j)) <= 128 * static_cast<double>(m.n) * tolerance::u64, text, "product", dot,
                   k == j);
        }
        expect(value <= lambda + rounding + f32, text, "value above the eigenvalue", value, lambda); // by interlacing
        if (!s.out.converged) continue;
        expect(is <= allowed * (1 + 1e-6) + unseen - rounding, text, "residual of a converged pair", is, allowed);
        // Eigenvalues that are nearer to each other than a few residuals cannot be separated, so a
        // value may be too small by that much.
        expect(value >= lambda - 4 * allowed, text, "value below the eigenvalue", value, lambda);
    }
    expect(s.out.most_negative >= c.problem.exact.back() - rounding - f32, text, "most negative", s.out.most_negative,
           c.problem.exact.back());
}

void check_figures(const Case &c, const Solution &s, const std::string &text) {
    const mercer::Matrix &m = c.problem.matrix;
    auto at_most = [&](int64_t value, int64_t allowed, const char *what) {
        expect(value <= allowed, text, what, static_cast<double>(value), static_cast<double>(allowed));
    };
    expect(s.out.applies == m.applies, text, "applies", static_cast<double>(s.out.applies),
           static_cast<double>(m.applies));
    expect(s.out.passes == m.calls(), text, "passes", static_cast<double>(s.out.passes),
           static_cast<double>(m.calls()));
    at_most(s.out.passes, s.cost.passes, "passes");
    at_most(s.allocated, s.cost.bytes, "bytes");
    at_most(s.columns, s.cost.blocks, "blocks");
    at_most(m.first, std::max(s.cost.columns, s.cost.first_columns), "columns of the first product");
    at_most(m.widest, s.cost.columns, "columns");
    if (c.request.max_passes > 0) at_most(m.products + m.roughs, c.request.max_passes, "products");
}

// ---- tests

struct Tally {
    int64_t calls = 0, converged = 0;
};

void run_one(Registry &registry, const char *name, const Case &c, uint64_t seed, bool rough, Tally &tally) {
    auto plugin = registry.find(Kind::solver, name);
    Params params(plugin->params);
    std::string text = std::string(name) + (rough ? ", rough, " : ", ") + c.text;
    // Every other request sets the first parameter (block, oversample) to a small number.
    if (!params.table().rows().empty() && seed % 2 == 0) {
        params.set(0, std::to_string(1 + seed / 2 % 10), params.table().rows()[0].row.name);
        text = std::to_string(1 + seed / 2 % 10) + " columns, " + text;
    }
    const mercer::Matrix &m = c.problem.matrix;
    m.forget();
    Run run({}, nullptr);
    Solution s = solve(run, *plugin, params, m.op(rough), c.request, seed);
    expect(s.status == MERCER_OK, text, s.error.c_str(), s.status, 0);
    check_pairs(c, s, text);
    check_figures(c, s, text);
    tally.calls += c.request.max_passes == 0, tally.converged += s.out.converged && c.request.max_passes == 0;
}

void test_random() {
    Registry registry;
    std::map<std::string, Tally> tallies;
    for (int64_t i = 0; i < problems; ++i) {
        const uint64_t seed = first_problem + static_cast<uint64_t>(i);
        Problem problem(seed);
        Case c = case_of(problem, seed);
        for (const char *name : {"dense", "orthogonal", "block-krylov"})
            for (bool rough : {false, true}) run_one(registry, name, c, seed, rough, tallies[name]);
    }
    // At least 90 % of the calls must converge, so that no solver passes by giving up. Slow
    // spectra, which may not converge, are a few in a hundred.
    for (auto &[name, tally] : tallies) {
        const double share = static_cast<double>(tally.converged) / static_cast<double>(tally.calls);
        expect(tally.calls < 100 || share >= 0.9, name, "share that converged", share, 0.9);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

// `test_solvers FIRST COUNT` runs COUNT problems, beginning with number FIRST.
int main(int argc, char **argv) {
    if (argc == 3) first_problem = std::strtoull(argv[1], nullptr, 10), problems = std::strtoll(argv[2], nullptr, 10);
    UNITY_BEGIN();
    RUN_TEST(test_random);
    return UNITY_END();
}
