/* Fits subsampled and nystrom to a stream of 10^7 rows of 16 columns in 256 MiB, although the rows
 * alone would take 610 MiB. The stream can begin again, and computes each row from a hash of its
 * number, so the rows are never in memory all at once; the methods read them by windows. Checks the
 * largest resident memory of the process (VmHWM), and that the scores of the first 20 000 rows are
 * the same from a stream and from memory. */
#include "walk.h"

#include <pthread.h>

enum { D = 16, SAMPLE = 20000, R = 4 };
#define BUDGET (INT64_C(256) << 20)
#define BUDGET_KIB (BUDGET >> 10)

typedef struct stream {
    int64_t rows, passes, released, wrong, expected;
    pthread_t owner;
} stream;

/* Row i is a point near one of 64 centres. Its cluster and its noise come from hashes of i, by the
 * finaliser of SplitMix64. */
static uint64_t hash(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static void make_row(int64_t i, float *out) {
    const uint64_t cluster = hash((uint64_t)i) % 64;
    for (uint64_t c = 0; c < D; c += 4) {
        const uint64_t noise = hash((uint64_t)i * D + c), centre = hash(cluster * D + c + (UINT64_C(1) << 60));
        for (int k = 0; k < 4; k++)
            out[c + (uint64_t)k] =
                (float)(centre >> (16 * k) & 0xffff) * 0x1p-14f + (float)(noise >> (16 * k) & 0xffff) * 0x1p-16f;
    }
}

static int32_t next(void *user, int64_t first_row, int64_t capacity, void *buffer, int64_t *rows) {
    stream *s = user;
    if (first_row == 0) s->passes++;
    s->wrong += (first_row != 0 && first_row != s->expected) || !pthread_equal(s->owner, pthread_self());
    *rows = s->rows - first_row < capacity ? s->rows - first_row : capacity;
    for (int64_t i = 0; i < *rows; i++) make_row(first_row + i, (float *)buffer + i * D);
    s->expected = first_row + *rows;
    return 0;
}
static void release(void *user) { ((stream *)user)->released++; }

static mercer_data *open_stream(mercer_context *ctx, stream *s, int64_t rows) {
    mercer_chunks chunks = {.struct_size = sizeof chunks,
                            .dtype = MERCER_F32,
                            .flags = MERCER_REWINDABLE,
                            .rows = rows,
                            .cols = D,
                            .next = next,
                            .user = s,
                            .release = release};
    mercer_data *data = NULL;
    *s = (stream){.rows = rows, .owner = pthread_self()};
    OK(mercer_data_from_chunks(&data, ctx, &chunks));
    return data;
}

/* The largest resident memory that this process has had, in KiB. */
static int64_t peak_kib(void) {
    char line[256];
    long long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %lld kB", &kib);
    fclose(file);
    CHECK(kib > 0);
    return kib;
}

static void fit_stream(mercer_context *ctx, const char *method, int64_t n, const mercer_run *run, int64_t most_kib) {
    stream s;
    mercer_data *data = open_stream(ctx, &s, n);
    mercer_recipe *recipe =
        recipe_of(ctx, method, (const char *const[]){"m", "48", "components", "4", "sigma", "2", NULL});
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    OK(mercer_recipe_forecast(recipe, data, run, &forecast));
    CHECK(forecast.bytes.most <= (double)run->memory && s.passes == 0);
    mercer_model *model = NULL;
    OK(mercer_model_fit(&model, recipe, data, run));
    const char *text = NULL;
    OK(mercer_model_info(model, "/peak_bytes", &text));
    const double counted = atof(text);
    OK(mercer_model_info(model, "/timings/total", &text));
    fprintf(stderr, "%s, n = %lld: %s s, %lld passes, %.0f MiB counted (forecast %.0f), %lld MiB resident\n", method,
            (long long)n, text, (long long)s.passes, counted / 0x1p20, forecast.bytes.most / 0x1p20,
            (long long)(peak_kib() >> 10));
    CHECK(counted <= forecast.bytes.most && peak_kib() <= most_kib);
    CHECK(s.wrong == 0 && s.passes > 1 && s.passes <= 12);
    const mercer_summary summary = summary_of(model);
    CHECK(summary.n == n && summary.m == 48 && summary.r == R && summary.d == D && summary.d_mapped == D);

    /* The first rows must have the same scores from a stream, in 4 MiB, and from memory. */
    static float x[SAMPLE * D], streamed[SAMPLE * R], plain[SAMPLE * R];
    for (int64_t i = 0; i < SAMPLE; i++) make_row(i, x + i * D);
    stream few;
    mercer_data *head = open_stream(ctx, &few, SAMPLE), *memory = NULL;
    const mercer_view view = matrix(x, MERCER_F32, SAMPLE, D), one = matrix(streamed, MERCER_F32, SAMPLE, R),
                      other = matrix(plain, MERCER_F32, SAMPLE, R);
    const mercer_run tight = {.struct_size = sizeof tight, .memory = INT64_C(4) << 20};
    OK(mercer_data_from_view(&memory, ctx, &view));
    OK(mercer_model_transform(model, NULL, head, &one, 1, &tight));
    OK(mercer_model_transform(model, NULL, memory, &other, 1, NULL));
    CHECK(memcmp(streamed, plain, sizeof plain) == 0 && few.wrong == 0);
    mercer_data_destroy(head);
    mercer_data_destroy(memory);
    CHECK(few.released == 1);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    CHECK(s.released == 1);
}

int main(int argc, char **argv) {
    const int64_t n = argc > 1 ? atoll(argv[1]) : 10000000;
    mercer_context *ctx = NULL;
    OK(mercer_context_create(&ctx));
    const mercer_run run = {.struct_size = sizeof run, .threads = 2, .memory = BUDGET - (INT64_C(48) << 20)};
    fit_stream(ctx, "subsampled", n, &run, BUDGET_KIB);
    fit_stream(ctx, "nystrom", n, &run, BUDGET_KIB);
    mercer_context_destroy(ctx);
    return 0;
}
