// Operations on one vector register of the instruction set for which the including file is
// compiled, among them 2^x. This header is for files that are compiled once per instruction set;
// everything here is internal to such a file.
//
// 2^x for x <= 0: let n be x rounded to a multiple of h. Adding and subtracting 1.5 h / eps (eps =
// 2^-23 in f32, 2^-52 in f64) rounds x and leaves n / h in the low bits of the sum. With r = x - n,
// which is exact, 2^r = 1 + r q(r) and |r| <= h / 2. The polynomial q is minimax in the relative
// error of 1 + r q. Its coefficients are rounded: for the first three, the best of the neighbouring
// floating-point numbers were chosen, and the others were then fitted again. Relative errors:
//     h = 1                     f32 degree 6: 6e-9     f64 degree 11: 3e-17    portable, AVX2
//     h = 1/32 f32, 1/16 f64    f32 degree 3: 1.4e-8   f64 degree 6: 9e-18     AVX-512
// On AVX-512 a table in two registers gives 2^(n mod 1). With the roundings of r q, of the last sum
// and of the table, the error is at most 1.25 ulp (measured: 1.19). The table saves 3 of 7
// multiplications in f32 and 5 of 12 in f64.
#pragma once
#include <stdint.h>

#ifdef __SSE2__
// gcc 12 warns of registers that its own AVX-512 header leaves undefined on purpose (bug 105593).
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#ifndef __clang__
#pragma GCC diagnostic pop
#endif
#endif

// Placed before a loop over an array of registers: the compiler keeps the array in registers only
// if the loop is unrolled.
#ifdef __clang__
#define MERCER_UNROLL _Pragma("unroll")
#else
#define MERCER_UNROLL _Pragma("GCC unroll 16")
#endif

namespace mercer {
namespace {

#if defined(__AVX512F__)
#define MERCER_MM(name) _mm512_##name
typedef __m512 f32v;
typedef __m512d f64v;
#elif defined(__AVX2__) && defined(__FMA__)
#define MERCER_MM(name) _mm256_##name
typedef __m256 f32v;
typedef __m256d f64v;
#elif defined(__SSE2__)
#define MERCER_MM(name) _mm_##name
typedef __m128 f32v;
typedef __m128d f64v;
#else
typedef float f32v __attribute__((vector_size(16)));
typedef double f64v __attribute__((vector_size(16)));
#endif
typedef uint32_t u32v __attribute__((vector_size(sizeof(f32v))));
typedef uint64_t u64v __attribute__((vector_size(sizeof(f64v))));

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
    typedef f32v V;
};
template <>
struct Lanes<double> {
    typedef f64v V;
};
template <class T>
constexpr int width = sizeof(f32v) / sizeof(T);

inline f32v load(const float *from) {
    f32v v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}
inline f64v load(const double *from) {
    f64v v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}
inline void store(float *to, f32v v) { __builtin_memcpy(to, &v, sizeof v); }
inline void store(double *to, f64v v) { __builtin_memcpy(to, &v, sizeof v); }

#ifdef MERCER_MM
inline f32v splat(float value) { return MERCER_MM(set1_ps)(value); }
inline f64v splat(double value) { return MERCER_MM(set1_pd)(value); }
// a < b ? a : b, which is b if either is NaN.
inline f32v min(f32v a, f32v b) { return MERCER_MM(min_ps)(a, b); }
inline f64v min(f64v a, f64v b) { return MERCER_MM(min_pd)(a, b); }
// Returns one bit per vector element, which is set if a is not below b; NaN counts as not below.
#if defined(__AVX512F__)
inline uint32_t not_below(f32v a, f32v b) { return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
#elif defined(__AVX2__) && defined(__FMA__)
inline uint32_t not_below(f32v a, f32v b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ)));
}
#else
inline uint32_t not_below(f32v a, f32v b) { return static_cast<uint32_t>(_mm_movemask_ps(_mm_cmpnlt_ps(a, b))); }
#endif
// Stores to memory aligned to a vector, bypassing the caches.
inline void stream(float *to, f32v v) { MERCER_MM(stream_ps)(to, v); }
inline void stream(double *to, f64v v) { MERCER_MM(stream_pd)(to, v); }
inline void stream_end() { _mm_sfence(); }

// Transposes square matrices. In each 128-bit lane, the given vectors together hold one such matrix
// (4 x 4 in f32, 2 x 2 in f64).
inline void transpose(f32v (&v)[4]) {
    f32v a = MERCER_MM(unpacklo_ps)(v[0], v[2]), b = MERCER_MM(unpackhi_ps)(v[0], v[2]);
    f32v c = MERCER_MM(unpacklo_ps)(v[1], v[3]), d = MERCER_MM(unpackhi_ps)(v[1], v[3]);
    v[0] = MERCER_MM(unpacklo_ps)(a, c), v[1] = MERCER_MM(unpackhi_ps)(a, c);
    v[2] = MERCER_MM(unpacklo_ps)(b, d), v[3] = MERCER_MM(unpackhi_ps)(b, d);
}
inline void transpose(f64v (&v)[2]) {
    f64v first = v[0];
    v[0] = MERCER_MM(unpacklo_pd)(first, v[1]);
    v[1] = MERCER_MM(unpackhi_pd)(first, v[1]);
}
#else
inline f32v splat(float value) { return f32v{value, value, value, value}; }
inline f64v splat(double value) { return f64v{value, value}; }
inline f32v min(f32v a, f32v b) { return a < b ? a : b; }
inline f64v min(f64v a, f64v b) { return a < b ? a : b; }
inline uint32_t not_below(f32v a, f32v b) {
    uint32_t bits = 0;
    for (int k = 0; k < 4; ++k) bits |= static_cast<uint32_t>(!(a[k] < b[k])) << k;
    return bits;
}
inline void stream(float *to, f32v v) { store(to, v); }
inline void stream(double *to, f64v v) { store(to, v); }
inline void stream_end() {}
inline void transpose(f32v (&v)[4]) {
    f32v a = v[0], b = v[1], c = v[2], d = v[3];
    for (int k = 0; k < 4; ++k) v[k] = f32v{a[k], b[k], c[k], d[k]};
}
inline void transpose(f64v (&v)[2]) {
    f64v a = v[0], b = v[1];
    for (int k = 0; k < 2; ++k) v[k] = f64v{a[k], b[k]};
}
#endif

// a b + c, rounded once if the instruction set has a fused operation.
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
inline f32v fma(f32v a, f32v b, f32v c) { return MERCER_MM(fmadd_ps)(a, b, c); }
inline f64v fma(f64v a, f64v b, f64v c) { return MERCER_MM(fmadd_pd)(a, b, c); }
#else
inline f32v fma(f32v a, f32v b, f32v c) { return a * b + c; }
inline f64v fma(f64v a, f64v b, f64v c) { return a * b + c; }
#endif

// Loads a vector whose 128-bit lane l comes from `from + l * step`.
#if defined(__AVX512F__)
inline f32v load_lanes(const float *from, int64_t step) {
    f32v v = _mm512_castps128_ps512(_mm_loadu_ps(from));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + step), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + 2 * step), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(from + 3 * step), 3);
}
inline f64v load_lanes(const double *from, int64_t step) {
    f64v v = _mm512_castpd128_pd512(_mm_loadu_pd(from));
    v = _mm512_insertf64x2(v, _mm_loadu_pd(from + step), 1);
    v = _mm512_insertf64x2(v, _mm_loadu_pd(from + 2 * step), 2);
    return _mm512_insertf64x2(v, _mm_loadu_pd(from + 3 * step), 3);
}
#elif defined(__AVX2__) && defined(__FMA__)
inline f32v load_lanes(const float *from, int64_t step) { return _mm256_loadu2_m128(from + step, from); }
inline f64v load_lanes(const double *from, int64_t step) { return _mm256_loadu2_m128d(from + step, from); }
#else
inline f32v load_lanes(const float *from, int64_t) { return load(from); }
inline f64v load_lanes(const double *from, int64_t) { return load(from); }
#endif

#if defined(__AVX512F__)
// The tables of 2^(n mod 1). With N = n / h, entry k = N mod 32 (f32) or N mod 16 (f64) contains
// the bits of 2^(k h) less k, shifted left by 18 (f32) or 48 (f64). exp2 adds N, shifted in the
// same way, to this entry. The high bits of N thus increase the exponent by the integer part of n,
// and its low bits, which are k, cancel the k that was subtracted from the entry.
alignas(64) constexpr uint32_t roots_f32[32] = {
    0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3, 0x3f78f4f0,
    0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b, 0x3f75583f, 0x3f7523f6,
    0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a, 0x3f75b9be, 0x3f76248c, 0x3f76a81e,
    0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907, 0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3};
alignas(64) constexpr uint64_t roots_f64[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};

inline f32v exp2(f32v x) {
    x = min(splat(0.0f), x);
    f32v t = x + splat(0x1.8p18f), r = x - (t - splat(0x1.8p18f));
    __m512i bits = _mm512_castps_si512(t);
    __m512i root = _mm512_permutex2var_epi32(_mm512_load_si512(roots_f32), bits, _mm512_load_si512(roots_f32 + 16));
    f32v power = (f32v)((u32v)root + ((u32v)bits << 18));
    f32v q = fma(splat(0x1.55048cp-5f), r, splat(0x1.ebfccep-3f));
    q = fma(q, r, splat(0x1.62e486p-1f));
    return _mm512_maskz_fmadd_ps(_mm512_cmp_ps_mask(x, splat(-126.0f), _CMP_NLT_UQ), q * r, power, power);
}

inline f64v exp2(f64v x) {
    x = min(splat(0.0), x);
    f64v t = x + splat(0x1.8p48), r = x - (t - splat(0x1.8p48));
    __m512i bits = _mm512_castpd_si512(t);
    __m512i root = _mm512_permutex2var_epi64(_mm512_load_si512(roots_f64), bits, _mm512_load_si512(roots_f64 + 8));
    f64v power = (f64v)((u64v)root + ((u64v)bits << 48));
    f64v q = fma(splat(0x1.430cbb63e422fp-13), r, splat(0x1.5d89c0bb80de7p-10));
    q = fma(q, r, splat(0x1.3b2ab6f89449cp-7));
    q = fma(q, r, splat(0x1.c6b08d6e85546p-5));
    q = fma(q, r, splat(0x1.ebfbdff82c5b0p-3));
    q = fma(q, r, splat(0x1.62e42fefa39fdp-1));
    return _mm512_maskz_fmadd_pd(_mm512_cmp_pd_mask(x, splat(-1022.0), _CMP_NLT_UQ), q * r, power, power);
}
#else
// The rounding constant includes the bias of the exponent, so the low bits of t, shifted to the
// position of the exponent, are the floating-point number 2^n.
inline f32v exp2(f32v x) {
    x = min(splat(0.0f), x);
    const f32v magic = splat(0x1.8p23f + 127);
    f32v t = x + magic, r = x - (t - magic);
    f32v q = fma(splat(0x1.4392bap-13f), r, splat(0x1.5f457ep-10f));
    q = fma(q, r, splat(0x1.3b2990p-7f));
    q = fma(q, r, splat(0x1.c6ae72p-5f));
    q = fma(q, r, splat(0x1.ebfbe4p-3f));
    q = fma(q, r, splat(0x1.62e432p-1f));
    f32v power = (f32v)((u32v)t << 23), y = fma(q * r, power, power);
    return (f32v)((u32v)y & ~(u32v)(x < splat(-126.0f)));
}

inline f64v exp2(f64v x) {
    x = min(splat(0.0), x);
    const f64v magic = splat(0x1.8p52 + 1023);
    f64v t = x + magic, r = x - (t - magic);
    // The even and the odd powers form two chains of operations, because a single chain would be
    // longer than the processor can look ahead.
    f64v s = r * r;
    f64v p = fma(splat(0x1.e5b121d2daea0p-28), s, splat(0x1.62bfffc304e33p-20));
    f64v q = fma(splat(0x1.cf0e91ea48ccfp-32), s, splat(0x1.b53834195c26bp-24));
    p = fma(p, s, splat(0x1.430912fbee483p-13));
    q = fma(q, s, splat(0x1.ffcbf21979afcp-17));
    p = fma(p, s, splat(0x1.3b2ab6fba450dp-7));
    q = fma(q, s, splat(0x1.5d87fe7b2c982p-10));
    p = fma(p, s, splat(0x1.ebfbdff82c598p-3));
    q = fma(q, s, splat(0x1.c6b08d7048f30p-5));
    p = fma(fma(q, r, p), s, splat(0x1.62e42fefa39f4p-1) * r);
    f64v power = (f64v)((u64v)t << 52), y = fma(p, power, power);
    return (f64v)((u64v)y & ~(u64v)(x < splat(-1022.0)));
}
#endif

} // namespace
} // namespace mercer
