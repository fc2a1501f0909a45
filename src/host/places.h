// The folders that are searched for plugins, and the check that nobody but root and the caller
// could have put a file there or changed it.
#pragma once
#include <string>
#include <sys/stat.h>
#include <vector>

namespace mercer {

// Returns why the path of a plugin, or of a folder of plugins, is refused: it is relative or too
// long, or contains ".." or control characters. Returns "" if it is accepted.
std::string path_fault(const std::string &path);

// Returns true if it does not matter which of the two files is opened: if both paths lead to one
// file, if both files have the same build ID (a stripped copy has that of the original) or, without
// build IDs, if they have the same bytes.
bool same_file(const std::string &a, const std::string &b);

// Returns the path with links resolved, or "" if there is no such file (errno says why).
std::string real_path(const std::string &path);

struct PluginFolder {
    std::string path, fault; // fault: why the path is refused; "" if it is accepted
};
// Returns the folders in MERCER_PLUGIN_PATH, the user's own plugin folder (in XDG_DATA_HOME or
// HOME), and the folder "mercer" beside this library. A setuid program ignores these environment
// variables, so it searches only the last folder.
std::vector<PluginFolder> default_plugin_folders();

// Fails with E_PLUGIN if the file or its folder belongs to anybody but root and the caller, if
// anybody else may write to either, or if everybody may replace a folder above them (a folder that
// is writable but sticky, such as /tmp, is accepted). Write permission of a group is accepted only
// if it is the group of root or of the caller. Hard links are accepted, because only somebody who
// may write to the folder can make one there.
void refuse_strangers(const std::string &path, const struct stat &file);

} // namespace mercer
