#include "../gram/chunks.h"
#include "../gram/object_matrix.h"
#include "../io/npy.h"
#include "handles.h"

using namespace mercer;

namespace {

constexpr unsigned floats = 1u << MERCER_F32 | 1u << MERCER_F64;

mercer_data *new_data(std::shared_ptr<Source> source) {
    auto *data = new mercer_data;
    // Only from here on does the source call the caller's release function when it is destroyed. If
    // the source cannot be created, the caller still owns its data.
    source->own();
    data->data.source = std::move(source);
    return data;
}

template <class T>
mercer_view column_view(const CountedVector<T> &values, int32_t dtype) {
    return view_of_rows(dtype, static_cast<int64_t>(values.size()), 1, values.empty() ? nullptr : values.data());
}

// Returns one entry per label: the number that its name spells, null if the name stands for a
// missing value, else the name. Returns an empty array if all labels are text.
Json label_values(const std::vector<std::string> &names) {
    Json out = Json::array();
    bool all_text = true;
    for (const std::string &name : names) {
        const CsvValue value = read_csv_value(name);
        const bool number = value.kind == CsvValue::Kind::number, missing = value.kind == CsvValue::Kind::missing;
        out.push_back(number ? Json(value.number) : missing ? Json() : Json(name));
        all_text &= !number && !missing;
    }
    return all_text ? Json::array() : out;
}

std::string names_text(const std::vector<std::string> &columns, const CsvFile &file) {
    Json text = record({{"columns", columns}, {"labels", file.label_names}});
    if (Json values = label_values(file.label_names); !values.empty()) text["label_values"] = std::move(values);
    if (!file.ids_name.empty()) text["ids"] = file.ids_name;
    return text.dump();
}

mercer_data *from_csv(Run &run, const InputFile &input, const CsvOptions &options) {
    CsvFile file = open_csv(run, input, options);
    if (!file.left_out.empty()) {
        std::string names;
        for (const std::string &name : file.left_out) names += (names.empty() ? "" : ", ") + name;
        run.log(2, format("'%s': columns left out because they are not numeric: %.200s",
                          shown_path(input.path()).c_str(), names.c_str())
                       .c_str());
    }
    std::unique_ptr<mercer_data> data(new_data(file.source));
    data->data.columns = file.columns;
    data->file = std::move(file);
    data->data.labels = column_view(data->file.labels, MERCER_I64);
    data->data.weights = column_view(data->file.weights, MERCER_F64);
    data->names = names_text(data->data.columns, data->file);
    return data.release();
}

CsvOptions csv_options(const mercer_file &file) {
    auto text = [](const char *given) { return std::string(given ? given : ""); };
    constexpr std::string_view separators("\0,;\t |", 6);
    if (file.separator < 0 || file.separator > 127 ||
        separators.find(static_cast<char>(file.separator)) == separators.npos)
        fail(MERCER_E_VALUE, "file: separator = %d, must be ',' ';' tab ' ' '|' or 0", file.separator);
    if (file.header < -1 || file.header > 1) fail(MERCER_E_VALUE, "file: header = %d, must be -1, 0 or 1", file.header);
    using Header = CsvOptions::Header;
    return {.separator = static_cast<char>(file.separator),
            .header = file.header > 0   ? Header::yes
                      : file.header < 0 ? Header::no
                                        : Header::found,
            .labels = text(file.labels),
            .weights = text(file.weights),
            .columns = text(file.columns),
            .ids = text(file.ids)};
}

mercer_data *from_npy(std::unique_ptr<InputFile> file, const CsvOptions &csv) {
    if (!csv.labels.empty() || !csv.weights.empty() || !csv.ids.empty() || !csv.columns.empty())
        fail(MERCER_E_UNSUPPORTED,
             "'%s': columns, labels, weights and ids can be chosen in CSV files only, and this is npy",
             shown_path(file->path()).c_str());
    bool integers = false;
    mercer_data *data = new_data(open_npy(std::move(file), &integers));
    data->integers = integers;
    return data;
}

mercer_data *from_file(mercer_context &context, const char *path, const mercer_file *options) {
    mercer_file file{};
    if (options) file = read_struct(options, "file", sizeof(mercer_file));
    if (file.format < 0 || file.format > MERCER_CSV)
        fail(MERCER_E_VALUE, "file: format = %d, must be 0, MERCER_NPY or MERCER_CSV", file.format);
    if (file.values < 0 || file.values > MERCER_KERNEL)
        fail(MERCER_E_VALUE, "file: values = %d, must be 0, MERCER_DISTANCE or MERCER_KERNEL", file.values);
    const CsvOptions csv = csv_options(file);
    Run run(context.settings, nullptr);
    run.stage("read");
    // The file is opened only once, because a pipe cannot be read again.
    auto input = std::make_unique<InputFile>(run, path);
    if (file.format == 0) file.format = is_npy(*input) ? MERCER_NPY : MERCER_CSV;
    std::unique_ptr<mercer_data> data(file.format == MERCER_CSV ? from_csv(run, *input, csv)
                                                                : from_npy(std::move(input), csv));
    if (file.values) {
        data->data.source = MatrixSource::from_rows(run, *data->data.source, file.values);
        data->file.source.reset();
        data->data.columns.clear(); // objects have no columns
        data->integers = false;
        data->names = names_text({}, data->file);
    }
    return data.release();
}

mercer_data *from_matrix(const mercer_view &view, int32_t values) {
    if (values != MERCER_DISTANCE && values != MERCER_KERNEL)
        fail(MERCER_E_ARGUMENT, "values = %d, must be MERCER_DISTANCE or MERCER_KERNEL", values);
    return new_data(std::make_shared<MatrixSource>(view, values));
}

mercer_data *from_chunks(const mercer_chunks *given) {
    mercer_chunks chunks = read_struct(given, "chunks", sizeof(mercer_chunks));
    need(chunks.next, "chunks: next");
    if (chunks.dtype != MERCER_F32 && chunks.dtype != MERCER_F64)
        fail(MERCER_E_ARGUMENT, "chunks: dtype = %d, must be MERCER_F32 or MERCER_F64", chunks.dtype);
    if (chunks.flags != 0 && (chunks.flags & ~MERCER_THREAD_SAFE) != MERCER_REWINDABLE)
        fail(MERCER_E_ARGUMENT,
             "chunks: flags = %d, must be 0, MERCER_REWINDABLE or MERCER_REWINDABLE | MERCER_THREAD_SAFE",
             chunks.flags);
    if (chunks.rows < -1 || chunks.cols < 1)
        fail(MERCER_E_SHAPE, "chunks: %" PRId64 " x %" PRId64 ", rows must be >= -1 and cols >= 1", chunks.rows,
             chunks.cols);
    checked_bytes("chunks", std::max<int64_t>(chunks.rows, 1), chunks.cols, 8);
    return new_data(make_chunk_source(chunks));
}

mercer_data *from_sparse(const mercer_sparse *given) {
    mercer_sparse sparse = read_struct(given, "sparse", sizeof(mercer_sparse));
    if (sparse.layout != MERCER_CSR && sparse.layout != MERCER_CSC)
        fail(MERCER_E_ARGUMENT, "sparse: layout = %d, must be MERCER_CSR or MERCER_CSC", sparse.layout);
    if (sparse.dtype != MERCER_F32 && sparse.dtype != MERCER_F64)
        fail(MERCER_E_ARGUMENT, "sparse: dtype = %d, must be MERCER_F32 or MERCER_F64", sparse.dtype);
    if (sparse.index_dtype != MERCER_I32 && sparse.index_dtype != MERCER_I64)
        fail(MERCER_E_ARGUMENT, "sparse: index_dtype = %d, must be MERCER_I32 or MERCER_I64", sparse.index_dtype);
    if (sparse.base != 0 && sparse.base != 1) fail(MERCER_E_VALUE, "sparse: base = %d, must be 0 or 1", sparse.base);
    if (sparse.rows < 0 || sparse.cols < 1 || sparse.cols > INT32_MAX || sparse.count < 0)
        fail(MERCER_E_SHAPE,
             "sparse: %" PRId64 " x %" PRId64 " with %" PRId64 " entries, must be >= 0 x 1 to 2147483647 with >= 0",
             sparse.rows, sparse.cols, sparse.count);
    auto given_array = [](const void *array, const char *name) { need(static_cast<const char *>(array), name); };
    given_array(sparse.offsets, "sparse: offsets");
    if (sparse.count > 0) given_array(sparse.indices, "sparse: indices"), given_array(sparse.values, "sparse: values");
    checked_bytes("sparse", sparse.rows, 1, 16);
    checked_bytes("sparse", sparse.count, 1, 8);
    return new_data(std::make_shared<SparseSource>(sparse));
}

mercer_data *from_objects(const mercer_objects *given) {
    mercer_objects objects = read_struct(given, "objects", sizeof(mercer_objects));
    need(objects.pairs, "objects: pairs");
    if (objects.rows < 0) fail(MERCER_E_SHAPE, "objects: rows = %" PRId64 ", must be >= 0", objects.rows);
    if (objects.values != MERCER_DISTANCE && objects.values != MERCER_KERNEL)
        fail(MERCER_E_ARGUMENT, "objects: values = %d, must be MERCER_DISTANCE or MERCER_KERNEL", objects.values);
    check_flags("objects", objects.flags);
    return new_data(std::make_shared<ObjectSource>(objects));
}

mercer_data_facts facts_of(const mercer_data &data) {
    const Source &source = *data.data.source;
    const int32_t kind = source.kind() == Source::Kind::dense    ? MERCER_DENSE
                         : source.kind() == Source::Kind::sparse ? MERCER_SPARSE
                                                                 : MERCER_OBJECTS;
    mercer_view labels = data.data.labels;
    labels.struct_size = sizeof labels;
    return {.struct_size = sizeof(mercer_data_facts),
            .rows = source.rows(),
            .cols = source.cols(),
            .dtype = source.dtype(),
            .kind = kind,
            .labels = labels,
            .names = data.names.c_str(),
            .ids = data.file.ids.empty() ? nullptr : data.file.ids.data(),
            .integers = data.integers,
            .reserved = 0};
}

mercer_view read_column(const mercer_data &data, const char *what, const mercer_view *given, unsigned dtypes) {
    const mercer_view view = read_view(what, given, dtypes);
    const int64_t rows = data.data.source->rows();
    if (view.cols != 1 || (rows >= 0 && view.rows != rows))
        fail(MERCER_E_SHAPE, "%s are %" PRId64 " x %" PRId64 ", must be %s x 1", what, view.rows, view.cols,
             rows < 0 ? "rows" : number_text(rows).c_str());
    return view;
}

void attach(mercer_data &data, const std::string &what, const mercer_view *given) {
    if (what == "weights") {
        data.data.weights = read_column(data, "weights", given, floats);
    } else if (what == "landmarks") {
        mercer_view view = read_view("landmarks", given, floats | 1u << MERCER_I64);
        if (view.rows < 1) fail(MERCER_E_SHAPE, "landmarks: %" PRId64 " rows, must be >= 1", view.rows);
        data.data.landmarks = view;
    } else if (what == "labels") {
        const mercer_view labels = read_column(data, "labels", given, 1u << MERCER_I64);
        data.file.label_names.clear();
        data.names = names_text(data.data.columns, data.file);
        data.data.labels = labels;
    } else {
        fail_unknown("attachment", what, {"weights", "landmarks", "labels"});
    }
}

// The body of a constructor. make() returns the handle, which gets the threads and the memory
// budget of the context's settings.
template <class Make>
int32_t construct_data(mercer_data **out, const mercer_context *context, Make &&make) noexcept {
    return construct(out, [&] {
        const mercer_context &from = need(context, "context");
        mercer_data *data = make();
        data->settings.run.threads = from.settings.run.threads; // without callbacks, which may not live as long
        data->settings.run.memory = from.settings.run.memory;
        return data;
    });
}

} // namespace

int32_t mercer_data_from_view(mercer_data **out, mercer_context *context, const mercer_view *view) {
    return construct_data(out, context, [&] { return new_data(make_view_source(read_view("view", view, floats))); });
}

int32_t mercer_data_from_file(mercer_data **out, mercer_context *context, const char *path,
                              const mercer_file *options) {
    return construct_data(out, context, [&] { return from_file(*context, text_of(path, "path"), options); });
}

int32_t mercer_data_from_chunks(mercer_data **out, mercer_context *context, const mercer_chunks *chunks) {
    return construct_data(out, context, [&] { return from_chunks(chunks); });
}

int32_t mercer_data_from_sparse(mercer_data **out, mercer_context *context, const mercer_sparse *sparse) {
    return construct_data(out, context, [&] { return from_sparse(sparse); });
}

int32_t mercer_data_from_objects(mercer_data **out, mercer_context *context, const mercer_objects *objects) {
    return construct_data(out, context, [&] { return from_objects(objects); });
}

int32_t mercer_data_from_matrix(mercer_data **out, mercer_context *context, const mercer_view *view, int32_t values) {
    return construct_data(out, context, [&] { return from_matrix(read_view("view", view, floats), values); });
}

int32_t mercer_data_attach(mercer_data *data, const char *what, const mercer_view *view) {
    return guard([&] { attach(need(data, "data"), text_of(what, "what"), view); });
}

int32_t mercer_data_inspect(const mercer_data *data, mercer_data_facts *out) {
    return guard([&] { write_struct(out, facts_of(need(data, "data")), "data_facts"); });
}

int32_t mercer_data_read(mercer_data *data, const mercer_view *out, const mercer_run *run) {
    return guard([&] {
        const mercer_data &from = need(data, "data");
        Run running(from.settings, run);
        read_rows(running, from.data.source, read_view("out", out, floats | 1u << MERCER_I64));
    });
}

void mercer_data_destroy(mercer_data *data) { delete data; }
