// Reads the rows of data set files, for tests on real data.
#pragma once
#include "session.h"

#include <cstdlib>
#include <fstream>

// Returns the first n rows (0: all) of name.X.npy, which holds float32, float64 or uint8 by rows,
// from the folder $MERCER_DATA or else $MERCER_DATA_BESIDE. Returns an empty matrix if there is no
// such file.
inline Matrix rows_of_file(const std::string &name, int64_t n) {
    const char *named = std::getenv("MERCER_DATA"), *beside = std::getenv("MERCER_DATA_BESIDE");
    std::ifstream file(std::string(named ? named : beside ? beside : ".") + "/" + name + ".X.npy", std::ios::binary);
    char start[10] = {};
    if (!file.read(start, sizeof start)) return Matrix(0, 0);
    std::string header(static_cast<unsigned char>(start[8]) + 256u * static_cast<unsigned char>(start[9]), ' ');
    file.read(header.data(), static_cast<std::streamsize>(header.size()));
    long rows = 0, cols = 0;
    const size_t shape = header.find("'shape': (");
    TEST_ASSERT_TRUE(shape != header.npos);
    TEST_ASSERT_EQUAL_INT(2, std::sscanf(header.c_str() + shape + 10, "%ld, %ld", &rows, &cols));
    TEST_ASSERT_TRUE(rows >= n);
    Matrix x(n > 0 ? n : rows, cols);
    auto read = [&](auto type) {
        std::vector<decltype(type)> values(x.v.size());
        file.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(sizeof type * values.size()));
        std::copy(values.begin(), values.end(), x.v.begin());
    };
    if (header.find("'descr': '<f8'") != header.npos)
        read(0.0);
    else if (header.find("'descr': '<f4'") != header.npos)
        read(0.0F);
    else if (header.find("'descr': '|u1'") != header.npos)
        read(static_cast<unsigned char>(0));
    else
        TEST_FAIL_MESSAGE(header.c_str());
    TEST_ASSERT_TRUE(file.good());
    return x;
}
