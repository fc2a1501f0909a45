/* Where the library searches for plugins, what it reports of the search, and when it opens a
 * plugin. Plugins that must be refused are in refusals.c and modules.c. */
#include "plugin_files.h"

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
    assert_null(strstr(path_of(context, "linear"), folder)); /* the plugin beside the library */
    mercer_context_destroy(context);

    context = new_context();
    int64_t before = 0, after = 0;
    MUST(mercer_context_count(context, "kernels", &before));
    MUST(mercer_context_add_plugins(context, first));
    MUST(mercer_context_add_plugins(context, second));
    MUST(mercer_context_count(context, "kernels", &after));
    assert_int_equal(before, after); /* copies of a file count as one plugin */
    assert_string_equal(path_of(context, "linear"), joined(first, "kernel-linear.so"));
    assert_string_equal(path_of(context, "chi2"), joined(second, "kernel-chi2.so"));
    mercer_context_destroy(context);

    /* The folders of MERCER_PLUGIN_PATH come after those of the context and before the installed
     * ones. Relative folders are left out. */
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

    /* The user's folder is mercer/plugins in XDG_DATA_HOME. */
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

/* The summary of the entry with this path in the registry `what`, or "" if there is none. */
static const char *state_of(mercer_context *context, const char *what, const char *path) {
    int64_t count = 0;
    MUST(mercer_context_count(context, what, &count));
    for (int64_t i = 0; i < count; i++) {
        mercer_entry entry = {.struct_size = sizeof entry};
        MUST(mercer_context_entry(context, what, i, &entry));
        if (strcmp(entry.path, path) == 0) return entry.summary;
    }
    return "";
}

static void the_trace_says_what_became_of_each_file(void **state) {
    (void)state;
    char first[4096], second[4096], variable[9000];
    snprintf(first, sizeof first, "%s", joined(folder, "trace-1"));
    snprintf(second, sizeof second, "%s", joined(folder, "trace-2"));
    mkdir(first, 0755), mkdir(second, 0755);
    for (int i = 0; i < 2; i++)
        copy_file(PLUGINS "/kernel-linear.so", joined(i ? second : first, "kernel-linear.so"), 0644);
    write_file(joined(first, "kernel-text.so"), "nonsense", 8);
    copy_file(PLUGINS "/kernel-chi2.so", joined(first, "kernel-chi2.so"), 0646);
    copy_file(PLUGINS "/kernel-chi2.so", joined(second, "kernel-chi2.so"), 0644);
    copy_file(PLUGINS "/kernel-chi2.so", joined(second, "libchi2.so"), 0644);
    snprintf(variable, sizeof variable, "%s:here:/nowhere", second);
    setenv("MERCER_PLUGIN_PATH", variable, 1);
    const int before = opened_modules();
    mercer_context *context = new_context();
    MUST(mercer_context_add_plugins(context, first));

    const char *const folders[][2] = {{first, "3 plugins"},
                                      {second, "2 plugins"},
                                      {"here", "a plugin folder must be absolute"},
                                      {"/nowhere", "No such file or directory"},
                                      {"/nonexistent/mercer/plugins", "No such file or directory"}};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        mercer_entry entry = {.struct_size = sizeof entry};
        MUST(mercer_context_entry(context, "folders", (int64_t)i, &entry)); /* entries have the order of the search */
        assert_string_equal(entry.name, folders[i][0]);
        assert_string_equal(entry.summary, folders[i][1]);
    }
    char same[5000];
    snprintf(same, sizeof same, "the same as %s", joined(first, "kernel-linear.so"));
    assert_string_equal(state_of(context, "files", joined(first, "kernel-linear.so")), "found");
    assert_string_equal(state_of(context, "files", joined(second, "kernel-linear.so")), same);
    assert_string_equal(state_of(context, "files", PLUGINS "/../src/mercer/kernel-linear.so"),
                        ""); /* listed paths contain no '..' */
    assert_string_equal(state_of(context, "files", joined(first, "kernel-text.so")), "refused, it is not an ELF file");
    assert_string_equal(state_of(context, "files", joined(first, "kernel-chi2.so")),
                        "refused, everyone can write to the file");
    assert_non_null(strstr(state_of(context, "files", joined(second, "kernel-chi2.so")), "the same as"));
    assert_non_null(strstr(state_of(context, "files", joined(second, "libchi2.so")), "ignored"));
    assert_int_equal(opened_modules(), before);
    mercer_entry entry = {.struct_size = sizeof entry};
    MUST(mercer_context_find(context, "kernels", "linear", &entry));
    assert_string_equal(entry.version, MERCER_VERSION);
    mercer_context_destroy(context);
    unsetenv("MERCER_PLUGIN_PATH");
}

/* If a name is unknown, the message must name a folder that was not searched or a file that was
 * ignored, because the plugin may be there. */
static void a_folder_that_was_not_looked_at_is_named(void **state) {
    (void)state;
    mercer_entry entry = {.struct_size = sizeof entry};
    static const struct {
        const char *variable, *why;
    } cases[] = {
        {"here", "unknown kernel 'nothing'; the folder 'here' was not searched: a plugin folder must be absolute"},
        {"/a/../b", "'/a/../b' was not searched: a plugin folder must not contain '..'"},
        {"/dev/null", "'/dev/null' was not searched: Not a directory"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        setenv("MERCER_PLUGIN_PATH", cases[c].variable, 1);
        mercer_context *context = new_context();
        FAILS(MERCER_E_NAME, cases[c].why, mercer_context_find(context, "kernels", "nothing", &entry));
        MUST(mercer_context_find(context, "kernels", "linear", &entry));
        mercer_context_destroy(context);
    }
    unsetenv("MERCER_PLUGIN_PATH");
    char odd[4096];
    snprintf(odd, sizeof odd, "%s", joined(folder, "named"));
    mkdir(odd, 0755);
    copy_file(PLUGINS "/kernel-linear.so", joined(odd, "kernel-My_Own.so"), 0644);
    mercer_context *context = new_context();
    MUST(mercer_context_add_plugins(context, odd));
    FAILS(MERCER_E_NAME, "kernel-My_Own.so' is ignored: a name is",
          mercer_context_find(context, "kernels", "My_Own", &entry));
    mercer_context_destroy(context);
}

/* Two different plugins of one name are both refused, because it is unknown which one was meant.
 * Copies of a file and links to its folder are not different plugins. */
static void two_different_plugins_of_a_name_are_refused(void **state) {
    (void)state;
    char *mine = strdup(joined(folder, "rival")), *link = strdup(joined(folder, "rival-link"));
    char *file = strdup(joined(mine, "kernel-marker.so")), text[9000];
    mkdir(mine, 0755);
    copy_file(joined(BROKEN_PLUGINS, "kernel-marker.so"), file, 0644);
    assert_int_equal(symlink(mine, link), 0);
    mercer_entry entry = {.struct_size = sizeof entry};
    mercer_context *context = new_context();
    MUST(mercer_context_add_plugins(context, mine));
    MUST(mercer_context_add_plugins(context, link));
    MUST(mercer_context_add_plugins(context, BROKEN_PLUGINS)); /* holds a copy of the file */
    MUST(mercer_context_find(context, "kernels", "marker", &entry));
    assert_string_equal(entry.path, file);
    mercer_context_destroy(context);

    unlink(file); /* the module is loaded and no longer needs its file */
    char *aged = strdup(joined(mine, "kernel-aged.so")), *old = strdup(joined(folder, "rival-old"));
    mkdir(old, 0755);
    copy_file(joined(BROKEN_PLUGINS, "kernel-aged-2.so"), aged, 0644);
    copy_file(joined(BROKEN_PLUGINS, "kernel-aged-1.so"), joined(old, "kernel-aged.so"), 0644);
    context = new_context();
    MUST(mercer_context_add_plugins(context, mine));
    MUST(mercer_context_add_plugins(context, old));
    mercer_recipe *recipe = new_recipe(context, "method", "kpca", NULL);
    snprintf(text, sizeof text, "two different plugins are called kernel 'aged', %s and %s/kernel-aged.so", aged, old);
    FAILS(MERCER_E_PLUGIN, text, mercer_recipe_set(recipe, "kernel", "aged"));
    FAILS(MERCER_E_PLUGIN, "remove or rename one", mercer_context_find(context, "kernels", "aged", &entry));
    MUST(mercer_recipe_set(recipe, "kernel", "linear")); /* other kernels must still work */
    snprintf(text, sizeof text, "not the same as %s", aged);
    assert_string_equal(state_of(context, "files", joined(old, "kernel-aged.so")), text);
    mercer_recipe_destroy(recipe), mercer_context_destroy(context);
    free(mine), free(link), free(file), free(aged), free(old);
}

/* A damaged plugin in an earlier folder must be an error. The library must not silently use a sound
 * plugin of the same name from a later folder. */
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

/* ---- when plugins are opened ------------------------------------------------------------------------------------- */

/* Must run first, in a process that has not loaded any plugin. */
static void listing_opens_nothing(void **state) {
    (void)state;
    mercer_context *context = new_context();
    static const char *const registries[] = {"methods", "operations", "derivations", "kernels", "reducers", "lifts",
                                             "solvers", "statuses",   "folders",     "files",   "build"};
    for (size_t r = 0; r < sizeof registries / sizeof *registries; r++) {
        int64_t count = 0;
        MUST(mercer_context_count(context, registries[r], &count));
        assert_true(count > 0);
        for (int64_t i = 0; i < count; i++) {
            mercer_entry entry = {.struct_size = sizeof entry};
            MUST(mercer_context_entry(context, registries[r], i, &entry));
            assert_true(entry.name && entry.name[0] && entry.aliases && entry.summary && entry.reference &&
                        entry.path && entry.version);
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
    assert_true(opened_modules() > 0); /* plugins are never closed */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listing_opens_nothing),
        cmocka_unit_test(earlier_folders_come_first),
        cmocka_unit_test(the_trace_says_what_became_of_each_file),
        cmocka_unit_test(a_folder_that_was_not_looked_at_is_named),
        cmocka_unit_test(two_different_plugins_of_a_name_are_refused),
        cmocka_unit_test(a_shadowing_file_that_is_refused_is_an_error),
        cmocka_unit_test(odd_names_are_not_listed),
        cmocka_unit_test(a_loaded_module_is_the_same_for_all_contexts),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
