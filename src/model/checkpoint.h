// The checkpoint that an interrupted job leaves for the next run of the same job (checkpoint.cpp).
#pragma once
#include "../core/run.h"
#include "../io/checkpoint_state.h"

#include <chrono>

namespace mercer {

class Checkpoint {
  public:
    // Reads the file at path if it exists. identity: an object of plain values that says what the
    // job is (fit_identity.h). Fails with E_VALUE, naming the differences, if the file belongs to
    // another job; with E_MODEL if it is damaged or was written in another format, E_BUDGET if its
    // contents do not fit in the budget, and E_IO if path cannot be written to.
    Checkpoint(Run &run, std::string path, Json identity);
    Checkpoint(const Checkpoint &) = delete;

    // A registered state: as long as this object lives, the state is part of what save() writes.
    class Section {
      public:
        Section() = default;
        Section(Checkpoint &checkpoint, std::string name) : checkpoint_(&checkpoint), name_(std::move(name)) {}
        Section(Section &&other) noexcept { *this = std::move(other); }
        Section &operator=(Section &&other) noexcept {
            std::swap(checkpoint_, other.checkpoint_);
            name_.swap(other.name_);
            return *this;
        }
        ~Section() {
            if (checkpoint_) checkpoint_->states_.erase(name_);
        }

      private:
        Checkpoint *checkpoint_ = nullptr;
        std::string name_;
    };
    // Registers a state under a name of letters, which no other registered state has. If an earlier
    // run left a state of this name, `state` restores it. Fails with E_VALUE if the identities
    // differ, and with E_MODEL if `state` cannot restore what was stored. This checkpoint and the
    // state must outlive the section.
    Section add(const std::string &name, CheckpointState &state);
    // Writes all registered states to the file, together with those of earlier runs that nobody has
    // registered yet. Does nothing if less than ten times the duration of the last write has passed
    // since then. If writing fails, logs a warning and returns.
    void save();

  private:
    using Clock = std::chrono::steady_clock;
    struct Stored { // a state of an earlier run that is not registered yet
        Json identity, values;
        std::map<std::string, Tensor> tensors;
    };
    void read();
    void write();
    std::string shown_name() const;
    [[noreturn]] void refuse(const char *why) const;

    Run &run_;
    std::string path_;
    Json identity_;
    std::map<std::string, Stored> stored_;
    std::map<std::string, const CheckpointState *> states_;
    Clock::time_point written_{};
    double cost_ = -1;     // seconds of the last write; negative: no write yet
    bool failing_ = false; // the last write failed, and a warning was logged
};

} // namespace mercer
