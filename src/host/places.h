// The folders that are searched for plugins, and the check that nobody but root and the caller
// could have put or changed a file there.
#pragma once
#include <string>
#include <sys/stat.h>
#include <vector>

namespace mercer {

// Returns "" or why the path of a plugin, or of a folder of plugins, is refused: it is relative, or
// contains "..", control characters ...
std::string path_fault(const std::string &path);

// Returns true if both paths lead to one file, if the files have the same build ID, as a stripped
// copy has, or, without build IDs, the same bytes. It does not matter then which of the two is
// opened.
bool same_file(const std::string &a, const std::string &b);

// The path with links resolved; "" if there is no such file (errno says why).
std::string real_path(const std::string &path);

struct PluginFolder {
    std::string path, fault; // fault: why the path is refused; "": it is not
};
// The folders in MERCER_PLUGIN_PATH, the data folder of the user, and the folder "mercer" beside
// this library. A setuid program ignores the variables, and so has only the last one.
std::vector<PluginFolder> default_plugin_folders();

// Fails with E_PLUGIN if the file or its folder belongs to anybody but root and the caller, or if
// anybody else may write to it, or if everybody may replace a folder above it (a sticky one such as
// /tmp is accepted). A group with write permission is refused unless it is the group of root or of
// the caller. Hard links are accepted, because whoever can make one here can also write here.
void refuse_strangers(const std::string &path, const struct stat &file);

} // namespace mercer
