/* Writes a model to bytes in memory, and reads it from them in pieces of any size. */
#ifndef MERCER_TESTS_MODEL_BYTES_H
#define MERCER_TESTS_MODEL_BYTES_H

#include "boundary.h"

struct bytes {
    unsigned char *at;
    int64_t count, read, piece;
};
static inline int32_t append(void *user, const void *from, int64_t count) {
    struct bytes *b = user;
    b->at = realloc(b->at, (size_t)(b->count + count + 1));
    memcpy(b->at + b->count, from, (size_t)count);
    b->count += count;
    return 0;
}
static inline int32_t take(void *user, void *to, int64_t capacity, int64_t *count) {
    struct bytes *b = user;
    *count = b->count - b->read;
    *count = *count < capacity ? *count : capacity;
    if (b->piece && *count > b->piece) *count = b->piece;
    memcpy(to, b->at + b->read, (size_t)*count);
    b->read += *count;
    return 0;
}
static inline struct bytes written(mercer_model *model) {
    struct bytes b = {0};
    mercer_sink sink = {sizeof sink, append, &b};
    MUST(mercer_model_write(model, &sink));
    return b;
}
static inline int32_t read_back(mercer_model **out, mercer_context *context, struct bytes *b, int64_t piece) {
    mercer_source source = {sizeof source, take, b};
    b->read = 0, b->piece = piece;
    return mercer_model_read(out, context, &source);
}

#endif
