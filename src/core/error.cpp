#include "error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace mercer {
namespace {

struct TextBuffer {
    char text[1024];
    void set(const char *from) noexcept {
        size_t size = from ? strnlen(from, sizeof text - 1) : 0;
        if (from && from[size]) // the text is too long: it is cut between two UTF-8 characters
            while (size > 0 && (static_cast<unsigned char>(from[size]) & 0xC0) == 0x80) --size;
        if (size > 0) std::memcpy(text, from, size);
        text[size] = 0;
        for (char *c = text; *c; ++c)
            if (*c == '\n' || *c == '\r') *c = ' ';
    }
};
thread_local TextBuffer last;     // trivially destructible, so it is valid until the thread ends
thread_local TextBuffer callback; // the text that a callback gave to mercer_set_error

std::string vformat(const char *format, va_list args) {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, args);
    return text;
}

// The summaries use the words of mercer.h; a test compares them.
#define NAMED(code) code, #code
constexpr StatusText statuses[] = {
    {NAMED(MERCER_OK), "success; the model's report may hold warnings"},
    {NAMED(MERCER_E_ARGUMENT), "a null pointer or handle, an invalid struct_size, an unknown flag"},
    {NAMED(MERCER_E_SHAPE), "sizes or strides that do not match, or whose product overflows"},
    {NAMED(MERCER_E_VALUE), "a parameter outside its range, or parameters that exclude each other"},
    {NAMED(MERCER_E_NAME), "an unknown name; the message suggests the nearest known one"},
    {NAMED(MERCER_E_DATA), "NaN or Inf in the data, values invalid for the kernel or type, a damaged file"},
    {NAMED(MERCER_E_MODEL), "a damaged or inconsistent model file or set of tensors"},
    {NAMED(MERCER_E_PLUGIN), "a plugin is missing, was refused, or broke its contract"},
    {NAMED(MERCER_E_UNSUPPORTED), "the combination, or this model, does not support the operation"},
    {NAMED(MERCER_E_NUMERICAL), "not converged under solver.strict, or a non-finite result"},
    {NAMED(MERCER_E_MEMORY), "an allocation failed"},
    {NAMED(MERCER_E_BUDGET), "the memory budget is too small; the message says how much is needed"},
    {NAMED(MERCER_E_CANCELLED), "stopped by the progress callback or the cancel flag"},
    {NAMED(MERCER_E_CALLBACK), "one of your callbacks returned an error"},
    {NAMED(MERCER_E_IO), "the operating system could not open, read, write or rename a file"},
    {NAMED(MERCER_E_INTERNAL), "a defect in this library: please report it"},
};

} // namespace

void fail(int32_t code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::string text = vformat(format, args);
    va_end(args);
    throw Error(code, std::move(text));
}

std::string format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::string text = vformat(format, args);
    va_end(args);
    return text;
}

void set_last_error(const char *text) noexcept { last.set(text); }
const char *last_error() noexcept { return last.text; }
void set_callback_error(const char *text) noexcept { callback.set(text); }

const char *callback_error() noexcept { return callback.text; }

const StatusText *status_text(int64_t index) noexcept {
    return index >= 0 && index < static_cast<int64_t>(std::size(statuses)) ? &statuses[index] : nullptr;
}

} // namespace mercer
