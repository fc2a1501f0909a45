/* A temporary folder of mode 0700, and files in it. */
#ifndef MERCER_TESTS_TEMP_FOLDER_H
#define MERCER_TESTS_TEMP_FOLDER_H

#include "boundary.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static inline char *joined(const char *folder, const char *name) {
    static char rooms[8][4096]; /* a result is valid for the next seven calls */
    static int next;
    char *room = rooms[next++ % 8];
    snprintf(room, sizeof rooms[0], "%.2000s/%.2000s", folder, name);
    return room;
}

static inline char *new_folder(void) {
    const char *base = getenv("TMPDIR");
    char *path = malloc(4096);
    snprintf(path, 4096, "%s/mercer-boundary-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

/* Removes the folder with everything in it, and frees `path`. */
static inline void remove_folder(char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char inside[4096];
        snprintf(inside, sizeof inside, "%.3000s/%s", path, entry->d_name);
        struct stat about;
        if (lstat(inside, &about) == 0 && S_ISDIR(about.st_mode))
            remove_folder(strdup(inside));
        else
            unlink(inside);
    }
    if (folder) closedir(folder);
    rmdir(path);
    free(path);
}

static inline void write_file(const char *path, const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline unsigned char *read_file(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("cannot read %s", path);
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*count + 1);
    assert_int_equal(fread(bytes, 1, *count, file), *count);
    fclose(file);
    return bytes;
}

static inline void copy_file(const char *from, const char *to, mode_t mode) {
    size_t count;
    unsigned char *bytes = read_file(from, &count);
    write_file(to, bytes, count);
    free(bytes);
    assert_int_equal(chmod(to, mode), 0);
}

#endif
