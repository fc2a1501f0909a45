/* Wrong arguments, a row each: the status, and a text that says what was seen and what is allowed; what a constructor
 * was to fill is NULL. One table is filled by several files. */
#ifndef MERCER_TESTS_MISUSE_H
#define MERCER_TESTS_MISUSE_H

#include "temp_folder.h"

enum { N = 6, D = 2, R = 2 };

extern struct misuse {
    mercer_context *context;
    mercer_data *data;
    mercer_recipe *recipe, *scores, *density, *projected, *automatic;
    mercer_model *model;
    double x[N * D], out[N * 8];
    /* what constructors fill */
    mercer_context *new_context;
    mercer_data *new_data;
    mercer_recipe *new_recipe;
    mercer_model *new_model;
} f;

/* One row: NEW for a constructor of f.new_##what, BAD for all else. saw and allowed are parts of the text. */
#define BAD(code, saw, allowed, ...)                                                                                   \
    row((code), (saw), (allowed), NULL, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define NEW(what, code, saw, allowed, ...)                                                                             \
    do {                                                                                                               \
        f.new_##what = (void *)&f;                                                                                     \
        int32_t status_ = (__VA_ARGS__);                                                                               \
        row((code), (saw), (allowed), (void **)&f.new_##what, status_, #__VA_ARGS__, __FILE__, __LINE__);              \
    } while (0)
void row(int32_t code, const char *saw, const char *allowed, void **out, int32_t status, const char *call,
         const char *file, int line);
void finish_rows(void);

/* misuse_recipes.c */
void names(void **state);
void parameters(void **state);
void indices_and_runs(void **state);
/* misuse_data.c */
void views(void **state);
void chunks_and_objects(void **state);
void sparse(void **state);
void attachments(void **state);
void values_of_data(void **state);
/* misuse_files.c */
void data_files(void **state);
void matrices(void **state);
/* misuse_models.c */
void models(void **state);
void paths(void **state);

#endif
