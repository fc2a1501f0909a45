#include "peer.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

void Peer::start() {
    std::signal(SIGPIPE, SIG_IGN);
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("no process for a peer");
    if (pid_ == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        std::vector<char *> arguments;
        for (std::string &word : command_) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        execvp(arguments[0], arguments.data());
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
}

Peer::~Peer() {
    if (pid_ <= 0) return;
    std::fclose(to_); // the process ends at the end of its input
    std::fclose(from_);
    waitpid(pid_, nullptr, 0);
}

Answer Peer::ask(const std::string &name, const std::string &path, const std::vector<double> &numbers) {
    if (pid_ == 0) start();
    std::fprintf(to_, "%s %s", name.c_str(), path.c_str());
    for (double number : numbers) std::fprintf(to_, " %.17g", number);
    std::fprintf(to_, "\n\n");
    std::fflush(to_);

    std::string line;
    int c;
    while ((c = std::fgetc(from_)) != EOF && c != '\n') line += static_cast<char>(c);
    if (c == EOF) throw Absent(command_[0] + " does not start or has ended");

    std::istringstream words(line);
    std::string kind, word;
    words >> kind;
    const std::string rest = line.substr(std::min(kind.size() + 1, line.size()));
    if (kind == "absent") throw Absent(rest);
    Answer answer;
    if (kind != "ok" || !(words >> answer.seconds)) throw std::runtime_error(command_.back() + ": " + rest);
    while (words >> word && word != "#") answer.values.push_back(std::stod(word));
    std::getline(words >> std::ws, answer.remark);
    return answer;
}
