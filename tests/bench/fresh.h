// fresh.h - memory that comes directly from the system, in huge pages if the system grants them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <sys/mman.h>

// An array of `count` zeros, aligned to a huge page. Its pages have not been touched yet, so the
// first access to each includes the cost of mapping it.
template <class T>
class Fresh {
  public:
    explicit Fresh(int64_t count) : bytes_((static_cast<size_t>(count) * sizeof(T) + HUGE - 1) / HUGE * HUGE + HUGE) {
        mapped_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped_ == MAP_FAILED) throw std::bad_alloc();
        madvise(mapped_, bytes_, MADV_HUGEPAGE); // only advice, so a failure does not matter
        const uintptr_t start = (reinterpret_cast<uintptr_t>(mapped_) + HUGE - 1) / HUGE * HUGE;
        data_ = reinterpret_cast<T *>(start);
    }
    Fresh(const Fresh &) = delete;
    Fresh &operator=(const Fresh &) = delete;
    ~Fresh() { munmap(mapped_, bytes_); }

    T *data() { return data_; }
    const T *data() const { return data_; }
    T &operator[](int64_t i) { return data_[i]; }
    const T &operator[](int64_t i) const { return data_[i]; }

  private:
    static constexpr size_t HUGE = size_t{2} << 20;
    size_t bytes_;
    void *mapped_;
    T *data_;
};
