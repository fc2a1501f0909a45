// Where plugins may lie: which folders are searched, and which files nobody else could have put or changed there.
#pragma once
#include <string>
#include <sys/stat.h>
#include <vector>

namespace mercer {

// "" or why a plugin's path, or a folder of plugins, is not looked at: it is relative, holds "..", control characters ...
std::string path_fault(const std::string &path);

// One file found on two ways, or what the linker made in one go, stripped or not: nobody needs to know which is opened.
bool same_file(const std::string &a, const std::string &b);

// Without links; "": there is none, errno says why.
std::string real_path(const std::string &path);

struct PluginFolder {
    std::string path, fault; // of its path, "" = none
};
// MERCER_PLUGIN_PATH (ignored when setuid), the user's data folder, and the folder "mercer" beside this library.
std::vector<PluginFolder> default_plugin_folders();

// Fails with E_PLUGIN where the file or its folder belongs to, or may be written by, anybody but root and the caller, or
// where everybody may replace a folder above it (a sticky one, as /tmp, is fine). A group counts if it is neither root's
// nor the caller's. Hard links are no fault: who could make one here could as well write here.
void refuse_strangers(const std::string &path, const struct stat &file);

} // namespace mercer
