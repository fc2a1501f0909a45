// peer.h - a contestant in a process of its own that lives as long as the bench, so that no start is ever timed.
//
// One line asks, one line answers, whatever the language; an empty line follows the question (Octave's fgetl waits for the
// next character):
//     name path number number ...      ->      ok SECONDS value value ... # remark     |     absent why     |     error why
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

// The peer, or what it needs, is not on this machine; what() says why.
struct Absent : std::runtime_error {
    using runtime_error::runtime_error;
};

class Peer {
  public:
    explicit Peer(std::vector<std::string> command) : command_(std::move(command)) {}
    Peer(const Peer &) = delete;
    Peer &operator=(const Peer &) = delete;
    ~Peer();

    // Starts the process on first use. Throws Absent, or std::runtime_error when the peer fails.
    Answer ask(const std::string &name, const std::string &path, const std::vector<double> &numbers);

  private:
    void start();
    std::vector<std::string> command_;
    pid_t pid_ = 0;
    std::FILE *to_ = nullptr, *from_ = nullptr;
};
