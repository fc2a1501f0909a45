#include "faults.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <link.h>
#include <new>
#include <unistd.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
}

namespace {

// The address ranges of the code of some libraries.
struct Code {
    uintptr_t from[32], to[32];
    int count;
    bool has(const void *address) const {
        const auto at = reinterpret_cast<uintptr_t>(address);
        for (int k = 0; k < count; ++k)
            if (at >= from[k] && at < to[k]) return true;
        return false;
    }
};
Code theirs;    // libraries that end the process if an allocation fails
Code c_library; // libc, which also allocates on behalf of its callers

int note_code(dl_phdr_info *info, size_t, void *) {
    constexpr const char *names[] = {"libopenblas", "libblas",     "liblapack", "libgomp", "libomp",
                                     "libgfortran", "libquadmath", "libgcc_s",  "ld-linux"};
    const char *slash = std::strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    Code *to = std::strncmp(name, "libc.so", 7) == 0 ? &c_library : nullptr;
    for (const char *prefix : names)
        if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) to = &theirs;
    for (int k = 0; to && k < info->dlpi_phnum && to->count < 32; ++k) {
        const auto &segment = info->dlpi_phdr[k];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        to->from[to->count] = info->dlpi_addr + segment.p_vaddr;
        to->to[to->count] = to->from[to->count] + segment.p_memsz;
        ++to->count;
    }
    return 0;
}

bool is_theirs(const void *caller) {
    if (!c_library.has(caller)) return theirs.has(caller);
    void *stack[DEPTH];
    const int depth = backtrace(stack, DEPTH);
    for (int k = 0; k < depth; ++k)
        if (theirs.has(stack[k])) return true;
    return false;
}

fault armed;
std::atomic<bool> watched{false}, met{false};
std::atomic<int64_t> seen[2], live{0};
const char *met_name;
void *met_stack[DEPTH];
int met_depth;

uint64_t *places;
int64_t places_room = 0;

// A hash of the nearest callers, without the functions of this file.
uint64_t place_here() {
    constexpr int near = 12;
    void *stack[near];
    uint64_t out = 14695981039346656037u; // FNV-1a
    for (int k = 2, depth = backtrace(stack, near); k < depth; ++k)
        out = (out ^ reinterpret_cast<uintptr_t>(stack[k])) * 1099511628211u;
    return out;
}

// The allocated blocks with the stacks that allocated them, recorded while tracing is on.
struct Held {
    void *block, *stack[16];
    int depth;
};
constexpr int most_held = 1 << 16;
Held held[most_held];
std::atomic<int> held_count{0};
std::atomic<bool> tracing{false};

void *counted(void *block) {
    if (!block) return nullptr;
    ++live;
    if (tracing && watched)
        if (const int at = held_count++; at < most_held) {
            held[at].depth = backtrace(held[at].stack, 16);
            held[at].block = block;
        }
    return block;
}

void uncounted(void *block) {
    if (!block) return;
    --live;
    if (tracing)
        for (int k = std::min(held_count.load(), most_held); k-- > 0;)
            if (held[k].block == block) return void(held[k].block = nullptr);
}

bool struck(const char *name, const void *caller) { return faults_strike(ALLOCATION, name, caller) != 0; }

void *aligned(const char *name, size_t to, size_t size, const void *caller) {
    if (struck(name, caller)) return errno = ENOMEM, nullptr;
    return counted(__libc_memalign(to, size));
}

void *made(size_t size, const void *caller) { return struck("new", caller) ? nullptr : counted(__libc_malloc(size)); }

void *or_throw(void *block) {
    if (!block) throw std::bad_alloc();
    return block;
}

} // namespace

extern "C" {

void faults_begin(void) {
    void *stack[2];
    backtrace(stack, 2); // backtrace allocates when it is first called
    dl_iterate_phdr(note_code, nullptr);
}

void faults_arm(const fault *given) {
    armed = *given;
    met = false;
    seen[ALLOCATION] = seen[CALL] = 0;
}

void faults_watch(int on) {
    watched = on;
    if (!on && met) armed.nth = 0;
}

void faults_note_places(uint64_t *to, int64_t room) {
    places = to;
    places_room = room;
}

int faults_met(void) { return met; }
const char *faults_name(void) { return met_name; }
int faults_hid_a_folder(void) { return met && std::strstr("opendir readdir", met_name); }
int faults_stack(void *const **addresses) { return *addresses = met_stack, met_depth; }
int64_t faults_seen(int kind) { return seen[kind]; }
int64_t faults_live(void) { return live; }

int faults_strike(int kind, const char *name, const void *caller) {
    if (!watched || is_theirs(caller)) return 0;
    const int64_t number = ++seen[kind];
    if (kind == ALLOCATION && number <= places_room) places[number - 1] = place_here();
    if (kind != armed.kind || armed.nth == 0 || number < armed.nth || (number > armed.nth && !armed.lasting)) return 0;
    if (!met.exchange(true)) {
        met_name = name;
        met_depth = backtrace(met_stack, DEPTH);
    }
    return kind == ALLOCATION ? ENOMEM : armed.error;
}

void faults_trace(int on) {
    held_count = 0;
    tracing = on;
}

void faults_print_lost(void) {
    for (int k = 0; k < held_count && k < most_held; ++k)
        if (held[k].block) {
            std::fprintf(stderr, "lost, allocated by\n");
            backtrace_symbols_fd(held[k].stack, held[k].depth, STDERR_FILENO);
        }
}

void *malloc(size_t size) {
    if (struck("malloc", __builtin_return_address(0))) return errno = ENOMEM, nullptr;
    return counted(__libc_malloc(size));
}
void *calloc(size_t count, size_t size) {
    if (struck("calloc", __builtin_return_address(0))) return errno = ENOMEM, nullptr;
    return counted(__libc_calloc(count, size));
}
void *realloc(void *old, size_t size) {
    if (struck("realloc", __builtin_return_address(0))) return errno = ENOMEM, nullptr;
    void *block = __libc_realloc(old, size);
    if (block || size == 0) uncounted(old);
    return counted(block);
}
void *memalign(size_t to, size_t size) { return aligned("memalign", to, size, __builtin_return_address(0)); }
void *aligned_alloc(size_t to, size_t size) { return aligned("aligned_alloc", to, size, __builtin_return_address(0)); }
int posix_memalign(void **out, size_t to, size_t size) {
    void *block = aligned("posix_memalign", to, size, __builtin_return_address(0));
    if (block) *out = block;
    return block ? 0 : ENOMEM;
}
void free(void *block) {
    uncounted(block);
    __libc_free(block);
}
}

void *operator new(size_t size) { return or_throw(made(size, __builtin_return_address(0))); }
void *operator new[](size_t size) { return or_throw(made(size, __builtin_return_address(0))); }
void *operator new(size_t size, const std::nothrow_t &) noexcept { return made(size, __builtin_return_address(0)); }
void *operator new[](size_t size, const std::nothrow_t &) noexcept { return made(size, __builtin_return_address(0)); }
void *operator new(size_t size, std::align_val_t to) {
    return or_throw(aligned("new", static_cast<size_t>(to), size, __builtin_return_address(0)));
}
void *operator new[](size_t size, std::align_val_t to) {
    return or_throw(aligned("new", static_cast<size_t>(to), size, __builtin_return_address(0)));
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete[](void *block) noexcept { std::free(block); }
void operator delete(void *block, size_t) noexcept { std::free(block); }
void operator delete[](void *block, size_t) noexcept { std::free(block); }
void operator delete(void *block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void *block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void *block, size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void *block, size_t, std::align_val_t) noexcept { std::free(block); }
