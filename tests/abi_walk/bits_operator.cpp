// Checks that the solver plugins solve an eigenproblem of an operator that is not part of the
// library and that they see through c_operator() alone: a kernel matrix with one random bit for
// each entry, whose expected value is the kernel value. The argument is the folder with the plugins
// of this directory.
#include "../unit/oracle.h"
#include "host/task.h"
#include "operator/weighted.h"

#include <cstdio>
#include <cstdlib>

using namespace mercer;
using oracle::Matrix;

#define CHECK(condition)                                                                                               \
    ((condition) ? void() : (std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), std::exit(1)))

namespace {

// The matrix lo + (hi - lo) b_ij with the bits b_ij = [u_ij (hi - lo) < K_ij - lo], where u_ij =
// u_ji is uniform in [0, 1), so that its expected value is K.
class BitsOperator : public Operator {
  public:
    BitsOperator(const Matrix &k, double lo, double hi, uint64_t seed)
        : Operator(k.rows, false), lo_(lo), hi_(hi), width_((k.rows + 7) / 8) {
        bits_.resize(static_cast<size_t>(n() * width_));
        Random random(seed, Stage::gram);
        for (int64_t i = 0; i < n(); ++i)
            for (int64_t j = 0; j < n(); ++j)
                if (random.uniform(std::min(i, j), std::max(i, j)) * (hi - lo) < k(i, j) - lo)
                    bits_[static_cast<size_t>(i * width_ + j / 8)] |= static_cast<unsigned char>(1 << j % 8);
    }
    bool bit(int64_t i, int64_t j) const { return bits_[static_cast<size_t>(i * width_ + j / 8)] >> j % 8 & 1; }
    unsigned char byte(int64_t i, int64_t k) const { return bits_[static_cast<size_t>(i * width_ + k)]; }
    double entry(int64_t i, int64_t j) const { return bit(i, j) ? hi_ : lo_; }

    void product(Run &run, bool, int64_t p, const Fill &q, const Take &y) const override {
        oracle::Vector in(static_cast<size_t>(n() * p)), out(in.size());
        q(0, n(), in.data(), p);
        for (int64_t c = 0; c < p; ++c) {
            double sum = 0;
            for (int64_t j = 0; j < n(); ++j) sum += in[static_cast<size_t>(j * p + c)];
            for (int64_t i = 0; i < n(); ++i) {
                double part = 0;
                for (int64_t j = 0; j < n(); ++j) part += bit(i, j) ? in[static_cast<size_t>(j * p + c)] : 0;
                out[static_cast<size_t>(i * p + c)] = lo_ * sum + (hi_ - lo_) * part;
            }
            run.progress(static_cast<double>(c + 1) / static_cast<double>(p));
        }
        y(out.data(), p);
    }
    void dense(Run &, double *a, int64_t lda) const override {
        for (int64_t j = 0; j < n(); ++j)
            for (int64_t i = 0; i < n(); ++i) a[i + j * lda] = entry(i, j);
    }
    void diagonal(Run &, double *out) const override {
        for (int64_t i = 0; i < n(); ++i) out[i] = entry(i, i);
    }
    Fidelity fidelity() const override { return {INFINITY, false}; }

  private:
    double lo_, hi_;
    int64_t width_;
    std::vector<unsigned char> bits_;
};

Matrix gram(const Matrix &x, double sigma) { return oracle::gram(oracle::gaussian(sigma), x, x); }

// Compares the first bits, and the number of ones, with recorded values.
void golden() {
    Matrix x(12, 2);
    for (int64_t i = 0; i < 12; ++i) {
        x(i, 0) = static_cast<double>((7 * i * i + 2 * i) % 23);
        x(i, 1) = static_cast<double>((10 * i + 3 * i * i * i) % 19);
    }
    BitsOperator bits(gram(x, 8), 0, 1, 42);
    const unsigned char rows[4][2] = {{0x75, 0x01}, {0xce, 0x07}, {0x67, 0x05}, {0xea, 0x00}};
    int ones = 0;
    for (int64_t i = 0; i < 12; ++i)
        for (int64_t j = 0; j < 12; ++j) ones += bits.bit(i, j);
    for (int64_t i = 0; i < 4; ++i) CHECK(bits.byte(i, 0) == rows[i][0] && bits.byte(i, 1) == rows[i][1]);
    CHECK(ones == 72);
}

void solve(const Plugin &plugin, const BitsOperator &bits, bool centred, const oracle::Vector &exact) {
    const int64_t n = bits.n(), r = 5;
    Run run({}, nullptr);
    // The library centres the bits (H Khat H) as it centres any other operator.
    WeightedOperator op(run, bits, nullptr, centred);
    CHECK(!op.fidelity().exact() && !op.fidelity().positive);
    mercer_operator c_op = op.c_operator();
    mercer_task task(run, Random(1, Stage::solver));
    Params params(plugin.params);
    std::vector<double> values(r), residuals(r);
    Block vectors(run, n, r, false), y(run, n, r, false);
    mercer_eigen_request request{};
    request.struct_size = sizeof request;
    request.r = r;
    request.tol = 1e-9;
    mercer_eigen_result result{sizeof result, values.data(), columns(vectors), residuals.data(), 0, 0, 0, 0, 0};
    task.check(plugin.solver.solve(&host_table(), &task, params.values(), &c_op, &request, &result), plugin);
    op.apply(run, false, columns(vectors), columns(y));
    CHECK(result.converged && result.most_negative < 0); // the matrix of bits is indefinite
    for (int64_t j = 0; j < r; ++j) {
        double error = 0;
        for (int64_t i = 0; i < n; ++i)
            error = oracle::larger(error,
                                   std::fabs(y.column(j)[i] - values[static_cast<size_t>(j)] * vectors.column(j)[i]));
        CHECK(error <= 1e-9 * values[0]);
        CHECK(std::fabs(values[static_cast<size_t>(j)] - exact[static_cast<size_t>(j)]) <= 1e-9 * values[0]);
    }
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 2);
    golden();
    const int64_t n = 150;
    Matrix x = oracle::Numbers(6).matrix(n, 3), k = gram(x, 0.8), vectors, dense(n, n);
    BitsOperator bits(k, 0, 1, 7);
    double error = 0;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
            dense(i, j) = bits.entry(i, j);
            error += (dense(i, j) - k(i, j)) / static_cast<double>(n * n);
            CHECK(bits.bit(i, j) == bits.bit(j, i));
        }
    // The mean error of K has the expected value 0 and a standard deviation of at most 0.71 / n,
    // because n^2 / 2 independent bits of variance <= 1/4 stand in two entries each. The limit is
    // 3.5 times that.
    CHECK(std::fabs(error) < 5 * 0.5 / static_cast<double>(n));
    Registry registry;
    registry.add_folder(argv[1]);
    for (bool centred : {false, true}) {
        oracle::Vector exact =
            oracle::eigen(oracle::weighted_centred(dense, oracle::Vector(n, 1.0 / n), centred), vectors);
        for (double &value : exact) value *= n;
        for (const char *name : {"dense", "block-krylov", "orthogonal", "power"})
            solve(*registry.find(Kind::solver, name), bits, centred, exact);
    }
    return 0;
}
