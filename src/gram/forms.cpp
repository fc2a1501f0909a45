// Squared distances that are computed from dot products carry a rounding error of up to
// 2 (d + 4) u (|x|^2 + |y|^2). This is negligible for distant rows, but can exceed the distance
// itself for close ones. Close pairs are therefore recomputed by differences, which have a relative
// error of at most (d + 2) u. tile.cpp defines which pairs are close.
//
// This file is compiled into one object per instruction set, so it must not use templates of the
// standard library (see vmath.cpp).
#include "forms.h"

namespace mercer {
namespace {

template <class T>
inline int is_close(T value, T norms, Close<T> close) {
    const T far = close.far * norms;
    const bool certain = (value > far * far) | (value > close.beyond);
    return !(value > close.near * norms) | !certain; // a pair with NaN counts as close
}

template <class T>
bool sqdist(int64_t m, int64_t n, const T *x_norms, const T *y_norms, Close<T> close, T *values, int64_t stride) {
    int any = 0;
    for (int64_t i = 0; i < m; ++i) {
        T *row = values + i * stride;
        for (int64_t j = 0; j < n; ++j) {
            const T norms = x_norms[i] + y_norms[j], value = norms - 2 * row[j];
            row[j] = value > 0 ? value : T(0);
            any |= is_close(value, norms, close);
        }
    }
    return any != 0;
}

template <class T>
bool find(int64_t n, T x_norm, const T *y_norms, Close<T> close, const T *values, unsigned char *found) {
    int any = 0;
    for (int64_t j = 0; j < n; ++j) {
        const int close_one = is_close(values[j], x_norm + y_norms[j], close);
        found[j] = static_cast<unsigned char>(close_one);
        any |= close_one;
    }
    return any != 0;
}

// Collects the terms in sixteen partial sums and adds these in a fixed order. The bits therefore do
// not depend on the vector width, and the compiler can vectorise the loop without reassociating
// sums.
template <class T>
T square_difference(int64_t d, const T *x, const T *y) {
    T part[16] = {};
    int64_t k = 0;
    for (; k + 16 <= d; k += 16)
        for (int l = 0; l < 16; ++l) {
            T diff = x[k + l] - y[k + l];
            part[l] += diff * diff;
        }
    for (int l = 0; k < d; ++k, ++l) {
        T diff = x[k] - y[k];
        part[l] += diff * diff;
    }
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) part[l] += part[l + half];
    return part[0];
}

template <class T>
void differences(int64_t n, int64_t d, const T *x, const T *y, const unsigned char *found, T *values) {
    for (int64_t j = 0; j < n; ++j)
        if (found[j]) values[j] = square_difference(d, x, y + j * d);
}

struct L1 {
    template <class T>
    static T of(T x, T y) {
        return x > y ? x - y : y - x;
    }
};
struct Chi2 {
    template <class T>
    static T of(T x, T y) {
        T sum = x + y, diff = x - y;
        return sum > 0 ? diff * diff / sum : T(0);
    }
};
struct Min {
    template <class T>
    static T of(T x, T y) {
        return x < y ? x : y;
    }
};
struct Hamming {
    template <class T>
    static T of(T x, T y) {
        return x == y ? T(0) : T(1);
    }
};

template <class Form, class T>
void pairwise(int64_t m, int64_t n, int64_t d, const T *x, const T *y, T *values, int64_t stride) {
    for (int64_t i = 0; i < m; ++i) {
        T *__restrict row = values + i * stride;
        for (int64_t j = 0; j < n; ++j) row[j] = 0;
        for (int64_t k = 0; k < d; ++k) {
            const T a = x[i * d + k];
            const T *__restrict b = y + k * n;
            for (int64_t j = 0; j < n; ++j) row[j] += Form::of(a, b[j]);
        }
    }
}

template <class T>
constexpr FormTable<T> table = {sqdist<T>,         find<T>,          differences<T>,      pairwise<L1, T>,
                                pairwise<Chi2, T>, pairwise<Min, T>, pairwise<Hamming, T>};

} // namespace

MERCER_ISA_TABLE(FormTable<float>, forms_f32, table<float>);
MERCER_ISA_TABLE(FormTable<double>, forms_f64, table<double>);

} // namespace mercer
