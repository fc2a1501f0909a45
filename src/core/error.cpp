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
        if (from && from[size]) // cut: at the beginning of a character
            while (size > 0 && (static_cast<unsigned char>(from[size]) & 0xC0) == 0x80) --size;
        if (size > 0) std::memcpy(text, from, size);
        text[size] = 0;
        for (char *c = text; *c; ++c)
            if (*c == '\n' || *c == '\r') *c = ' ';
    }
};
thread_local TextBuffer last;     // trivially destructible: safe until the thread's very end
thread_local TextBuffer callback; // from mercer_set_error

std::string vformat(const char *format, va_list args) {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, args);
    return text;
}

constexpr StatusText statuses[] = {
    {MERCER_OK, "MERCER_OK", "a usable object exists"},
    {MERCER_E_ARGUMENT, "MERCER_E_ARGUMENT", "a null pointer or handle, a bad struct_size or flag"},
    {MERCER_E_SHAPE, "MERCER_E_SHAPE", "sizes or strides that do not fit"},
    {MERCER_E_VALUE, "MERCER_E_VALUE", "a parameter outside its range"},
    {MERCER_E_NAME, "MERCER_E_NAME", "an unknown name"},
    {MERCER_E_DATA, "MERCER_E_DATA", "NaN, Inf, a value outside the domain, or a damaged data file"},
    {MERCER_E_MODEL, "MERCER_E_MODEL", "a damaged or inconsistent model"},
    {MERCER_E_PLUGIN, "MERCER_E_PLUGIN", "a plugin is missing, was refused, or broke its contract"},
    {MERCER_E_UNSUPPORTED, "MERCER_E_UNSUPPORTED", "no such operation for this combination or model"},
    {MERCER_E_NUMERICAL, "MERCER_E_NUMERICAL", "not converged under solver.strict, or a non-finite result"},
    {MERCER_E_MEMORY, "MERCER_E_MEMORY", "an allocation failed"},
    {MERCER_E_BUDGET, "MERCER_E_BUDGET", "would need more than the memory budget"},
    {MERCER_E_CANCELLED, "MERCER_E_CANCELLED", "stopped by the progress callback or the cancel flag"},
    {MERCER_E_CALLBACK, "MERCER_E_CALLBACK", "a callback of the caller returned an error"},
    {MERCER_E_IO, "MERCER_E_IO", "the operating system refused to open, read, write or rename"},
    {MERCER_E_INTERNAL, "MERCER_E_INTERNAL", "a defect of libmercer"},
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
