/* The table of misuses. An entry has a function of mercer.h, the wrong argument and its fault (no
 * two entries have all three in common), the error code, and two parts of the message: the value
 * seen and what is allowed. Several files add entries, and misuse.c checks the table. */
#ifndef MERCER_TESTS_MISUSE_H
#define MERCER_TESTS_MISUSE_H

#include "temp_folder.h"

#include <stdbool.h>

enum { N = 6, D = 2, R = 2 };

/* Valid values for all arguments but the wrong one. */
extern struct misuse {
    mercer_context *context;
    mercer_data *data;
    mercer_recipe *recipe, *scores, *density, *projected, *automatic, *compress;
    mercer_model *model;
    double x[N * D], out[N * 8];
    /* handles that constructors set */
    mercer_context *new_context;
    mercer_data *new_data;
    mercer_recipe *new_recipe;
    mercer_model *new_model;
} f;

struct entry {
    const char *function, *argument, *fault;
    int32_t code;
    const char *saw, *allowed, *file;
    int line;
};

/* BAD and NEW add an entry and call the function with the arguments that follow. NEW is for
 * constructors: it passes &f.new_##what as their first argument, and the call must set this handle
 * to NULL. */
#define BAD(function, argument, fault, code, saw, allowed, ...)                                                        \
    add((struct entry){#function, (argument), (fault), (code), (saw), (allowed), __FILE__, __LINE__}, NULL,            \
        function(__VA_ARGS__))
#define NEW(what, function, argument, fault, code, saw, allowed, ...)                                                  \
    do {                                                                                                               \
        f.new_##what = (void *)&f;                                                                                     \
        int32_t status_ = function(&f.new_##what, __VA_ARGS__);                                                        \
        add((struct entry){#function, (argument), (fault), (code), (saw), (allowed), __FILE__, __LINE__},              \
            (void **)&f.new_##what, status_);                                                                          \
    } while (0)
/* Null pointers and null handles have macros of their own, so that misuse.c can limit their share
 * of the table. */
#define NULL_POINTER "null pointer"
#define NO(function, argument, ...)                                                                                    \
    BAD(function, argument, NULL_POINTER, MERCER_E_ARGUMENT, argument " is NULL", "must not be", __VA_ARGS__)
#define NO_NEW(what, function, argument, ...)                                                                          \
    NEW(what, function, argument, NULL_POINTER, MERCER_E_ARGUMENT, argument " is NULL", "must not be", __VA_ARGS__)

void add(struct entry entry, void **out, int32_t status);
/* Ends a test. The test fails if any entry since the last call was wrong. */
void finish_entries(void);

/* misuse_nulls.c */
void null_pointers(void **state);
/* misuse_recipes.c */
void names(void **state);
void numbers(void **state);
void other_rows(void **state);
void kernel_expressions(void **state);
void indices_and_sizes(void **state);
/* misuse_data.c */
void views(void **state);
void chunks_and_objects(void **state);
void sparse(void **state);
void arrays_to_read_into(void **state);
void attachments(void **state);
void values_of_data(void **state);
void matrices(void **state);
/* misuse_files.c */
void paths(void **state);
void npy_files(void **state);
void csv_files(void **state);
void model_files(void **state);
/* misuse_models.c */
void outputs(void **state);
void queries(void **state);
void capabilities(void **state);
void derivations(void **state);
void tensors(void **state);
/* misuse_runs.c */
void runs(void **state);
void checkpoints(void **state);
void callbacks(void **state);

#endif
