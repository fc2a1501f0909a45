/* Loading the library must start no thread and open no plugin. OpenBLAS on pthreads starts threads
 * when it is loaded, unless a variable limits it to one, so this program sets the variables and
 * executes itself again. */
#include "boundary.h"

#include <dirent.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
enum { THREADS = 2 }; /* one thread belongs to the sanitizer */
#else
enum { THREADS = 1 };
#endif

static int threads(void) {
    DIR *all = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(all));) count += entry->d_name[0] != '.';
    closedir(all);
    return count;
}

static int plugins(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[8192];
    int count = 0;
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "/kernel-") || strstr(line, "/reducer-") || strstr(line, "/solver-");
    fclose(maps);
    return count;
}

static void loading_starts_and_opens_nothing(void **state) {
    (void)state;
    assert_int_equal(threads(), THREADS);
    assert_int_equal(plugins(), 0);
    mercer_context *context = new_context();
    int64_t count = 0;
    static const char *const registries[] = {"methods", "operations", "derivations", "kernels", "reducers", "lifts",
                                             "solvers", "statuses",   "folders",     "files",   "build"};
    for (size_t i = 0; i < sizeof registries / sizeof *registries; i++)
        MUST(mercer_context_count(context, registries[i], &count));
    assert_int_equal(threads(), THREADS);
    assert_int_equal(plugins(), 0);
    mercer_context_destroy(context);
}

static void the_build_says_what_it_is_made_of(void **state) {
    (void)state;
    mercer_context *context = new_context();
    mercer_entry entry = {.struct_size = sizeof entry};
    static const char *const rows[][2] = {{"version", MERCER_VERSION}, {"abi", "0"}, {"blas", "OpenBLAS "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MUST(mercer_context_find(context, "build", rows[i][0], &entry));
        assert_ptr_equal(strstr(entry.summary, rows[i][1]), entry.summary);
    }
    MUST(mercer_context_find(context, "build", "threads", &entry));
    assert_in_range(atoi(entry.summary), 1, sysconf(_SC_NPROCESSORS_CONF));
    MUST(mercer_context_find(context, "build", "simd", &entry));
    if (!strstr("avx512 avx2 portable", entry.summary)) fail_msg("simd is '%s'", entry.summary);
    mercer_context_destroy(context);
}

int main(int argc, char **argv) {
    (void)argc;
    if (!getenv("OPENBLAS_NUM_THREADS") || !getenv("OMP_NUM_THREADS")) {
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
        setenv("OMP_NUM_THREADS", "1", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loading_starts_and_opens_nothing),
        cmocka_unit_test(the_build_says_what_it_is_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
