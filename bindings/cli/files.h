#ifndef MERCER_CLI_FILES_H
#define MERCER_CLI_FILES_H

#include "handles.h"

#include <string>
#include <vector>

namespace cli {

// Whether the path is "-", which means standard input or output.
bool is_stream(const std::string &path);
// Whether an output goes where standard output goes: "-", /dev/stdout, or the file or terminal that
// standard output leads to. All other text of the command must then go elsewhere. A path that leads
// to /dev/null does not count, because nothing is kept there that could be mixed.
bool is_stdout(const std::string &path);
// Replaces each standard stream that is closed by one that cannot be read or written. Otherwise the
// next file opened would get the number of the closed stream, and would be taken for it.
void hold_standard_streams();
// Whether the path is a pipe, a socket or a device, which has no contents that could be replaced.
bool is_device(const std::string &path);
// Throws Failure if both paths name one file: an output must not replace what is read.
void check_apart(const std::string &output, const std::string &input);

// An output file that appears whole or not at all. Its bytes go to a file without a name in the
// folder of `path`, of which nothing is left if the process is killed. commit() gives this file a
// name and renames it to `path`. On a file system without nameless files, the file has a temporary
// name from the start. Standard output, pipes and devices are written to directly.
class OutputFile {
  public:
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    void write(const void *bytes, size_t count);
    void commit();

  private:
    void name();

    // path_ is the final name of the file. temporary_ is its name until commit(), "" while it has
    // none.
    std::string path_, temporary_;
    int descriptor_ = -1;
    bool replaces_ = false; // false: path_ is written to directly
};

// The ending in lower case: ".csv" for Z.CSV. "" for a path without one, for standard output and
// for devices.
std::string ending_of(const std::string &path);
// Throws Failure unless the path has one of these endings or, if `bare`, none, because the ending
// of an output says what is in the file. The message contains `flag`, which is the flag of the
// path, and `otherwise`, a hint.
void check_ending(const std::string &flag, const std::string &path, const std::vector<std::string> &known, bool bare,
                  const std::string &otherwise = "");

// Throws Failure if the path cannot be written, because its folder is missing or not writable, or
// because it is a folder. Otherwise this would be found only after a long call.
void check_writable(const std::string &path);

// Whether the path is a named pipe, or a shell's pipe such as <(...), which can be read only once.
bool is_pipe(const std::string &path);

// Copies standard input ("-") or a pipe to a file without a name, of which nothing is left however
// the command ends, and returns its descriptor. Input that is neither .npy nor text with numbers is
// refused after about a megabyte, because it may be endless.
int spool(const std::string &input);

// What a file is, by its first bytes: "an .npy file", "a model" or "text"; "" for anything else,
// and for standard input, pipes and devices, which can be read only once.
std::string kind_of_file(const std::string &path);

Model read_model(mercer_context *context, const std::string &path);
void write_model(mercer_model *model, const std::string &path);

// Reads the whole file, but at most `most` bytes of it.
std::string read_file(const std::string &path, size_t most);

} // namespace cli

#endif
