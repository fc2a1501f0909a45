/* Plugins: where they are looked for, when they are opened, and what is refused with which words. */
#include "temp_folder.h"

#include <signal.h>
#include <sys/wait.h>

static char *folder;

static int begin(void **state) {
    (void)state;
    umask(022);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
    unsetenv("MERCER_PLUGIN_PATH");
    folder = new_folder();
    return chmod(folder, 0755);
}
static int end(void **state) {
    (void)state;
    remove_folder(folder);
    return 0;
}

/* The text of a refusal always begins with the file's path. */
static void refused(const char *path, const char *why) {
    mercer_context *context = new_context();
    FAILS(MERCER_E_PLUGIN, why, mercer_plugin_check(context, path));
    if (path[0] == '/' && strlen(path) < 200) assert_non_null(strstr(mercer_last_error(), path));
    mercer_context_destroy(context);
}

static void broken_modules(void **state) {
    (void)state;
    static const struct {
        const char *file, *why;
    } cases[] = {
        {"kernel-wrong-abi.so", "plugin ABI 1000, this library has 0"},
        {"kernel-missing-op.so", "'facts' is missing"},
        {"kernel-bad-row.so", "sigma = -1, must be > 0"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char *path = joined(folder, cases[c].file);
        copy_file(joined(BROKEN_PLUGINS, cases[c].file), path, 0644);
        refused(path, cases[c].why);
        refused(path, cases[c].why); /* the second time as well */

        /* by name, from a folder: the same words, and everything else goes on working */
        mercer_context *context = new_context();
        mercer_recipe *recipe = new_recipe(context, NULL);
        MUST(mercer_context_add_plugins(context, folder));
        char name[64] = "";
        sscanf(cases[c].file, "kernel-%63[^.]", name);
        FAILS(MERCER_E_PLUGIN, cases[c].why, mercer_recipe_set(recipe, "kernel", name));
        MUST(mercer_recipe_set(recipe, "kernel", "linear"));
        mercer_recipe_destroy(recipe);
        mercer_context_destroy(context);
        unlink(path);
    }
}

static void wrong_paths(void **state) {
    (void)state;
    /* what does not begin with '/' is a name, never a path */
    static const char *const relative[] = {"kernel-linear.so", "./kernel-linear.so", "../plugins/kernel-linear.so", ""};
    mercer_context *context = new_context();
    assert_int_equal(chdir(PLUGINS), 0);
    for (size_t i = 0; i < sizeof relative / sizeof *relative; i++)
        FAILS(MERCER_E_NAME, "", mercer_plugin_check(context, relative[i]));
    FAILS(MERCER_E_VALUE, "absolute", mercer_context_add_plugins(context, "."));
    assert_int_equal(chdir("/"), 0);
    mercer_context_destroy(context);
    refused("/nowhere/kernel-gaussian.so", "No such file");
    refused(folder, "no regular file");

    char *real = joined(folder, "kernel-linear.so"), *link = joined(folder, "kernel-link.so");
    copy_file(PLUGINS "/kernel-linear.so", real, 0644);
    assert_int_equal(symlink(real, link), 0);
    refused(link, "symbolic link");
    unlink(link);

    char *pipe = joined(folder, "kernel-pipe.so");
    assert_int_equal(mkfifo(pipe, 0644), 0);
    refused(pipe, "no regular file"); /* and does not wait for a writer */
    unlink(pipe);

    char *renamed = joined(folder, "kernel-other.so");
    copy_file(PLUGINS "/kernel-linear.so", renamed, 0644);
    refused(renamed, "says it is 'linear', so its file must be kernel-linear.so");
    unlink(renamed);
    copy_file(PLUGINS "/kernel-linear.so", joined(folder, "solver-linear.so"), 0644);
    refused(joined(folder, "solver-linear.so"), "kernel-linear.so");
    unlink(joined(folder, "solver-linear.so"));
    unlink(real);

    char longest[6000];
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = '/', longest[sizeof longest - 1] = '\0';
    refused(longest, "aaaa");
}

static void files_that_others_may_write(void **state) {
    (void)state;
    char *path = joined(folder, "kernel-linear.so");
    copy_file(PLUGINS "/kernel-linear.so", path, 0666);
    refused(path, "everyone may write the file");
    chmod(path, 0644);
    chmod(folder, 0777);
    refused(path, "everyone may write its folder");
    chmod(folder, 01777);
    refused(path, "everyone may write its folder");
    chmod(folder, 0755);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 4242, 4242), 0);
        assert_int_equal(chown(folder, 0, 0), 0);
        mercer_context *context = new_context(); /* root: what belongs to a stranger is refused */
        FAILS(MERCER_E_PLUGIN, "belongs to neither root nor you", mercer_plugin_check(context, path));
        mercer_context_destroy(context);
        assert_int_equal(chown(path, 0, 0), 0);
    }
    mercer_context *context = new_context();
    MUST(mercer_plugin_check(context, path));
    mercer_context_destroy(context);
    unlink(path);
}

static void files_that_are_no_modules(void **state) {
    (void)state;
    char *path = joined(folder, "kernel-text.so");
    write_file(path, "", 0);
    refused(path, "no ELF file");
    write_file(path, "this is a text, which no dynamic linker can make sense of whatever its length", 77);
    refused(path, "no ELF file");
    unlink(path);
    copy_file(STRANGER, joined(folder, "kernel-stranger.so"), 0644);
    refused(joined(folder, "kernel-stranger.so"), "exports no 'mercer_plugin'");
    unlink(joined(folder, "kernel-stranger.so"));
}

/* In a child each: the dynamic linker maps what the headers promise, and a page beyond the file's end is a signal. */
static void truncated_modules(void **state) {
    (void)state;
    size_t count;
    unsigned char *bytes = read_file(PLUGINS "/kernel-linear.so", &count);
    char *path = joined(folder, "kernel-linear.so");
    int wrong = 0;
    for (size_t part = 1; part < 16; part++) {
        write_file(path, bytes, count * part / 16);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            signal(SIGBUS, SIG_DFL), signal(SIGSEGV, SIG_DFL); /* cmocka's */
            mercer_context *context;
            if (mercer_context_create(&context) != MERCER_OK) _exit(1);
            int32_t checked = mercer_plugin_check(
                context, path); /* without its last sections (debug information) a module is whole */
            _exit(checked != MERCER_E_PLUGIN && (checked != MERCER_OK || part < 5));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0)
            print_error("%d of %d bytes: %s %d\n", (int)(count * part / 16), (int)count,
                        WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : status);
        wrong += status != 0;
    }
    free(bytes);
    unlink(path);
    assert_int_equal(wrong, 0);
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static char *path_of(mercer_context *context, const char *name) {
    static char path[4096];
    mercer_entry entry = {.struct_size = sizeof entry};
    MUST(mercer_context_find(context, "kernels", name, &entry));
    snprintf(path, sizeof path, "%s", entry.path);
    return path;
}

static void earlier_folders_come_first(void **state) {
    (void)state;
    char first[4096], second[4096];
    snprintf(first, sizeof first, "%s", joined(folder, "first"));
    snprintf(second, sizeof second, "%s", joined(folder, "second"));
    mkdir(first, 0755), mkdir(second, 0755);
    copy_file(PLUGINS "/kernel-linear.so", joined(first, "kernel-linear.so"), 0644);
    copy_file(PLUGINS "/kernel-linear.so", joined(second, "kernel-linear.so"), 0644);
    copy_file(PLUGINS "/kernel-chi2.so", joined(second, "kernel-chi2.so"), 0644);

    mercer_context *context = new_context();
    assert_null(strstr(path_of(context, "linear"), folder)); /* the library's own, beside it */
    mercer_context_destroy(context);

    context = new_context();
    int64_t before = 0, after = 0;
    MUST(mercer_context_count(context, "kernels", &before));
    MUST(mercer_context_add_plugins(context, first));
    MUST(mercer_context_add_plugins(context, second));
    MUST(mercer_context_count(context, "kernels", &after));
    assert_int_equal(before, after); /* a shadowed name is not listed twice */
    assert_string_equal(path_of(context, "linear"), joined(first, "kernel-linear.so"));
    assert_string_equal(path_of(context, "chi2"), joined(second, "kernel-chi2.so"));
    mercer_context_destroy(context);

    /* the variable comes after the context's folders and before the installed ones; what is not absolute is left out */
    char variable[9000];
    snprintf(variable, sizeof variable, "relative:%s::/nonexistent", second);
    setenv("MERCER_PLUGIN_PATH", variable, 1);
    context = new_context();
    assert_string_equal(path_of(context, "linear"), joined(second, "kernel-linear.so"));
    mercer_context_destroy(context);
    context = new_context();
    MUST(mercer_context_add_plugins(context, first));
    assert_string_equal(path_of(context, "linear"), joined(first, "kernel-linear.so"));
    assert_string_equal(path_of(context, "chi2"), joined(second, "kernel-chi2.so"));
    mercer_context_destroy(context);
    unsetenv("MERCER_PLUGIN_PATH");

    /* the user's own folder */
    char data[4096];
    snprintf(data, sizeof data, "%s", joined(folder, "data"));
    mkdir(data, 0755), mkdir(joined(data, "mercer"), 0755);
    mkdir(joined(data, "mercer/plugins"), 0755);
    copy_file(PLUGINS "/kernel-linear.so", joined(data, "mercer/plugins/kernel-linear.so"), 0644);
    setenv("XDG_DATA_HOME", data, 1);
    context = new_context();
    assert_string_equal(path_of(context, "linear"), joined(data, "mercer/plugins/kernel-linear.so"));
    mercer_context_destroy(context);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
}

/* A bad plugin in an earlier folder is an error, not passed over in silence for the one that it hides. */
static void a_shadowing_file_that_is_refused_is_an_error(void **state) {
    (void)state;
    char bad[4096];
    snprintf(bad, sizeof bad, "%s", joined(folder, "bad"));
    mkdir(bad, 0755);
    write_file(joined(bad, "kernel-linear.so"), "nonsense", 8);
    mercer_context *context = new_context();
    MUST(mercer_context_add_plugins(context, bad));
    mercer_entry entry = {.struct_size = sizeof entry};
    FAILS(MERCER_E_PLUGIN, joined(bad, "kernel-linear.so"), mercer_context_find(context, "kernels", "linear", &entry));
    mercer_context_destroy(context);
}

static void odd_names_are_not_listed(void **state) {
    (void)state;
    char odd[4096];
    snprintf(odd, sizeof odd, "%s", joined(folder, "odd"));
    mkdir(odd, 0755);
    static const char *const names[] = {"kernel-.so",    "kernel-UPPER.so",    "kernel-a b.so",
                                        "kernel-x.so.1", "kernel-9.so",        "xkernel-y.so",
                                        "kernel.so",     "reducer-kernel.txt", "kernel-a_b.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) write_file(joined(odd, names[i]), "", 0);
    mercer_context *context = new_context();
    int64_t before = 0, after = 0;
    MUST(mercer_context_count(context, "kernels", &before));
    MUST(mercer_context_add_plugins(context, odd));
    MUST(mercer_context_add_plugins(context, "/nonexistent"));
    MUST(mercer_context_count(context, "kernels", &after));
    assert_int_equal(before, after);
    mercer_context_destroy(context);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

static int opened_modules(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[8192];
    int count = 0;
    while (fgets(line, sizeof line, maps)) {
        const char *name = strrchr(line, '/');
        count += name && (strncmp(name, "/kernel-", 8) == 0 || strncmp(name, "/reducer-", 9) == 0 ||
                          strncmp(name, "/solver-", 8) == 0);
    }
    fclose(maps);
    return count;
}

/* Run first, in a process that has loaded nothing yet. */
static void listing_opens_nothing(void **state) {
    (void)state;
    mercer_context *context = new_context();
    static const char *const registries[] = {"methods", "operations", "kernels", "reducers",
                                             "lifts",   "solvers",    "statuses"};
    for (size_t r = 0; r < sizeof registries / sizeof *registries; r++) {
        int64_t count = 0;
        MUST(mercer_context_count(context, registries[r], &count));
        assert_true(count > 0);
        for (int64_t i = 0; i < count; i++) {
            mercer_entry entry = {.struct_size = sizeof entry};
            MUST(mercer_context_entry(context, registries[r], i, &entry));
            assert_true(entry.name && entry.name[0] && entry.aliases && entry.summary && entry.reference && entry.path);
        }
    }
    assert_int_equal(opened_modules(), 0);
    mercer_entry entry = {.struct_size = sizeof entry};
    MUST(mercer_context_find(context, "kernels", "rbf", &entry));
    assert_string_equal(entry.name, "gaussian");
    assert_string_equal(entry.aliases, "rbf");
    assert_true(entry.summary[0] && entry.reference[0]);
    assert_true(opened_modules() > 0);
    mercer_context_destroy(context);
    assert_true(opened_modules() > 0); /* never closed */
}

static void a_loaded_module_is_the_same_for_all_contexts(void **state) {
    (void)state;
    int before = opened_modules();
    for (int i = 0; i < 50; i++) {
        mercer_context *context = new_context();
        path_of(context, "gaussian");
        mercer_context_destroy(context);
    }
    assert_int_equal(opened_modules(), before);
}

static int open_files(void) {
    DIR *all = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(all)) count++;
    closedir(all);
    return count;
}

static void refusals_leave_no_file_open(void **state) {
    (void)state;
    char *text = joined(folder, "kernel-text.so"), *stranger = joined(folder, "kernel-stranger.so");
    write_file(text, "no module", 9);
    copy_file(STRANGER, stranger, 0644);
    refused(stranger, "mercer_plugin");
    int before = open_files();
    for (int i = 0; i < 20; i++) {
        refused(text, "");
        refused(stranger, "mercer_plugin");
    }
    assert_in_range(open_files(), before, before + 1);
    unlink(text), unlink(stranger);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listing_opens_nothing),
        cmocka_unit_test(broken_modules),
        cmocka_unit_test(wrong_paths),
        cmocka_unit_test(files_that_others_may_write),
        cmocka_unit_test(files_that_are_no_modules),
        cmocka_unit_test(truncated_modules),
        cmocka_unit_test(earlier_folders_come_first),
        cmocka_unit_test(a_shadowing_file_that_is_refused_is_an_error),
        cmocka_unit_test(odd_names_are_not_listed),
        cmocka_unit_test(a_loaded_module_is_the_same_for_all_contexts),
        cmocka_unit_test(refusals_leave_no_file_open),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
