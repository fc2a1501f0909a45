// data.h - the data of the rows, by name, and npy files to hand them to the peers. Nothing of libmercer in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

template <class T>
struct Table {
    int64_t n, d;
    std::vector<T> values; // by rows
    const T *row(int64_t i) const { return values.data() + i * d; }
};

// `count` clusters: centres N(0, 9 I), points centre + N(0, I), the cluster of each row drawn at random (rows are mixed).
template <class T>
Table<T> clusters(int64_t n, int64_t d, int64_t count, uint64_t seed);

// `count` clusters whose sizes fall by 0.7, the same centres, points centre + N(0, 0.09 I): rows repeat each other, and most of
// the clusters are rare.
template <class T>
Table<T> uneven(int64_t n, int64_t d, int64_t count, uint64_t seed);

// Uniform in the unit cube: with a small sigma a spectrum that hardly falls.
template <class T>
Table<T> cube(int64_t n, int64_t d, uint64_t seed);

// Median distance of 1000 random pairs: a bandwidth that needs no library.
template <class T>
double median_distance(const Table<T> &x, uint64_t seed);

// npy, version 1.0, by rows; read converts f4, f8 and u1 to T. Throws std::runtime_error.
template <class T>
void write_npy(const std::string &path, const Table<T> &x);
template <class T>
Table<T> read_npy(const std::string &path);
std::string npy_dtype(const std::string &path); // "f4", "f8" ...
