/* A program outside the build of the library, as a user would write it: fits kernel PCA, saves the
 * model, loads it again, and compares the scores. Prints the path of the kernel plugin. */
#include <math.h>
#include <mercer/mercer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 200, D = 3, R = 4 };

static void must(int32_t status, const char *what) {
    if (status == MERCER_OK) return;
    fprintf(stderr, "%s: %d: %s\n", what, (int)status, mercer_last_error());
    exit(1);
}

static mercer_view matrix(double *data, int64_t rows, int64_t cols) {
    return (mercer_view){sizeof(mercer_view), MERCER_F64, 0, rows, cols, cols, 1, data};
}

int main(void) {
    static double x[N * D], before[N * R], after[N * R];
    for (int i = 0; i < N * D; i++) x[i] = sin(1 + 0.7 * i) + 0.01 * i;
    mercer_view rows = matrix(x, N, D), first = matrix(before, N, R), second = matrix(after, N, R);

    mercer_context *context;
    mercer_data *data;
    mercer_recipe *recipe;
    mercer_model *model, *loaded;
    must(mercer_context_create(&context), "context");
    must(mercer_data_from_view(&data, context, &rows), "data");
    must(mercer_recipe_create(&recipe, context, "kpca"), "recipe");
    must(mercer_recipe_set(recipe, "kernel.sigma", "5"), "sigma");
    must(mercer_recipe_set(recipe, "components", "4"), "components");
    must(mercer_model_fit(&model, recipe, data, NULL), "fit");
    must(mercer_model_transform(model, NULL, data, &first, 1, NULL), "transform");
    must(mercer_model_save(model, "c.safetensors"), "save");
    must(mercer_model_load(&loaded, context, "c.safetensors"), "load");
    must(mercer_model_transform(loaded, NULL, data, &second, 1, NULL), "transform of the loaded model");
    if (memcmp(before, after, sizeof before) != 0 || !(fabs(before[0]) > 0)) return 2;

    mercer_entry entry = {.struct_size = sizeof entry};
    must(mercer_context_find(context, "kernels", "rbf", &entry), "find");
    puts(entry.path);
    mercer_model_destroy(loaded);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_context_destroy(context);
    return 0;
}
