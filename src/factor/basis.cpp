#include "basis.h"

#include <numeric>

namespace mercer {

template <class T>
std::shared_ptr<PartialCholesky<T>> basis_of(Run &run, const KernelRows &points) {
    auto out = std::make_shared<PartialCholesky<T>>(run, points, points.n);
    CountedVector<int64_t> order(static_cast<size_t>(points.n));
    std::iota(order.begin(), order.end(), int64_t{0});
    out->append(order.data(), points.n);
    return out;
}

template std::shared_ptr<PartialCholesky<float>> basis_of(Run &, const KernelRows &);
template std::shared_ptr<PartialCholesky<double>> basis_of(Run &, const KernelRows &);

} // namespace mercer
