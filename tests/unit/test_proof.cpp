// The ladder of proofs (certify/ladder.h): if a fact is refuted, everything derived from it must be
// withdrawn.
#include "certify/certificates.h"
#include "certify/ladder.h"
#include "certify_problems.h"
#include "session.h"

namespace {

using certify_problems::Kind;
using certify_problems::make;
using certify_problems::one_thread;
using certify_problems::Options;
using certify_problems::Problem;
using certify_problems::sampled_rows;
using mercer::Certificate;
using mercer::Certificates;
using mercer::component_certificate;
using mercer::Json;
using mercer::Proof;
using mercer::RowMoments;
using mercer::Run;
using mercer::tightest;

Json named(const Json &entries, const char *name) {
    Json out = Json::array();
    for (const Json &entry : entries)
        if (entry["name"] == name) out.push_back(entry);
    return out;
}

void expect_same_claims(const Proof &expected, const Proof &proof) {
    const mercer::Certificates one = expected.report(1, expected.r()), other = proof.report(1, proof.r());
    TEST_ASSERT_EQUAL_size_t(one.size(), other.size());
    for (size_t k = 0; k < one.size(); ++k) {
        TEST_ASSERT_EQUAL_STRING(one[k].name, other[k].name);
        TEST_ASSERT_EQUAL_STRING(one[k].by, other[k].by);
        TEST_ASSERT_EQUAL_INT64(one[k].component, other[k].component);
        TEST_ASSERT_EQUAL_DOUBLE(one[k].value, other[k].value);
        TEST_ASSERT_EQUAL_DOUBLE(one[k].failure, other[k].failure);
    }
    TEST_ASSERT_EQUAL_DOUBLE(expected.failure(), proof.failure());
    TEST_ASSERT_TRUE(expected.sines.feature == proof.sines.feature);
}

// If rows contradict a norm that was estimated from pairs, the bounds and angles that the trace
// proves must remain. If they contradict a certain norm, only the trace may remain.
void test_void_norm() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Options options;
    options.kind = Kind::clusters;
    const Problem problem = make(options, 5, true);
    const RowMoments rows = sampled_rows(run, problem, 300, 1);
    Proof plain;
    plain.begin(problem.spectrum);

    Proof probable = plain;
    probable.add_norm({problem.norm / 100, 0.01, {problem.norm / 100, 0}}, 0.01);
    TEST_ASSERT_TRUE(probable.sines.own[0] < plain.sines.own[0] && probable.failure() == 0.01);
    TEST_ASSERT_FALSE(probable.add_rows(problem.spectrum, rows, 0.01, 0.01));
    TEST_ASSERT_FALSE(probable.refuted);
    expect_same_claims(plain, probable);

    Proof certain = plain;
    certain.add_norm({problem.norm / 100, 0, {problem.norm / 100, 0}}, 0);
    TEST_ASSERT_FALSE(certain.add_rows(problem.spectrum, rows, 0.01, 0.01));
    TEST_ASSERT_TRUE(certain.refuted && certain.bounds.worst_share(1) >= 1e300);
    TEST_ASSERT_EQUAL_size_t(1, certain.report(1, certain.r()).size()); // the trace
    TEST_ASSERT_EQUAL_DOUBLE(1, certain.sines.own[0]);

    Proof right = plain;
    right.add_norm({problem.norm, 0.01, {problem.norm, 0}}, 0.01);
    TEST_ASSERT_TRUE(right.add_rows(problem.spectrum, rows, 0.01, 0.01));
    right.turn(problem.spectrum, rows, 0.01);
    TEST_ASSERT_EQUAL_STRING("rows", right.bounds.kind);
    TEST_ASSERT_EQUAL_DOUBLE(0.02, right.failure());
}

// Certificates derived from a norm with a failure probability must state this probability, even if
// the last lower bound is not positive.
void test_norm_is_paid_for() {
    Options options;
    options.kind = Kind::clusters;
    Problem problem = make(options, 5, true);
    problem.spectrum.theta.back() = 0;
    Proof proof;
    proof.begin(problem.spectrum);
    TEST_ASSERT_TRUE(proof.bounds.worst_share(proof.r()) >= 1e300);
    proof.add_norm({problem.norm, 0.01, {problem.norm, 0}}, 0.01);
    int64_t subspaces = 0;
    for (const mercer::Certificate &one : proof.report(1, proof.r())) {
        if (std::string_view(one.name) != "subspace") continue;
        ++subspaces;
        TEST_ASSERT_TRUE(one.failure > 0);
    }
    TEST_ASSERT_EQUAL_INT64(proof.r(), subspaces);
    // A bound of the norm that is not below the trace is not used, so its failure probability must
    // not count.
    proof.begin(problem.spectrum);
    proof.add_norm({2 * proof.trace, 0.01, {proof.trace, 0}}, 0.01);
    TEST_ASSERT_EQUAL_DOUBLE(0, proof.failure());
}

// A user kernel that claims to be positive semi-definite but is not: ten of the 6000 rows have
// kernel values with each other that are far above their residuals. Random pairs rarely contain two
// of these rows; sampled rows of the residual show their values.
struct Lying {
    Matrix x{6000, 3};
    mercer_user_kernel kernel{};
    Lying() {
        oracle::Numbers numbers(11);
        for (int64_t i = 0; i < x.rows; ++i) {
            x(i, 0) = static_cast<double>(i % 7) + 0.02 * numbers(), x(i, 1) = 0.02 * numbers();
            x(i, 2) = i % 600 == 17 ? 1 : 0;
        }
        kernel.struct_size = sizeof kernel;
        kernel.flags = MERCER_THREAD_SAFE | MERCER_PSD;
        kernel.tile = [](void *, const mercer_view *a, const mercer_view *b, const mercer_view *k) -> int32_t {
            for (int64_t i = 0; i < k->rows; ++i)
                for (int64_t j = 0; j < k->cols; ++j) {
                    const double *p = static_cast<double *>(a->data) + i * a->row_stride,
                                 *q = static_cast<double *>(b->data) + j * b->row_stride;
                    const bool same = p[0] == q[0] && p[1] == q[1], marked = p[2] == 1 && q[2] == 1 && !same;
                    static_cast<double *>(k->data)[i * k->row_stride + j] =
                        std::exp(-oracle::sqdist(p, q, 2) / 2) + (same ? 0.01 : 0) + (marked ? 8 : 0);
                }
            return 0;
        };
    }
};

// Returns the report of a fit, or null if the fit failed because the factorisation met the large
// values first and refused the kernel.
Json report_of(Session &session, const Lying &lying, const char *method, const Settings &settings, int64_t memory) {
    Held held(lying.x);
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe(method, settings);
    OK(mercer_recipe_set_kernel(recipe, &lying.kernel));
    mercer_run run = with_threads(2);
    run.memory = memory;
    Model model;
    const int32_t status = mercer_model_fit(&model.handle, recipe, data, &run);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    if (status != MERCER_OK) return nullptr;
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "", &text));
    return Json::parse(text);
}

// Checks that an angle is claimed as certain only if the trace proves it.
void expect_angles_by_trace(const Json &entries) {
    const double trace = named(entries, "trace")[0]["value"];
    const Json values = named(entries, "eigenvalue"), angles = named(entries, "subspace");
    for (size_t j = 0; j + 1 < angles.size(); ++j) {
        if (angles[j]["kind"] != "certain") continue;
        const double gap = values[j]["theta"].get<double>() - values[j + 1]["theta"].get<double>() - trace,
                     least = gap > trace / 2 ? trace / 2 / gap : 1;
        TEST_ASSERT_TRUE(angles[j]["value"].get<double>() >= least * (1 - 1e-9));
    }
}

// Rows and pairs contain the large values only by chance. If they do, the certificates that remain
// must be those that the trace proves.
void test_void_norm_of_a_fit() {
    Session session;
    const Lying lying;
    int found_void = 0;
    for (const char *seed : {"0", "1", "2", "3", "4", "5"})
        for (const char *method : {"nystrom", "auto"}) {
            const bool grows = std::strcmp(method, "auto") == 0;
            Settings settings = {{"kernel", "user"}, {"components", "4"}, {"seed", seed}};
            if (grows)
                settings.insert(settings.end(), {{"accuracy", "0.0007"}, {"gram.storage", "f64"}});
            else
                settings.insert(settings.end(), {{"reducer.m", "60"}, {"certificates", "rows"}});
            const Json report = report_of(session, lying, method, settings, grows ? int64_t{48} << 20 : 0);
            if (report.is_null()) continue;
            if (std::getenv("MERCER_SHOW")) std::printf("%s %s\n", method, report["certificates"].dump().c_str());
            if (!named(report["certificates"], "norm").empty()) continue;
            found_void += grows;
            expect_angles_by_trace(report["certificates"]);
        }
    TEST_ASSERT_TRUE_MESSAGE(found_void > 0, "no norm of 'auto' was found void");
}

Certificate uncertain(double width, double failure) {
    Certificate one = component_certificate("eigenvalue", 0, "rows", 1, failure);
    one.interval = {1, 1 - width / 2, 1 + width / 2};
    return one;
}

// Of two uncertain bounds the tighter one is kept. It was chosen after both were seen, so its
// failure probability must be the sum of both, in whichever order they come.
void test_tightest() {
    for (const bool first : {true, false}) {
        const Certificate narrow = uncertain(0.1, 0.001), wide = uncertain(0.4, 0.02);
        const Certificates kept = tightest(first ? Certificates{narrow, wide} : Certificates{wide, narrow});
        TEST_ASSERT_EQUAL_INT64(1, static_cast<int64_t>(kept.size()));
        TEST_ASSERT_EQUAL_DOUBLE(0.1, kept[0].interval->upper - kept[0].interval->lower);
        TEST_ASSERT_EQUAL_DOUBLE(0.021, kept[0].failure);
    }
    const Certificates three = tightest({uncertain(0.4, 0.01), uncertain(0.1, 0.02), uncertain(0.2, 0.04)});
    TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0.07, three[0].failure);
    // If the tighter bound is certain, it stays certain, because the uncertain one is not used. If
    // only the wider one is certain, the tighter one keeps its own failure probability.
    TEST_ASSERT_TRUE(tightest({uncertain(0.1, 0), uncertain(0.4, 0.02)})[0].failure == 0);
    TEST_ASSERT_EQUAL_DOUBLE(0.02, tightest({uncertain(0.4, 0), uncertain(0.1, 0.02)})[0].failure);
    // Other components, other names and claims about the whole model are not compared.
    Certificate other = uncertain(0.4, 0.02), whole = uncertain(0.4, 0.02);
    other.component = 1, whole.component = -1;
    const Certificates apart = tightest({uncertain(0.1, 0.001), other, whole, whole});
    TEST_ASSERT_EQUAL_INT64(4, static_cast<int64_t>(apart.size()));
    TEST_ASSERT_TRUE(apart[0].failure == 0.001 && apart[1].failure == 0.02 && apart[2].failure == 0.02);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_void_norm);
    RUN_TEST(test_norm_is_paid_for);
    RUN_TEST(test_void_norm_of_a_fit);
    RUN_TEST(test_tightest);
    return UNITY_END();
}
