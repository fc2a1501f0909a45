// Runs a target on every file of the given folders. It serves as a test, and replaces libFuzzer for
// compilers without it.
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
            // If the target aborts, the last name printed is that of the failing file.
            std::fprintf(stderr, "%s\n", entry.path().filename().c_str());
            fuzz_one(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
            ++files;
        }
    std::printf("%lld files\n", static_cast<long long>(files));
    return files == 0;
}
