/* What the tests of the loader share: a folder to put plugins in, and nowhere else to find any but beside the library. */
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

/* The text of a refusal always begins with the file's path. */
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
