// Memory: each call has one budget. Every array that grows with n, m or d is a Buffer or a
// CountedVector and counts in the budget of the call for which its thread works.
#pragma once
#include "error.h"

#include <atomic>
#include <memory>
#include <vector>

namespace mercer {

// Counts the bytes that a call holds and their maximum, and refuses an allocation before it would
// exceed the limit.
class Budget : public std::enable_shared_from_this<Budget> {
  public:
    // `of` is the budget of which this one is a part, and in which all its bytes count as well;
    // nullptr if there is none.
    explicit Budget(int64_t limit, std::shared_ptr<Budget> of = nullptr) : limit_(limit), of_(std::move(of)) {}
    void take(int64_t bytes); // fails with E_BUDGET beyond the limit
    void give(int64_t bytes) noexcept {
        used_.fetch_sub(bytes, std::memory_order_relaxed);
        if (of_) of_->give(bytes);
    }
    int64_t limit() const { return limit_; }
    int64_t used() const { return used_.load(std::memory_order_relaxed); }
    int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
    int64_t left() const { return limit_ - used(); }

    // The budget of the call for which this thread works; nullptr outside of calls, where nothing
    // is counted.
    static std::shared_ptr<Budget> current();
    // While a Scope lives, this thread works for the call that owns the budget. Scopes of a thread
    // must end in the reverse of the order in which they began.
    class Scope {
      public:
        explicit Scope(Budget *budget);
        ~Scope();
        Scope(const Scope &) = delete;

      private:
        Budget *before_;
    };

  private:
    int64_t limit_;
    std::shared_ptr<Budget> of_;
    std::atomic<int64_t> used_{0}, peak_{0};
};

// A forecast of memory in bytes: the likely amount and an upper bound.
struct Bytes {
    Bytes(int64_t exact = 0) : likely(exact), most(exact) {}
    Bytes(int64_t likely, int64_t most) : likely(likely), most(most) {}
    int64_t likely, most;
};
inline Bytes operator+(Bytes a, Bytes b) { return {a.likely + b.likely, a.most + b.most}; }
inline Bytes larger(Bytes a, Bytes b) {
    return {a.likely > b.likely ? a.likely : b.likely, a.most > b.most ? a.most : b.most};
}

// Counts bytes in a budget for as long as it lives.
class Claim {
  public:
    Claim() = default;
    Claim(std::shared_ptr<Budget> budget, int64_t bytes) : budget_(std::move(budget)), bytes_(bytes) {
        budget_->take(bytes);
    }
    Claim(Claim &&other) noexcept : budget_(std::move(other.budget_)), bytes_(other.bytes_) {}
    Claim &operator=(Claim &&other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Claim() {
        if (budget_) budget_->give(bytes_);
    }
    bool held() const { return budget_ != nullptr; }

  private:
    std::shared_ptr<Budget> budget_;
    int64_t bytes_ = 0;
};

// Returns 60 % of the bytes that this process may still use. These are the smallest of three: the
// memory available in the system, the memory that its control group leaves, and the address space
// that ulimit -v leaves.
int64_t default_budget();

// Returns a * b * size, a number of bytes; fails with E_SHAPE if it reaches 2^61.
int64_t checked_bytes(const char *what, int64_t a, int64_t b, int64_t size);

// Allocates a block that counts in a budget (nullptr: in none) and is 64-byte aligned. A block of
// at least 4 MiB is aligned to huge pages, and the system is advised to use them, because the first
// touch of 800 MB takes 0.5 s with small pages and 0.1 s with huge ones. Throws E_BUDGET or
// bad_alloc.
void *allocate_block(Budget *budget, int64_t bytes);
void free_block(Budget *budget, void *block, int64_t bytes) noexcept; // block may be nullptr
// Advises the system to use huge pages for memory that is about to be filled, such as an array of
// the caller, if it has at least 4 MiB.
void advise_huge(void *memory, int64_t bytes) noexcept;

// An array of a trivial type T that owns its memory and does not initialise it. A Buffer that
// outlives its call, such as one in a model, keeps the budget of that call alive.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(int64_t rows, int64_t cols = 1) : Buffer(Budget::current(), rows, cols) {}
    // Makes an array that counts in this budget, or in none if `budget` is nullptr.
    Buffer(std::shared_ptr<Budget> budget, int64_t rows, int64_t cols = 1) : budget_(std::move(budget)) {
        bytes_ = checked_bytes("an array", rows, cols, static_cast<int64_t>(sizeof(T)));
        data_ = static_cast<T *>(allocate_block(budget_.get(), bytes_));
        size_ = rows * cols;
    }
    Buffer(Buffer &&other) noexcept { swap(other); }
    Buffer &operator=(Buffer &&other) noexcept {
        swap(other);
        return *this;
    }
    ~Buffer() { free_block(budget_.get(), data_, bytes_); }

    T *data() { return data_; }
    const T *data() const { return data_; }
    int64_t size() const { return size_; }
    int64_t bytes() const { return bytes_; }
    bool empty() const { return size_ == 0; }
    T &operator[](int64_t i) { return data_[i]; }
    const T &operator[](int64_t i) const { return data_[i]; }
    T *begin() { return data_; }
    T *end() { return data_ + size_; }
    const T *begin() const { return data_; }
    const T *end() const { return data_ + size_; }
    Buffer &zero() {
        std::fill_n(data_, size_, T{});
        return *this;
    }
    // Stops counting the array in its budget. This is meant for an array that outlives the call in
    // which it was made, such as one in a model.
    void uncount() {
        if (budget_ && data_) budget_->give(bytes_);
        budget_.reset();
    }

  private:
    void swap(Buffer &other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(bytes_, other.bytes_);
    }
    std::shared_ptr<Budget> budget_;
    T *data_ = nullptr;
    int64_t size_ = 0, bytes_ = 0;
};

// An allocator that makes a std::vector count in the budget of the call in which the vector is
// created.
template <class T>
class CountedAllocator {
  public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    CountedAllocator() = default;
    template <class U>
    CountedAllocator(const CountedAllocator<U> &other) : budget_(other.budget()) {}
    T *allocate(size_t count) {
        return static_cast<T *>(allocate_block(budget_.get(), static_cast<int64_t>(count * sizeof(T))));
    }
    void deallocate(T *block, size_t count) noexcept {
        free_block(budget_.get(), block, static_cast<int64_t>(count * sizeof(T)));
    }
    CountedAllocator select_on_container_copy_construction() const { return {}; }
    const std::shared_ptr<Budget> &budget() const { return budget_; }
    bool operator==(const CountedAllocator &other) const { return budget_ == other.budget_; }

  private:
    std::shared_ptr<Budget> budget_ = Budget::current();
};

template <class T>
using CountedVector = std::vector<T, CountedAllocator<T>>;

} // namespace mercer
