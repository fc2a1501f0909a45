/* scores.c - the scores of a matrix under a stored model, for R's .C: all arguments are pointers, matrices are
 * column-major and not copied by the library. docs/languages.md shows its use.
 *
 *     cc -shared -fPIC scores.c -o scores.so $(pkg-config --cflags --libs mercer)
 */
#include <mercer/mercer.h>
#include <stdio.h>

/* *r = number of components of the model; *failed = 1 and a message on failure. message holds 1024 bytes. */
void components(char **model_file, int *r, char **message, int *failed) {
    mercer_context *context = NULL;
    mercer_model *model = NULL;
    mercer_summary summary = {.struct_size = sizeof summary};
    *failed = mercer_context_create(&context) || mercer_model_load(&model, context, *model_file) ||
              mercer_model_summary(model, &summary);
    if (*failed) snprintf(*message, 1024, "%s", mercer_last_error());
    *r = (int)summary.r;
    mercer_model_destroy(model);
    mercer_context_destroy(context);
}

/* z (n x r) = scores of the rows of x (n x d), r as components() says; with more, the columns beyond them are zeros. */
void scores(char **model_file, double *x, int *n, int *d, double *z, int *r, char **message, int *failed) {
    mercer_view in = {sizeof in, MERCER_F64, 0, *n, *d, 1, *n, x}, out = {sizeof out, MERCER_F64, 0, *n, *r, 1, *n, z};
    mercer_context *context = NULL;
    mercer_model *model = NULL;
    mercer_data *data = NULL;
    *failed = mercer_context_create(&context) || mercer_model_load(&model, context, *model_file) ||
              mercer_data_from_view(&data, context, &in) || mercer_model_transform(model, NULL, data, &out, 1, NULL);
    if (*failed) snprintf(*message, 1024, "%s", mercer_last_error());
    mercer_data_destroy(data);
    mercer_model_destroy(model);
    mercer_context_destroy(context);
}
