#include "commands.h"
#include "files.h"
#include "report.h"
#include "run.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using cli::Words;

struct Command {
    const char *name, *summary;
    void (*run)(mercer_context *context, const Words &words);
};

constexpr std::array<Command, 14> commands = {{
    {"fit", "fit a model to data", cli::fit},
    {"transform", "apply a model to data", cli::transform},
    {"kernel", "write the kernel matrix of data", cli::kernel},
    {"forecast", "estimate the memory, work and time of a fit", cli::forecast},
    {"convert", "write a model as JSON, or as .npy files", cli::convert},
    {"info", "print a summary of a model", cli::info},
    {"methods", "list methods, kernels, reducers, lifts, solvers, operations, derivations; status codes", cli::methods},
    {"describe", "print the parameters of a method or of one of its parts", cli::describe},
    {"plot", "draw eigenvalues, scores, or a density or residual map", cli::plot},
    {"plugins", "list the plugins and the folders searched for them", cli::plugins},
    {"plugin-check", "run the conformance suite on a plugin, in a separate process", cli::plugin_check},
    {"plugin-new", "write the source of a new plugin", cli::plugin_new},
    {"completion", "print the script that lets a shell complete command lines", cli::completion},
    {"demo", "make example data, fit a model, draw a picture", cli::demo},
}};

// The names and summaries of all commands: those of the table, and one for each derivation.
std::vector<std::pair<std::string, std::string>> all_commands() {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Command &command : commands) all.emplace_back(command.name, command.summary);
    const auto context = cli::make<cli::Context>(mercer_context_create);
    for (const cli::Entry &entry : cli::entries_of(context.get(), cli::derivations))
        all.emplace_back(entry.name, entry.summary);
    return all;
}

void print_usage(FILE *stream) {
    std::fputs("Kernel PCA and its reduced, greedy and sampled relatives on large data.\n\n"
               "usage: mercer COMMAND [ARGUMENTS]\n\n",
               stream);
    cli::Cells cells;
    for (const auto &[name, summary] : all_commands()) cells.push_back({"  " + name, summary});
    cells.push_back({"  --version", "version, BLAS, instruction set and threads of the library"});
    cli::print_table(stream, cells, "ll");
    std::fputs("\nmercer COMMAND --help prints the options of a command.\n", stream);
}

void show_log(void *, int32_t level, const char *text) {
    constexpr int32_t warning = 2;
    // The last warning shown. A warning that repeats it is left out: the next step of a command on
    // the same data often repeats one.
    static std::string said;
    if (level < warning || said == text) return;
    said = text;
    cli::clear_progress();
    std::fprintf(stderr, "mercer: warning: %s\n", text);
}

void print_commands(const std::string &begun) {
    Words names = {"help", "--help", "--version"};
    for (const auto &[name, summary] : all_commands()) names.push_back(name);
    for (const std::string &name : names)
        if (name.starts_with(begun)) std::printf("%s\n", name.c_str());
}

void dispatch(Words words) {
    const size_t help = !words.empty() && words[0] == "help";
    if (words.size() > help + 1 && words[help] == cli::complete_flag) return print_commands(words.back());
    if (words.size() > 1 && words[0] == "help") words = {words[1], "--help"};
    if (words.empty()) {
        print_usage(stderr);
        throw cli::Failure(MERCER_E_ARGUMENT, "no command was given");
    }
    const std::string name = words[0];
    if (name == "--help" || name == "-h" || name == "help") {
        print_usage(stdout);
        return;
    }
    const auto *command =
        std::find_if(commands.begin(), commands.end(), [&](const Command &c) { return name == c.name; });
    const auto context = cli::make<cli::Context>(mercer_context_create);
    cli::check(mercer_context_set_log(context.get(), show_log, nullptr));
    words.erase(words.begin());
    if (name == "--version") return cli::version(context.get(), words);
    if (command != commands.end()) return command->run(context.get(), words);
    for (const cli::Entry &entry : cli::entries_of(context.get(), cli::derivations))
        if (name == entry.name) return cli::derive(context.get(), entry, words);
    std::vector<std::string> known = {"--help", "--version"};
    for (const auto &[one, summary] : all_commands()) known.push_back(one);
    const std::string near = cli::suggestion(name, known);
    throw cli::Failure(MERCER_E_ARGUMENT,
                       "unknown command '" + name + "'; " +
                           (near.empty() ? "mercer --help lists the commands" : "did you mean '" + near + "'?"));
}

// OpenBLAS starts threads when it is loaded, each with a buffer of 128 MiB of address space. If
// `ulimit -v` leaves less, they wait for it forever. The library never uses these threads, so if
// address space is limited at all, the command starts itself once more, without them.
void start_without_blas_threads(char **argv) {
    const char *variable = "OPENBLAS_NUM_THREADS";
    struct rlimit space {};
    if (std::getenv(variable) || ::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return;
    ::setenv(variable, "1", 1);
    ::execv("/proc/self/exe", argv); // if this fails, the process continues as it is
}

} // namespace

int main(int argc, char **argv) {
    start_without_blas_threads(argv);
    const Words words(argv + 1, argv + argc);
    const auto has = [&](const char *word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    const bool as_json = has("--json") && !has(cli::complete_flag);
    cli::hold_standard_streams();
    // A write beyond the limit of file sizes then fails with an error, as on a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        try {
            dispatch(words);
        } catch (const cli::HelpShown &) {
            // The help is output like any other, and is flushed below.
        }
        if (std::fflush(stdout) != 0) throw cli::system_failure("standard output", "write");
        if (std::ferror(stdout)) throw cli::Failure(MERCER_E_IO, "standard output: a part of it could not be written");
        return 0;
    } catch (const cli::Failure &failure) {
        cli::print_failure(failure, as_json);
        return cli::exit_code(failure.code);
    } catch (const std::bad_alloc &) {
        cli::print_failure({MERCER_E_MEMORY, "out of memory"}, as_json);
        return cli::exit_code(MERCER_E_MEMORY);
    } catch (const std::exception &error) {
        cli::print_failure({MERCER_E_INTERNAL, error.what()}, as_json);
        return cli::exit_code(MERCER_E_INTERNAL);
    }
}
