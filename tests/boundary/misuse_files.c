/* Files and matrices that cannot be read as data. */
#include "misuse.h"

/* A file with these options. */
static int32_t opened(const char *path, mercer_file options) {
    options.struct_size = sizeof options;
    return mercer_data_from_file(&f.new_data, f.context, path, &options);
}

void data_files(void **state) {
    (void)state;
    char *folder = new_folder();
    char csv[4096], npy[4096], far[4096];
    const char header[] =
        "\x93NUMPY\1\0\x36\0{'descr':'<f8','fortran_order':False,'shape':(1,1)}    \n\0\0\0\0\0\0\0\0";
    snprintf(csv, sizeof csv, "%s", joined(folder, "x.csv"));
    snprintf(npy, sizeof npy, "%s", joined(folder, "x.npy"));
    snprintf(far, sizeof far, "%s", joined(folder, "far.csv"));
    write_file(csv, "height,name\n1,a\n2,b\n", 20);
    write_file(npy, header, 72);
    write_file(far, "x,y\n1,2\n3,1e999\n", 17);
    mercer_file small = {.struct_size = 8};
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 8", "48", mercer_data_from_file(&f.new_data, f.context, csv, &small));
    NEW(data, MERCER_E_VALUE, "format = 3", "MERCER_CSV", opened(csv, (mercer_file){.format = 3}));
    NEW(data, MERCER_E_VALUE, "format = -1", "MERCER_CSV", opened(csv, (mercer_file){.format = -1}));
    NEW(data, MERCER_E_VALUE, "separator = 120", "tab", opened(csv, (mercer_file){.separator = 'x'}));
    NEW(data, MERCER_E_VALUE, "separator = 300", "tab", opened(csv, (mercer_file){.separator = 300}));
    NEW(data, MERCER_E_VALUE, "header = 2", "-1, 0 or 1", opened(csv, (mercer_file){.header = 2}));
    NEW(data, MERCER_E_VALUE, "values = 3", "MERCER_DISTANCE or MERCER_KERNEL",
        opened(csv, (mercer_file){.values = 3}));
    NEW(data, MERCER_E_VALUE, "values = -1", "MERCER_DISTANCE or MERCER_KERNEL",
        opened(csv, (mercer_file){.values = -1}));
    NEW(data, MERCER_E_NAME, "'hight'", "'height'", opened(csv, (mercer_file){.labels = "hight"}));
    NEW(data, MERCER_E_NAME, "column 2", "0 to 1", opened(csv, (mercer_file){.weights = "2"}));
    NEW(data, MERCER_E_VALUE, "'0'", "twice", opened(csv, (mercer_file){.columns = "height,0"}));
    NEW(data, MERCER_E_DATA, "'a'", "number", opened(csv, (mercer_file){.columns = "name"}));
    NEW(data, MERCER_E_DATA, "line 3, column 1 ('y'): '1e999'", "range",
        opened(far, (mercer_file){.format = MERCER_CSV}));
    NEW(data, MERCER_E_DATA, "x.csv", "no npy file", opened(csv, (mercer_file){.format = MERCER_NPY}));
    NEW(data, MERCER_E_UNSUPPORTED, "x.npy", "CSV files only", opened(npy, (mercer_file){.columns = "0"}));
    remove_folder(folder);
    finish_rows();
}

void matrices(void **state) {
    (void)state;
    double values[9] = {0, 1, 2, 1, 0, 3, 2.5, 3, 0};
    mercer_view square = doubles(values, 3, 3), wide = doubles(values, 2, 3), none = doubles(values, 3, 3);
    none.dtype = MERCER_I64;
    mercer_recipe *gaussian = new_recipe(f.context, "sigma", "1", NULL),
                  *user = new_recipe(f.context, "kernel", "user", NULL);
    mercer_data *crooked = NULL, *flat = NULL;
    MUST(mercer_data_from_matrix(&crooked, f.context, &square, MERCER_DISTANCE));
    MUST(mercer_data_from_matrix(&flat, f.context, &wide, MERCER_KERNEL));
    NEW(data, MERCER_E_ARGUMENT, "values = 0", "MERCER_KERNEL",
        mercer_data_from_matrix(&f.new_data, f.context, &square, 0));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64",
        mercer_data_from_matrix(&f.new_data, f.context, &none, MERCER_KERNEL));
    NEW(model, MERCER_E_DATA, "row 0, column 2 is 2, row 2, column 0 is 2.5", "symmetric",
        mercer_model_fit(&f.new_model, gaussian, crooked, NULL));
    NEW(model, MERCER_E_SHAPE, "2 x 3", "square", mercer_model_fit(&f.new_model, user, flat, NULL));
    NEW(model, MERCER_E_UNSUPPORTED, "gaussian", "'user'", mercer_model_fit(&f.new_model, gaussian, flat, NULL));
    mercer_data_destroy(crooked), mercer_data_destroy(flat);
    mercer_recipe_destroy(gaussian), mercer_recipe_destroy(user);
    finish_rows();
}
