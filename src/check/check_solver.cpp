// The suite of solvers: the problems that a solver must solve, and what is checked for each of
// them. The checks of a single solution are in check_solution.h.
#include "check_solution.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

Request request_for(int64_t r, double tol = 1e-8) { return {r, tol}; }

// ---- spectra

Values decaying(int64_t n, double first = 1) {
    Values out;
    for (int64_t i = 0; i < n; ++i) out.push_back(first * std::pow(1 + static_cast<double>(i), -1.5));
    return out;
}

// Eigenvalues from `first` down to `last` in equal steps, for which iterations converge slowly.
Values even(int64_t n, double first, double last) {
    Values out;
    for (int64_t i = 0; i < n; ++i)
        out.push_back(first + (last - first) * static_cast<double>(i) / static_cast<double>(n - 1));
    return out;
}

Values repeated(int64_t n) {
    Values out = decaying(n);
    std::fill_n(out.begin(), 4, 5.0);
    std::fill_n(out.begin() + 4, 3, 3.0);
    return out;
}

Values low_rank(int64_t n, int64_t rank) {
    Values out(static_cast<size_t>(n));
    for (int64_t i = 0; i < rank; ++i) out[static_cast<size_t>(i)] = static_cast<double>(rank - i);
    return out;
}

// ---- checks

class SolverSuite {
  public:
    SolverSuite(Suite &suite, bool rough, bool f32)
        : suite_(suite), rough_(rough), f32_(f32), settings_(check_settings(*suite.plugin)) {}

    Solution run(const Matrix &m, const Request &request, uint64_t seed = 1) {
        return run(suite_.run, m, request, settings_[0], seed);
    }
    Solution run(Run &run, const Matrix &m, const Request &request, const Setting &setting, uint64_t seed = 1) {
        on(m, request, setting);
        m.forget();
        return solve(run, *suite_.plugin, setting.params, m.op(rough_, f32_), request, seed);
    }
    // Solves in a separate run, which is cancelled when *flag becomes 1.
    Solution stoppable(const Matrix &m, const Request &request, const int32_t *flag) {
        RunSettings settings;
        settings.run.cancel = flag;
        settings.run.threads = suite_.run.threads();
        Run own(settings, nullptr);
        return run(own, m, request, settings_[0]);
    }
    // Solves, and checks that the solver's report is true, that it has converged, and that the
    // values are the largest eigenvalues.
    Solution solved(const Matrix &m, const Request &request, uint64_t seed = 1) {
        Solution s = run(m, request, seed);
        Values spectrum = exact(m, request);
        check_truth(m, request, s, spectrum);
        check_agreement(m, request, s, spectrum);
        return s;
    }

    void spectra();
    void small();
    void indefinite();
    void tolerances();
    void resume();
    void locked();
    void start();
    void enough();
    void max_passes();
    void operators();
    void cancel();
    void repeats();
    void settings();

  private:
    void on(const Matrix &m, const Request &request, const Setting &setting) {
        const int64_t locked = request.locked_count(m.n);
        suite_.on(m.text + ", n = " + std::to_string(m.n) + ", r = " + std::to_string(request.r) +
                  (locked ? ", locked = " + std::to_string(locked) : "") + ", " + setting.text +
                  (rough_ ? ", rough products"
                   : f32_ ? ", f32 blocks"
                          : ""));
    }
    Suite &suite_;
    bool rough_, f32_; // rough_: the operator has rough products; f32_: blocks are stored in f32
    std::vector<Setting> settings_;
};

void SolverSuite::spectra() {
    Matrix decay("decaying", decaying(120)), flat("repeated", repeated(90)), rank("rank 4", low_rank(80, 4));
    for (int64_t r : {1, 6, 120}) solved(decay, request_for(r));
    for (int64_t r : {2, 6, 8}) solved(flat, request_for(r));
    for (int64_t r : {3, 8}) solved(rank, request_for(r));
    solved(Matrix("large", decaying(600)), request_for(3)); // too large for the dense method of a solver
    // The blocks store products A v, which must stay in the range of their type.
    const double far = f32_ ? 1e20 : 1e60;
    solved(Matrix("tiny", decaying(60, 1 / far)), request_for(4));
    solved(Matrix("huge", decaying(60, far)), request_for(4));
}

void SolverSuite::small() {
    for (double value : {3.0, -2.0, 0.0}) solved(Matrix("one number", {value}), request_for(1));
    for (int64_t r : {1, 2}) solved(Matrix("two numbers", {2, -1}), request_for(r));
    for (double value : {0.0, 1.0, -1.0})
        for (int64_t r : {1, 4, 30})
            solved(Matrix(value == 0 ? "zero" : "a multiple of 1", Values(30, value)), request_for(r));
}

// A solver must return the algebraically largest eigenvalues, although those at the lower end of
// the spectrum are larger in modulus; its most_negative must show that there are negative ones.
void SolverSuite::indefinite() {
    for (int64_t r : {1, 5, 100}) {
        Solution s = solved(Matrix("indefinite", even(100, 3, -4)), request_for(r));
        if (!(s.out.most_negative < 0))
            broken("most_negative = %g, but half of the spectrum is below 0", s.out.most_negative);
    }
    solved(Matrix("negative", even(60, -1, -60)), request_for(3));
}

// Tolerances range from what the first product achieves to what rounding allows. Eigenvalues are
// accurate to residual^2 / gap, so for tol <= 1e-7 they must be accurate to rounding. In f64 blocks
// that is far below what f32 resolves, so rough products alone cannot achieve it.
void SolverSuite::tolerances() {
    Matrix m("decaying", decaying(120)), indefinite("indefinite", even(60, 1, -1));
    for (double tol : {0.3, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11}) {
        const Request request = request_for(4, tol);
        Solution s = run(m, request), other = run(indefinite, request);
        const Values spectrum = exact(m, request);
        check_truth(m, request, s, spectrum);
        check_truth(indefinite, request, other, exact(indefinite, request));
        if (!s.out.converged || !other.out.converged) broken("it did not converge to tol = %g", tol);
        for (size_t j = 0; tol <= 1e-7 && j < s.values.size(); ++j)
            if (!(std::fabs(s.values[j] - spectrum[j]) <= m.rounding()))
                broken("tol = %g: value %d is %.17g, must be %.17g", tol, int(j), s.values[j], spectrum[j]);
    }
    // No solver can reach tol = 0. It may report that it did not converge, but its report must be
    // true.
    Solution s = run(m, request_for(4, 0));
    check_truth(m, request_for(4, 0), s, exact(m, request_for(4, 0)));
}

// Checks that s, from a solver that was stopped at checkpoint `at` and resumed, has the same bits
// as `whole`, from one that was not stopped.
void check_same(const Solution &whole, const Solution &s, int64_t at) {
    auto same = [&](const char *what, double is, double must) {
        if (!(is == must))
            broken("stopped at checkpoint %d and resumed, %s is %.17g, must be %.17g", int(at), what, is, must);
    };
    same("its status", s.status, whole.status);
    for (size_t j = 0; j < s.values.size(); ++j)
        same("a value", s.values[j], whole.values[j]), same("a residual", s.residuals[j], whole.residuals[j]);
    for (size_t i = 0; i < s.vectors.size(); ++i) same("an entry of a vector", s.vectors[i], whole.vectors[i]);
    same("most_negative", s.out.most_negative, whole.out.most_negative);
    same("converged", s.out.converged, whole.out.converged);
    same("passes, of both runs,", static_cast<double>(s.out.passes), static_cast<double>(whole.out.passes));
    same("applies, of both runs,", static_cast<double>(s.out.applies), static_cast<double>(whole.out.applies));
}

// Stops the solver at each of its checkpoints and calls it again. The resumed run must give the
// same bits as an uninterrupted one, and may need at most one call of the operator more than the
// uninterrupted run needed from this checkpoint on.
void SolverSuite::resume() {
    if (!(suite_.plugin->solver.flags & MERCER_KEEPS_STATE)) return;
    for (const Values &spectrum : {even(200, 1, 0), repeated(90)}) {
        Matrix m("slow or repeated", spectrum);
        Request request = request_for(5);
        Kept nothing(m, 0, nullptr);
        request.keeper = &nothing;
        const Solution whole = solved(m, request);
        const int64_t calls = m.calls();
        if (!nothing.asked || nothing.saves == 0)
            broken("it declares that it saves its state, but does not call resume and checkpoint");
        for (int64_t at = 1; at <= nothing.saves; ++at) {
            int32_t flag = 0;
            Kept kept(m, at, &flag);
            request.keeper = &kept;
            const Solution stopped = stoppable(m, request, &flag);
            if (stopped.status != MERCER_E_CANCELLED)
                broken("cancelled in checkpoint %d, it returned %d", int(at), stopped.status);
            check_same(whole, run(m, request), at);
            if (m.calls() > calls - kept.before + 1)
                broken("stopped at checkpoint %d after %d of %d calls of the operator, it made %d more", int(at),
                       int(kept.before), int(calls), int(m.calls()));
        }
    }
}

// Tests locked vectors: eigenvectors, and vectors that are not eigenvectors, namely sums and
// differences of neighbouring eigenvectors.
void SolverSuite::locked() {
    // Both matrices have the same eigenvectors q.
    Matrix m("decaying", decaying(90)), even_one("indefinite", even(90, 2, -1));
    Values mixed = m.q;
    for (size_t left = 0; left < mixed.size(); left += (left + 1) % 90 == 0 ? 91 : 1) {
        const size_t right = left + 90;
        mixed[left] = (m.q[left] + m.q[right]) * std::sqrt(0.5);
        mixed[right] = (m.q[left] - m.q[right]) * std::sqrt(0.5);
    }
    for (const Matrix *matrix : {&m, &even_one})
        for (const Values *vectors : {&m.q, &mixed})
            for (int64_t count : {1, 3, 86}) {
                Request request = request_for(4);
                request.locked_vectors.assign(vectors->begin(), vectors->begin() + count * 90);
                solved(*matrix, request);
            }
}

// The start vectors (guess) may be any columns: good ones, dependent ones, zeros, too few or too
// many, or columns orthogonal to the solution.
void SolverSuite::start() {
    Matrix m("decaying", decaying(100));
    Values guess(m.q.begin(), m.q.begin() + 100 * 9);
    for (int64_t count : {1, 4, 9}) {
        Request request = request_for(4);
        request.guess.assign(guess.begin(), guess.begin() + count * 100);
        solved(m, request);
    }
    // Eigenvectors without the first one span an invariant subspace that is not the top of the
    // spectrum.
    Request others = request_for(4);
    others.guess.assign(m.q.begin() + 100, m.q.begin() + 100 * 10);
    solved(m, others);
    for (int64_t i = 0; i < 100; ++i) {
        // The first three columns become an arbitrary column, twice that column, and zero.
        guess[static_cast<size_t>(i)] = check_number(3000, i);
        guess[static_cast<size_t>(100 + i)] = 2 * guess[static_cast<size_t>(i)];
        guess[static_cast<size_t>(200 + i)] = 0;
    }
    for (int64_t count : {2, 3, 9}) {
        Request request = request_for(4);
        request.guess.assign(guess.begin(), guess.begin() + count * 100);
        solved(m, request);
    }
}

// A solver calls the callback `enough` with r values. If the callback returns 1 (stop), the solver
// must stop and report convergence; it may make one more product, for the residuals.
void SolverSuite::enough() {
    struct Asked {
        const Matrix *matrix;
        int64_t count = 0, calls = 0;
        bool wrong = false;
    };
    Matrix m("slow", even(200, 1, 0));
    Asked asked{&m};
    Request request = request_for(5);
    request.user = &asked;
    request.enough = [](void *user, const double *values, int64_t count) -> int32_t {
        Asked &a = *static_cast<Asked *>(user);
        a.wrong |= count != 5 || !values || !std::isfinite(values[0]);
        a.calls = a.count == 0 ? a.matrix->calls() : a.calls, a.count += 1;
        return 1;
    };
    Solution s = run(m, request);
    check_truth(m, request, s, exact(m, request));
    if (asked.wrong) broken("enough was not called with r values");
    if (asked.count > 0 && !s.out.converged)
        broken("enough returned stop, which counts as converged, but it reports otherwise");
    if (asked.count == 0 && m.calls() > 3) broken("enough was not called in %d calls of the operator", int(m.calls()));
    if (asked.count > 1 || (asked.count == 1 && m.calls() > asked.calls + 1))
        broken("enough returned stop, but was called %d times, and the operator %d times more", int(asked.count),
               int(m.calls() - asked.calls));
}

void SolverSuite::max_passes() {
    for (int64_t most : {1, 3}) {
        Matrix m("slow", even(200, 1, 0));
        Request request = request_for(5);
        request.max_passes = most;
        Solution s = run(m, request);
        if (m.products + m.roughs > most)
            broken("max_passes = %d, apply was called %d times", int(most), int(m.products + m.roughs));
        // The solver must report converged = 0 unless the residuals are small enough.
        check_truth(m, request, s, exact(m, request));
    }
}

// An operator may fail or return NaN. The solver must return the operator's error, or fail.
void SolverSuite::operators() {
    for (int64_t at : {1, 2}) {
        Matrix failing("failing operator", even(200, 1, 0));
        failing.fails_at = at;
        Solution s = run(failing, request_for(5));
        if (failing.calls() >= at && s.status != MERCER_E_CALLBACK)
            broken("call %d of the operator failed, it returned %d", int(at), s.status);
    }
    Matrix spoilt("NaN", decaying(80));
    spoilt.spoilt = true;
    Solution s = run(spoilt, request_for(4));
    if (s.status == MERCER_OK) broken("the operator gave NaN, it returned success");
}

// The cancel flag is set before or during the first call of the operator. The operator itself does
// not check the flag, so the solver must.
void SolverSuite::cancel() {
    for (int32_t before : {1, 0}) {
        int32_t flag = before;
        Matrix m("slow", even(200, 1, 0));
        m.cancel = &flag;
        Solution s = stoppable(m, request_for(5), &flag);
        if (s.status != MERCER_E_CANCELLED)
            broken("cancelled %s the first call of the operator, it returned %d", before ? "before" : "in", s.status);
        if (m.calls() > 2) broken("cancelled, it went on to call the operator %d times", int(m.calls() - 1));
    }
}

void SolverSuite::repeats() {
    Matrix m("repeated", repeated(90));
    Solution first = solved(m, request_for(6), 5), second = solved(m, request_for(6), 5);
    if (first.values != second.values || first.vectors != second.vectors) broken("the same seed gives different bits");
    solved(m, request_for(6), 6);
}

// With parameters other than its defaults a solver may be less accurate, but what it reports about
// its solution must still be true.
void SolverSuite::settings() {
    for (const Setting &setting : settings_)
        for (const Values &spectrum : {decaying(80), even(80, 1, -1)}) {
            Matrix m("some spectrum", spectrum);
            Request request = request_for(5);
            Solution s = run(suite_.run, m, request, setting);
            if (s.status == MERCER_E_VALUE && setting.text != "defaults") {
                suite_.note("left out: " + setting.text + ": " + s.error);
                continue;
            }
            double own = 0;
            const int64_t row = setting.params.table().find("tol");
            if (row >= 0) parse_number(setting.params.get(row), &own);
            check_truth(m, request, s, exact(m, request), own);
        }
}

} // namespace

void check_solver(Suite &suite) {
    SolverSuite exact(suite, false, false), rough(suite, true, false), f32(suite, false, true);
    auto check = [&](const std::string &title, void (SolverSuite::*body)()) {
        suite.check(title.c_str(), [&] { (exact.*body)(); });
        suite.check((title + ", rough products").c_str(), [&] { (rough.*body)(); });
        suite.check((title + ", f32 blocks").c_str(), [&] { (f32.*body)(); });
    };
    check("spectra", &SolverSuite::spectra);
    check("small and trivial matrices", &SolverSuite::small);
    check("indefinite", &SolverSuite::indefinite);
    check("tolerances", &SolverSuite::tolerances);
    check("resume", &SolverSuite::resume);
    check("locked", &SolverSuite::locked);
    check("start", &SolverSuite::start);
    check("enough", &SolverSuite::enough);
    check("max_passes", &SolverSuite::max_passes);
    check("operators that fail", &SolverSuite::operators);
    check("cancel", &SolverSuite::cancel);
    check("seed", &SolverSuite::repeats);
    check("settings", &SolverSuite::settings);
}

} // namespace mercer
