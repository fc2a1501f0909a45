// Runs a target on every file of the folders named, for compilers without libFuzzer and as a test.
#include "fuzz.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int main(int argc, char **argv) {
    int64_t files = 0;
    for (int i = 1; i < argc; ++i)
        for (const auto &entry : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string bytes{std::istreambuf_iterator<char>(in), {}};
            std::fprintf(stderr, "%s\n", entry.path().filename().c_str()); // the last one named is the one that failed
            fuzz_one(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
            ++files;
        }
    std::printf("%lld files\n", static_cast<long long>(files));
    return files == 0;
}
