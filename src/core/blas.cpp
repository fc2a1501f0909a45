#include "blas.h"

#include "memory.h"

#include <algorithm>
#include <atomic>
#include <cblas.h>
#include <cinttypes>
#include <cmath>
#include <lapacke.h>
#include <mutex>
#include <new>
#include <omp.h>
#include <pthread.h>
#include <semaphore>
#include <sys/mman.h>

// The first function reserves one of the buffers of OpenBLAS, the second one releases it. OpenBLAS
// exports both but declares them in none of its headers.
extern "C" {
[[gnu::weak]] void *blas_memory_alloc(int);
[[gnu::weak]] void blas_memory_free(void *);
}

namespace mercer {
namespace {

constexpr int openblas_on_openmp = 2; // value of openblas_get_parallel() in a build on OpenMP

// Every call of OpenBLAS passes a gate, which has one permit for each buffer that OpenBLAS is known
// to hold. A call in OpenBLAS needs a buffer of 128 MiB. OpenBLAS keeps the buffers that it has
// mapped, but if a mapping fails, it retries for ever. Therefore a call that finds no free permit
// first tests whether the system grants a mapping of that size, and then lets OpenBLAS map one more
// buffer. If the system refuses, the call waits until another call ends; if OpenBLAS holds no
// buffer at all, the call fails with E_MEMORY. OpenBLAS lists its buffers in a table of fixed size,
// which 200 concurrent calls overran (measured; 160 worked), so the number of buffers is limited.
constexpr int most_buffers = 64;
using Gate = std::counting_semaphore<most_buffers>;
alignas(Gate) unsigned char gate_memory[sizeof(Gate)];
Gate &gate() { return *std::launder(reinterpret_cast<Gate *>(gate_memory)); }

std::mutex buffers_lock;
int buffers = 0;                  // buffers that OpenBLAS is known to hold, in use or free
void *buffers_seen[most_buffers]; // addresses of these buffers

std::mutex scope_lock;
int scope_count = 0, scope_saved = 1;

void reset_in_child() {
    new (gate_memory) Gate(0);
    new (&buffers_lock) std::mutex;
    // The child counts from 0 again, because nobody returns the buffers that were in use at the
    // fork.
    buffers = 0;
    new (&scope_lock) std::mutex;
    scope_count = 0;
}

// Threads that were inside the gate or a scope at a fork do not exist in the child, so the child
// resets both.
const int prepared = [] {
    new (gate_memory) Gate(0);
    return pthread_atfork([] { buffers_lock.lock(); }, [] { buffers_lock.unlock(); }, reset_in_child);
}();

// Tests whether the system would map one more buffer now. The probe is 4 MiB larger than a buffer,
// because OpenBLAS maps other memory together with a buffer.
bool room_for_a_buffer() {
    constexpr size_t size = size_t{132} << 20;
    void *probe = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED) return false;
    munmap(probe, size);
    return true;
}

// Makes OpenBLAS hold one buffer more than it was known to hold. OpenBLAS hands out the first free
// buffer, so this function takes the free buffers that are already known until OpenBLAS returns a
// new one, and then returns all of them.
bool add_buffer() {
    if (!blas_memory_alloc || !blas_memory_free)
        return room_for_a_buffer(); // this build of OpenBLAS does not export the two functions
    void *taken[most_buffers];
    int count = 0;
    bool added = false;
    while (!added && count < most_buffers && room_for_a_buffer()) {
        void *buffer = taken[count++] = blas_memory_alloc(0);
        added = std::find(buffers_seen, buffers_seen + buffers, buffer) == buffers_seen + buffers;
        if (added) buffers_seen[buffers] = buffer;
    }
    while (count > 0) blas_memory_free(taken[--count]);
    return added;
}

void enter() {
    if (gate().try_acquire()) return;
    {
        std::lock_guard hold(buffers_lock);
        if (buffers < most_buffers && add_buffer()) {
            ++buffers; // this call keeps the permit of the new buffer, and releases it when it ends
            return;
        }
        if (buffers == 0)
            fail(MERCER_E_MEMORY,
                 "the system refused the 128 MiB of address space that a call of OpenBLAS needs; raise ulimit -v");
    }
    gate().acquire();
}

struct Entry {
    Entry() { enter(); }
    ~Entry() { gate().release(); }
};

CBLAS_TRANSPOSE op(char trans) { return trans == 'N' ? CblasNoTrans : CblasTrans; }

lapack_int small(int64_t size) {
    if (size < 0 || size > INT32_MAX) fail(MERCER_E_SHAPE, "a matrix side of %" PRId64 " is too large for BLAS", size);
    return static_cast<lapack_int>(size);
}

// If `lower` is set, only entries on and below the diagonal are checked.
void check_finite(const char *what, int64_t rows, int64_t cols, const double *a, int64_t lda, bool lower = false) {
    for (int64_t j = 0; j < cols; ++j) {
        double sum = 0; // 0 times NaN or Inf is NaN, so one such entry makes the sum NaN
        for (int64_t i = lower ? j : 0; i < rows; ++i) sum += 0 * a[i + j * lda];
        if (!(sum == 0)) fail(MERCER_E_NUMERICAL, "%s: column %" PRId64 " is not finite", what, j);
    }
}

} // namespace

bool blas_has_room() {
    std::lock_guard hold(buffers_lock);
    if (buffers == 0 && add_buffer()) {
        ++buffers;
        gate().release();
    }
    return buffers > 0;
}

std::string blas_description() {
    // config is, for example, "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX
    // MAX_THREADS=64".
    const std::string config = openblas_get_config();
    const size_t name = config.find(' '), version = name == std::string::npos ? name : config.find(' ', name + 1);
    const int parallel = openblas_get_parallel();
    std::string out = config.substr(0, version) + (parallel == openblas_on_openmp ? " on OpenMP"
                                                   : parallel == 0                ? ", one thread"
                                                                                  : " on pthreads");
    out += std::string(", ") + openblas_get_corename() + " kernels";
    const size_t most = config.find("MAX_THREADS=");
    if (parallel != 0 && most != std::string::npos)
        out += ", at most " + config.substr(most + 12, config.find(' ', most) - most - 12) + " threads";
    return out;
}

BlasScope::BlasScope() : saved_(0) {
    if (openblas_get_parallel() == openblas_on_openmp) {
        saved_ = omp_get_max_threads();
        omp_set_num_threads(1);
        return;
    }
    std::lock_guard hold(scope_lock);
    if (scope_count++ == 0) {
        scope_saved = openblas_get_num_threads();
        openblas_set_num_threads(1);
    }
}

BlasScope::~BlasScope() {
    if (openblas_get_parallel() == openblas_on_openmp) {
        omp_set_num_threads(saved_);
        return;
    }
    std::lock_guard hold(scope_lock);
    if (--scope_count == 0) openblas_set_num_threads(scope_saved);
}

void gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
          const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
    if (m == 0 || n == 0) return;
    Entry entry;
    cblas_dgemm(CblasColMajor, op(transa), op(transb), small(m), small(n), small(k), alpha, a,
                small(std::max<int64_t>(lda, 1)), b, small(std::max<int64_t>(ldb, 1)), beta, c,
                small(std::max<int64_t>(ldc, 1)));
}

void gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
          const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    if (m == 0 || n == 0) return;
    Entry entry;
    cblas_sgemm(CblasColMajor, op(transa), op(transb), small(m), small(n), small(k), alpha, a,
                small(std::max<int64_t>(lda, 1)), b, small(std::max<int64_t>(ldb, 1)), beta, c,
                small(std::max<int64_t>(ldc, 1)));
}

void trsm(char trans, int64_t m, int64_t n, const double *l, int64_t ldl, double *x, int64_t ldx) {
    if (m == 0 || n == 0) return;
    Entry entry;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, op(trans), CblasNonUnit, small(m), small(n), 1.0, l, small(ldl),
                x, small(ldx));
}

void solve_lower(int64_t m, int64_t n, const double *l, int64_t ldl, double *x, int64_t ldx) {
    if (m == 0 || n == 0) return;
    Entry entry;
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, small(m), small(n), 1.0, l,
                small(ldl), x, small(ldx));
}

void solve_lower(int64_t m, int64_t n, const float *l, int64_t ldl, float *x, int64_t ldx) {
    if (m == 0 || n == 0) return;
    Entry entry;
    cblas_strsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, small(m), small(n), 1.0f, l,
                small(ldl), x, small(ldx));
}

int64_t potrf(int64_t n, double *a, int64_t lda) {
    if (n == 0) return 0;
    check_finite("potrf", n, n, a, lda, true);
    Entry entry;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', small(n), a, small(lda));
}

int64_t potrf_leading(int64_t n, std::vector<double> &a, int64_t lda) {
    const std::vector<double> whole = a;
    const int64_t bad = potrf(n, a.data(), lda);
    if (!bad) return n;
    a = whole; // LAPACK does not specify what a failed call leaves in a
    potrf(bad - 1, a.data(), lda);
    return bad - 1;
}

void qr(int64_t n, double *a, int64_t lda, double *q, int64_t ldq) {
    if (n == 0) return;
    check_finite("qr", n, n, a, lda);
    Buffer<double> tau(n), work(64 * n); // dgeqrf and dorgqr use blocks of at most 64 columns
    Entry entry;
    lapack_int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, small(n), small(n), a, small(lda), tau.data(), work.data(),
                                          small(64 * n));
    for (int64_t j = 0; j < n; ++j) std::copy_n(a + j * lda, n, q + j * ldq);
    if (info == 0)
        info = LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, small(n), small(n), small(n), q, small(ldq), tau.data(),
                                   work.data(), small(64 * n));
    if (info != 0) fail(MERCER_E_NUMERICAL, "qr: info = %d", static_cast<int>(info));
    for (int64_t i = 0; i < n; ++i) {
        if (!(a[i + i * lda] < 0)) continue;
        for (int64_t j = i; j < n; ++j) a[i + j * lda] = -a[i + j * lda];
        for (int64_t k = 0; k < n; ++k) q[k + i * ldq] = -q[k + i * ldq];
    }
}

namespace {

// Computes all eigenpairs in ascending order; the eigenvectors replace a. The eigenvectors of
// dsyevd are orthogonal up to rounding, whereas the inner products of those of dsyevr reached
// 2.5e-12 in a case of order 149.
void eigh_all(int64_t n, double *a, int64_t lda, double *ascending) {
    // dsyevd's own workspace query overflows at n = 32 767 and still returns info = 0, so the size
    // is computed here.
    Buffer<double> work(1 + 6 * n + 2 * n * n);
    Buffer<lapack_int> iwork(3 + 5 * n);
    Entry entry;
    lapack_int info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', small(n), a, small(lda), ascending, work.data(),
                                          small(work.size()), iwork.data(), small(iwork.size()));
    if (info != 0) fail(MERCER_E_NUMERICAL, "dsyevd: info = %d", static_cast<int>(info));
}

// Computes the r largest eigenpairs in ascending order. dsyevr may return fewer without an error,
// because it counts intervals, and eigenvalues that are equal within rounding share an interval. If
// dsyevr returns fewer, or fails, this function returns false and restores the lower triangle of a
// from the upper one, in which it has stored a copy that dsyevr does not touch. The workspace is
// linear in n: dsyevr needs at least 26 n numbers and 10 n integers, and with blocks of nb columns
// its reduction uses (nb + 6) n numbers; 70 n suffice for nb = 64.
bool eigh_range(int64_t n, double *a, int64_t lda, int64_t r, double *ascending, double *vectors) {
    Buffer<double> found(n), work(70 * n), diagonal(n);
    for (int64_t j = 0; j < n; ++j) {
        diagonal[j] = a[j + j * lda];
        for (int64_t i = j + 1; i < n; ++i) a[j + i * lda] = a[i + j * lda];
    }
    // dsyevr falls back on dstebz, which writes to the entry before its integer array if no
    // eigenvalue is left. Therefore iwork has one more entry in front.
    Buffer<lapack_int> iwork(1 + 10 * n), support(2 * n);
    lapack_int count = 0;
    Entry entry;
    lapack_int info = LAPACKE_dsyevr_work(LAPACK_COL_MAJOR, 'V', 'I', 'L', small(n), a, small(lda), 0, 0,
                                          small(n - r + 1), small(n), 0, &count, found.data(), vectors, small(n),
                                          support.data(), work.data(), small(70 * n), iwork.data() + 1, small(10 * n));
    if (info < 0) fail(MERCER_E_NUMERICAL, "dsyevr: info = %d", static_cast<int>(info));
    if (info == 0 && count == r) {
        std::copy_n(found.data(), r, ascending);
        return true;
    }
    for (int64_t j = 0; j < n; ++j) {
        a[j + j * lda] = diagonal[j];
        for (int64_t i = j + 1; i < n; ++i) a[i + j * lda] = a[j + i * lda];
    }
    return false;
}

} // namespace

void eigh_top(int64_t n, double *a, int64_t lda, int64_t r, double *values, double *vectors, int64_t ldv) {
    if (n == 0 || r == 0) return;
    check_finite("eigh", n, n, a, lda, true);
    Buffer<double> ascending(n), top(r < n ? n : 0, r);
    const bool few = r < n && eigh_range(n, a, lda, r, ascending.data(), top.data());
    if (!few) {
        top = Buffer<double>();
        eigh_all(n, a, lda, ascending.data());
    }
    const int64_t count = few ? r : n, ld = few ? n : lda;
    const double *from = few ? top.data() : a;
    for (int64_t j = 0; j < r; ++j) {
        values[j] = ascending[count - 1 - j];
        std::copy_n(from + (count - 1 - j) * ld, n, vectors + j * ldv);
    }
    check_finite("eigh: values", r, 1, values, r);
    check_finite("eigh: vectors", n, r, vectors, ldv);
}

} // namespace mercer
