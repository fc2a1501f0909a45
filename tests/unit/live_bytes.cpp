// These definitions in the executable come before those of the C library for every library in the process. Each block carries
// its size and where it begins in the 16 bytes before it.
#include "live_bytes.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

static std::atomic<int64_t> live{0}, most{0};
int64_t live_bytes() { return live; }
int64_t most_live_bytes() { return most; }
void reset_most_live_bytes() { most = live.load(); }

extern "C" {
void *__libc_malloc(size_t);
void __libc_free(void *);
}

namespace {

struct Mark {
    size_t size, shift;
};
static_assert(sizeof(Mark) == 16);

Mark *mark_of(void *block) { return static_cast<Mark *>(block) - 1; }

void *take(size_t to, size_t size) {
    to = std::max(to, sizeof(Mark));
    char *raw = static_cast<char *>(__libc_malloc(size + to + sizeof(Mark)));
    if (!raw) return nullptr;
    const size_t at = reinterpret_cast<size_t>(raw) + sizeof(Mark), up = (at + to - 1) / to * to;
    char *block = raw + (up - reinterpret_cast<size_t>(raw));
    *mark_of(block) = {size, up - reinterpret_cast<size_t>(raw)};
    const int64_t now = live += static_cast<int64_t>(size);
    for (int64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    return block;
}

} // namespace

extern "C" {
void *malloc(size_t size) { return take(16, size); }
void free(void *block) {
    if (!block) return;
    live -= static_cast<int64_t>(mark_of(block)->size);
    __libc_free(static_cast<char *>(block) - mark_of(block)->shift);
}
void *calloc(size_t n, size_t size) {
    void *block = take(16, n * size);
    return block ? std::memset(block, 0, n * size) : nullptr;
}
void *realloc(void *old, size_t size) {
    void *block = take(16, size);
    if (block && old) std::memcpy(block, old, std::min(size, mark_of(old)->size)), free(old);
    return block;
}
void *memalign(size_t to, size_t size) { return take(to, size); }
void *aligned_alloc(size_t to, size_t size) { return take(to, size); }
int posix_memalign(void **out, size_t to, size_t size) {
    *out = take(to, size);
    return *out ? 0 : ENOMEM;
}
}
