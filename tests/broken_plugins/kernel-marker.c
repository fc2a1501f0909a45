/* kernel-marker.c - a sound kernel that writes the file named by MERCER_MARKER when it is opened.
 * While it is being opened, it opens the plugin named by MERCER_NESTED, and writes the answer of
 * the library into that file. It also leaves the rounding mode changed, as a module built with
 * -ffast-math leaves the floating-point mode. */
#include "broken.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

static void open_nested(FILE *trace, const char *path) {
    int32_t (*create)(mercer_context **) = NULL;
    int32_t (*check)(mercer_context *, const char *) = NULL;
    void (*destroy)(mercer_context *) = NULL;
    const char *(*last_error)(void) = NULL;
    *(void **)&create = dlsym(RTLD_DEFAULT, "mercer_context_create");
    *(void **)&check = dlsym(RTLD_DEFAULT, "mercer_plugin_check");
    *(void **)&destroy = dlsym(RTLD_DEFAULT, "mercer_context_destroy");
    *(void **)&last_error = dlsym(RTLD_DEFAULT, "mercer_last_error");
    mercer_context *context = NULL;
    if (!create || !check || !destroy || !last_error || create(&context)) return;
    fprintf(trace, "%d %s", check(context, path), last_error());
    destroy(context);
}

__attribute__((constructor)) static void run_when_opened(void) {
    const char *path = getenv("MERCER_MARKER"), *nested = getenv("MERCER_NESTED");
    FILE *trace = path ? fopen(path, "w") : NULL;
    if (trace && nested) open_nested(trace, nested);
    if (trace) fclose(trace);
    fesetround(FE_UPWARD);
}

SOUND_OPS
MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "marker", "1.0", "x.y", "", ops)
