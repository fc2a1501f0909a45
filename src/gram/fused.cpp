// placeholder
#include "fused.h"
namespace mercer {
namespace {
template <class T> T e2(T x) { return x > 0 ? T(1) : sizeof(T)==4 ? (x < -126 ? T(0) : (T)__builtin_exp2f((float)x)) : (x < -1022 ? T(0) : (T)__builtin_exp2((double)x)); }
template <class T, bool diff> T prod(int64_t m, int64_t n, int64_t d, const T *x, const T *xh, const T *y, const T *yh, T *v) {
    T worst = 0;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            T s = diff ? T(0) : xh[i] + yh[j];
            for (int64_t k = 0; k < d; ++k) { if (diff) { T e = x[k*256+i]-y[k*256+j]; s -= e*e/2; } else s += x[k * 256 + i] * y[k * 256 + j]; }
            T val = e2(s);
            v[i * 256 + j] = val;
            T w = val * -(xh[i] + yh[j]);
            if (w > worst) worst = w;
        }
    return worst;
}
template <class T> void product(int64_t m, int64_t n, int64_t d, const T *x, const T *xh, const T *y, const T *yh, T *v) { prod<T,false>(m,n,d,x,xh,y,yh,v); }
template <class T> void difference(int64_t m, int64_t n, int64_t d, const T *x, const T *xh, const T *y, const T *yh, T *v) { prod<T,true>(m,n,d,x,xh,y,yh,v); }
template <class T> T finishc(int64_t m, int64_t n, const T *xh, const T *yh, T *v) {
    T worst = 0;
    for (int64_t i = 0; i < m; ++i) for (int64_t j = 0; j < n; ++j) { v[i*256+j] = e2(v[i*256+j] + xh[i]+yh[j]); T w = v[i*256+j]*-(xh[i]+yh[j]); if (w>worst) worst=w; }
    return worst;
}
template <class T> void finish(int64_t m, int64_t n, const T *xh, const T *yh, T *v) { finishc<T>(m,n,xh,yh,v); }
template <class T> void store(int64_t m, int64_t n, const T *v, T *o, int64_t s) { for (int64_t i=0;i<m;++i) for(int64_t j=0;j<n;++j) o[i*s+j]=v[i*256+j]; }
template <class T> void storet(int64_t m, int64_t n, const T *v, T *o, int64_t s) { for (int64_t i=0;i<m;++i) for(int64_t j=0;j<n;++j) o[j*s+i]=v[i*256+j]; }
}
template <> const FusedTable<float> &fused_table<float>() { static const FusedTable<float> t = {product<float>, prod<float,false>, difference<float>, finish<float>, finishc<float>, store<float>, storet<float>}; return t; }
template <> const FusedTable<double> &fused_table<double>() { static const FusedTable<double> t = {product<double>, prod<double,false>, difference<double>, finish<double>, finishc<double>, store<double>, storet<double>}; return t; }
}
