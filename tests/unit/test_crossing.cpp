// Weights and landmarks must have their effect in every method and for every source of data:
// weights as if rows were repeated, and landmarks as the centres.
#include "session.h"
#include "temp_files.h"

namespace {

constexpr int64_t n = 300, d = 4;

struct Problem {
    Matrix x = oracle::clusters(n, d), twice{0, d};
    Vector weights;
    std::vector<int64_t> landmarks;
    explicit Problem(Session &session) {
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value)); // exact in f32 and in CSV
        x = session.greedy_first(x);
        for (int64_t i = 0; i < n; ++i) {
            weights.push_back(static_cast<double>(1 + i % 3));
            for (int64_t k = 0; k <= i % 3; ++k) twice.v.insert(twice.v.end(), x.row(i), x.row(i) + d), ++twice.rows;
            if (i % 4 == 1) landmarks.push_back(n - i);
        }
    }
};

int32_t next(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    const Matrix &x = *static_cast<const Matrix *>(user);
    *rows = std::min(capacity, x.rows - first);
    std::copy_n(x.v.data() + first * d, *rows * d, static_cast<double *>(buffer));
    return 0;
}
int32_t pairs(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    const Matrix &x = *static_cast<const Matrix *>(user);
    for (int64_t k = 0; k < count; ++k) values[k] = std::sqrt(oracle::sqdist(x.row(i[k]), x.row(j[k]), d));
    return 0;
}

// Passes the rows of the problem to the library from one of the sources. weigh() adds the weights,
// which for a CSV file are one of its columns, and mark() adds the landmarks.
class Given {
  public:
    Given(Session &session, const TempFolder &folder, const std::string &how, Problem &problem)
        : session_(session), problem_(problem), how_(how), held_(problem.x, {how == "f32", how == "columns"}) {
        mercer_context *context = session.context;
        if (how == "chunks") {
            const mercer_chunks chunks{sizeof chunks, MERCER_F64, MERCER_REWINDABLE, -1, d, next, &problem.x, nullptr};
            OK(mercer_data_from_chunks(&data, context, &chunks));
        } else if (how == "sparse") {
            for (int64_t i = 0; i <= n; ++i) offsets_.push_back(i * d);
            for (int64_t k = 0; k < n * d; ++k) columns_.push_back(k % d);
            const mercer_sparse sparse{sizeof sparse, MERCER_CSR,      MERCER_F64,      MERCER_I64,        0, n, d,
                                       n * d,         offsets_.data(), columns_.data(), problem.x.v.data()};
            OK(mercer_data_from_sparse(&data, context, &sparse));
        } else if (how == "objects") {
            const mercer_objects objects{sizeof objects, n, MERCER_DISTANCE, 0, pairs, nullptr, &problem.x, nullptr};
            OK(mercer_data_from_objects(&data, context, &objects));
        } else if (how == "distances") {
            square_ = std::make_unique<Held>(
                oracle::gram(oracle::of_distance([](double r) { return r; }), problem.x, problem.x));
            const mercer_view view = square_->view();
            OK(mercer_data_from_matrix(&data, context, &view, MERCER_DISTANCE));
        } else if (how == "csv") {
            std::string text = "a,b,w,c,d\n";
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j < d; ++j)
                    text += format_number(problem.x(i, j)) +
                            (j == 1 ? "," + format_number(problem.weights[static_cast<size_t>(i)]) : "") +
                            (j == d - 1 ? "\n" : ",");
            path_ = folder.write("x.csv", text);
            mercer_file file{sizeof file, 0, 0, 0, 0, nullptr, nullptr, "a,b,c,d", nullptr};
            OK(mercer_data_from_file(&data, context, path_.c_str(), &file));
        } else {
            data = session.data(held_);
        }
    }
    ~Given() { mercer_data_destroy(data); }
    Given(const Given &) = delete;

    void weigh() {
        if (how_ == "csv") {
            mercer_data_destroy(std::exchange(data, nullptr));
            mercer_file file{sizeof file, 0, 0, 0, 0, nullptr, "w", nullptr, nullptr};
            OK(mercer_data_from_file(&data, session_.context, path_.c_str(), &file));
            return;
        }
        const mercer_view view{sizeof view, MERCER_F64, 0, n, 1, 1, 1, problem_.weights.data()};
        OK(mercer_data_attach(data, "weights", &view));
    }
    void mark() {
        const mercer_view view{sizeof view, MERCER_I64, 0, static_cast<int64_t>(problem_.landmarks.size()),
                               1,           1,          1, problem_.landmarks.data()};
        OK(mercer_data_attach(data, "landmarks", &view));
    }
    mercer_data *data = nullptr;

  private:
    static std::string format_number(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.17g", value);
        return text;
    }
    Session &session_;
    Problem &problem_;
    std::string how_, path_;
    Held held_;
    std::unique_ptr<Held> square_;
    std::vector<int64_t> offsets_, columns_;
};

const char *const sources[] = {"view", "columns", "f32", "chunks", "csv", "sparse", "objects", "distances"};
const Settings base = {{"sigma", "2"}, {"components", "4"}};

Settings with(Settings settings, const char *name, const char *value) {
    settings.emplace_back(name, value);
    return settings;
}

// Checks that the model is the same from each source. Eigenvalues, which are at most 1, may differ
// by 1e-5 for f32 data and by 1e-10 for the other sources, because values such as distances are
// rounded.
void same_from_all(Session &session, Problem &problem, const char *method, const Settings &settings, bool weights,
                   bool landmarks, const Vector &right, double allowed) {
    TempFolder folder;
    for (const char *how : sources) {
        Given given(session, folder, how, problem);
        if (weights) given.weigh();
        if (landmarks) given.mark();
        const Model model = session.fit(given.data, settings, method);
        const double rounding = std::strcmp(how, "f32") == 0 ? 1e-5 : 1e-10;
        expect_near(model.vector("lambda"), right, std::max(allowed, rounding),
                    (std::string(method) + ", " + how).c_str());
        if (landmarks && model.has("indices"))
            for (size_t k = 0; k < problem.landmarks.size(); ++k)
                TEST_ASSERT_TRUE(model.vector("indices")[k] == static_cast<double>(problem.landmarks[k]));
    }
}

// Compares weighted rows with repeated rows.
void test_weights() {
    Session session;
    Problem problem(session);
    const Vector exact = session.fit(problem.twice, base).vector("lambda"),
                 plain = session.fit(problem.x, base).vector("lambda");
    TEST_ASSERT_TRUE(distance(exact, plain) > 1e-3); // they differ, so lost weights would be detected
    same_from_all(session, problem, "kpca", base, true, false, exact, 0);
    const Settings greedy = with(base, "m", "80");
    same_from_all(session, problem, "gkpca", greedy, true, false,
                  session.fit(problem.twice, greedy, {}, {}, "gkpca").vector("lambda"), 0);
    same_from_all(session, problem, "auto", base, true, false, exact, 0.01 * exact[0]);
    // A Nystrom model whose basis is all rows is kernel PCA itself.
    same_from_all(session, problem, "nystrom", with(with(base, "reducer", "uniform"), "m", "300"), true, false, exact,
                  1e-7);
    same_from_all(session, problem, "subsampled", with(base, "m", "300"), true, false, exact, 0);
}

// Compares models of given landmarks with a fit to these rows alone, and with a basis that is given
// as points.
void test_landmarks() {
    Session session;
    Problem problem(session);
    Matrix chosen(0, d);
    Vector own;
    for (int64_t row : problem.landmarks) {
        chosen.v.insert(chosen.v.end(), problem.x.row(row), problem.x.row(row) + d), ++chosen.rows;
        own.push_back(problem.weights[static_cast<size_t>(row)]);
    }
    const Settings given = with(base, "reducer", "given");
    for (bool weights : {false, true}) {
        same_from_all(session, problem, "subsampled", given, weights, true,
                      session.fit(chosen, base, weights ? own : Vector{}).vector("lambda"), 0);
        Held rows(weights ? problem.twice : problem.x), points(chosen);
        mercer_data *data = session.data(rows);
        const mercer_view view = points.view();
        OK(mercer_data_attach(data, "landmarks", &view));
        for (const char *method : {"nystrom", "gkpca"})
            same_from_all(session, problem, method, given, weights, true,
                          session.fit(data, given, method).vector("lambda"), 0);
        mercer_data_destroy(data);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_weights);
    RUN_TEST(test_landmarks);
    return UNITY_END();
}
