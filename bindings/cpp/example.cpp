// mercer.hpp at work: which rows are unlike those that a model was fitted on? All that is printed
// follows from the data.
//
//     c++ -std=c++17 example.cpp $(pkg-config --cflags --libs mercer) -o example && ./example
#include <cmath>
#include <iostream>
#include <mercer/mercer.hpp>

namespace {

// Four corners of a rectangle: with the linear kernel this is PCA, and the variances of the two
// columns, 4 and 1, are known.
void fit_and_look(const mercer::Context &context) {
    const mercer::Matrix<double> corners = [] {
        mercer::Matrix<double> out(4, 2);
        out.values = {2, 1, 2, -1, -2, 1, -2, -1};
        return out;
    }();
    mercer::Recipe recipe(context, "kpca");
    recipe.set("kernel", "linear").set("components", 2);
    const auto model = mercer::Model::fit(recipe, mercer::Data::from_view(context, corners.view()));
    const mercer::View<const double> lambda = model.tensor("lambda"); // borrowed from the model
    std::cout << "variances";
    for (int64_t k = 0; k < lambda.rows(); ++k) std::cout << ' ' << std::round(1e6 * lambda(k)) / 1e6;
    std::cout << '\n';
}

// Records of x, y and a time that the model does not use: a view takes x and y where they lie.
struct Record {
    double x, y, time;
};
mercer::Data points_of(const mercer::Context &context, const std::vector<Record> &records) {
    constexpr int64_t stride = sizeof(Record) / sizeof(double);
    const auto rows = static_cast<int64_t>(records.size());
    return mercer::Data::from_view(context, mercer::strided(&records.front().x, rows, 2, stride, 1));
}

// The centre of a ring is as unlike the points of the ring as what lies outside. No ellipse around
// the points would show that.
void find_what_is_unlike(const mercer::Context &context) {
    std::vector<Record> ring;
    for (int i = 0; i < 200; ++i) ring.push_back({std::cos(0.1 * i), std::sin(0.1 * i), 1.0 * i});
    const std::vector<Record> asked = {{0, 1, 0}, {-0.6, 0.8, 1}, {0, 0, 2}, {3, 0, 3}};

    mercer::Recipe recipe(context, "kpca"), residual(context, "residual");
    recipe.set({{"kernel", "gaussian"}, {"kernel.sigma", "0.5"}, {"output.variance", "0.999"}});
    mercer::Run run;
    run.threads = 1;
    run.progress = [](const mercer_progress &) { return false; }; // true would stop the fit
    const auto model = mercer::Model::fit(recipe, points_of(context, ring), run);
    model.save("ring.safetensors");

    const auto loaded = mercer::Model::load(context, "ring.safetensors");
    const double limit = std::stod(loaded.info("/limits/residual/p99"));
    const auto far = loaded.transform<double>(points_of(context, asked), &residual);
    for (int64_t i = 0; i < far.rows; ++i)
        std::cout << '(' << asked[static_cast<size_t>(i)].x << ", " << asked[static_cast<size_t>(i)].y << ") is "
                  << (far(i, 0) > 2 * limit ? "unlike" : "like") << " the ring\n";
}

// A kernel of one's own. It gets rows as views, a whole block at a time.
void use_a_kernel_of_ones_own(const mercer::Context &context) {
    const std::vector<double> x = {0, 3, 4, 7};
    auto product = [](const mercer_view &a, const mercer_view &b, const mercer_view &k) {
        const mercer::View<const double> from = a, to = b;
        const mercer::View<double> out = k;
        for (int64_t i = 0; i < out.rows(); ++i)
            for (int64_t j = 0; j < out.cols(); ++j) out(i, j) = from(i, 0) * to(j, 0);
    };
    mercer::Recipe recipe(context, "kpca");
    recipe.set("kernel", "user").set_kernel(product, MERCER_PSD);
    mercer::Matrix<double> k(4, 4);
    recipe.kernel(mercer::Data::from_view(context, mercer::column(x)), nullptr, k.view());
    std::cout << "3 times 7 is " << k(1, 3) << '\n';
}

} // namespace

int main() {
    try {
        const mercer::Context context;
        fit_and_look(context);
        find_what_is_unlike(context);
        use_a_kernel_of_ones_own(context);
        mercer::Recipe(context, "kpca").set("sgima", 5);
    } catch (const mercer::Error &e) {
        std::cout << "error " << e.code() << ": " << e.what() << '\n';
        return e.code() == MERCER_E_NAME ? 0 : 1;
    }
    return 1;
}
