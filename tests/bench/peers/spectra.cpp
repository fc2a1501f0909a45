// The peer Spectra (see ../peer.h): eigenpairs of a stored, centred kernel matrix. Eigen computes
// the matrix. All threads compute and multiply it.
#include <iostream>
#include <string>

#if __has_include(<Spectra/SymEigsSolver.h>) && __has_include(<Eigen/Core>)
#include "../data.h"

#include <Spectra/SymEigsSolver.h>
#include <chrono>

namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

constexpr Eigen::Index ROWS = 64; // rows of a panel, which one thread computes or multiplies at a time

// The operator H K H, which is never formed: K is stored, and the means are subtracted from the
// vector and from the product.
template <class T>
class Centred {
  public:
    using Scalar = T;
    Centred(const Table<T> &x, double sigma) : k_(x.n, x.n) {
        const Matrix<T> z = Eigen::Map<const Matrix<T>>(x.values.data(), x.n, x.d) / static_cast<T>(sigma);
        const Vector<T> half = z.rowwise().squaredNorm() / 2;
#pragma omp parallel for schedule(dynamic)
        for (Eigen::Index i = 0; i < x.n; i += ROWS) {
            const Eigen::Index count = std::min(ROWS, x.n - i);
            auto panel = k_.middleRows(i, count);
            panel.noalias() = z.middleRows(i, count) * z.transpose();
            panel = ((panel.colwise() - half.segment(i, count)).rowwise() - half.transpose()).array().exp();
        }
    }
    Eigen::Index rows() const { return k_.rows(); }
    Eigen::Index cols() const { return k_.cols(); }
    void perform_op(const T *in, T *out) const {
        Vector<T> q = Eigen::Map<const Vector<T>>(in, rows());
        q.array() -= q.mean();
        Eigen::Map<Vector<T>> y(out, rows());
#pragma omp parallel for schedule(static)
        for (Eigen::Index i = 0; i < rows(); i += ROWS) {
            const Eigen::Index count = std::min(ROWS, rows() - i);
            y.segment(i, count).noalias() = k_.middleRows(i, count) * q;
        }
        y.array() -= y.mean();
    }

  private:
    Matrix<T> k_;
};

template <class T>
void kpca(const std::string &path, double sigma, int r, double tolerance) {
    const Table<T> x = read_npy<T>(path);
    const auto start = std::chrono::steady_clock::now();
    Centred<T> k(x, sigma);
    Spectra::SymEigsSolver<Centred<T>> solver(k, r, std::min<int>(2 * r + 10, static_cast<int>(x.n)));
    solver.init();
    solver.compute(Spectra::SortRule::LargestAlge, 1000, static_cast<T>(tolerance));
    const Matrix<T> vectors = solver.eigenvectors();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::cout << "ok " << seconds.count();
    for (T value : solver.eigenvalues()) std::cout << " " << value / static_cast<T>(x.n);
    std::cout << " # " << solver.num_operations() << " products" << std::endl;
}

} // namespace

int main() {
    std::cout.precision(17);
    for (std::string name, path, sigma, r, tolerance; std::cin >> name >> path >> sigma >> r >> tolerance;) {
        try {
            (npy_dtype(path) == "f4" ? kpca<float> : kpca<double>)(path, std::stod(sigma), std::stoi(r),
                                                                   std::stod(tolerance));
        } catch (const std::exception &error) {
            std::cout << "error " << error.what() << std::endl;
        }
    }
}
#else
int main() {
    for (std::string line; std::getline(std::cin, line) && std::getline(std::cin, line);)
        std::cout << "absent built without Spectra and Eigen" << std::endl;
}
#endif
