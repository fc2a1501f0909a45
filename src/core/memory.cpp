#include "memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace mercer {

void Budget::take(int64_t bytes) {
    int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit_) {
        give(bytes);
        fail(MERCER_E_BUDGET, "%" PRId64 " bytes more would make %" PRId64 ", the memory budget is %" PRId64, bytes,
             now, limit_);
    }
    int64_t seen = peak_.load(std::memory_order_relaxed);
    while (now > seen && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
}

namespace {

thread_local Budget *working_for = nullptr;

} // namespace

std::shared_ptr<Budget> Budget::current() { return working_for ? working_for->shared_from_this() : nullptr; }
Budget::Scope::Scope(Budget *budget) : before_(working_for) { working_for = budget; }
Budget::Scope::~Scope() { working_for = before_; }

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

// What this process' control group and those above it leave: v2, the folder named by /proc/self/cgroup up to the root.
int64_t group_memory() {
    int64_t left = INT64_MAX;
    FILE *file = std::fopen("/proc/self/cgroup", "re");
    if (!file) return left;
    char line[512];
    while (std::fgets(line, sizeof line, file)) {
        if (std::strncmp(line, "0::", 3) != 0) continue;
        std::string path(line + 3, std::strcspn(line + 3, "\n"));
        for (;; path.erase(path.rfind('/'))) {
            std::string folder = "/sys/fs/cgroup" + path;
            int64_t limit = read_number((folder + "/memory.max").c_str(), INT64_MAX);
            if (limit != INT64_MAX) left = std::min(left, limit - read_number((folder + "/memory.current").c_str(), 0));
            if (path.find('/') == path.npos) break;
        }
    }
    std::fclose(file);
    return left;
}

} // namespace

int64_t default_budget() {
    int64_t available = std::min(available_memory(), group_memory());
    return available > 0 ? available / 10 * 6 : 0;
}

int64_t checked_bytes(const char *what, int64_t a, int64_t b, int64_t size) {
    int64_t elements = 0, bytes = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &elements) || __builtin_mul_overflow(elements, size, &bytes) ||
        bytes > INT64_MAX / 4)
        fail(MERCER_E_SHAPE, "%s of %" PRId64 " x %" PRId64 " entries is too large, must be below 2^61 bytes", what, a,
             b);
    return bytes;
}

namespace {

constexpr int64_t huge_page = int64_t{2} << 20, huge_from = int64_t{4} << 20;

} // namespace

void *allocate_block(Budget *budget, int64_t bytes) {
    const int64_t alignment = bytes >= huge_from ? huge_page : 64;
    void *block = nullptr;
    if (budget) budget->take(bytes);
    if (posix_memalign(&block, static_cast<size_t>(alignment), static_cast<size_t>(std::max<int64_t>(bytes, 1))) != 0) {
        if (budget) budget->give(bytes);
        throw std::bad_alloc();
    }
    advise_huge(block, bytes);
    return block;
}

void free_block(Budget *budget, void *block, int64_t bytes) noexcept {
    std::free(block);
    if (budget && block) budget->give(bytes);
}

void advise_huge(void *memory, int64_t bytes) noexcept {
    constexpr uintptr_t page = 4096;
    const uintptr_t first = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page,
                    last = (reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes)) / page * page;
    if (bytes >= huge_from) madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
}

} // namespace mercer
