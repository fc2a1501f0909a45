// Errors inside the library are exceptions. At the C boundary guard() turns them into a status code
// and the last error text of this thread.
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

// The last error text of this thread. It lies in a fixed buffer, so that setting it needs no memory
// and the thread runs no destructor for it.
void set_last_error(const char *text) noexcept;
const char *last_error() noexcept;

// The text that a callback of the caller has given to mercer_set_error on this thread; "" if it has
// given none.
void set_callback_error(const char *text) noexcept;
const char *callback_error() noexcept;

// Runs a callback of the caller. who: the name of the callback in messages. If the callback returns
// non-zero, call_back fails with E_CALLBACK. The message is the text that this callback gave to
// mercer_set_error or, if it gave none, the value that it returned.
template <class F>
void call_back(const char *who, F &&callback) {
    set_callback_error("");
    const int32_t returned = callback();
    if (returned == 0) return;
    if (const char *text = callback_error(); *text) fail(MERCER_E_CALLBACK, "%s", text);
    fail(MERCER_E_CALLBACK, "%s returned %d, must return 0", who, returned);
}

struct StatusText {
    int32_t code;
    const char *name; // "MERCER_E_VALUE"
    const char *summary;
};
// Returns entry `index` of the list of all status codes, or nullptr beyond the last one.
const StatusText *status_text(int64_t index) noexcept;

// Every C function is one call of guard, so that no exception crosses the boundary.
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
