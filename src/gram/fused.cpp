// Computes the values 2^(x'.y' + a_x + a_y) of fused.h. Each takes d + 4 (f32, AVX-512) to d + 12
// (f64, AVX2) multiplications. The sums of a block (rows x vectors of columns) stay in registers and
// start at a_x + a_y, so that only the final values are stored. The outer loop runs over columns
// and the inner one over rows: a block of y stays in the first-level cache while x streams from the
// second.
//
// Error: |x'.y'| and all partial sums are at most |x'|^2 / 2 + |y'|^2 / 2 = |a_x + a_y|, so the
// error of the exponent is at most 2 (d + 2) u |a_x + a_y|. The relative error of the value is
// ln 2 times that, to which computing 2^ adds 1.25 ulp (lanes.h).
//
// This file is compiled into one object per instruction set, so it must not use the standard
// library (see vmath.cpp).
#include "fused.h"

#include "../core/lanes.h"

namespace mercer {
namespace {

constexpr int64_t ld = fused_stride;
constexpr int vectors = 2;

#ifdef __AVX512F__
constexpr int rows = 8; // 16 sums, 2 vectors of y, 1 of x and the constants of 2^x fit in 32 registers
#else
constexpr int rows = 4; // 8 sums fit in 16 registers
#endif
// Successive coordinates of y are 1 or 2 KiB apart, so they share few sets of the first-level
// cache. 32 or 16 coordinates fill these sets, and if there are more, y is read from the
// second-level cache. With 16 sums per coordinate the arithmetic hides this latency; with 8 sums it
// does not, and y is therefore copied into contiguous memory, `piece` coordinates at a time.
constexpr bool copied = rows < 8;
constexpr int64_t piece = 256;

template <class T>
using Vector = typename Lanes<T>::V;

template <class T>
struct Block {
    Vector<T> at[rows][vectors];
};

template <class T>
struct Product {
    static Vector<T> begin(Vector<T> x_half, Vector<T> y_half) { return x_half + y_half; }
    static Vector<T> add(Vector<T> x, Vector<T> y, Vector<T> sum) { return fma(x, y, sum); }
    static Vector<T> exponent(Vector<T> sum) { return sum; }
};
template <class T>
struct Difference {
    static Vector<T> begin(Vector<T>, Vector<T>) { return splat(T(0)); }
    static Vector<T> add(Vector<T> x, Vector<T> y, Vector<T> sum) {
        Vector<T> e = x - y;
        return fma(e, e, sum);
    }
    static Vector<T> exponent(Vector<T> sum) { return sum * splat(T(-0.5)); }
};

// Every loop over a block must be unrolled, because only then are its sums kept in registers.
template <class Visit>
inline __attribute__((always_inline)) void each(Visit &&visit) {
    MERCER_UNROLL
    for (int i = 0; i < rows; ++i) {
        MERCER_UNROLL
        for (int j = 0; j < vectors; ++j) visit(i, j);
    }
}

template <class Form, class T>
inline __attribute__((always_inline)) void add(int64_t d, const T *x, const T *y, int64_t y_ld, Block<T> &sum) {
    for (int64_t k = 0; k < d; ++k) {
        Vector<T> b[vectors];
        MERCER_UNROLL
        for (int j = 0; j < vectors; ++j) b[j] = load(y + k * y_ld + j * width<T>);
        each([&](int i, int j) { sum.at[i][j] = Form::add(splat(x[k * ld + i]), b[j], sum.at[i][j]); });
    }
}

template <class T>
void clear_edges(int64_t m, int64_t n, T *values) {
    const int64_t below = (m + 7) / 8 * 8, right = (n + 63) / 64 * 64;
    if (m == below && n == right) return;
    for (int64_t i = 0; i < below; ++i)
        for (int64_t j = i < m ? n : 0; j < right; ++j) values[i * ld + j] = 0;
}

// Processes one piece of the coordinates. All pieces but the last leave their partial sums in the
// tile, from where the next piece continues; the result has the same bits as if all coordinates
// were processed at once.
template <class Form, class T>
void columns(int64_t m, int64_t d, const T *x, const T *x_half, const T *y, int64_t y_ld, const T *y_half, T *values,
             bool first, bool last) {
    for (int64_t i = 0; i < m; i += rows) {
        T *out = values + i * ld;
        Block<T> sum;
        if (first)
            each([&](int r, int c) { sum.at[r][c] = Form::begin(splat(x_half[i + r]), load(y_half + c * width<T>)); });
        else
            each([&](int r, int c) { sum.at[r][c] = load(out + r * ld + c * width<T>); });
        add<Form>(d, x + i, y, y_ld, sum);
        if (last)
            each([&](int r, int c) { store(out + r * ld + c * width<T>, exp2(Form::exponent(sum.at[r][c]))); });
        else
            each([&](int r, int c) { store(out + r * ld + c * width<T>, sum.at[r][c]); });
    }
}

template <class Form, class T>
void tile(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half, T *values) {
    constexpr int64_t w = vectors * width<T>;
    for (int64_t j = 0; j < n; j += w) {
        if (!copied || d <= 32) {
            columns<Form>(m, d, x, x_half, y + j, ld, y_half + j, values + j, true, true);
            continue;
        }
        alignas(64) T copy[copied ? piece * w : 1];
        for (int64_t k = 0; k < d; k += piece) {
            const int64_t depth = d - k < piece ? d - k : piece;
            for (int64_t l = 0; l < depth; ++l)
                for (int c = 0; c < w; c += width<T>) store(copy + l * w + c, load(y + (k + l) * ld + j + c));
            columns<Form>(m, depth, x + k * ld, x_half, copy, w, y_half + j, values + j, k == 0, k + depth == d);
        }
    }
    clear_edges(m, n, values);
}

// Returns the largest value * -(x_half + y_half). Entries beyond n were cleared, so their products
// are 0 or NaN, and neither changes the result.
template <class T>
T worst(int64_t m, int64_t n, const T *x_half, const T *y_half, const T *values) {
    Vector<T> least[4] = {splat(T(0)), splat(T(0)), splat(T(0)), splat(T(0))};
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; j += 4 * width<T>) {
            MERCER_UNROLL
            for (int c = 0; c < 4; ++c) {
                const int64_t at = j + c * width<T>;
                least[c] = min(load(values + i * ld + at) * (splat(x_half[i]) + load(y_half + at)), least[c]);
            }
        }
    T lanes[width<T>], all = 0;
    store(lanes, min(min(least[0], least[1]), min(least[2], least[3])));
    for (T lane : lanes) all = lane < all ? lane : all;
    return all < 0 ? -all : T(0);
}

template <class T>
void product(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half, T *values) {
    tile<Product<T>>(m, n, d, x, x_half, y, y_half, values);
}

template <class T>
T product_checked(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half,
                  T *values) {
    tile<Product<T>>(m, n, d, x, x_half, y, y_half, values);
    return worst(m, n, x_half, y_half, values);
}

template <class T>
void difference(int64_t m, int64_t n, int64_t d, const T *x, const T *x_half, const T *y, const T *y_half, T *values) {
    tile<Difference<T>>(m, n, d, x, x_half, y, y_half, values);
}

template <class T>
void halves(int64_t d, const T *x, T *half) {
    constexpr T u = sizeof(T) == 4 ? T(0x1p-24) : T(0x1p-53), large = T(0x1p60);
    const Vector<T> none = splat(T(0));
    for (int64_t i = 0; i < ld; i += width<T>) {
        Vector<T> sum = none;
        for (int64_t k = 0; k < d; ++k) sum = fma(load(x + k * ld + i), load(x + k * ld + i), sum);
        Vector<T> a = sum * splat(T(-0.5));
        // Each round computes the exponent 2 a + |x'|^2 of each point with itself. Where it is
        // negative, half of the missing amount and one ulp are added to a, which the exponent
        // contains twice.
        for (int round = 0; round < 4; ++round) {
            Vector<T> self = Product<T>::begin(a, a);
            for (int64_t k = 0; k < d; ++k) self = Product<T>::add(load(x + k * ld + i), load(x + k * ld + i), self);
            const Vector<T> missing = none - min(self, none), ulp = a * splat(-2 * u);
            a = a + fma(missing, splat(T(0.5)), min(missing * splat(large), ulp));
        }
        store(half + i, a);
    }
}

// Computes values_i = 2^(-|x - y_i|^2 / 2). Each step takes as many points y_i as the registers
// hold sums, so that long runs of each coordinate of y are read in the order in which they are
// stored. The last step is just as wide: it also computes values beyond n, from the padding of y.
template <class T>
void row_values(int64_t n, int64_t d, const T *x, const T *y, T *values) {
    constexpr int count = rows * vectors; // as many sums as in a block of a tile
    for (int64_t j = 0; j < n; j += count * width<T>) {
        Vector<T> sum[count];
        MERCER_UNROLL
        for (int c = 0; c < count; ++c) sum[c] = splat(T(0));
        for (int64_t k = 0; k < d; ++k) {
            MERCER_UNROLL
            for (int c = 0; c < count; ++c)
                sum[c] = Difference<T>::add(splat(x[k]), load(y + k * ld + j + c * width<T>), sum[c]);
        }
        MERCER_UNROLL
        for (int c = 0; c < count; ++c) store(values + j + c * width<T>, exp2(Difference<T>::exponent(sum[c])));
    }
}

// Computes the sums of `together` rows of w at once, which share the loads of the values.
template <int together, class T>
void add_products(int64_t n, const T *values, const T *w, double *sums) {
    constexpr int chains = fused_parts / width<T>;
    Vector<T> sum[together][chains];
    MERCER_UNROLL
    for (int s = 0; s < together; ++s) {
        MERCER_UNROLL
        for (int c = 0; c < chains; ++c) sum[s][c] = splat(T(0));
    }
    for (int64_t i = 0; i < n; i += fused_parts) {
        MERCER_UNROLL
        for (int c = 0; c < chains; ++c) {
            const Vector<T> value = load(values + i + c * width<T>);
            MERCER_UNROLL
            for (int s = 0; s < together; ++s) sum[s][c] = fma(value, load(w + s * ld + i + c * width<T>), sum[s][c]);
        }
    }
    for (int s = 0; s < together; ++s) {
        alignas(64) T part[fused_parts];
        MERCER_UNROLL
        for (int c = 0; c < chains; ++c) store(part + c * width<T>, sum[s][c]);
        for (int l = 0; l < fused_parts; ++l) sums[s * fused_parts + l] += part[l];
    }
}

template <class T>
void row(int64_t n, int64_t d, const T *x, const T *y, int64_t r, const T *w, double *sums) {
    constexpr int together = width<T> >= 8 ? 4 : 1; // as many as the registers allow
    alignas(64) T values[ld];
    row_values(n, d, x, y, values);
    int64_t j = 0;
    for (; j + together <= r; j += together) add_products<together>(n, values, w + j * ld, sums + j * fused_parts);
    for (; j < r; ++j) add_products<1>(n, values, w + j * ld, sums + j * fused_parts);
}

template <class T>
void finish(int64_t m, int64_t n, const T *x_half, const T *y_half, T *values) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; j += width<T>) {
            T *at = values + i * ld + j;
            store(at, exp2(load(at) + (splat(x_half[i]) + load(y_half + j))));
        }
    clear_edges(m, n, values);
}

template <class T>
T finish_checked(int64_t m, int64_t n, const T *x_half, const T *y_half, T *values) {
    finish(m, n, x_half, y_half, values);
    return worst(m, n, x_half, y_half, values);
}

// Writes whole cache lines past the caches, and the values before and after them by ordinary
// stores.
template <class T>
void stream_row(int64_t n, const T *from, T *to) {
    constexpr int64_t line = 64 / sizeof(T);
    const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) % 64 / sizeof(T));
    int64_t j = 0;
    for (; j < n && j < head; ++j) to[j] = from[j];
    for (; j + line <= n; j += line)
        for (int64_t l = 0; l < line; l += width<T>) stream(to + j + l, load(from + j + l));
    for (; j < n; ++j) to[j] = from[j];
}

template <class T>
void store_rows(int64_t m, int64_t n, const T *values, T *out, int64_t stride) {
    for (int64_t i = 0; i < m; ++i) stream_row(n, values + i * ld, out + i * stride);
    stream_end();
}

// Transposes a square whose side is one cache line: out[j * stride + i] = values[i * 256 + j].
// Vector l collects a 128-bit lane from each of the rows i + l, i + l + small, ...; the lanes at
// one position of the `small` vectors then form a small square, which is transposed in registers.
template <bool streamed, class T>
inline void turn(const T *values, T *out, int64_t stride) {
    constexpr int side = 64 / sizeof(T), small = 16 / sizeof(T);
    for (int j = 0; j < side; j += small)
        for (int i = 0; i < side; i += width<T>) {
            Vector<T> v[small];
            MERCER_UNROLL
            for (int l = 0; l < small; ++l) v[l] = load_lanes(values + (i + l) * ld + j, small * ld);
            transpose(v);
            MERCER_UNROLL
            for (int l = 0; l < small; ++l) {
                T *to = out + (j + l) * stride + i;
                streamed ? stream(to, v[l]) : store(to, v[l]);
            }
        }
}

template <class T>
void store_transposed(int64_t m, int64_t n, const T *values, T *out, int64_t stride) {
    constexpr int64_t side = 64 / sizeof(T);
    const bool aligned = reinterpret_cast<uintptr_t>(out) % 64 == 0 && stride % side == 0;
    alignas(64) T turned[side * ld]; // transposed rows, if out is not aligned to cache lines
    for (int64_t j = 0; j < n; j += side) {
        const int64_t high = n - j < side ? n - j : side;
        const int64_t whole = high == side ? m / side * side : 0;
        for (int64_t i = 0; i < whole; i += side)
            if (aligned)
                turn<true>(values + i * ld + j, out + j * stride + i, stride);
            else
                turn<false>(values + i * ld + j, turned + i, ld);
        T *edge = aligned ? out + j * stride : turned;
        const int64_t edge_ld = aligned ? stride : ld;
        for (int64_t l = 0; l < high; ++l)
            for (int64_t i = whole; i < m; ++i) edge[l * edge_ld + i] = values[i * ld + j + l];
        for (int64_t l = 0; l < high && !aligned; ++l) stream_row(m, turned + l * ld, out + (j + l) * stride);
    }
    stream_end();
}

template <class T>
constexpr FusedTable<T> table = {halves<T>, product<T>,        product_checked<T>, difference<T>,      row<T>,
                                 finish<T>, finish_checked<T>, store_rows<T>,      store_transposed<T>};

} // namespace

MERCER_ISA_TABLE(FusedTable<float>, fused_f32, table<float>);
MERCER_ISA_TABLE(FusedTable<double>, fused_f64, table<double>);

} // namespace mercer
