/* Helpers of the tests of the loader: a folder for plugins. Apart from it, plugins are found only
 * beside the library. */
#ifndef MERCER_TESTS_PLUGIN_FILES_H
#define MERCER_TESTS_PLUGIN_FILES_H

#include "temp_folder.h"

#include <stdbool.h>

static char *folder;

static inline int begin(void **state) {
    (void)state;
    umask(022);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
    unsetenv("MERCER_PLUGIN_PATH");
    folder = new_folder();
    return chmod(folder, 0755);
}
static inline int end(void **state) {
    (void)state;
    remove_folder(folder);
    return 0;
}

/* Checks that the plugin is refused with a message that begins with its path and contains `why`. */
static inline void refused(const char *path, const char *why) {
    mercer_context *context = new_context();
    FAILS(MERCER_E_PLUGIN, why, mercer_plugin_check(context, path));
    if (strlen(path) < 200) assert_ptr_equal(strstr(mercer_last_error(), path), mercer_last_error());
    mercer_context_destroy(context);
}

static inline int open_files(void) {
    DIR *all = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(all)) count++;
    closedir(all);
    return count;
}

#endif
