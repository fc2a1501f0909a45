// mercer.hpp - mercer.h for C++17: handles that destroy themselves, failures as exceptions, callbacks as std::function.
//
//     mercer::Context context;
//     mercer::Recipe recipe(context, "kpca");
//     recipe.set("kernel.sigma", 5).set("components", 3);
//     auto data = mercer::Data::from_view(context, mercer::row_major(x.data(), n, d)); // x must outlive data
//     auto model = mercer::Model::fit(recipe, data);
//     mercer::Matrix<double> scores = model.transform<double>(data);
//
// Ownership, lifetimes and thread rules are those of mercer.h. A callback may throw: its exception stops the call and
// propagates to the caller. (If a MERCER_THREAD_SAFE callback throws on another thread, the caller gets an Error with
// the text of the exception.) Log functions, and destructors of objects that a callback holds, must not throw.
#ifndef MERCER_MERCER_HPP
#define MERCER_MERCER_HPP

#include "mercer.h"

#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mercer {
inline namespace v0 { // follows MERCER_ABI, and keeps these names apart from those inside the library

class Error : public std::runtime_error {
  public:
    Error(int32_t code, const std::string &text) : std::runtime_error(text), code_(code) {}
    int32_t code() const noexcept { return code_; } // MERCER_E_ARGUMENT ...

  private:
    int32_t code_;
};

namespace detail {

template <class Entry>
constexpr int32_t dtype() {
    using T = std::remove_const_t<Entry>;
    constexpr bool whole = std::is_same_v<T, int64_t> || std::is_same_v<T, int32_t>;
    static_assert(whole || std::is_same_v<T, float> || std::is_same_v<T, double>);
    return whole ? (sizeof(T) == 8 ? MERCER_I64 : MERCER_I32) : (sizeof(T) == 8 ? MERCER_F64 : MERCER_F32);
}

// Calls functions of mercer.h, and is called back by them.
class Calls {
  protected:
    // The exception of the callback that stopped the call running on this thread.
    static std::exception_ptr &thrown() {
        static thread_local std::exception_ptr exception;
        return exception;
    }
    template <class Body>
    static int32_t guarded(Body &&body) noexcept {
        try {
            return static_cast<int32_t>(body());
        } catch (const std::exception &e) {
            thrown() = std::current_exception();
            mercer_set_error(e.what());
        } catch (...) {
            thrown() = std::current_exception();
            mercer_set_error("a callback threw something that is not a std::exception");
        }
        return 1;
    }
    template <class Functions>
    static void release(void *user) {
        delete static_cast<Functions *>(user);
    }

    static void check(int32_t status) {
        std::exception_ptr exception = std::exchange(thrown(), nullptr);
        if (exception && (status == MERCER_E_CALLBACK || status == MERCER_E_CANCELLED))
            std::rethrow_exception(exception);
        if (status != MERCER_OK) throw Error(status, mercer_last_error());
    }
    // A struct of mercer.h with its size set, all other fields 0.
    template <class Struct>
    static Struct sized() {
        Struct out{};
        out.struct_size = sizeof(Struct);
        return out;
    }
    // The value that a getter writes through its last argument.
    template <class Out, class Get, class... Arguments>
    static Out got(Out out, Get get, Arguments... arguments) {
        return check(get(arguments..., &out)), out;
    }
};

// The sole owner of a handle.
template <class T, void (*destroy)(T *)>
class Handle : protected Calls {
  public:
    T *get() const noexcept { return handle_.get(); } // for calls of mercer.h; this object remains the owner

  protected:
    explicit Handle(T *handle) : handle_(handle) {}
    // Calls a constructor of mercer.h, as in Handle(mercer_data_from_view, context, &view).
    template <class Make, class... Arguments>
    explicit Handle(Make make, Arguments... arguments) : handle_(made(make, arguments...)) {}

  private:
    template <class Make, class... Arguments>
    static T *made(Make make, Arguments... arguments) {
        T *handle = nullptr;
        check(make(&handle, arguments...));
        return handle;
    }
    struct Destroy {
        void operator()(T *handle) const noexcept { destroy(handle); }
    };
    std::unique_ptr<T, Destroy> handle_;
};

} // namespace detail

inline std::string version() { return mercer_version(); } // of the library: "0.1.0 (abi 0)"

// ---- views

// Rows and columns of memory that is owned elsewhere, of [const] float, double, int64_t or (sparse indices) int32_t.
// The library writes to outputs only.
template <class T>
class View {
  public:
    View(T *data, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
        : data_(data), rows_(rows), cols_(cols), row_stride_(row_stride), col_stride_(col_stride) {}
    // Converts a view that a callback has received or that tensor() returned. Throws an Error unless its entries are T.
    View(const mercer_view &view)
        : View(static_cast<T *>(view.data), view.rows, view.cols, view.row_stride, view.col_stride) {
        if (view.dtype != detail::dtype<T>())
            throw Error(MERCER_E_ARGUMENT, "view: dtype = " + std::to_string(view.dtype) + ", must be " +
                                               std::to_string(detail::dtype<T>()));
    }
    operator mercer_view() const {
        void *address = const_cast<std::remove_const_t<T> *>(data_);
        return {sizeof(mercer_view), detail::dtype<T>(), 0, rows_, cols_, row_stride_, col_stride_, address};
    }
    int64_t rows() const noexcept { return rows_; }
    int64_t cols() const noexcept { return cols_; }
    T *data() const noexcept { return data_; }
    T &operator()(int64_t i, int64_t j = 0) const { return data_[i * row_stride_ + j * col_stride_]; }

  private:
    T *data_;
    int64_t rows_, cols_, row_stride_, col_stride_;
};

template <class T>
View<T> strided(T *data, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
    return {data, rows, cols, row_stride, col_stride};
}
template <class T>
View<T> row_major(T *data, int64_t rows, int64_t cols) {
    return {data, rows, cols, cols, 1};
}
template <class T>
View<T> column_major(T *data, int64_t rows, int64_t cols) {
    return {data, rows, cols, 1, rows};
}
template <class T>
View<const T> column(const std::vector<T> &values) {
    return row_major(values.data(), static_cast<int64_t>(values.size()), 1);
}

// A row-major matrix that owns its numbers.
template <class T>
struct Matrix {
    int64_t rows, cols;
    std::vector<T> values;

    Matrix(int64_t n, int64_t d) : rows(n), cols(d), values(static_cast<size_t>(n * d)) {}
    T &operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(i * cols + j)]; }
    const T &operator()(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * cols + j)]; }
    View<T> view() { return row_major(values.data(), rows, cols); }
    View<const T> view() const { return row_major(values.data(), rows, cols); }
};

// How a long call runs. A field that is 0, null or empty means the setting of the context.
class Run : detail::Calls {
  public:
    int64_t threads = 0, memory = 0;
    const int32_t *cancel = nullptr;
    std::string checkpoint;                                // path of the checkpoint file
    std::function<bool(const mercer_progress &)> progress; // true: stop, with MERCER_E_CANCELLED

    struct Given : mercer_run {
        operator const mercer_run *() const { return this; }
    };
    Given c() const { // the struct that mercer.h takes, which points to this Run
        auto call = [](void *user, const mercer_progress *now) {
            return guarded([&] { return static_cast<Run *>(user)->progress(*now); });
        };
        return {{sizeof(mercer_run), threads, memory, progress ? +call : nullptr, const_cast<Run *>(this), cancel,
                 checkpoint.empty() ? nullptr : checkpoint.c_str()}};
    }
};

// ---- context

class Context : public detail::Handle<mercer_context, mercer_context_destroy> {
  public:
    using Log = std::function<void(int32_t level, const char *text)>;

    Context() : Handle(mercer_context_create) {}
    Context &add_plugins(const std::string &folder) { return done(mercer_context_add_plugins(get(), folder.c_str())); }
    // Log and run apply to objects that are made from this context afterwards.
    Context &set_log(Log log) {
        auto call = [](void *user, int32_t level, const char *text) { (*static_cast<Log *>(user))(level, text); };
        auto kept = std::make_shared<Log>(std::move(log));
        kept_->push_back(kept);
        return done(mercer_context_set_log(get(), *kept ? +call : nullptr, kept.get()));
    }
    Context &set_run(Run run) {
        auto kept = std::make_shared<Run>(std::move(run));
        kept_->push_back(kept);
        return done(mercer_context_set_run(get(), kept->c()));
    }

    std::vector<mercer_entry> entries(const char *what) const {
        std::vector<mercer_entry> out;
        for (int64_t i = 0, n = got(int64_t{0}, mercer_context_count, get(), what); i < n; ++i)
            out.push_back(got(sized<mercer_entry>(), mercer_context_entry, get(), what, i));
        return out;
    }
    mercer_entry find(const char *what, const std::string &name) const {
        return got(sized<mercer_entry>(), mercer_context_find, get(), what, name.c_str());
    }
    void check_plugin(const std::string &name) const { check(mercer_plugin_check(get(), name.c_str())); }

  private:
    friend class Recipe;
    Context &done(int32_t status) { return check(status), *this; }
    // Log functions and runs. They are shared with recipes, which may outlive the context.
    std::shared_ptr<std::vector<std::shared_ptr<void>>> kept_ = std::make_shared<std::vector<std::shared_ptr<void>>>();
};

// ---- data

// How a file is read; by default everything is detected.
struct File {
    int32_t format = 0; // MERCER_NPY or MERCER_CSV; the other fields are for CSV only
    char separator = 0;
    int32_t header = 0;                   // 1: the first line has names, -1: it has none
    std::string labels, weights, columns; // names or numbers of columns; `columns` is a list with commas
    std::string ids;                      // a column that names the rows: Data::ids
};

class Data : public detail::Handle<mercer_data, mercer_data_destroy> {
  public:
    // Writes up to capacity rows, starting with row first; returns their number, 0 = the end.
    template <class T>
    using Chunks = std::function<int64_t(int64_t first, int64_t capacity, T *buffer)>;
    // Fills values[k] for the pairs (i[k], j[k]).
    using Pairs = std::function<void(const int64_t *i, const int64_t *j, int64_t count, double *values)>;
    using Self = std::function<void(const int64_t *i, int64_t count, double *values)>;

    static Data from_view(const Context &context, const mercer_view &view) {
        return Data(mercer_data_from_view, context.get(), &view);
    }
    static Data from_file(const Context &context, const std::string &path, const File &file = {}) {
        auto text = [](const std::string &name) { return name.empty() ? nullptr : name.c_str(); };
        const mercer_file options = {sizeof options,    file.format,        file.separator,     file.header,   0,
                                     text(file.labels), text(file.weights), text(file.columns), text(file.ids)};
        return Data(mercer_data_from_file, context.get(), path.c_str(), &options);
    }
    // values = MERCER_DISTANCE or MERCER_KERNEL.
    static Data from_matrix(const Context &context, const mercer_view &view, int32_t values) {
        return Data(mercer_data_from_matrix, context.get(), &view, values);
    }
    // layout = MERCER_CSR (rows + 1 offsets) or MERCER_CSC (cols + 1 offsets).
    template <class T, class Index>
    static Data from_sparse(const Context &context, int32_t layout, int64_t rows, int64_t cols,
                            const std::vector<Index> &offsets, const std::vector<Index> &indices,
                            const std::vector<T> &values, int32_t base = 0) {
        const auto majors = static_cast<size_t>(layout == MERCER_CSR ? rows : cols);
        if (offsets.size() != majors + 1 || indices.size() != values.size())
            throw Error(MERCER_E_SHAPE, "sparse: " + std::to_string(offsets.size()) + " offsets, must be " +
                                            std::to_string(majors + 1) + "; " + std::to_string(indices.size()) +
                                            " indices, must be as many as values: " + std::to_string(values.size()));
        auto sparse = sized<mercer_sparse>();
        sparse.layout = layout, sparse.dtype = detail::dtype<T>(), sparse.index_dtype = detail::dtype<Index>();
        sparse.base = base, sparse.rows = rows, sparse.cols = cols, sparse.count = static_cast<int64_t>(values.size());
        sparse.offsets = offsets.data(), sparse.indices = indices.data(), sparse.values = values.data();
        return Data(mercer_data_from_sparse, context.get(), &sparse);
    }
    // rows = -1: not known before the end.
    template <class T>
    static Data from_chunks(const Context &context, int64_t rows, int64_t cols, Chunks<T> next, int32_t flags = 0) {
        auto chunks = sized<mercer_chunks>();
        chunks.dtype = detail::dtype<T>(), chunks.flags = flags;
        chunks.rows = rows, chunks.cols = cols;
        chunks.next = [](void *user, int64_t first, int64_t capacity, void *buffer, int64_t *got) {
            return guarded([&] {
                *got = (*static_cast<Chunks<T> *>(user))(first, capacity, static_cast<T *>(buffer));
                return 0;
            });
        };
        chunks.release = release<Chunks<T>>;
        return owning(std::make_unique<Chunks<T>>(std::move(next)), mercer_data_from_chunks, context, chunks);
    }
    // kind = MERCER_DISTANCE or MERCER_KERNEL.
    static Data from_objects(const Context &context, int64_t rows, int32_t kind, Pairs pairs, Self self = nullptr,
                             int32_t flags = 0) {
        struct Functions {
            Pairs pairs;
            Self self;
        };
        auto objects = sized<mercer_objects>();
        objects.rows = rows, objects.values = kind, objects.flags = flags;
        objects.pairs = [](void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
            return guarded([&] { return static_cast<Functions *>(user)->pairs(i, j, count, values), 0; });
        };
        if (self)
            objects.self = [](void *user, const int64_t *i, int64_t count, double *values) {
                return guarded([&] { return static_cast<Functions *>(user)->self(i, count, values), 0; });
            };
        objects.release = release<Functions>;
        return owning(std::make_unique<Functions>(Functions{std::move(pairs), std::move(self)}),
                      mercer_data_from_objects, context, objects);
    }

    Data &attach(const char *what, const mercer_view &view) {
        return check(mercer_data_attach(get(), what, &view)), *this;
    }
    mercer_data_facts facts() const { return got(sized<mercer_data_facts>(), mercer_data_inspect, get()); }
    // All rows, as they were given: missing values are NaN. T = int64_t: the values must be whole numbers. The number
    // of rows must be known: read() cannot take chunks of unknown length.
    template <class T>
    Matrix<T> read(const Run &run = {}) const {
        const mercer_data_facts known = facts();
        Matrix<T> out(known.rows < 0 ? 0 : known.rows, known.cols); // if it is not known, the library reports it
        const mercer_view view = out.view();
        check(mercer_data_read(get(), &view, run.c()));
        return out;
    }
    // The texts of the rows in the column File::ids; empty if none was named.
    std::vector<std::string> ids() const {
        const mercer_data_facts known = facts();
        std::vector<std::string> out;
        const char *at = known.ids;
        for (int64_t i = 0; at && i < known.rows; ++i) at += out.emplace_back(at).size() + 1;
        return out;
    }

  private:
    using Handle::Handle;
    // The library releases the functions only if the call that took them has succeeded, so they
    // have an owner until then.
    template <class Functions, class Make, class Struct>
    static Data owning(std::unique_ptr<Functions> functions, Make make, const Context &context, Struct &filled) {
        filled.user = functions.get();
        Data out(make, context.get(), &filled);
        functions.release();
        return out;
    }
};

// ---- recipe

// Writes k(x_i, y_j) for all rows of x and y to k.
using Tile = std::function<void(const mercer_view &x, const mercer_view &y, const mercer_view &k)>;

namespace detail {
struct UserKernel : mercer_user_kernel, Calls {
    UserKernel(Tile function, int32_t kernel_flags) : mercer_user_kernel(sized<mercer_user_kernel>()) {
        flags = kernel_flags;
        kept = std::make_unique<Tile>(std::move(function));
        user = kept.get();
        mercer_user_kernel::release = Calls::release<Tile>;
        tile = [](void *own, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
            return guarded([&] { return (*static_cast<Tile *>(own))(*x, *y, *k), 0; });
        };
    }
    // Gives up the function, once a call has made the library its owner, which will destroy it.
    void taken() { kept.release(); }

  private:
    std::unique_ptr<Tile> kept;
};
} // namespace detail

class Recipe : public detail::Handle<mercer_recipe, mercer_recipe_destroy> {
  public:
    Recipe(const Context &context, const std::string &name)
        : Handle(mercer_recipe_create, context.get(), name.c_str()), kept_(context.kept_) {}
    Recipe &set(const std::string &name, const std::string &value) {
        return done(mercer_recipe_set(get(), name.c_str(), value.c_str()));
    }
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    Recipe &set(const std::string &name, Integer value) {
        // Passes the value as text, because a double would keep only 53 bits of it.
        return set(name, std::to_string(value));
    }
    Recipe &set(const std::string &name, double value) {
        return done(mercer_recipe_set_real(get(), name.c_str(), value));
    }
    Recipe &set(const std::vector<std::pair<std::string, std::string>> &pairs) { // sets all pairs or none, in any order
        std::vector<const char *> names, values;
        for (const auto &[name, value] : pairs) names.push_back(name.c_str()), values.push_back(value.c_str());
        return done(mercer_recipe_set_many(get(), names.data(), values.data(), static_cast<int64_t>(pairs.size())));
    }
    Recipe &set_kernel(Tile tile, int32_t flags = 0) {
        detail::UserKernel kernel(std::move(tile), flags);
        check(mercer_recipe_set_kernel(get(), &kernel));
        kernel.taken();
        return *this;
    }
    std::string value(const std::string &name) const { // "" = unset
        return got(static_cast<const char *>(""), mercer_recipe_get, get(), name.c_str());
    }
    std::vector<mercer_row> rows() const {
        std::vector<mercer_row> out;
        for (int64_t i = 0, n = got(int64_t{0}, mercer_recipe_rows, get()); i < n; ++i)
            out.push_back(got(sized<mercer_row>(), mercer_recipe_row, get(), i));
        return out;
    }
    // Throws an Error unless the row, which may be the caller's own, allows this value.
    static void check_value(const mercer_row &row, const std::string &value) {
        check(mercer_row_check(&row, value.c_str()));
    }
    mercer_forecast forecast(const Data &data, const Run &run = {}) const {
        return got(sized<mercer_forecast>(), mercer_recipe_forecast, get(), data.get(), run.c());
    }
    // k(x_i, y_j); y = nullptr: k(x_i, x_j).
    void kernel(const Data &x, const Data *y, const mercer_view &out, const Run &run = {}) const {
        check(mercer_recipe_kernel(get(), x.get(), y ? y->get() : nullptr, &out, run.c()));
    }

  private:
    Recipe &done(int32_t status) { return check(status), *this; }
    std::shared_ptr<void> kept_;
};

// ---- model

class Model : public detail::Handle<mercer_model, mercer_model_destroy> {
  public:
    using Sink = std::function<void(const void *bytes, int64_t count)>;
    using Source = std::function<int64_t(void *bytes, int64_t capacity)>; // returns the number of bytes; 0 = the end

    // A copy is one more reference to the same model.
    Model(const Model &other) : Handle((check(mercer_model_retain(other.get())), other.get())) {}
    Model(Model &&) noexcept = default;
    Model &operator=(Model other) noexcept { return Handle::operator=(std::move(other)), *this; }

    static Model fit(const Recipe &recipe, const Data &data, const Run &run = {}) {
        return Model(mercer_model_fit, recipe.get(), data.get(), run.c());
    }
    // What derive() will need.
    static mercer_forecast forecast(const Recipe &operation, const std::vector<Model> &models,
                                    const Data *data = nullptr, const Run &run = {}) {
        const std::vector<mercer_model *> handles = handles_of(models);
        return got(sized<mercer_forecast>(), mercer_model_forecast, operation.get(), handles.data(),
                   static_cast<int64_t>(handles.size()), data ? data->get() : nullptr, run.c());
    }
    static Model derive(const Recipe &operation, const std::vector<Model> &models, const Data *data = nullptr,
                        const Run &run = {}) {
        const std::vector<mercer_model *> handles = handles_of(models);
        return Model(mercer_model_derive, operation.get(), handles.data(), static_cast<int64_t>(handles.size()),
                     data ? data->get() : nullptr, run.c());
    }
    static Model load(const Context &context, const std::string &path) {
        return Model(mercer_model_load, context.get(), path.c_str());
    }
    static Model read(const Context &context, Source source) {
        auto reader = sized<mercer_source>();
        reader.user = &source;
        reader.read = [](void *user, void *bytes, int64_t capacity, int64_t *count) {
            return guarded([&] { return *count = (*static_cast<Source *>(user))(bytes, capacity), 0; });
        };
        return Model(mercer_model_read, context.get(), &reader);
    }
    static Model from_tensors(const Context &context, const std::string &json,
                              const std::vector<std::pair<std::string, mercer_view>> &tensors) {
        std::vector<const char *> names;
        std::vector<mercer_view> views;
        for (const auto &[name, view] : tensors) names.push_back(name.c_str()), views.push_back(view);
        return Model(mercer_model_from_tensors, context.get(), json.c_str(), names.data(), views.data(),
                     static_cast<int64_t>(views.size()));
    }

    void save(const std::string &path) const { check(mercer_model_save(get(), path.c_str())); }
    void write(Sink sink) const {
        auto writer = sized<mercer_sink>();
        writer.user = &sink;
        writer.write = [](void *user, const void *bytes, int64_t count) {
            return guarded([&] { return (*static_cast<Sink *>(user))(bytes, count), 0; });
        };
        check(mercer_model_write(get(), &writer));
    }
    Model bind(Tile tile, int32_t flags = 0) const {
        detail::UserKernel kernel(std::move(tile), flags);
        Model out(mercer_model_bind, get(), &kernel);
        kernel.taken();
        return out;
    }

    mercer_summary summary() const { return got(sized<mercer_summary>(), mercer_model_summary, get()); }
    // path: a JSON pointer such as "/timings/total"; "": everything, as JSON.
    std::string info(const std::string &path = "") const {
        return got(static_cast<const char *>(""), mercer_model_info, get(), path.c_str());
    }
    mercer_view tensor(const std::string &name) const {
        return got(sized<mercer_view>(), mercer_model_tensor, get(), name.c_str());
    }
    // The outputs of an operation; what = nullptr: scores.
    std::vector<mercer_output> outputs(const Data &data, const Recipe *what = nullptr) const {
        std::vector<mercer_output> out;
        for (int64_t count = 1; static_cast<int64_t>(out.size()) < count;) {
            out.push_back(sized<mercer_output>());
            check(mercer_model_output(get(), what ? what->get() : nullptr, data.get(),
                                      static_cast<int64_t>(out.size()) - 1, &out.back(), &count));
        }
        return out;
    }
    // Writes to the caller's arrays, as in transform(data, {mercer::row_major(scores, n, r)}).
    void transform(const Data &data, std::initializer_list<mercer_view> outs, const Recipe *what = nullptr,
                   const Run &run = {}) const {
        into(data, outs.begin(), outs.size(), what, run);
    }
    void transform(const Data &data, const std::vector<mercer_view> &outs, const Recipe *what = nullptr,
                   const Run &run = {}) const {
        into(data, outs.data(), outs.size(), what, run);
    }
    // The first output. T must be int64_t for labels. For all other outputs T may be double, and float if the model
    // computes in it (summary().dtype). The number of rows must be known: chunks of unknown length are
    // MERCER_E_UNSUPPORTED.
    template <class T>
    Matrix<T> transform(const Data &data, const Recipe *what = nullptr, const Run &run = {}) const {
        auto shape = sized<mercer_output>();
        int64_t count = 0;
        check(mercer_model_output(get(), what ? what->get() : nullptr, data.get(), 0, &shape, &count));
        Matrix<T> out(shape.rows, shape.cols);
        transform(data, {out.view()}, what, run);
        return out;
    }

  private:
    using Handle::Handle;
    static std::vector<mercer_model *> handles_of(const std::vector<Model> &models) {
        std::vector<mercer_model *> out;
        for (const Model &model : models) out.push_back(model.get());
        return out;
    }
    void into(const Data &data, const mercer_view *outs, size_t count, const Recipe *what, const Run &run) const {
        check(mercer_model_transform(get(), what ? what->get() : nullptr, data.get(), outs, static_cast<int64_t>(count),
                                     run.c()));
    }
};

} // namespace v0
} // namespace mercer
#endif
