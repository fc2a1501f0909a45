#include "check_subject.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

constexpr int64_t sample_rows = 40;

// Makes rows in clumps of three widths. Rows 0 and 1 are equal, row 2 differs from them by 1/64 in
// one column, and row 3 is zero.
SubjectRows make_rows(int64_t d, bool nonnegative) {
    SubjectRows out{sample_rows, d, Values(static_cast<size_t>(sample_rows * d))};
    const double width[] = {0.125, 0.5, 2};
    for (int64_t i = 0; i < out.n; ++i)
        for (int64_t k = 0; k < d; ++k) {
            double centre = std::floor(3 * check_number(i % 3, k)) - 1;
            double value = centre + width[i % 3] * (2 * check_number(100 + i, k) - 1);
            out.row(i)[k] = i == 3 ? 0 : std::round(64 * (nonnegative ? std::fabs(value) : value)) / 64;
        }
    std::copy_n(out.row(0), d, out.row(1));
    std::copy_n(out.row(0), d, out.row(2));
    out.row(2)[d - 1] += 1.0 / 64;
    return out;
}

// The error e of a form's value v, as derived in check_subject.h.
double form_error(int32_t form, int64_t d, double v, const double *x, const double *y, double u) {
    double xx = 0, yy = 0, sum = 0;
    for (int64_t k = 0; k < d; ++k) {
        xx += x[k] * x[k];
        yy += y[k] * y[k];
        sum += std::fabs(x[k]) + std::fabs(y[k]);
    }
    const double terms = static_cast<double>(d + 8) * u;
    switch (form) {
    case MERCER_DOT: return terms * std::sqrt(xx * yy) + 8 * u * std::fabs(v);
    case MERCER_COSINE: return terms;
    case MERCER_SQDIST: return std::min(2 * terms * (xx + yy), v * std::sqrt(terms) / 16) + 8 * u * v;
    case MERCER_HAMMING: return 8 * u * v;
    default: return terms * sum + 8 * u * std::fabs(v);
    }
}

} // namespace

// The expression of a subject is a single leaf, the plugin under test. Parsing an expression looks
// up its leaves by name, but a plugin that is given by its path need not have a registered name.
// Therefore the expression "user" is parsed, and its leaf is then replaced.
Subject make_subject(Suite &suite, const Setting &setting, int64_t d, double bandwidth) {
    Registry nothing;
    Subject subject{Expression(parse_expression("user"), nothing), setting, {}};
    Leaf &leaf = subject.kernel.leaves[0];
    leaf.plugin = suite.plugin;
    leaf.params = setting.params;
    leaf.form = suite.plugin->kernel.form;
    subject.kernel.finish(suite.run, d, [&](const Leaf &, const std::string &) { return bandwidth; });
    if (d > 0) subject.rows = make_rows(d, subject.nonnegative());
    return subject;
}

template <class T>
std::vector<T> values_of(Suite &suite, const Subject &subject, const SubjectRows &x, const SubjectRows &y, What what) {
    std::vector<T> xs(x.x.begin(), x.x.end()), ys(y.x.begin(), y.x.end());
    auto points = [&](std::vector<T> &rows, int64_t n) {
        return Points<T>(make_view_source(view_of_rows(dtype_of<T>, n, x.d, rows.data())), {},
                         leaf_specs(subject.kernel));
    };
    Points<T> px = points(xs, x.n), py = points(ys, y.n);
    Tiles<T> tiles = what == What::form ? Tiles<T>(subject.leaf().form, px, py) : Tiles<T>(subject.kernel, px, py);
    TileScratch<T> scratch = tiles.scratch(suite.run);
    tiles.compute(px.load(suite.run, 0), py.load(suite.run, 0), scratch);
    std::vector<T> out;
    for (int64_t i = 0; i < x.n; ++i)
        out.insert(out.end(), scratch.tile.data() + i * tile_rows, scratch.tile.data() + i * tile_rows + y.n);
    return out;
}

template <class T>
std::vector<T> self_of(Suite &suite, const Subject &subject, const SubjectRows &x) {
    std::vector<T> xs(x.x.begin(), x.x.end()), out(static_cast<size_t>(x.n));
    Points<T> points(make_view_source(view_of_rows(dtype_of<T>, x.n, x.d, xs.data())), {}, leaf_specs(subject.kernel));
    Tiles<T>(subject.kernel, points, points).self(suite.run, points.load(suite.run, 0), false, out.data());
    return out;
}

template <class T>
std::vector<T> mapped(const Subject &subject, std::vector<T> values, Map which) {
    const mercer_kernel_ops &ops = subject.ops();
    auto map = which == Map::plain ? ops.map : which == Map::log ? ops.log_map : ops.derivative;
    if (map)
        map(&host_table(), subject.leaf().values(), dtype_of<T>, values.data(), static_cast<int64_t>(values.size()));
    return values;
}

template <class T>
Values tolerances(Suite &suite, const Subject &subject, const SubjectRows &x, const SubjectRows &y) {
    const double u = roundoff<T>, kappa = subject.facts().kappa;
    const int32_t form = subject.leaf().form;
    Values k = values_of<double>(suite, subject, x, y), out(k.size());
    Values xx = self_of<double>(suite, subject, x), yy = self_of<double>(suite, subject, y), v, lo, hi;
    if (form != MERCER_BLOCK) {
        v = values_of<double>(suite, subject, x, y, What::form), lo = hi = v;
        for (size_t at = 0; at < v.size(); ++at) {
            const int64_t i = static_cast<int64_t>(at) / y.n, j = static_cast<int64_t>(at) % y.n;
            const double e = form_error(form, x.d, v[at], x.row(i), y.row(j), u);
            lo[at] = form <= MERCER_COSINE || form == MERCER_MIN ? v[at] - e : std::max(v[at] - e, 0.0);
            hi[at] += e;
        }
        lo = mapped(subject, lo), hi = mapped(subject, hi);
    }
    for (size_t at = 0; at < k.size(); ++at) {
        double scale = std::sqrt(std::fabs(xx[at / static_cast<size_t>(y.n)] * yy[at % static_cast<size_t>(y.n)]));
        scale = std::max({scale, std::fabs(k[at]), std::isnan(kappa) ? 0 : std::fabs(kappa)});
        double spread = v.empty() ? 0 : 2 * std::max(std::fabs(lo[at] - k[at]), std::fabs(hi[at] - k[at]));
        double operations = v.empty() ? 8 * static_cast<double>(x.d) + 64 : 32;
        out[at] = spread + operations * u * scale + static_cast<double>(std::numeric_limits<T>::min());
    }
    return out;
}

template std::vector<float> values_of(Suite &, const Subject &, const SubjectRows &, const SubjectRows &, What);
template std::vector<double> values_of(Suite &, const Subject &, const SubjectRows &, const SubjectRows &, What);
template std::vector<float> self_of(Suite &, const Subject &, const SubjectRows &);
template std::vector<double> self_of(Suite &, const Subject &, const SubjectRows &);
template std::vector<float> mapped(const Subject &, std::vector<float>, Map);
template std::vector<double> mapped(const Subject &, std::vector<double>, Map);
template Values tolerances<float>(Suite &, const Subject &, const SubjectRows &, const SubjectRows &);
template Values tolerances<double>(Suite &, const Subject &, const SubjectRows &, const SubjectRows &);

} // namespace mercer
