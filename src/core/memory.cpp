#include "memory.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace mercer {

void Budget::take(int64_t bytes) {
    int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit_) {
        give(bytes);
        fail(MERCER_E_BUDGET, "%" PRId64 " bytes more would make %" PRId64 ", the memory budget is %" PRId64, bytes, now, limit_);
    }
    int64_t seen = peak_.load(std::memory_order_relaxed);
    while (now > seen && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {}
}

namespace {

int64_t read_number(const char *path, int64_t otherwise) {
    FILE *file = std::fopen(path, "re");
    if (!file) return otherwise;
    int64_t value = otherwise;
    if (std::fscanf(file, "%" SCNd64, &value) != 1) value = otherwise; // "max" stays `otherwise`
    std::fclose(file);
    return value;
}

int64_t available_memory() {
    int64_t kib = -1;
    if (FILE *file = std::fopen("/proc/meminfo", "re")) {
        char line[128];
        while (std::fgets(line, sizeof line, file))
            if (std::sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1) break;
        std::fclose(file);
    }
    if (kib >= 0) return kib * 1024;
    return static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

int64_t default_budget() {
    int64_t available = available_memory();
    int64_t group_limit = read_number("/sys/fs/cgroup/memory.max", INT64_MAX);
    int64_t group_used = read_number("/sys/fs/cgroup/memory.current", 0);
    if (group_limit != INT64_MAX && group_limit - group_used < available) available = group_limit - group_used;
    return available > 0 ? available / 10 * 6 : 0;
}

int64_t checked_bytes(const char *what, int64_t a, int64_t b, int64_t size) {
    int64_t elements = 0, bytes = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &elements) || __builtin_mul_overflow(elements, size, &bytes) ||
        bytes > INT64_MAX / 4)
        fail(MERCER_E_SHAPE, "%s of %" PRId64 " x %" PRId64 " entries is too large", what, a, b);
    return bytes;
}

void *allocate_block(int64_t bytes) {
    constexpr int64_t huge_page = int64_t{2} << 20, huge_from = int64_t{4} << 20;
    int64_t alignment = bytes >= huge_from ? huge_page : 64;
    if (bytes == 0) bytes = 1;
    int64_t padded = (bytes + alignment - 1) / alignment * alignment;
    void *block = std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(padded));
    if (!block) throw std::bad_alloc();
    if (alignment == huge_page) madvise(block, static_cast<size_t>(padded), MADV_HUGEPAGE);
    return block;
}

void free_block(void *block) noexcept { std::free(block); }

} // namespace mercer
