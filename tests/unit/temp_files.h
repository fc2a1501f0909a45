// For tests: a folder that is removed at the end, and a check of the error that a call throws.
#pragma once
#include "core/error.h"
#include "unity_cpp.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

class TempFolder {
  public:
    TempFolder() {
        const char *base = std::getenv("TMPDIR");
        std::string name = std::string(base ? base : "/tmp") + "/mercer-test-XXXXXX";
        TEST_ASSERT_NOT_NULL(mkdtemp(name.data()));
        path_ = name;
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder &) = delete;

    std::string path(const std::string &name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
    std::string write(const std::string &name, const std::string &bytes) const {
        std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return path(name);
    }
    std::string read(const std::string &name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // The names in the folder, sorted, separated by blanks.
    std::string names() const {
        std::vector<std::string> found;
        for (auto &entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path().filename());
        std::sort(found.begin(), found.end());
        std::string list;
        for (auto &name : found) list += (list.empty() ? "" : " ") + name;
        return list;
    }

  private:
    std::string path_;
};

// Checks that the call throws an error of this code whose text has one line and contains `part`.
// The assertions come after the call, because Unity leaves a failed test by longjmp, which would
// skip destructors inside the call.
template <class Call>
void expect_error(int32_t code, const std::string &part, Call &&call) {
    int32_t got = MERCER_OK;
    std::string text = "no error";
    try {
        call();
    } catch (const mercer::Error &e) {
        got = e.code();
        text = e.what();
    }
    std::string all = "expected '" + part + "' in '" + text + "'";
    TEST_ASSERT_EQUAL_INT_MESSAGE(code, got, all.c_str());
    TEST_ASSERT_TRUE_MESSAGE(text.find(part) != std::string::npos, all.c_str());
    TEST_ASSERT_TRUE_MESSAGE(text.find('\n') == std::string::npos, all.c_str());
}
