// fresh.h - memory as a careful caller would hand it over: fresh from the system, in huge pages where there are any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <sys/mman.h>

// count zeros that no one has touched yet; aligned to a huge page.
template <class T>
class Fresh {
  public:
    explicit Fresh(int64_t count) : bytes_((static_cast<size_t>(count) * sizeof(T) + HUGE - 1) / HUGE * HUGE + HUGE) {
        mapped_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped_ == MAP_FAILED) throw std::bad_alloc();
        madvise(mapped_, bytes_, MADV_HUGEPAGE); // a wish
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
