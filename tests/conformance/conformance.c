/* conformance.c - runs the library's own suite on one plugin: conformance NAME [-d FOLDER] [-e TEXT]
 *
 * NAME is a name such as "kernel-gaussian" or an absolute path, and FOLDER an absolute folder that
 * is searched for plugins. With -e the plugin must fail, and the message must contain TEXT. The
 * exit status is 0 if the plugin conforms, or with -e if it fails as expected. */
#include <mercer/mercer.h>
#include <stdio.h>
#include <string.h>

static void print(void *user, int32_t level, const char *text) {
    (void)user, (void)level;
    printf("%s\n", text);
}

static int verdict(int32_t status, const char *expected) {
    if (!expected && status == MERCER_OK) {
        printf("conforms\n");
        return 0;
    }
    if (status == MERCER_OK)
        printf("FAIL: it conforms, but \"%s\" was expected\n", expected);
    else
        printf("does not conform (status %d): %s\n", (int)status, mercer_last_error());
    if (!expected || status == MERCER_OK) return 1;
    if (status == MERCER_E_PLUGIN && strstr(mercer_last_error(), expected)) return 0;
    printf("FAIL: expected MERCER_E_PLUGIN (%d) and \"%s\"\n", MERCER_E_PLUGIN, expected);
    return 1;
}

int main(int argc, char **argv) {
    const char *name = NULL, *folder = NULL, *expected = NULL;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-d") && i + 1 < argc)
            folder = argv[++i];
        else if (!strcmp(argv[i], "-e") && i + 1 < argc)
            expected = argv[++i];
        else
            name = argv[i];
    }
    if (!name) {
        fprintf(stderr, "usage: conformance NAME|PATH [-d FOLDER] [-e TEXT]\n");
        return 2;
    }
    mercer_context *context = NULL;
    int32_t status = mercer_context_create(&context);
    if (!status) status = mercer_context_set_log(context, print, NULL);
    if (!status && folder) status = mercer_context_add_plugins(context, folder);
    if (!status) status = mercer_plugin_check(context, name);
    int result = verdict(status, expected);
    mercer_context_destroy(context);
    return result;
}
