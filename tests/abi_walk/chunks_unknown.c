/* Checks a stream of unknown length, whose rows arrive in pieces of irregular sizes until none is
 * left. The model of the stream must equal that of the same rows in memory. Scores of such a stream
 * can be computed, because the caller's array tells how many rows there are. */
#include "walk.h"

enum { N = 1234, D = 5, R = 3 };
static double x[N * D];

typedef struct stream {
    int64_t sent, pieces, released;
} stream;

static int32_t next(void *user, int64_t first_row, int64_t capacity, void *buffer, int64_t *rows) {
    stream *s = user;
    int64_t piece = 1 + 37 * (s->pieces++ % 5);
    CHECK(first_row == s->sent && capacity > 0); /* rows are asked for in order, and only once */
    *rows = N - s->sent < piece ? N - s->sent : piece;
    *rows = *rows < capacity ? *rows : capacity;
    memcpy(buffer, x + first_row * D, (size_t)*rows * D * sizeof *x);
    s->sent += *rows;
    return 0;
}
static void release(void *user) { ((stream *)user)->released++; }

static mercer_data *open_stream(mercer_context *ctx, stream *s) {
    mercer_chunks chunks = {.struct_size = sizeof chunks,
                            .dtype = MERCER_F64,
                            .rows = -1,
                            .cols = D,
                            .next = next,
                            .user = s,
                            .release = release};
    mercer_data *data = NULL;
    *s = (stream){0, 0, 0};
    OK(mercer_data_from_chunks(&data, ctx, &chunks));
    return data;
}

int main(void) {
    static double streamed[N * R], plain[N * R];
    mercer_context *ctx = NULL;
    stream s;
    fill(x, N * D, 4);
    OK(mercer_context_create(&ctx));
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "1.1", "components", "3");
    mercer_data *memory = rows_of(ctx, x, N, D), *data = open_stream(ctx, &s);
    mercer_data_facts facts = {.struct_size = sizeof facts};
    OK(mercer_data_inspect(data, &facts));
    CHECK(facts.rows == -1 && facts.cols == D && facts.dtype == MERCER_F64 && facts.kind == MERCER_DENSE);
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    CHECK(mercer_recipe_forecast(recipe, data, NULL, &forecast) == MERCER_E_UNSUPPORTED && s.pieces == 0);

    mercer_model *a = fit_of(recipe, data), *b = fit_of(recipe, memory), *none = a;
    CHECK(s.sent == N && summary_of(a).n == N);
    mercer_view va = tensor_of(a, "A"), vb = tensor_of(b, "A");
    CHECK(memcmp(va.data, vb.data, N * R * sizeof(double)) == 0);
    /* A second fit must be refused, because the first one has read the stream to its end. */
    CHECK(mercer_model_fit(&none, recipe, data, NULL) == MERCER_E_DATA && none == NULL);
    mercer_data_destroy(data);
    CHECK(s.released == 1);

    data = open_stream(ctx, &s); /* a new stream, now of queries */
    scores_of(b, data, streamed, N, R);
    scores_of(b, memory, plain, N, R);
    CHECK(memcmp(streamed, plain, sizeof plain) == 0);
    mercer_data_destroy(data);
    data = open_stream(ctx, &s);
    mercer_view small = f64_matrix(streamed, N - 1, R);
    CHECK(mercer_model_transform(b, NULL, data, &small, 1, NULL) == MERCER_E_SHAPE);
    mercer_data_destroy(data);
    mercer_data_destroy(memory);
    mercer_model_destroy(a);
    mercer_model_destroy(b);
    mercer_recipe_destroy(recipe);
    mercer_context_destroy(ctx);
    return 0;
}
