/* A model of which a bit was turned, or that was cut, is refused. */
#include "model_bytes.h"
#include "temp_folder.h"

static mercer_context *context;
static char *folder;

static int begin(void **state) {
    (void)state;
    context = new_context();
    folder = new_folder();
    return 0;
}
static int end(void **state) {
    (void)state;
    remove_folder(folder);
    mercer_context_destroy(context);
    return 0;
}

static struct bytes small_model(void) {
    double *x = noise(6 * 2);
    mercer_data *data = new_data(context, x, 6, 2);
    mercer_recipe *recipe = new_recipe(context, "components", "3", NULL);
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    struct bytes bytes = written(model);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    free(x);
    return bytes;
}

static void every_damaged_byte_is_noticed(void **state) {
    (void)state;
    struct bytes bytes = small_model();
    int64_t accepted = 0;
    for (int64_t i = 0; i < bytes.count; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            mercer_model *model = (void *)&bytes;
            bytes.at[i] ^= (unsigned char)(1 << bit);
            int32_t status = read_back(&model, context, &bytes, 0);
            bytes.at[i] ^= (unsigned char)(1 << bit);
            if (status != MERCER_E_MODEL || model)
                print_error("bit %d of byte %d: status %d: %s\n", bit, (int)i, (int)status, mercer_last_error()),
                    accepted++;
        }
    print_message("%d bytes\n", (int)bytes.count);
    assert_int_equal(accepted, 0);
    free(bytes.at);
}

static void every_truncation_is_noticed(void **state) {
    (void)state;
    struct bytes bytes = small_model();
    const int64_t whole = bytes.count;
    char path[4096];
    snprintf(path, sizeof path, "%s", joined(folder, "cut.safetensors"));
    mercer_model *model;
    for (bytes.count = 0; bytes.count < whole; bytes.count++) {
        FAILS(MERCER_E_MODEL, "", read_back(&model, context, &bytes, 0));
        if (bytes.count % 16 < 2) {
            write_file(path, bytes.at, (size_t)bytes.count);
            FAILS(MERCER_E_MODEL, "cut.safetensors", mercer_model_load(&model, context, path));
        }
    }
    unsigned char *longer = calloc(1, (size_t)whole + 9);
    memcpy(longer, bytes.at, (size_t)whole);
    for (int more = 1; more < 9; more += 7) {
        write_file(path, longer, (size_t)(whole + more));
        FAILS(MERCER_E_MODEL, "follow", mercer_model_load(&model, context, path));
    }
    write_file(path, longer, (size_t)whole);
    MUST(mercer_model_load(&model, context, path));
    mercer_model_destroy(model);
    unlink(path);
    free(longer), free(bytes.at);
}

/* A length of the header that no memory could hold, and bytes that never end. */
static int32_t endless(void *user, void *to, int64_t capacity, int64_t *count) {
    memset(to, *(int *)user, (size_t)capacity);
    *count = capacity;
    return 0;
}
static void false_lengths(void **state) {
    (void)state;
    mercer_model *model;
    for (int byte = 0; byte < 256; byte += 51) {
        mercer_source source = {sizeof source, endless, &byte};
        FAILS(MERCER_E_MODEL, "", mercer_model_read(&model, context, &source));
    }
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_damaged_byte_is_noticed),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(false_lengths),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
