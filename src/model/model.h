// The expansion  f(x) = A^T k_C(T x) / g(x) - b: immutable, shared by any number of threads. A
// model consists of its tensors and one JSON text. A fit, a file and mercer_model_from_tensors all
// make it through Model::assemble.
#pragma once
#include "../core/json.h"
#include "../gram/tile.h"
#include "ledger.h"
#include "row.h"
#include "tensors.h"
#include "whitening.h"

#include <atomic>
#include <mutex>

namespace mercer {

// What happens if the kernel's plugins are not available. needed: assembling the model fails.
// wanted: the model can be assembled, but then only be inspected (for stored models).
enum class Plugins { needed, wanted };

class Model {
  public:
    // Checks that the tensors and the text fit each other, and finds the kernel's plugins. E_MODEL
    // says what does not fit.
    static std::shared_ptr<const Model> assemble(Json text, Tensors tensors, Registry &registry,
                                                 const RunSettings &settings, Plugins plugins = Plugins::needed);
    // Returns the same model with the caller's kernel function for the leaf 'user'.
    std::shared_ptr<const Model> bind(std::shared_ptr<const UserKernel> user) const;

    mercer_summary summary() const { return summary_; }
    int32_t dtype() const { return summary_.dtype; }
    int64_t n() const { return summary_.n; }
    int64_t d() const { return summary_.d; }               // columns of a row before the input map
    int64_t d_mapped() const { return summary_.d_mapped; } // columns after it, which the kernel and the centres have
    int64_t m() const { return summary_.m; }
    int64_t r() const { return summary_.r; }
    bool can(uint32_t capability) const { return (summary_.capabilities & capability) != 0; }
    const char *info(const std::string &path) const; // path: JSON pointer into the report; "": all of it
    std::string stored_text() const { return text_.dump(); }
    const Json &text() const { return text_; }

    const Tensor *tensor(const std::string &name) const; // nullptr if there is no tensor of that name
    const Tensors &tensors() const { return *tensors_; }
    mercer_view tensor_view(const std::string &name) const; // E_NAME if there is no such tensor

    // Fails with E_PLUGIN if the kernel cannot be computed here.
    void need_kernel() const {
        if (!missing_.empty()) fail(MERCER_E_PLUGIN, "this model can only be inspected: %s", missing_.c_str());
    }
    const Expression &kernel() const { return need_kernel(), kernel_; }
    const InputMap &map() const { return map_; }
    // The centres (or random frequencies) as dense or sparse rows; nullptr for objects, whose row
    // numbers are in indices().
    const std::shared_ptr<const Source> &centres() const { return centres_; }
    const int64_t *indices() const; // objects: m row numbers; otherwise nullptr
    bool has_frequencies() const { return frequencies_; }
    std::string why_no_gradient() const;                            // "": it has a gradient
    double mean_square() const { return mean_square_; }             // nu^T K nu
    const std::optional<Ledger> &ledger() const { return ledger_; } // only of a mergeable model
    const Whitening &whitening() const { return *whitening_; }
    bool leaves_missing() const { return leaves_missing_; } // true: rows with a NaN get NaN as output
    // The fast path for a few rows; nullptr if this model has none.
    const RowScores *row_scores() const;
    // Threads and budget, as set in the context that made the model.
    const RunSettings &settings() const { return settings_; }

  private:
    Model() = default;
    void read_text();
    void read_centres();
    void read_dense_centres(const char *name, const Tensor &centres);
    void read_sparse_centres(const Tensor &values);
    void check_shapes() const;
    void check_clusters() const;
    void check_numbers(const char *name, int64_t least, int64_t end) const;
    void read_kernel(Registry &registry, Plugins plugins);
    void read_parameters();
    void compare_plugins();
    void check_centres() const;
    void read_map();
    // Reads the ledger. A model without one is not mergeable, even if its text says so: versions
    // without ledgers also called models mergeable whose eigenvalues were not the variances of
    // their scores.
    void see_ledger();
    // Sets the capabilities that depend on the kernel rather than on the text, or removes all
    // capabilities if the kernel cannot be computed.
    void see_capabilities();
    void write_info();

    RunSettings settings_;
    Json text_;
    std::shared_ptr<const Tensors> tensors_; // shared with the models that bind() makes
    std::string missing_;                    // why the kernel cannot be computed; "": it can
    std::string changed_;                    // which plugins differ from those that made the model; "": none
    Expression kernel_;
    InputMap map_;
    std::shared_ptr<const Source> centres_;
    bool frequencies_ = false, leaves_missing_ = false;
    double mean_square_ = 0;
    std::optional<Ledger> ledger_;
    std::shared_ptr<const Whitening> whitening_; // shared with the models that bind() makes
    mercer_summary summary_{};
    struct Info {
        Json all;
        std::map<std::string, std::string> texts; // texts handed out so far, by JSON pointer; guarded by handles_lock()
    };
    std::shared_ptr<Info> info_;
    struct Lazy {
        std::mutex mutex;
        std::atomic<bool> made{false};
        std::unique_ptr<const RowScores> row;
    };
    std::shared_ptr<Lazy> lazy_ = std::make_shared<Lazy>();
};

// Names of the set bits, as the report and files store them.
Json outcome_names(uint32_t outcome);
Json capability_names(uint32_t capabilities);

// The kernel's plugins with their versions, [{kernel, version}]. Plugins of the library's own
// version are left out: the library promises that old models give the same numbers with its
// plugins.
Json required_plugins(const Expression &kernel);

// Fails with E_NUMERICAL if a computed number of a model overflows f64 or is undefined: a file with
// such a number could not be read again.
void need_finite(const Json &text, const Tensors &tensors);

// Reading and writing models (model/file.cpp).
Json parse_model_text(const std::string &text, const std::string &what); // E_MODEL: not JSON, or nested too deeply
void write_model(const Model &model, const ByteSink &sink);
// Returns the checksum of the header of the model's file: 8 hexadecimal digits, the `crc32` in its
// __metadata__. It covers the report and, through their own checksums, all arrays.
std::string digest_of(const Model &model);
std::shared_ptr<const Model> read_model(const ByteSource &source, int64_t known_size, const std::string &what,
                                        Registry &registry, const RunSettings &settings);

} // namespace mercer
