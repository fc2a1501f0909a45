// The calls to the library that are made while allocations and system calls fail. The sizes are
// small, so that many strategies can be covered.
#include "scene.h"

#include <cmath>
#include <cstring>

namespace {

mercer_view column(const void *data, int32_t dtype, int64_t rows) {
    return {sizeof(mercer_view), dtype, 0, rows, 1, 1, 1, const_cast<void *>(data)};
}

void exact(Scene &s) {
    const Context context = s.context();
    const Data data = s.rows(context, 40, 3);
    const mercer_view weights = column(noise().data(), MERCER_F64, 40);
    s.must([&] { return mercer_data_attach(data.get(), "weights", &weights); });
    const Recipe recipe =
        s.recipe(context, "kpca", {{"data.scale", "standard"}, {"components", "3"}, {"bootstrap", "9"}});
    const Model model = s.fit(recipe, data);
    s.keep(model);
    const char *text = nullptr;
    for (const char *path : {"", "/certificates", "/forecast/bytes/likely"})
        s.must([&] { return mercer_model_info(model.get(), path, &text); });
    mercer_summary summary = {};
    summary.struct_size = sizeof summary;
    s.must([&] { return mercer_model_summary(model.get(), &summary); });
    s.keep(&summary, sizeof summary);
}

// A model with few landmarks for each shipped reducer.
void reduced(Scene &s) {
    const Context context = s.context();
    const Data data = s.rows(context, 50, 3, MERCER_F32);
    const int64_t numbers[] = {3, 14, 15, 9, 26, 5};
    const mercer_view landmarks = column(numbers, MERCER_I64, 6);
    s.must([&] { return mercer_data_attach(data.get(), "landmarks", &landmarks); });
    for (const char *reducer : {"uniform", "given", "rpcholesky", "greedy", "farthest", "shadow", "kmeans", "herding",
                                "thinning", "leverage"}) {
        Settings settings = {
            {"reducer", reducer}, {"components", "2"}, {"data.scale", "minmax"}, {"certificates", "none"}};
        if (std::strcmp(reducer, "given") != 0) settings.emplace_back("m", "12");
        s.keep(s.fit(s.recipe(context, "nystrom", settings), data));
    }
}

// Methods with weighted centres: their weights, their certificates, and eigenvectors that are
// refined or extended to all rows.
void standing(Scene &s) {
    const Context context = s.context();
    const Data data = s.rows(context, 50, 3);
    const auto fit = [&](const char *method, Settings settings) {
        settings.emplace_back("components", "2");
        settings.emplace_back("kernel.sigma", "0.5");
        s.keep(s.fit(s.recipe(context, method, settings), data));
    };
    fit("rskpca", {{"ell", "2"}, {"output.assignment", "true"}});
    fit("rskpca-kmeans", {{"m", "9"}, {"lift.ritz", "4"}});
    fit("rskpca-herding", {{"m", "9"}, {"reducer.optimal", "true"}, {"certificates", "none"}});
    fit("nystrom-full", {{"m", "9"}, {"reducer.weights", "voronoi"}});
    fit("nystrom-full", {{"m", "9"}, {"lift.ritz", "4"}});
}

// Two components of 84 centres, which block Krylov iteration computes in passes over the rows,
// starting from a sample of the rows.
void passes(Scene &s) {
    const Context context = s.context();
    const Data data = s.rows(context, 1400, 2);
    s.keep(s.fit(s.recipe(context, "nystrom",
                          {{"components", "2"}, {"m", "84"}, {"kernel.sigma", "0.2"}, {"certificates", "none"}}),
                 data));
}

void automatic(Scene &s) {
    const Context context = s.context();
    const Data data = s.rows(context, 80, 2);
    for (const char *sigma : {"2", "0.05"}) // `auto` chooses another strategy for each
        s.keep(s.fit(s.recipe(context, "auto", {{"components", "2"}, {"kernel.sigma", sigma}}), data));
}

std::string npy(int64_t rows, int64_t cols) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
                         std::to_string(cols) + "), }";
    header.resize(118 - 1, ' ');
    header += '\n';
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
           std::string(reinterpret_cast<const char *>(noise().data()), static_cast<size_t>(rows * cols) * 8);
}

// Reads the rows from a file in windows, and recomputes the kernel matrix in each pass. The second
// fit resumes from the checkpoint of the first.
void checkpointed(Scene &s) {
    s.put("rows.npy", npy(100, 3));
    const std::string rows = s.path("rows.npy"), file = s.path("checkpoint");
    const Context context = s.context();
    const Data data = s.made<Data>(
        [&](mercer_data **out) { return mercer_data_from_file(out, context.get(), rows.c_str(), nullptr); });
    const Recipe recipe = s.recipe(context, "kpca",
                                   {{"solver", "block-krylov"},
                                    {"gram.storage", "stream"},
                                    {"kernel.sigma", "0.3"},
                                    {"components", "2"},
                                    {"tol", "1e-10"}});
    mercer_run run = {};
    run.struct_size = sizeof run;
    run.checkpoint = file.c_str();
    s.keep(s.fit(recipe, data, &run));
    s.keep(s.fit(recipe, data, &run));
    if (!faults_met()) s.expect_files("checkpoint rows.npy");
}

void outputs(Scene &s) {
    const Context context = s.context();
    const Data data = s.rows(context, 40, 3), one = s.rows(context, 1, 3), many = s.rows(context, 600, 3);
    const Model model = s.fit(s.recipe(context, "kpca", {{"components", "3"}, {"kernel.sigma", "1"}}), data);
    for (const char *what : {"scores", "density", "residual", "t2", "gradient"}) s.keep_output(model, data, what, 40);
    const Model parted = s.fit(s.recipe(context, "ncut", {{"lift.clusters", "3"}, {"kernel.sigma", "1"}}), data);
    for (const char *what : {"scores", "labels"}) s.keep_output(parted, data, what, 40);
    s.keep_output(model, one, nullptr, 1);
    s.keep_output(model, many, nullptr, 600);
}

// A fixed buffer for models, because an allocation in a callback would be counted as one of the
// library.
struct Room {
    char bytes[1 << 16];
    int64_t count, read;
};
int32_t sink(void *user, const void *bytes, int64_t count) {
    auto &room = *static_cast<Room *>(user);
    if (room.count + count > static_cast<int64_t>(sizeof room.bytes)) return 1;
    std::memcpy(room.bytes + room.count, bytes, static_cast<size_t>(count));
    room.count += count;
    return 0;
}
int32_t source(void *user, void *bytes, int64_t capacity, int64_t *count) {
    auto &room = *static_cast<Room *>(user);
    *count = std::min(capacity, room.count - room.read);
    std::memcpy(bytes, room.bytes + room.read, static_cast<size_t>(*count));
    room.read += *count;
    return 0;
}

void files(Scene &s) {
    static Room room;
    const Context context = s.context();
    const Data data = s.rows(context, 30, 2);
    const Model model =
        s.fit(s.recipe(context, "nystrom",
                       {{"components", "2"}, {"m", "6"}, {"data.scale", "standard"}, {"certificates", "none"}}),
              data);
    const mercer_sink to = {sizeof to, sink, &room};
    s.must([&] {
        room.count = 0;
        return mercer_model_write(model.get(), &to);
    });
    const std::string bytes(room.bytes, static_cast<size_t>(room.count)), old = "the old file", file = s.path("model");
    for (const char *before : {"", "the old file"}) {
        if (*before) s.put("model", before);
        s.after_failure = [&] {
            if (s.get("model") != before) throw Defect{"the old file is not what it was"};
            s.expect_files(*before ? "model" : "");
        };
        s.must([&] { return mercer_model_save(model.get(), file.c_str()); });
        s.after_failure = nullptr;
        if (s.get("model") != bytes) throw Defect{"the file is not the model"};
        s.expect_files("model");
        if (!*before) std::remove(file.c_str());
    }
    const Model loaded =
        s.made<Model>([&](mercer_model **out) { return mercer_model_load(out, context.get(), file.c_str()); });
    const mercer_source from = {sizeof from, source, &room};
    const Model read = s.made<Model>([&](mercer_model **out) {
        room.read = 0;
        return mercer_model_read(out, context.get(), &from);
    });
    for (const Model *copy : {&loaded, &read}) {
        s.must([&] {
            room.count = 0;
            return mercer_model_write(copy->get(), &to);
        });
        if (bytes != std::string(room.bytes, static_cast<size_t>(room.count))) throw Defect{"not the model written"};
    }
    std::remove(file.c_str());
}

int32_t product(void *, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    for (int64_t i = 0; i < x->rows; ++i)
        for (int64_t j = 0; j < y->rows; ++j) {
            double sum = 0;
            for (int64_t c = 0; c < x->cols; ++c)
                sum += static_cast<double *>(x->data)[i * x->row_stride + c * x->col_stride] *
                       static_cast<double *>(y->data)[j * y->row_stride + c * y->col_stride];
            static_cast<double *>(k->data)[i * k->row_stride + j * k->col_stride] = sum;
        }
    return 0;
}

// A model made from tensors, and a model with a user kernel that is written, read and bound to the
// kernel again.
void tensors(Scene &s) {
    static Room room;
    const Context context = s.context();
    const double a[] = {1, 2, 3};
    const mercer_view views[] = {{sizeof(mercer_view), MERCER_F64, 0, 3, 2, 2, 1, const_cast<double *>(noise().data())},
                                 column(a, MERCER_F64, 3)};
    const char *names[] = {"C", "A"};
    s.keep(s.made<Model>([&](mercer_model **out) {
        return mercer_model_from_tensors(out, context.get(), R"({"kernel":"chi2 + 0.5 linear"})", names, views, 2);
    }));
    const mercer_user_kernel kernel = {sizeof kernel, MERCER_PSD, 0, product, nullptr, nullptr};
    const Data data = s.rows(context, 20, 3);
    const Recipe recipe = s.recipe(context, "kpca", {{"components", "2"}, {"kernel", "user"}});
    s.must([&] { return mercer_recipe_set_kernel(recipe.get(), &kernel); });
    const Model model = s.fit(recipe, data);
    const mercer_sink to = {sizeof to, sink, &room};
    s.must([&] {
        room.count = 0;
        return mercer_model_write(model.get(), &to);
    });
    const mercer_source from = {sizeof from, source, &room};
    const Model read = s.made<Model>([&](mercer_model **out) {
        room.read = 0;
        return mercer_model_read(out, context.get(), &from);
    });
    const Model bound = s.made<Model>([&](mercer_model **out) { return mercer_model_bind(out, read.get(), &kernel); });
    s.keep_output(bound, data, nullptr, 20);
}

int32_t distance(void *, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    for (int64_t k = 0; k < count; ++k)
        values[k] = std::fabs(noise()[static_cast<size_t>(i[k])] - noise()[static_cast<size_t>(j[k])]);
    return 0;
}

// Kernel matrices, and fits on sparse rows, on objects and on a kernel matrix.
void kernels(Scene &s) {
    const Context context = s.context();
    const Data x = s.rows(context, 20, 4), y = s.rows(context, 8, 4);
    std::vector<double> values(20 * 20);
    mercer_view out = {sizeof out, MERCER_F64, 0, 20, 8, 8, 1, values.data()};
    const Recipe sum = s.recipe(context, "kpca", {{"kernel", "gaussian[0-1] * hamming[2] + 0.1 anova + laplacian"}});
    s.must([&] { return mercer_recipe_kernel(sum.get(), x.get(), y.get(), &out, nullptr); });
    s.keep(values.data(), 20 * 8 * sizeof(double));

    const int64_t offsets[] = {0, 2, 3, 5, 5, 6}, columns[] = {0, 2, 1, 0, 1, 2};
    const mercer_sparse sparse = {sizeof sparse, MERCER_CSR, MERCER_F64,    MERCER_I64, 0, 5, 3, 6,
                                  offsets,       columns,    noise().data()};
    const Data few =
        s.made<Data>([&](mercer_data **to) { return mercer_data_from_sparse(to, context.get(), &sparse); });
    const Recipe recipe = s.recipe(context, "kpca", {{"components", "2"}, {"kernel.sigma", "1"}});
    s.keep(s.fit(recipe, few));

    mercer_objects objects = {};
    objects.struct_size = sizeof objects, objects.rows = 20, objects.values = MERCER_DISTANCE, objects.pairs = distance;
    const Data pairs =
        s.made<Data>([&](mercer_data **to) { return mercer_data_from_objects(to, context.get(), &objects); });
    s.keep(s.fit(recipe, pairs));

    out.cols = out.row_stride = 20;
    s.must([&] { return mercer_recipe_kernel(recipe.get(), x.get(), nullptr, &out, nullptr); });
    const Data matrix =
        s.made<Data>([&](mercer_data **to) { return mercer_data_from_matrix(to, context.get(), &out, MERCER_KERNEL); });
    s.keep(s.fit(s.recipe(context, "kpca", {{"components", "2"}, {"kernel", "user"}}), matrix));
}

// All queries that need no fit. The context has no run settings, so the library determines the
// memory budget itself.
void listings(Scene &s) {
    const Context context = s.made<Context>([](mercer_context **out) { return mercer_context_create(out); });
    s.must([&] { return mercer_context_add_plugins(context.get(), "/nonexistent/mercer"); });
    mercer_entry entry = {};
    for (const char *what : {"methods", "operations", "derivations", "kernels", "reducers", "lifts", "solvers",
                             "statuses", "build", "folders"}) {
        int64_t count = 0;
        s.must([&] { return mercer_context_count(context.get(), what, &count); });
        entry.struct_size = sizeof entry;
        s.must([&] { return mercer_context_entry(context.get(), what, 0, &entry); });
        s.keep(entry.name, std::strlen(entry.name));
    }
    s.must([&] { return mercer_context_find(context.get(), "kernels", "rbf", &entry); });
    const Data data = s.rows(context, 40, 2); // few rows, because the forecast reads them for each fault
    const Recipe recipe = s.recipe(context, "auto", {});
    s.must([&] { return mercer_recipe_set_real(recipe.get(), "accuracy", 0.1); });
    int64_t count = 0;
    s.must([&] { return mercer_recipe_rows(recipe.get(), &count); });
    mercer_row row = {};
    row.struct_size = sizeof row;
    s.must([&] { return mercer_recipe_row(recipe.get(), count - 1, &row); });
    s.must([&] { return mercer_row_check(&row, row.initial); });
    const char *text = nullptr;
    s.must([&] { return mercer_recipe_get(recipe.get(), "accuracy", &text); });
    s.keep(text, std::strlen(text));
    mercer_forecast forecast = {};
    forecast.struct_size = sizeof forecast;
    s.must([&] { return mercer_recipe_forecast(recipe.get(), data.get(), nullptr, &forecast); });
    s.keep(&forecast.kernel_evaluations, sizeof forecast.kernel_evaluations);
}

// A CSV file with column names, labels, weights and a missing value.
void csv(Scene &s) {
    std::string text = "a,b,\"kind, of\",w\n";
    for (size_t i = 0; i < 24; ++i)
        text += (i == 7 ? std::string("NA") : std::to_string(noise()[i])) + "," + std::to_string(noise()[99 + i]) +
                (i % 3 ? ",yes," : ",\"n\"\"o\",") + std::to_string(1 + i % 2) + "\n";
    s.put("table.csv", text);
    const std::string path = s.path("table.csv");
    const Context context = s.context();
    mercer_file file = {};
    file.struct_size = sizeof file, file.labels = "kind, of", file.weights = "w", file.ids = "kind, of";
    const Data data =
        s.made<Data>([&](mercer_data **out) { return mercer_data_from_file(out, context.get(), path.c_str(), &file); });
    mercer_data_facts facts = {};
    facts.struct_size = sizeof facts;
    s.must([&] { return mercer_data_inspect(data.get(), &facts); });
    s.keep(facts.names, std::strlen(facts.names));
    double rows[24 * 2];
    const mercer_view view = {sizeof view, MERCER_F64, 0, 24, 2, 2, 1, rows};
    s.must([&] { return mercer_data_read(data.get(), &view, nullptr); });
    s.keep(rows, sizeof rows);
    const Recipe recipe = s.recipe(context, "kpca", {{"components", "2"}, {"data.missing", "rows"}});
    const Model model = s.fit(recipe, data);
    s.keep(model);
    s.keep_output(model, data, nullptr, 24);
}

int32_t next_rows(void *, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    *rows = std::min<int64_t>({capacity, 70 - first, 16});
    std::memcpy(buffer, noise().data() + 3 * first, static_cast<size_t>(*rows) * 24);
    return 0;
}

void chunks(Scene &s) {
    const Context context = s.context();
    for (int32_t flags : {0, static_cast<int32_t>(MERCER_REWINDABLE)}) {
        const mercer_chunks given = {sizeof given, MERCER_F64, flags, flags ? 70 : -1, 3, next_rows, nullptr, nullptr};
        const Data data =
            s.made<Data>([&](mercer_data **out) { return mercer_data_from_chunks(out, context.get(), &given); });
        const Recipe recipe = s.recipe(context, "nystrom", {{"components", "2"}, {"m", "9"}, {"certificates", "none"}});
        if (flags) s.keep(s.fit(recipe, data));
    }
}

// Derivations from a model of rows, and from a model of objects, which requires the objects as
// well.
void derived(Scene &s) {
    const Context context = s.context();
    const Data data = s.rows(context, 60, 3);
    const Recipe recipe = s.recipe(context, "compress", {{"m", "9"}});
    const auto derive = [&](const Model &model, mercer_data *objects) {
        mercer_model *handle = model.get();
        s.keep(s.made<Model>(
            [&](mercer_model **out) { return mercer_model_derive(out, recipe.get(), &handle, 1, objects, nullptr); }));
    };
    derive(s.fit(s.recipe(context, "kpca", {{"components", "2"}, {"kernel.sigma", "1"}}), data), nullptr);
    mercer_objects objects = {};
    objects.struct_size = sizeof objects, objects.rows = 20, objects.values = MERCER_DISTANCE, objects.pairs = distance;
    const Data pairs =
        s.made<Data>([&](mercer_data **to) { return mercer_data_from_objects(to, context.get(), &objects); });
    derive(s.fit(s.recipe(context, "kpca", {{"components", "2"}, {"kernel.sigma", "1"}}), pairs), pairs.get());
}

// The context has 3 threads, so that faults also occur in worker threads.
void threads(Scene &s) {
    const Context context = s.context(3);
    const Data data = s.rows(context, 900, 3);
    const Model model =
        s.fit(s.recipe(context, "nystrom",
                       {{"components", "2"}, {"m", "20"}, {"kernel.sigma", "1"}, {"certificates", "none"}}),
              data);
    s.keep(model);
    s.keep_output(model, data, "residual", 900);
}

} // namespace

const std::vector<Scenario> scenarios = {
    {"exact", exact, 200, 2},         {"reduced", reduced, 200, 2},
    {"automatic", automatic, 200, 2}, {"checkpointed", checkpointed, 200, 20},
    {"outputs", outputs, 200, 2},     {"files", files, 200, 20},
    {"tensors", tensors, 200, 2},     {"kernels", kernels, 200, 2},
    {"listings", listings, 200, 2},   {"csv", csv, 200, 2},
    {"chunks", chunks, 200, 2},       {"threads", threads, 200, 2},
    {"derived", derived, 200, 2},     {"standing", standing, 200, 2},
    {"passes", passes, 200, 2},
};
