// The dynamic linker prefers these definitions in the executable to those of the C library, so they
// count the calls of every library in the process.
#include "allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static std::atomic<int64_t> count{0};
int64_t allocations() { return count; }

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return ++count, __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return ++count, __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return ++count, __libc_realloc(old, size); }
void *memalign(size_t to, size_t size) { return ++count, __libc_memalign(to, size); }
void *aligned_alloc(size_t to, size_t size) { return ++count, __libc_memalign(to, size); }
int posix_memalign(void **out, size_t to, size_t size) {
    *out = memalign(to, size);
    return *out ? 0 : ENOMEM;
}
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) noexcept {
    ++count;
    return reinterpret_cast<void *>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
}
}
