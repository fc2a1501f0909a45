/* Checks that a model is refused if one bit is flipped, if it is truncated or if bytes follow it.
 * The message must name the damaged tensor or the header. */
#include "model_bytes.h"
#include "temp_folder.h"

enum { ROWS = 6, COLUMNS = 2 };

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

static struct bytes fitted(mercer_recipe *recipe, mercer_data *data) {
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    struct bytes bytes = written(model);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    return bytes;
}

static struct bytes exact_f64(void) {
    double *x = noise(ROWS * COLUMNS);
    struct bytes bytes = fitted(new_recipe(context, "components", "3", NULL), new_data(context, x, ROWS, COLUMNS));
    free(x);
    return bytes;
}

static struct bytes reduced_f32(void) {
    float x[ROWS * COLUMNS];
    double weights[ROWS] = {1, 2, 1, 3, 1, 1};
    double *from = noise(ROWS * COLUMNS);
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)from[i];
    free(from);
    mercer_view view = view_of(x, MERCER_F32, ROWS, COLUMNS), column = doubles(weights, ROWS, 1);
    mercer_data *data;
    MUST(mercer_data_from_view(&data, context, &view));
    MUST(mercer_data_attach(data, "weights", &column));
    mercer_recipe *recipe = recipe_of(context, "nystrom", "2");
    MUST(mercer_recipe_set(recipe, "m", "4"));
    MUST(mercer_recipe_set(recipe, "data.scale", "standard"));
    return fitted(recipe, data);
}

static struct bytes sparse_sum(void) {
    static const int64_t offsets[] = {0, 2, 3, 5, 5, 6}, columns[] = {0, 2, 1, 0, 1, 2};
    static const double entries[] = {1, 2, 3, 4, 5, 6};
    mercer_sparse sparse = {sizeof sparse, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 5, 3, 6, offsets, columns, entries};
    mercer_data *data;
    MUST(mercer_data_from_sparse(&data, context, &sparse));
    return fitted(new_recipe(context, "components", "2", "kernel", "gaussian + 0.5 linear", NULL), data);
}

static struct bytes (*const models[])(void) = {exact_f64, reduced_f32, sparse_sum};
enum { MODELS = sizeof models / sizeof *models };

/* The part of the model that the message must name if byte `at` is damaged: a tensor, or the
 * header. */
static const char *place(const struct bytes *whole, int64_t at) {
    static char name[160];
    uint64_t length;
    memcpy(&length, whole->at, 8);
    const int64_t first = 8 + (int64_t)length;
    if (at < first) return "header";
    char *header = strndup((const char *)whole->at + 8, (size_t)length);
    name[0] = 0;
    for (char *entry = header; (entry = strstr(entry, "\":{\"dtype\"")); entry++) {
        long long from, to;
        char *start = entry;
        while (start[-1] != '"') start--;
        const char *span = strstr(entry, "\"data_offsets\":[");
        assert_int_equal(sscanf(span, "\"data_offsets\":[%lld,%lld]", &from, &to), 2);
        if (at >= first + from && at < first + to)
            snprintf(name, sizeof name, "tensor '%.*s'", (int)(entry - start), start);
    }
    free(header);
    assert_true(name[0]);
    return name;
}

static int is_refused(struct bytes *bytes, const char *part) {
    mercer_model *model = (void *)bytes;
    const int32_t status = read_back(&model, context, bytes, 0);
    const char *text = mercer_last_error();
    if (status == MERCER_E_MODEL && !model && strstr(text, part) && !strchr(text, '\n')) return 1;
    print_error("status %d: '%s', not '%s'\n", (int)status, text, part);
    return 0;
}

static void every_turned_bit_is_noticed(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        struct bytes bytes = models[m]();
        for (int64_t i = 0; i < bytes.count; i++) {
            const char *part = place(&bytes, i);
            for (int bit = 0; bit < 8; bit++) {
                bytes.at[i] ^= (unsigned char)(1 << bit);
                const int refused = is_refused(&bytes, part);
                bytes.at[i] ^= (unsigned char)(1 << bit);
                if (!refused) fail_msg("model %d, bit %d of byte %d", m, bit, (int)i);
            }
        }
        print_message("model %d: %d bits\n", m, 8 * (int)bytes.count);
        free(bytes.at);
    }
}

static void every_cut_is_noticed(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", joined(folder, "cut.safetensors"));
    for (int m = 0; m < MODELS; m++) {
        struct bytes bytes = models[m]();
        const struct bytes all = bytes;
        mercer_model *model;
        for (bytes.count = 0; bytes.count < all.count; bytes.count++) {
            const char *part = place(&all, bytes.count);
            if (!is_refused(&bytes, part)) fail_msg("model %d, cut to %d bytes", m, (int)bytes.count);
            if (bytes.count % 16 > 1) continue;
            write_file(path, bytes.at, (size_t)bytes.count); /* unlike a stream, a file has a known size */
            FAILS(MERCER_E_MODEL, "cut.safetensors", mercer_model_load(&model, context, path));
            if (!strstr(mercer_last_error(), "header") && !strstr(mercer_last_error(), "tensor '"))
                fail_msg("%s", mercer_last_error());
        }
        unsigned char *longer = calloc(1, (size_t)all.count + 64);
        memcpy(longer, all.at, (size_t)all.count);
        for (int more = 1; more <= 64; more++) {
            write_file(path, longer, (size_t)(all.count + more));
            FAILS(MERCER_E_MODEL, "follow the last tensor of the header", mercer_model_load(&model, context, path));
        }
        write_file(path, longer, (size_t)all.count);
        MUST(mercer_model_load(&model, context, path));
        mercer_model_destroy(model);
        free(longer), free(bytes.at);
    }
    unlink(path);
}

/* A source that repeats one byte forever, so the length that it declares for the header is 0 or
 * exceeds any memory. */
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
        cmocka_unit_test(every_turned_bit_is_noticed),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(false_lengths),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
