#ifndef MERCER_CLI_FILES_H
#define MERCER_CLI_FILES_H

#include "handles.h"

#include <string>
#include <vector>

namespace cli {

/* "-": standard input or output. */
bool is_stream(const std::string &path);
/* An output that goes where standard output does: "-", /dev/stdout, the file or the terminal that it leads to. What else the
 * command has to say must then go elsewhere. /dev/null keeps nothing that could be mixed. */
bool is_stdout(const std::string &path);
/* Of standard streams that are closed the next file opened would take the number: from now on they fail to be read or written
 * instead. */
void hold_standard_streams();
/* What has no contents to replace: a pipe, a socket, a device. */
bool is_device(const std::string &path);
/* An output must not replace what is read: Failure where both name one file. */
void check_apart(const std::string &output, const std::string &input);

/* An output that appears whole or not at all: a file without a name in path's folder, of which a kill leaves nothing, gets
 * one in commit and is renamed; where the file system has no such files it has a name from the first. Standard output,
 * pipes and devices are written to directly. */
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

    std::string path_, temporary_; // the name until commit, "" for none
    int descriptor_ = -1;
    bool replaces_ = false; // else path is written to directly
};

/* ".csv" of Z.CSV; "" of what has no ending, of standard output and of devices. */
std::string ending_of(const std::string &path);
/* The name of an output says what is in it: Failure unless it has one of these endings or, if bare, none at all. flag: of the
 * path, for the message; otherwise: what else helps. */
void check_ending(const std::string &flag, const std::string &path, const std::vector<std::string> &known, bool bare,
                  const std::string &otherwise = "");

/* Fails now rather than after a long call where path cannot be written: its folder is missing or closed, it is a
 * folder. */
void check_writable(const std::string &path);

/* A named pipe, or one like <(...) of a shell. It can be read once only. */
bool is_pipe(const std::string &path);

/* Copies standard input (-) or a pipe to a file without a name, so that none is left behind however the command ends; its descriptor.
 * What is neither .npy nor text with numbers is soon refused: it may be without end. */
int spool(const std::string &input);

/* By its first bytes: "an .npy file", "a model", "text"; "" of anything else, and of what can be read only once. */
std::string kind_of_file(const std::string &path);

Model read_model(mercer_context *context, const std::string &path);
void write_model(mercer_model *model, const std::string &path);

/* The whole file, at most `most` bytes of it. */
std::string read_file(const std::string &path, size_t most);

} // namespace cli

#endif
