// peer.h - a contestant in a process of its own. The process lives as long as the bench, so that
// its start is never timed.
//
// In every language, a request is one line and its answer is one line. An empty line follows the
// request, because Octave's fgetl waits for the character after the end of a line. The request and
// the three possible answers are:
//     name path number number ...
//     ok SECONDS value value ... # remark
//     absent why
//     error why
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

struct Answer {
    double seconds = 0;
    std::vector<double> values;
    std::string remark;
};

// Thrown if the peer, or something that it needs, is missing on this machine; what() says what.
struct Absent : std::runtime_error {
    using runtime_error::runtime_error;
};

class Peer {
  public:
    explicit Peer(std::vector<std::string> command) : command_(std::move(command)) {}
    Peer(const Peer &) = delete;
    Peer &operator=(const Peer &) = delete;
    ~Peer();

    // Sends a request and returns the answer. The first request starts the process. Throws Absent,
    // or std::runtime_error if the peer fails.
    Answer ask(const std::string &name, const std::string &path, const std::vector<double> &numbers);

  private:
    void start();
    std::vector<std::string> command_;
    pid_t pid_ = 0;
    std::FILE *to_ = nullptr, *from_ = nullptr;
};
