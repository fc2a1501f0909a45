// The calls that a scenario makes. A call that fails because of the fault must return its status
// and its error text, change nothing, and succeed when it is repeated. So each scenario runs to its
// end with the same result.
#pragma once
#include "faults.h"

#include <mercer/mercer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

template <class Handle, void (*destroy)(Handle *)>
struct Destroy {
    void operator()(Handle *handle) const { destroy(handle); }
};
using Context = std::unique_ptr<mercer_context, Destroy<mercer_context, mercer_context_destroy>>;
using Data = std::unique_ptr<mercer_data, Destroy<mercer_data, mercer_data_destroy>>;
using Recipe = std::unique_ptr<mercer_recipe, Destroy<mercer_recipe, mercer_recipe_destroy>>;
using Model = std::unique_ptr<mercer_model, Destroy<mercer_model, mercer_model_destroy>>;

using Settings = std::vector<std::pair<const char *, const char *>>;

struct Defect {
    std::string text;
};

class Scene {
  public:
    Scene(const std::string &folder, const fault &armed) : folder_(folder), fault_(armed) {}

    template <class Call>
    void must(Call &&call) {
        int32_t status = watched(call);
        if (status != MERCER_OK) {
            check_answer(status);
            if (after_failure) after_failure();
            status = watched(call);
        }
        if (status != MERCER_OK) throw Defect{"made once more it fails: " + answer(status)};
    }
    // Calls a constructor, which must set *out to NULL if it fails.
    template <class Handle, class Call>
    Handle made(Call &&call) {
        typename Handle::element_type *out = nullptr;
        must([&] {
            out = reinterpret_cast<typename Handle::element_type *>(this); // must be replaced, by NULL on failure
            const int32_t status = call(&out);
            spoiled_ |= status != MERCER_OK && out != nullptr;
            return status;
        });
        return Handle(out);
    }
    std::function<void()> after_failure; // a further check after each failed call

    Context context(int64_t threads = 1);
    Recipe recipe(const Context &context, const char *name, const Settings &settings);
    // A view of n rows of noise in d columns, of this type.
    Data rows(const Context &context, int64_t n, int64_t d, int32_t dtype = MERCER_F64);
    Model fit(const Recipe &recipe, const Data &data, const mercer_run *run = nullptr);

    std::string path(const char *name) const { return folder_ + "/" + name; }
    void put(const char *name, const std::string &bytes) const;
    std::string get(const char *name) const; // "" if the file does not exist
    void expect_files(const std::string &names) const;

    // Adds to the digest of the result, which must be the same in every run.
    void keep(const void *bytes, size_t count);
    void keep(const Model &model); // the tensors of the model
    void keep_output(const Model &model, const Data &data, const char *what, int64_t n);
    uint64_t digest() const { return digest_; }
    int32_t answered() const { return answered_; } // status of the last call that failed, or MERCER_OK

  private:
    template <class Call>
    int32_t watched(Call &&call) {
        faults_watch(1);
        const int32_t status = call();
        faults_watch(0);
        if (spoiled_) throw Defect{"*out is not NULL: " + answer(status)};
        return status;
    }
    static std::string answer(int32_t status);
    void check_answer(int32_t status);

    std::string folder_;
    fault fault_;
    uint64_t digest_ = 14695981039346656037u;
    int32_t answered_ = MERCER_OK;
    bool spoiled_ = false;
};

// Noise in [0, 1), the same in every run.
const std::vector<double> &noise();

struct Scenario {
    const char *name;
    void (*play)(Scene &);
    // The least numbers of allocating places and of system calls that the scenario must reach.
    int64_t places, calls;
};
extern const std::vector<Scenario> scenarios;
