// The suite of kernels: every check, on every setting and for 1, 3 and 17 columns.
#include "../core/blas.h"
#include "check_subject.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mercer {
namespace {

// ---- one subject, one type

// Every value must be finite, and have the same bits when it is computed again. This is the first
// check on values, because later checks would report these faults under misleading names.
template <class T>
void values(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    const std::vector<T> k = values_of<T>(suite, subject, rows, rows), again = values_of<T>(suite, subject, rows, rows);
    const std::vector<T> form = subject.block() ? k : values_of<T>(suite, subject, rows, rows, What::form);
    for (size_t at = 0; at < k.size(); ++at) {
        const int i = static_cast<int>(static_cast<int64_t>(at) / rows.n),
                  j = static_cast<int>(static_cast<int64_t>(at) % rows.n);
        const double value = std::isnan(k[at]) ? NAN : static_cast<double>(k[at]), // messages show no sign of a NaN
            second = static_cast<double>(again[at]);
        if (!std::isfinite(value) && subject.block()) broken("k(%d, %d) = %g, must be finite", i, j, value);
        if (!std::isfinite(value)) broken("map of %.9g is %g, must be finite", static_cast<double>(form[at]), value);
        if (std::memcmp(&k[at], &again[at], sizeof(T)) != 0)
            broken("k(%d, %d) = %.17g, and %.17g when it is computed again: an operation keeps something between calls "
                   "(mutable static?)",
                   i, j, value, second);
    }
}

template <class T>
void symmetry(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    std::vector<T> k = values_of<T>(suite, subject, rows, rows);
    Values tol = tolerances<T>(suite, subject, rows, rows);
    for (int64_t i = 0; i < rows.n; ++i)
        for (int64_t j = 0; j <= i; ++j) {
            size_t ij = static_cast<size_t>(i * rows.n + j), ji = static_cast<size_t>(j * rows.n + i);
            double a = static_cast<double>(k[ij]), b = static_cast<double>(k[ji]);
            if (!std::isfinite(a) || !std::isfinite(b))
                broken("k(%d, %d) = %g", int(i), int(j), std::isfinite(a) ? b : a);
            if (!(std::fabs(a - b) <= tol[ij] + tol[ji]))
                broken("k(%d, %d) = %.9g, k(%d, %d) = %.9g", int(i), int(j), a, int(j), int(i), b);
        }
}

// A tile of one pair must agree with the entry of the large tile.
template <class T>
void pairwise(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    std::vector<T> k = values_of<T>(suite, subject, rows, rows);
    Values tol = tolerances<T>(suite, subject, rows, rows);
    for (int64_t i = 0; i < rows.n; i += 3)
        for (int64_t j = i % 5; j < rows.n; j += 5) {
            SubjectRows x{1, rows.d, Values(rows.row(i), rows.row(i + 1))},
                y{1, rows.d, Values(rows.row(j), rows.row(j + 1))};
            double one = static_cast<double>(values_of<T>(suite, subject, x, y)[0]);
            size_t ij = static_cast<size_t>(i * rows.n + j);
            if (!(std::fabs(one - static_cast<double>(k[ij])) <= 2 * tol[ij]))
                broken("k(%d, %d) = %.9g in a tile of %d x %d, %.9g alone", int(i), int(j), static_cast<double>(k[ij]),
                       int(rows.n), int(rows.n), one);
        }
}

// A block kernel must respect the strides of views, and must not write between their rows.
template <class T>
void strides(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    const int64_t n = rows.n, d = rows.d, m = 7, wide = n + 3;
    std::vector<T> tight = values_of<T>(suite, subject, rows, rows), x(static_cast<size_t>(n * (d + 2)), T(-77));
    std::vector<T> k(static_cast<size_t>(m * wide), T(-77));
    for (int64_t i = 0; i < n; ++i) std::copy_n(rows.row(i), d, x.begin() + i * (d + 2));
    mercer_view xs = view_of_rows(dtype_of<T>, m, d, x.data(), d + 2), ys = xs, ks = xs;
    ys.rows = n, ks.cols = n, ks.row_stride = wide, ks.data = k.data();
    mercer_task task(suite.run, Random(0, Stage::gram));
    suite.need(subject.ops().block(&host_table(), &task, subject.leaf().values(), &xs, &ys, &ks), task, "block");
    Values tol = tolerances<T>(suite, subject, rows, rows);
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < wide; ++j) {
            double got = static_cast<double>(k[static_cast<size_t>(i * wide + j)]);
            size_t ij = static_cast<size_t>(i * n + j);
            if (j >= n && got != -77) broken("block wrote %g beyond row %d of k", got, int(i));
            if (j < n && !(std::fabs(got - static_cast<double>(tight[ij])) <= 2 * tol[ij]))
                broken("k(%d, %d) = %.9g with gaps between rows, %.9g without", int(i), int(j), got,
                       static_cast<double>(tight[ij]));
        }
}

// A value must have the same bits if its array is mapped in pieces or in reverse order.
template <class T>
void elementwise(Suite &suite, const Subject &subject) {
    std::vector<T> form = values_of<T>(suite, subject, subject.rows, subject.rows, What::form);
    auto same = [&](const std::vector<T> &a, const std::vector<T> &b, const char *op, const char *how) {
        for (size_t i = 0; i < a.size(); ++i)
            if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0)
                broken("%s of %.9g is %.9g, but %.9g %s", op, static_cast<double>(form[i]), static_cast<double>(a[i]),
                       static_cast<double>(b[i]), how);
    };
    for (Map which : {Map::plain, Map::log, Map::derivative}) {
        const char *op = map_name(which);
        std::vector<T> whole = mapped(subject, form, which), pieces, backwards(form.rbegin(), form.rend());
        for (size_t at = 0, length = 1; at < form.size(); at += length, length = length % 37 + 1) {
            std::vector<T> piece(form.begin() + static_cast<int64_t>(at),
                                 form.begin() + static_cast<int64_t>(std::min(at + length, form.size())));
            piece = mapped(subject, piece, which);
            pieces.insert(pieces.end(), piece.begin(), piece.end());
        }
        same(whole, pieces, op, "in a shorter array");
        backwards = mapped(subject, backwards, which);
        std::reverse(backwards.begin(), backwards.end());
        same(whole, backwards, op, "at another place of the array");
    }
}

template <class T>
void nan_stays(Suite &suite, const Subject &subject) {
    std::vector<T> form = values_of<T>(suite, subject, subject.rows, subject.rows, What::form);
    form.resize(67);
    for (Map which : {Map::plain, Map::log, Map::derivative})
        for (size_t at : {size_t{0}, size_t{5}, size_t{31}, size_t{66}}) {
            std::vector<T> spoilt = form;
            spoilt[at] = T(NAN);
            std::vector<T> clean = mapped(subject, form, which), out = mapped(subject, spoilt, which);
            const char *op = map_name(which);
            if (!std::isnan(out[at])) broken("%s of NaN is %g, must be NaN", op, static_cast<double>(out[at]));
            for (size_t i = 0; i < out.size(); ++i)
                if (i != at && std::memcmp(&out[i], &clean[i], sizeof(T)) != 0)
                    broken("%s of %g is %g next to a NaN, else %g", op, static_cast<double>(form[i]),
                           static_cast<double>(out[i]), static_cast<double>(clean[i]));
        }
}

// Checks at distances from 0 to 2^55 that values lie in the range that the kernel claims; Inf is
// allowed only if the range is infinite. 8 u allows for the last rounding.
template <class T>
void range(Suite &suite, const Subject &subject) {
    const mercer_kernel_facts &facts = subject.facts();
    SubjectRows rows = subject.rows;
    for (int64_t i = 4; i < rows.n; ++i)
        for (int64_t k = 0; k < rows.d; ++k)
            rows.row(i)[k] *= i % 4 == 0 ? 0x1p-30 : i % 4 == 1 ? 0x1p20 : i % 16 == 2 ? 0x1p55 : 1;
    std::vector<T> values = values_of<T>(suite, subject, rows, rows);
    const double lo = facts.lo - 8 * roundoff<T> * std::fabs(facts.lo),
                 hi = facts.hi + 8 * roundoff<T> * std::fabs(facts.hi);
    for (size_t at = 0; at < values.size(); ++at) {
        const double k = static_cast<double>(values[at]);
        const int i = static_cast<int>(static_cast<int64_t>(at) / rows.n),
                  j = static_cast<int>(static_cast<int64_t>(at) % rows.n);
        if (!(k >= facts.lo || k >= lo) || !(k <= facts.hi || k <= hi))
            broken("k(%d, %d) = %.9g, must be %g to %g", i, j, k, facts.lo, facts.hi);
    }
}

// k(x, x) in a tile must agree with that computed for one row alone, and with kappa if it is known.
template <class T>
void diagonal(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    std::vector<T> k = values_of<T>(suite, subject, rows, rows), self = self_of<T>(suite, subject, rows);
    Values tol = tolerances<T>(suite, subject, rows, rows);
    for (int64_t i = 0; i < rows.n; ++i) {
        const size_t at = static_cast<size_t>(i * (rows.n + 1));
        const double kii = static_cast<double>(k[at]), own = static_cast<double>(self[static_cast<size_t>(i)]);
        const double kappa = subject.facts().kappa;
        if (!std::isnan(kappa) && !(std::fabs(kii - kappa) <= tol[at]))
            broken("k(%d, %d) = %.9g, but kappa = %.9g", int(i), int(i), kii, kappa);
        if (!(std::fabs(kii - own) <= 2 * tol[at]))
            broken("k(%d, %d) = %.9g in a tile, %.9g computed alone", int(i), int(i), kii, own);
    }
}

// The smallest eigenvalue of the kernel matrix K of the rows must be >= 0 up to rounding. Errors of
// the entries, which are at most their tolerances t, move an eigenvalue by at most |t|_F; the
// rounding errors of the eigendecomposition move it by less than 8 n u_64 |K|_F.
template <class T>
void psd(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    std::vector<T> k = values_of<T>(suite, subject, rows, rows);
    Values a(k.begin(), k.end()), values(static_cast<size_t>(rows.n)), vectors(a.size());
    Values tol = tolerances<T>(suite, subject, rows, rows);
    double error = 0, size = 0;
    for (size_t at = 0; at < a.size(); ++at) error += tol[at] * tol[at], size += a[at] * a[at];
    const double floor = std::sqrt(error) + 8 * static_cast<double>(rows.n) * 0x1p-53 * std::sqrt(size);
    eigh_top(rows.n, a.data(), rows.n, rows.n, values.data(), vectors.data(), rows.n);
    if (!(values.back() >= -floor))
        broken(
            "it claims MERCER_PSD, but a Gram matrix of %d rows has the eigenvalue %.6g (largest %.6g, rounding %.2g)",
            int(rows.n), values.back(), values[0], floor);
}

// log_map(v) must equal the logarithm of k = map(v) up to a few roundings of the exponent and of k.
// If k underflows, log_map(v) must be below the logarithm of the smallest normal number.
template <class T>
void log_map(Suite &suite, const Subject &subject) {
    SubjectRows far = subject.rows;
    for (double &value : far.x) value *= 64;
    for (const SubjectRows *y : std::initializer_list<const SubjectRows *>{&subject.rows, &far}) {
        std::vector<T> form = values_of<T>(suite, subject, subject.rows, *y, What::form);
        std::vector<T> k = mapped(subject, form), logs = mapped(subject, form, Map::log);
        constexpr double least = smallest<T>;
        for (size_t at = 0; at < k.size(); ++at) {
            const double value = static_cast<double>(k[at]), log = static_cast<double>(logs[at]);
            const double slack = 64 * roundoff<T> * (1 + std::fabs(log));
            if (value >= least ? !(std::fabs(log - std::log(value)) <= slack) : !(log <= std::log(least) + slack))
                broken("log_map of %.9g is %.9g, but map gives %.9g, whose logarithm is %.9g",
                       static_cast<double>(form[at]), log, value, std::log(value));
        }
    }
}

// Compares derivative(v) = d map / dv in f64 with five-point differences of map with the steps
// |v| / 1000 and |v| / 2000. The second difference may err by twice its change from the first, plus
// the rounding of map (32 u of its values and of v d map / dv) divided by the step.
void derivative(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    Values form = values_of<double>(suite, subject, rows, rows, What::form);
    const Values slope = mapped(subject, form, Map::derivative);
    for (size_t at = 0; at < form.size(); ++at) {
        const double v = form[at], k = slope[at];
        if (std::isnan(k)) broken("derivative of %.9g is NaN", v);
        if (v == 0) continue; // map may have a cusp at 0
        double last = 0, rough = 0, size = 0;
        for (const double h : {std::fabs(v) / 1000, std::fabs(v) / 2000}) {
            const Values f = mapped(subject, Values{v - 2 * h, v - h, v + h, v + 2 * h});
            rough = last;
            last = (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * h);
            for (double value : f) size = std::max(size, std::fabs(value));
        }
        const double rounding = 2000 * 32 * 0x1p-53 * (size / std::fabs(v) + std::fabs(k));
        if (!(std::fabs(last - k) <= 2 * std::fabs(last - rough) + rounding + smallest<double>))
            broken("derivative of %.9g is %.9g, but differences of map give %.9g", v, k, last);
    }
}

// The derivative in f32 must agree with that in f64, at arguments that both types represent. The
// tolerance is 64 u of the derivative, plus its change if v changes by 64 u |v|.
void derivative_f32(Suite &suite, const Subject &subject) {
    const std::vector<float> form = values_of<float>(suite, subject, subject.rows, subject.rows, What::form);
    const std::vector<float> single = mapped(subject, form, Map::derivative);
    constexpr double step = 64 * roundoff<float>;
    Values at(form.begin(), form.end()), beside;
    for (double v : at) beside.push_back(v * (1 + step));
    const Values full = mapped(subject, at, Map::derivative), moved = mapped(subject, beside, Map::derivative),
                 k = mapped(subject, at);
    for (size_t i = 0; i < full.size(); ++i) {
        if (std::fabs(k[i]) < 64 * smallest<float>) continue; // the kernel value underflows in f32
        const double got = static_cast<double>(single[i]),
                     slack = step * std::fabs(full[i]) + std::fabs(moved[i] - full[i]);
        if (!(std::fabs(got - full[i]) <= slack + 64 * smallest<float>))
            broken("derivative of %.9g is %.9g in f32, %.9g in f64", at[i], got, full[i]);
    }
}

void f32_and_f64(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    std::vector<float> single = values_of<float>(suite, subject, rows, rows);
    Values full = values_of<double>(suite, subject, rows, rows), tol = tolerances<float>(suite, subject, rows, rows);
    for (size_t at = 0; at < full.size(); ++at)
        if (!(std::fabs(static_cast<double>(single[at]) - full[at]) <= tol[at]))
            broken("k(%d, %d) = %.9g in f32, %.9g in f64", static_cast<int>(static_cast<int64_t>(at) / rows.n),
                   static_cast<int>(static_cast<int64_t>(at) % rows.n), static_cast<double>(single[at]), full[at]);
}

// ---- one subject: parameters, facts, geometry

// finish must not change a parameter that was set. The parameters that a model stores must give the
// same kernel without the data: here they are completed again while every bandwidth rule gives 0.
void stored(Suite &suite, const Subject &subject) {
    const Params &params = subject.leaf().params, &given = subject.setting.params;
    Setting kept{Params(suite.plugin->params), subject.setting.text};
    for (size_t i = 0; i < params.table().rows().size(); ++i) {
        const int64_t row = static_cast<int64_t>(i);
        if (given.is_set(row) && given.get(row) != params.get(row))
            broken("finish changed %s from %s to '%s'", params.table().rows()[i].row.name, given.get(row).c_str(),
                   params.get(row).c_str());
    }
    for (const auto &[name, text] : params.stored()) kept.params.set(params.table().find(name), text, name.c_str());
    Subject again = make_subject(suite, kept, subject.rows.d, 0);
    if (std::memcmp(&again.facts(), &subject.facts(), sizeof again.facts()) != 0 ||
        again.leaf().form != subject.leaf().form ||
        values_of<double>(suite, again, again.rows, again.rows) !=
            values_of<double>(suite, subject, subject.rows, subject.rows))
        broken("stored parameters give another kernel: finish sets a field without a row, or needs the data again");
}

void facts(Suite &, const Subject &subject) {
    const mercer_kernel_facts &f = subject.facts();
    const bool radial = f.flags & MERCER_RADIAL;
    if (f.struct_size != static_cast<int64_t>(sizeof f)) broken("struct_size = %d", int(f.struct_size));
    if (f.flags & ~(int{MERCER_PSD} | MERCER_RADIAL | MERCER_NONNEGATIVE)) broken("flags = %d", f.flags);
    if (!(f.lo <= f.hi)) broken("lo = %g, hi = %g", f.lo, f.hi);
    if (std::isnan(f.kappa) ? radial : !(f.kappa >= f.lo && f.kappa <= f.hi && std::isfinite(f.kappa)))
        broken("kappa = %g, must be finite for a radial kernel, and in [lo, hi] = [%g, %g]", f.kappa, f.lo, f.hi);
    if (radial ? !(f.h > 0) : !std::isnan(f.h))
        broken("h = %g, must be %s", f.h, radial ? "> 0" : "NaN: it is not radial");
    if (radial ? !(f.lipschitz >= 0) : !std::isnan(f.lipschitz))
        broken("lipschitz = %g, must be %s", f.lipschitz,
               radial ? ">= 0 (INFINITY where the slope is unbounded)" : "NaN: it is not radial");
    if (subject.leaf().form == MERCER_CHI2 && !subject.nonnegative()) broken("form chi2 needs MERCER_NONNEGATIVE");
}

// A radial kernel depends on distances only. A shift and a reflection (non-negative rows: reversed
// columns) change them by about 1e-14, so values agree to 1e-9 unless the kernel's slope is 1e5.
void radial(Suite &suite, const Subject &subject) {
    const SubjectRows &rows = subject.rows;
    SubjectRows moved = rows;
    Values normal(static_cast<size_t>(rows.d));
    double square = 0;
    for (size_t c = 0; c < normal.size(); ++c)
        normal[c] = check_number(7, static_cast<int64_t>(c)) - 0.4, square += normal[c] * normal[c];
    for (int64_t i = 0; i < rows.n; ++i) {
        double *to = moved.row(i), dot = 0;
        if (subject.nonnegative()) std::reverse(to, to + rows.d);
        for (int64_t c = 0; c < rows.d; ++c) dot += to[c] * normal[static_cast<size_t>(c)];
        for (int64_t c = 0; c < rows.d; ++c) {
            if (!subject.nonnegative()) to[c] -= 2 * dot / square * normal[static_cast<size_t>(c)];
            to[c] += 0.75;
        }
    }
    Values k = values_of<double>(suite, subject, rows, rows), other = values_of<double>(suite, subject, moved, moved);
    for (size_t at = 0; at < k.size(); ++at) {
        const int i = static_cast<int>(static_cast<int64_t>(at) / rows.n),
                  j = static_cast<int>(static_cast<int64_t>(at) % rows.n);
        if (std::equal(rows.row(i), rows.row(i) + rows.d, rows.row(j))) continue; // k may have a cusp at distance 0
        if (!(std::fabs(k[at] - other[at]) <= 1e-9 * std::fabs(subject.facts().kappa)))
            broken("it claims MERCER_RADIAL, but k(%d, %d) = %.12g becomes %.12g when both points are moved", i, j,
                   k[at], other[at]);
    }
}

// Compares slopes of chords of k(r), r <= 6 h, with lipschitz; chords near a cusp at 0 are short.
void lipschitz(Suite &suite, const Subject &subject) {
    const double bound = subject.facts().lipschitz;
    constexpr int64_t steps = 200;
    const int64_t d = subject.rows.d;
    SubjectRows zero{1, d, Values(static_cast<size_t>(d))}, ray{steps, d, Values(static_cast<size_t>(steps * d))};
    for (int64_t i = 0; i < steps; ++i) {
        const double t = static_cast<double>(i) / steps, r = 6 * subject.facts().h * t * t;
        std::fill_n(ray.row(i), d, r / std::sqrt(static_cast<double>(d)));
    }
    Values k = values_of<double>(suite, subject, zero, ray), tol = tolerances<double>(suite, subject, zero, ray);
    for (size_t i = 1; i < k.size(); ++i) {
        const double root = std::sqrt(static_cast<double>(d)), r = *ray.row(static_cast<int64_t>(i)) * root;
        const double step = r - *ray.row(static_cast<int64_t>(i) - 1) * root, rise = std::fabs(k[i] - k[i - 1]);
        if (!(rise <= bound * step * (1 + 1e-9) + tol[i] + tol[i - 1]))
            broken("its slope is %.9g at r = %.6g, but lipschitz = %.9g", rise / step, r, bound);
    }
}

// Objects have distances but no columns, so a kernel of distances must also work with d = 0.
void objects(Suite &suite, const Subject &subject) {
    Subject own = make_subject(suite, subject.setting, 0, 1.5);
    for (double value : mapped(own, Values{0, 0.25, 1, 4, 100}))
        if (!(value >= own.facts().lo && value <= own.facts().hi)) broken("d = 0: the value %g", value);
}

// ---- the subjects to which a check applies, and the note that is logged if there are none

struct About {
    bool (*applies)(const Subject &subject);
    const char *else_said;
};
constexpr About all{[](const Subject &) { return true; }, ""};
constexpr About blocks{[](const Subject &s) { return s.block(); }, "not present"};
constexpr About maps{[](const Subject &s) { return s.has(Map::plain) || s.has(Map::log) || s.has(Map::derivative); },
                     "not present"};
constexpr About called{[](const Subject &s) { return s.block() || maps.applies(s); }, "not present"};
constexpr About logs{[](const Subject &s) { return s.has(Map::log); }, "not present"};
constexpr About derivatives{[](const Subject &s) { return s.has(Map::derivative); }, "not present"};
constexpr About definite{[](const Subject &s) { return (s.facts().flags & MERCER_PSD) != 0; }, "not claimed"};
constexpr About radials{[](const Subject &s) { return (s.facts().flags & MERCER_RADIAL) != 0; }, "not claimed"};
constexpr About bounded_slopes{[](const Subject &s) { return std::isfinite(s.facts().lipschitz); }, "not claimed"};
constexpr About squares{[](const Subject &s) { return s.leaf().form == MERCER_SQDIST; }, "not possible"};

class KernelSuite {
  public:
    explicit KernelSuite(Suite &suite) : suite_(suite) {}

    // Makes a subject for each setting and number of columns. A setting is left out if finish
    // refuses it with E_VALUE, because its parameters contradict each other. The last subject has
    // the bandwidth 0, which a bandwidth rule gives for data whose rows are all equal.
    void prepare() {
        std::vector<Setting> settings = check_settings(*suite_.plugin);
        for (const Setting &setting : settings)
            for (int64_t d : {1, 3, 17}) try {
                    add(setting, d, usual_bandwidth(d));
                } catch (const Error &e) {
                    if (e.code() != MERCER_E_VALUE || setting.text == "defaults") throw;
                    suite_.note("left out: " + setting.text + ": " + e.what());
                }
        add({settings[0].params, "bandwidth 0"}, 3, 0);
    }
    using Body = void (*)(Suite &, const Subject &);
    void each(const char *title, const About &about, Body f64, Body f32 = nullptr) {
        if (std::none_of(subjects_.begin(), subjects_.end(), about.applies))
            return suite_.note(std::string(about.else_said) + ": " + title);
        suite_.check(title, [&] {
            for (const Subject &subject : subjects_)
                for (Body body : {f64, f32})
                    if (body && about.applies(subject)) {
                        on(body == f64 ? "f64" : "f32", subject.rows.d, subject.setting.text);
                        body(suite_, subject);
                    }
        });
    }

  private:
    void add(const Setting &setting, int64_t d, double bandwidth) {
        on("finish", d, setting.text);
        subjects_.push_back(make_subject(suite_, setting, d, bandwidth));
    }
    void on(const char *what, int64_t d, const std::string &text) {
        suite_.on(std::string(what) + ", d = " + std::to_string(d) + ", " + text);
    }
    Suite &suite_;
    std::vector<Subject> subjects_;
};

} // namespace

void check_kernel(Suite &suite) {
    KernelSuite kernels(suite);
    const bool finishes = suite.plugin->kernel.finish != nullptr;
    if (!finishes) suite.note("not present: finish");
    suite.check(finishes ? "finish" : "settings", [&] { kernels.prepare(); });
    kernels.each("facts", all, facts);
    kernels.each("values", all, values<double>, values<float>);
    kernels.each("stored parameters", all, stored);
    kernels.each("symmetry", all, symmetry<double>, symmetry<float>);
    kernels.each("tile = pairwise", all, pairwise<double>, pairwise<float>);
    kernels.each("strides of a block", blocks, strides<double>, strides<float>);
    kernels.each("map is elementwise", maps, elementwise<double>, elementwise<float>);
    kernels.each("NaN stays NaN", maps, nan_stays<double>, nan_stays<float>);
    kernels.each("k(x, x)", all, diagonal<double>, diagonal<float>);
    kernels.each("range", all, range<double>, range<float>);
    kernels.each("positive semidefinite", definite, psd<double>, psd<float>);
    kernels.each("radial", radials, radial);
    kernels.each("lipschitz", bounded_slopes, lipschitz);
    kernels.each("f32 against f64", all, f32_and_f64);
    kernels.each("log_map", logs, log_map<double>, log_map<float>);
    kernels.each("derivative", derivatives, derivative);
    kernels.each("derivative in f32", derivatives, derivative_f32);
    kernels.each("objects", squares, objects);
    kernels.each("several threads", called, at_once<double>, at_once<float>);
}

} // namespace mercer
