// data.h - the generators of the data, and npy files through which peers get them. It uses nothing
// of libmercer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

template <class T>
struct Table {
    int64_t n, d;
    std::vector<T> values; // n x d, row-major
    const T *row(int64_t i) const { return values.data() + i * d; }
};

// `count` clusters: centres N(0, 9 I), points centre + N(0, I). The cluster of each row is drawn at
// random, so the rows are in no order.
template <class T>
Table<T> clusters(int64_t n, int64_t d, int64_t count, uint64_t seed);

// `count` clusters with the same centres as above, points centre + N(0, 0.09 I). Each cluster is
// 0.7 times as large as the one before. Rows nearly repeat each other, and most of the clusters are
// rare.
template <class T>
Table<T> uneven(int64_t n, int64_t d, int64_t count, uint64_t seed);

// Uniform in the unit cube. With a small sigma the eigenvalues of the kernel matrix hardly decay.
template <class T>
Table<T> cube(int64_t n, int64_t d, uint64_t seed);

// The median distance of 1000 random pairs of rows, a bandwidth that is computed without the
// library.
template <class T>
double median_distance(const Table<T> &x, uint64_t seed);

// npy files of version 1.0, row-major. read_npy converts f4, f8 and u1 to T. Both functions throw
// std::runtime_error if they fail.
template <class T>
void write_npy(const std::string &path, const Table<T> &x);
template <class T>
Table<T> read_npy(const std::string &path);
std::string npy_dtype(const std::string &path); // "f4", "f8" ...
