// Errors inside the library are exceptions; at the C boundary guard() turns them into a code and this thread's text.
#pragma once
#include <mercer/mercer.h>

#include <exception>
#include <new>
#include <string>

namespace mercer {

class Error : public std::exception {
  public:
    Error(int32_t code, std::string text) : code_(code), text_(std::move(text)) {}
    int32_t code() const { return code_; }
    const char *what() const noexcept override { return text_.c_str(); }

  private:
    int32_t code_;
    std::string text_;
};

[[noreturn]] void fail(int32_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
std::string format(const char *format, ...) __attribute__((format(printf, 1, 2)));

// This thread's last error: a fixed buffer, so that it works without memory and needs no destructor.
void set_last_error(const char *text) noexcept;
const char *last_error() noexcept;

// Runs a callback of the caller, named who; where it returns non-zero, E_CALLBACK with the text that this very callback
// gave to mercer_set_error, else with what it returned.
void set_callback_error(const char *text) noexcept;
const char *callback_error() noexcept; // "" = none
template <class F>
void call_back(const char *who, F &&callback) {
    set_callback_error("");
    const int32_t returned = callback();
    if (returned == 0) return;
    if (const char *text = callback_error(); *text) fail(MERCER_E_CALLBACK, "%s", text);
    fail(MERCER_E_CALLBACK, "%s returned %d, must return 0", who, returned);
}

// Name of a status code ("MERCER_E_VALUE") and what it stands for; nullptr beyond the last.
struct StatusText {
    int32_t code;
    const char *name;
    const char *summary;
};
const StatusText *status_text(int64_t index) noexcept;

// Every C function is one call of this: no exception crosses the boundary.
template <class F>
int32_t guard(F &&body) noexcept {
    try {
        body();
        return MERCER_OK;
    } catch (const Error &e) {
        set_last_error(e.what());
        return e.code();
    } catch (const std::bad_alloc &) {
        set_last_error("out of memory");
        return MERCER_E_MEMORY;
    } catch (const std::exception &e) {
        set_last_error(e.what());
        return MERCER_E_INTERNAL;
    } catch (...) {
        set_last_error("unknown exception");
        return MERCER_E_INTERNAL;
    }
}

} // namespace mercer
