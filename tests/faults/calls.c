/* Replacements of the system calls that can fail. They are compiled with the flags of the library,
 * so that open is open64 here if it is in the library. */
#include "faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) (real ? real : (*(void **)&real = dlsym(RTLD_NEXT, #name), real))
#define STRUCK(name) (struck = faults_strike(CALL, #name, __builtin_return_address(0)))

#define FAULTY(result, name, failure, parameters, arguments)                                                           \
    result name parameters {                                                                                           \
        static result(*real) parameters;                                                                               \
        int struck;                                                                                                    \
        if (STRUCK(name) > 0) return errno = struck, failure;                                                          \
        return REAL(name) arguments;                                                                                   \
    }

FAULTY(int, fsync, -1, (int fd), (fd))
FAULTY(int, rename, -1, (const char *from, const char *to), (from, to))
FAULTY(int, unlink, -1, (const char *path), (path))
FAULTY(int, link, -1, (const char *from, const char *to), (from, to))
FAULTY(int, flock, -1, (int fd, int operation), (fd, operation))
FAULTY(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
FAULTY(int, access, -1, (const char *path, int mode), (path, mode))
FAULTY(int, fstat, -1, (int fd, struct stat *about), (fd, about))
FAULTY(int, stat, -1, (const char *path, struct stat *about), (path, about))
FAULTY(int, lstat, -1, (const char *path, struct stat *about), (path, about))
FAULTY(char *, realpath, NULL, (const char *path, char *to), (path, to))
FAULTY(DIR *, opendir, NULL, (const char *path), (path))
FAULTY(struct dirent *, readdir, NULL, (DIR * folder), (folder))
FAULTY(FILE *, fopen, NULL, (const char *path, const char *mode), (path, mode))
FAULTY(void *, dlopen, NULL, (const char *path, int flags), (path, flags))
FAULTY(int, sched_getaffinity, -1, (pid_t pid, size_t size, cpu_set_t *set), (pid, size, set))
FAULTY(int, pthread_create, EAGAIN, (pthread_t * thread, const pthread_attr_t *how, void *(*body)(void *), void *user),
       (thread, how, body, user))

int open(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    int struck;
    va_list list;
    va_start(list, flags);
    const unsigned mode = va_arg(list, unsigned); /* undefined but unused if the caller passed none */
    va_end(list);
    if (STRUCK(open) > 0) return errno = struck, -1;
    return REAL(open)(path, flags, mode);
}

/* Closes the descriptor in any case, because Linux frees it even if close fails. */
int close(int fd) {
    static int (*real)(int);
    int struck;
    STRUCK(close);
    const int result = REAL(close)(fd);
    return struck > 0 ? errno = struck, -1 : result;
}

static size_t cut(int struck, size_t count) { return struck == SHORT_COUNT ? (count + 1) / 2 : count; }

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    int struck;
    if (STRUCK(pread) > 0) return errno = struck, -1;
    return REAL(pread)(fd, bytes, cut(struck, count), offset);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    int struck;
    if (STRUCK(write) > 0) return errno = struck, -1;
    return REAL(write)(fd, bytes, cut(struck, count));
}
