/* Files: paths that do not exist, full disks, and files with damaged or unsupported contents. */
#include "misuse.h"

#include <signal.h>
#include <sys/resource.h>

static char *folder;

/* Writes a file of this name into the folder and returns its path. */
static const char *written_as(const char *name, const void *bytes, size_t count) {
    const char *path = joined(folder, name);
    write_file(path, bytes, count);
    return path;
}

void paths(void **state) {
    (void)state;
    folder = new_folder();
    const char *file = written_as("file", "1\n", 2), *link = joined(folder, "link");
    char under[4096], name[300], gone[4096];
    snprintf(under, sizeof under, "%.4000s/below", file);
    memset(name, 'n', sizeof name - 1), name[sizeof name - 1] = '\0';
    const char *long_name = joined(folder, name);
    assert_int_equal(symlink(joined(folder, "nowhere/below"), link), 0);
    snprintf(gone, sizeof gone, "%.4000s", link);
    NEW(data, mercer_data_from_file, "path", "no such folder", MERCER_E_IO, "/nowhere/x.npy", "No such file", f.context,
        "/nowhere/x.npy", NULL);
    NEW(data, mercer_data_from_file, "path", "a folder", MERCER_E_IO, folder, "directory", f.context, folder, NULL);
    NEW(data, mercer_data_from_file, "path", "empty", MERCER_E_IO, "''", "empty", f.context, "", NULL);
    NEW(data, mercer_data_from_file, "path", "below a file", MERCER_E_IO, under, "Not a directory", f.context, under,
        NULL);
    NEW(data, mercer_data_from_file, "path", "a device", MERCER_E_IO, "/dev/null", "regular file", f.context,
        "/dev/null", NULL);
    NEW(model, mercer_model_load, "path", "no such folder", MERCER_E_IO, "/nowhere/m", "No such file", f.context,
        "/nowhere/m");
    NEW(model, mercer_model_load, "path", "empty", MERCER_E_IO, "''", "empty", f.context, "");
    NEW(model, mercer_model_load, "path", "a folder", MERCER_E_IO, folder, "directory", f.context, folder);
    NEW(model, mercer_model_load, "path", "a device", MERCER_E_IO, "/dev/zero", "regular file", f.context, "/dev/zero");
    NEW(model, mercer_model_load, "path", "a link to nothing", MERCER_E_IO, gone, "No such file", f.context, gone);
    BAD(mercer_model_save, "path", "no such folder", MERCER_E_IO, "/nowhere/m", "No such file", f.model, "/nowhere/m");
    BAD(mercer_model_save, "path", "a folder", MERCER_E_IO, folder, "directory", f.model, folder);
    BAD(mercer_model_save, "path", "empty", MERCER_E_IO, "''", "empty", f.model, "");
    BAD(mercer_model_save, "path", "below a file", MERCER_E_IO, under, "Not a directory", f.model, under);
    BAD(mercer_model_save, "path", "a link into no folder", MERCER_E_IO, gone, "No such file", f.model, gone);
    BAD(mercer_model_save, "path", "too long a name", MERCER_E_IO, "nnnn", "File name too long", f.model, long_name);
    BAD(mercer_model_save, "path", "a folder that takes no files", MERCER_E_IO, "/proc/model", "cannot write", f.model,
        "/proc/model");
    BAD(mercer_model_save, "path", "a device", MERCER_E_IO, "/dev/full", "not a regular file", f.model, "/dev/full");
    struct rlimit limit, tight;
    MUST(getrlimit(RLIMIT_FSIZE, &limit));
    tight = limit, tight.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    MUST(setrlimit(RLIMIT_FSIZE, &tight));
    BAD(mercer_model_save, "path", "a file that may not grow", MERCER_E_IO, file, "File too large", f.model, file);
    MUST(setrlimit(RLIMIT_FSIZE, &limit));
    remove_folder(folder);
    finish_entries();
}

/* Writes an npy file of version 1 with this dict and `bytes` zero bytes of data, and returns its
 * path. */
static const char *npy(const char *dict, int bytes) {
    char text[256];
    const int length = (int)strlen(dict);
    memcpy(text, "\x93NUMPY\1\0", 8);
    text[8] = (char)length, text[9] = 0;
    memcpy(text + 10, dict, (size_t)length);
    memset(text + 10 + length, 0, (size_t)bytes);
    return written_as("x.npy", text, (size_t)(10 + length + bytes));
}
#define NPY(fault, saw, allowed, dict, bytes)                                                                          \
    NEW(data, mercer_data_from_file, "an npy file", fault, MERCER_E_DATA, saw, allowed, f.context, npy(dict, bytes),   \
        NULL)

void npy_files(void **state) {
    (void)state;
    folder = new_folder();
    const char good[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}";
    NPY("pickled objects", "'|O'", "not supported", "{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}", 8);
    NPY("complex numbers", "'<c16'", "real and imaginary", "{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}",
        16);
    NPY("text", "'<U3'", "must be numbers", "{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}", 12);
    NPY("named fields", "structured", "only plain numbers",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", 8);
    NPY("unknown type", "'<q9'", "must be f4 f8", "{'descr': '<q9', 'fortran_order': False, 'shape': (1,)}", 8);
    NPY("big-endian", "'>f8'", "astype('<f8')", "{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}", 8);
    NPY("three dimensions", "shape = (1, 1, 1)", "must be 1 or 2",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1)}", 8);
    NPY("a number for a shape", "single number", "must be a matrix",
        "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8);
    NPY("no order", "no key 'fortran_order'", "npy header", "{'descr': '<f8', 'shape': (1, 1)}", 8);
    NPY("an order that is none", "character", "True or False",
        "{'descr': '<f8', 'fortran_order': maybe(), 'shape': (1, 1)}", 8);
    NPY("an unknown key", "'shapes'", "must be descr, fortran_order, shape",
        "{'descr': '<f8', 'fortran_order': False, 'shapes': (1, 1)}", 8);
    NPY("shorter than its header says", "8 bytes shorter", "than its header declares", good, 0);
    NPY("longer than its header says", "2 bytes longer", "than its header declares", good, 10);
    NPY("a shape beyond memory", "(4611686018427387904, 4)", "too large",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (4611686018427387904, 4)}", 8);
    NPY("no columns", "x.npy", "no columns", "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 0)}", 0);
    NEW(data, mercer_data_from_file, "an npy file", "version 9", MERCER_E_DATA, "version 9.0",
        "must be 1.0, 2.0 or 3.0", f.context, written_as("x.npy", "\x93NUMPY\x9\0\x36\0{}", 12), NULL);
    NEW(data, mercer_data_from_file, "an npy file", "cut in its header", MERCER_E_DATA, "x.npy",
        "ends inside its npy header", f.context, written_as("x.npy", "\x93NUMPY\1\0\x36\0{'des", 15), NULL);
    remove_folder(folder);
    finish_entries();
}

#define CSV(argument, fault, code, saw, allowed, text, ...)                                                            \
    do {                                                                                                               \
        const mercer_file options_ = {.struct_size = sizeof options_, __VA_ARGS__};                                    \
        NEW(data, mercer_data_from_file, argument, fault, code, saw, allowed, f.context,                               \
            written_as("x.csv", text, sizeof(text) - 1), &options_);                                                   \
    } while (0)

void csv_files(void **state) {
    (void)state;
    static const char good[] = "height,name\n1,a\n2,b\n";
    folder = new_folder();
    const mercer_file small = {.struct_size = 8}, columns = {.struct_size = sizeof columns, .columns = "0"};
    NEW(data, mercer_data_from_file, "struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 8", "= 56",
        f.context, written_as("x.csv", good, sizeof good - 1), &small);
    NEW(data, mercer_data_from_file, "columns", "of an npy file", MERCER_E_UNSUPPORTED, "x.npy", "CSV files only",
        f.context, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", 8), &columns);
    const mercer_file ids = {.struct_size = sizeof ids, .ids = "0"};
    NEW(data, mercer_data_from_file, "ids", "of an npy file", MERCER_E_UNSUPPORTED, "x.npy", "CSV files only",
        f.context, npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}", 8), &ids);
    CSV("format", "unknown", MERCER_E_VALUE, "format = 3", "MERCER_CSV", good, .format = 3);
    CSV("format", "negative", MERCER_E_VALUE, "format = -1", "MERCER_CSV", good, .format = -1);
    CSV("format", "npy for a CSV file", MERCER_E_DATA, "x.csv", "not an npy file", good, .format = MERCER_NPY);
    CSV("values", "unknown", MERCER_E_VALUE, "values = 3", "MERCER_DISTANCE or MERCER_KERNEL", good, .values = 3);
    CSV("values", "negative", MERCER_E_VALUE, "values = -1", "MERCER_DISTANCE or MERCER_KERNEL", good, .values = -1);
    CSV("separator", "a letter", MERCER_E_VALUE, "separator = 120", "tab", good, .separator = 'x');
    CSV("separator", "no character", MERCER_E_VALUE, "separator = 300", "tab", good, .separator = 300);
    CSV("header", "2", MERCER_E_VALUE, "header = 2", "-1, 0 or 1", good, .header = 2);
    CSV("labels", "misspelt", MERCER_E_NAME, "'hight'", "'height'", good, .labels = "hight");
    CSV("weights", "a number too large", MERCER_E_NAME, "column 2", "must be 0 to 1", good, .weights = "2");
    CSV("weights", "a negative one", MERCER_E_DATA, "'-1'", ">= 0", "x,w\n1,1\n2,-1\n", .weights = "w");
    CSV("columns", "twice", MERCER_E_VALUE, "'0'", "twice", good, .columns = "height,0");
    CSV("columns", "text", MERCER_E_DATA, "'a'", "number", good, .columns = "name");
    CSV("columns", "a name without header", MERCER_E_NAME, "'height'", "column's number", "1,2\n3,4\n",
        .columns = "height");
    CSV("a CSV file", "a number beyond f64", MERCER_E_DATA, "line 3, column 'y': '1e999'", "range",
        "x,y\n1,2\n3,1e999\n", .format = 0);
    CSV("a CSV file", "empty", MERCER_E_DATA, "x.csv", "no rows", "", .format = 0);
    CSV("a CSV file", "a header alone", MERCER_E_DATA, "x.csv", "the file has only a header", "x,y\n", .format = 0);
    CSV("a CSV file", "a line of more fields", MERCER_E_DATA, "line 3", "the first line has 2", "x,y\n1,2\n3,4,5\n",
        .format = 0);
    CSV("a CSV file", "two columns of one name", MERCER_E_DATA, "'x'", "already the name of column 0", "x,x\n1,2\n",
        .format = 0);
    CSV("a CSV file", "UTF-16", MERCER_E_DATA, "UTF-16", "must be UTF-8", "\xff\xfe\x31\0\n\0", .format = 0);
    CSV("a CSV file", "no numbers", MERCER_E_DATA, "x.csv", "no numeric column", "a,b\nc,d\n", .header = 1);
    remove_folder(folder);
    finish_entries();
}

#define MODEL(fault, saw, allowed)                                                                                     \
    NEW(model, mercer_model_load, "a model file", fault, MERCER_E_MODEL, saw, allowed, f.context,                      \
        written_as("changed", bytes, size))

void model_files(void **state) {
    (void)state;
    folder = new_folder();
    size_t size;
    MUST(mercer_model_save(f.model, joined(folder, "model")));
    unsigned char *bytes = read_file(joined(folder, "model"), &size);
    const unsigned char last = bytes[size - 1], first = bytes[0], middle = bytes[40];
    bytes[size - 1] ^= 1;
    MODEL("a bit of a tensor", "CRC-32 is", "the header declares");
    bytes[size - 1] = last, bytes[40] ^= 1;
    MODEL("a bit of its header", "changed", "header is damaged");
    bytes[40] = middle, bytes[0] ^= 1, size -= 8;
    bytes[0] = first;
    MODEL("cut", "changed", "truncated");
    size = 5;
    MODEL("five bytes", "changed", "ends inside the header");
    free(bytes);
    bytes = (unsigned char *)strdup("not what you think it is, but long enough to look at"), size = 52;
    MODEL("text", "changed", "header");
    free(bytes);
    remove_folder(folder);
    finish_entries();
}
