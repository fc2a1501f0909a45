#include "memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace mercer {

void Budget::take(int64_t bytes) {
    if (of_) of_->take(bytes);
    int64_t now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > limit_) {
        give(bytes); // returns the bytes to this budget and to the parent's
        fail(MERCER_E_BUDGET,
             "%" PRId64 " more bytes are needed and %" PRId64 " are in use, but the memory budget is %" PRId64, bytes,
             now - bytes, limit_);
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

using File = std::unique_ptr<FILE, int (*)(FILE *)>;
File open_text(const std::string &path) { return {std::fopen(path.c_str(), "re"), std::fclose}; }

int64_t read_number(const std::string &path, int64_t otherwise) {
    const File file = open_text(path);
    int64_t value = otherwise;
    // A limit that is not set reads "max", which is not a number.
    if (!file || std::fscanf(file.get(), "%" SCNd64, &value) != 1) return otherwise;
    return value;
}

int64_t available_memory() {
    int64_t kib = -1;
    const File file = open_text("/proc/meminfo");
    char line[128];
    while (file && std::fgets(line, sizeof line, file.get()))
        if (std::sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1) break;
    if (kib >= 0) return kib * 1024;
    return static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

// Returns how much more memory this process may take according to its control group and the groups
// above it. Only version 2 of control groups is read: the files of each folder from the one that
// /proc/self/cgroup names up to the root.
int64_t group_memory() {
    int64_t left = INT64_MAX;
    const File file = open_text("/proc/self/cgroup");
    char line[512];
    while (file && std::fgets(line, sizeof line, file.get())) {
        if (std::strncmp(line, "0::", 3) != 0) continue;
        std::string path(line + 3, std::strcspn(line + 3, "\n"));
        for (;; path.erase(path.rfind('/'))) {
            std::string folder = "/sys/fs/cgroup" + path;
            int64_t limit = read_number(folder + "/memory.max", INT64_MAX);
            if (limit != INT64_MAX) left = std::min(left, limit - read_number(folder + "/memory.current", 0));
            if (path.find('/') == path.npos) break;
        }
    }
    return left;
}

// Returns the address space that RLIMIT_AS (ulimit -v) leaves to this process.
int64_t address_space() {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
    const int64_t pages = read_number("/proc/self/statm", 0);
    return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX)) -
           pages * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

int64_t default_budget() {
    int64_t available = std::min({available_memory(), group_memory(), address_space()});
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
