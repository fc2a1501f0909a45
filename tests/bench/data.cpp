#include "data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace {

// A counter-based generator (the finaliser of splitmix64). Number i of stream `seed` does not
// depend on the machine or on the order of the calls.
uint64_t draw(uint64_t seed, uint64_t i) {
    uint64_t z = (seed << 32) + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
double uniform(uint64_t seed, uint64_t i) { return (static_cast<double>(draw(seed, i) >> 11) + 0.5) * 0x1p-53; }
double normal(uint64_t seed, uint64_t i) {
    return std::sqrt(-2 * std::log(uniform(seed, 2 * i))) * std::cos(2 * M_PI * uniform(seed, 2 * i + 1));
}

// The length of the header of the files written here. It is fixed, so that a peer in any language
// can skip the header.
constexpr size_t HEADER = 128;

struct Npy {
    std::ifstream file;
    std::string dtype;
    int64_t n = 0, d = 1;

    explicit Npy(const std::string &path) : file(path, std::ios::binary) {
        char start[10] = {};
        file.read(start, sizeof start);
        if (!file || std::memcmp(start, "\x93NUMPY\x01", 7) != 0) throw std::runtime_error(path + ": no npy 1.0 file");
        std::string header(static_cast<unsigned char>(start[8]) + 256u * static_cast<unsigned char>(start[9]), ' ');
        file.read(header.data(), static_cast<std::streamsize>(header.size()));
        const size_t descr = header.find("'descr': '"), shape = header.find("'shape': (");
        if (descr == header.npos || header[descr + 10] == '>' || shape == header.npos ||
            header.find("'fortran_order': True") != header.npos)
            throw std::runtime_error(path + ": not a little-endian array by rows");
        dtype = header.substr(descr + 11, 2);
        if (std::sscanf(header.c_str() + shape + 10, "%ld, %ld", &n, &d) < 1)
            throw std::runtime_error(path + ": no shape");
    }
    template <class Stored, class T>
    void read(std::vector<T> &to) {
        std::vector<Stored> from(to.size());
        file.read(reinterpret_cast<char *>(from.data()), static_cast<std::streamsize>(from.size() * sizeof(Stored)));
        if (!file) throw std::runtime_error("npy file too short");
        std::transform(from.begin(), from.end(), to.begin(), [](Stored v) { return static_cast<T>(v); });
    }
};

template <class T>
Table<T> empty(int64_t n, int64_t d) {
    return {n, d, std::vector<T>(static_cast<size_t>(n * d))};
}

// Returns points around centres N(0, 9 I); of(i) is the number of the centre of point i.
template <class T, class Of>
Table<T> around(int64_t n, int64_t d, uint64_t seed, double spread, Of &&of) {
    Table<T> x = empty<T>(n, d);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t cluster = of(static_cast<uint64_t>(i));
        for (int64_t k = 0; k < d; ++k)
            x.values[static_cast<size_t>(i * d + k)] =
                static_cast<T>(3 * normal(seed, static_cast<uint64_t>(cluster * d + k)) +
                               spread * normal(seed + 2, static_cast<uint64_t>(i * d + k)));
    }
    return x;
}

} // namespace

template <class T>
Table<T> clusters(int64_t n, int64_t d, int64_t count, uint64_t seed) {
    return around<T>(n, d, seed, 1, [=](uint64_t i) {
        return static_cast<int64_t>(draw(seed + 1, i) % static_cast<uint64_t>(count));
    });
}

template <class T>
Table<T> uneven(int64_t n, int64_t d, int64_t count, uint64_t seed) {
    // The uniform numbers up to (1 - 0.7^(k + 1)) / (1 - last) belong to the clusters 0 to k.
    const double last = std::pow(0.7, static_cast<double>(count));
    return around<T>(n, d, seed, 0.3, [=](uint64_t i) {
        const double k = std::log(1 - uniform(seed + 1, i) * (1 - last)) / std::log(0.7);
        return std::min(static_cast<int64_t>(k), count - 1);
    });
}

template <class T>
Table<T> cube(int64_t n, int64_t d, uint64_t seed) {
    Table<T> x = empty<T>(n, d);
    for (size_t k = 0; k < x.values.size(); ++k) x.values[k] = static_cast<T>(uniform(seed, k));
    return x;
}

template <class T>
double median_distance(const Table<T> &x, uint64_t seed) {
    std::vector<double> distances(1000);
    for (uint64_t pair = 0; pair < distances.size(); ++pair) {
        const T *a = x.row(static_cast<int64_t>(draw(seed, 2 * pair) % static_cast<uint64_t>(x.n)));
        const T *b = x.row(static_cast<int64_t>(draw(seed, 2 * pair + 1) % static_cast<uint64_t>(x.n)));
        for (int64_t k = 0; k < x.d; ++k)
            distances[pair] += std::pow(static_cast<double>(a[k]) - static_cast<double>(b[k]), 2);
    }
    std::nth_element(distances.begin(), distances.begin() + 500, distances.end());
    return std::sqrt(distances[500]);
}

template <class T>
void write_npy(const std::string &path, const Table<T> &x) {
    std::string header = "{'descr': '<f" + std::to_string(sizeof(T)) + "', 'fortran_order': False, 'shape': (" +
                         std::to_string(x.n) + ", " + std::to_string(x.d) + "), }";
    header.resize(HEADER - 10, ' ');
    header.back() = '\n';
    std::ofstream file(path, std::ios::binary);
    file.write("\x93NUMPY\x01\0\x76\0", 10); // 0x76 = 128 - 10 is the length of the rest of the header
    file << header;
    file.write(reinterpret_cast<const char *>(x.values.data()),
               static_cast<std::streamsize>(x.values.size() * sizeof(T)));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

template <class T>
Table<T> read_npy(const std::string &path) {
    Npy npy(path);
    Table<T> x = empty<T>(npy.n, npy.d);
    if (npy.dtype == "f4")
        npy.read<float>(x.values);
    else if (npy.dtype == "f8")
        npy.read<double>(x.values);
    else if (npy.dtype == "u1")
        npy.read<uint8_t>(x.values);
    else
        throw std::runtime_error(path + ": " + npy.dtype + ", must be f4, f8 or u1");
    return x;
}

std::string npy_dtype(const std::string &path) { return Npy(path).dtype; }

#define INSTANTIATE(T)                                                                                                 \
    template Table<T> clusters(int64_t, int64_t, int64_t, uint64_t);                                                   \
    template Table<T> uneven(int64_t, int64_t, int64_t, uint64_t);                                                     \
    template Table<T> cube(int64_t, int64_t, uint64_t);                                                                \
    template double median_distance(const Table<T> &, uint64_t);                                                       \
    template void write_npy(const std::string &, const Table<T> &);                                                    \
    template Table<T> read_npy(const std::string &)
INSTANTIATE(float);
INSTANTIATE(double);
