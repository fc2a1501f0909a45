/* Plugins that must be refused before any of their code runs, each with a message of its own:
 * because of their path, of who may write them, or of their contents. Most files are copies of
 * kernel-marker.so, which leaves a trace when it is opened. */
#include "plugin_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

static char *plugin; /* where each case puts its file */

static int begin_here(void **state) {
    if (begin(state)) return -1;
    plugin = strdup(joined(folder, "kernel-marker.so"));
    setenv("MERCER_MARKER", joined(folder, "marker"), 1);
    return 0;
}

static bool ran(void) { return access(joined(folder, "marker"), F_OK) == 0; }

static void refused_unopened(const char *path, const char *why) {
    refused(path, why);
    if (ran()) fail_msg("code of a plugin ran before '%s'", why);
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static void names_are_no_paths(void **state) {
    (void)state;
    /* A name that does not begin with '/' must not be taken for a file, not even in the current
     * folder. */
    static const char *const relative[] = {"kernel-linear.so", "./kernel-linear.so", "../plugins/kernel-linear.so", ""};
    mercer_context *context = new_context();
    assert_int_equal(chdir(PLUGINS), 0);
    for (size_t i = 0; i < sizeof relative / sizeof *relative; i++)
        FAILS(MERCER_E_NAME, "", mercer_plugin_check(context, relative[i]));
    assert_int_equal(chdir("/"), 0);
    mercer_context_destroy(context);
}

static void make_link(const char *path) { assert_int_equal(symlink("kernel-real.so", path), 0); }
static void make_folder(const char *path) { assert_int_equal(mkdir(path, 0755), 0); }
static void make_pipe(const char *path) { assert_int_equal(mkfifo(path, 0644), 0); } /* opening it must not block */
static void make_device(const char *path) {
    const bool made = mknod(path, S_IFCHR | 0644, makedev(1, 5)) == 0; /* needs privileges, and a mount with devices */
    const int fd = made ? open(path, O_RDONLY | O_NONBLOCK) : -1;
    if (fd >= 0) close(fd);
    if (made && fd < 0) unlink(path);
    if (fd < 0) make_folder(path);
}
static void make_nothing(const char *path) { (void)path; }

static void wrong_kinds_of_files(void **state) {
    (void)state;
    static const struct {
        void (*make)(const char *path);
        const char *why;
    } cases[] = {
        {make_nothing, "No such file"},    {make_link, "it is a symbolic link"}, {make_folder, "not a regular file"},
        {make_pipe, "not a regular file"}, {make_device, "not a regular file"},
    };
    copy_file(BROKEN_PLUGINS "/kernel-marker.so", joined(folder, "kernel-real.so"), 0644);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        cases[c].make(plugin);
        refused_unopened(plugin, cases[c].why);
        if (unlink(plugin) != 0) rmdir(plugin);
    }
    unlink(joined(folder, "kernel-real.so"));
}

static void wrong_paths(void **state) {
    (void)state;
    char longest[6000], component[300];
    memset(longest, 'a', sizeof longest - 1);
    longest[0] = '/', longest[sizeof longest - 1] = '\0';
    refused_unopened(longest, "must be shorter than 4096 bytes");
    memset(component, 'a', sizeof component - 1);
    component[sizeof component - 1] = '\0';
    refused_unopened(joined(folder, component), "File name too long");

    copy_file(BROKEN_PLUGINS "/kernel-marker.so", plugin, 0644);
    mkdir(joined(folder, "inside"), 0755);
    refused_unopened(joined(folder, "inside/../kernel-marker.so"), "must not contain '..'");
    refused_unopened("/..", "must not contain '..'");
    mercer_context *context = new_context(); /* FAILS checks that the message has one line */
    FAILS(MERCER_E_PLUGIN, "control characters", mercer_plugin_check(context, joined(folder, "kernel-a\nb.so")));
    FAILS(MERCER_E_PLUGIN, "control characters", mercer_plugin_check(context, joined(folder, "kernel-a\x7f.so")));
    static const char *const folders[][2] = {
        {".", "absolute"}, {"", "absolute"}, {"/a/../b", "'..'"}, {"/a\tb", "control characters"}};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        FAILS(MERCER_E_VALUE, folders[i][1], mercer_context_add_plugins(context, folders[i][0]));
    mercer_context_destroy(context);

    chmod(plugin, 0);
    if (geteuid() != 0) refused_unopened(plugin, "Permission denied");
    unlink(plugin);
    assert_false(ran());
}

/* ---- who may write the file -------------------------------------------------------------------------------------- */

static void files_that_others_may_write(void **state) {
    (void)state;
    char above[4096], inside[4096], *copy;
    snprintf(above, sizeof above, "%s", joined(folder, "above"));
    snprintf(inside, sizeof inside, "%s", joined(above, "inside"));
    mkdir(above, 0755), mkdir(inside, 0755);
    copy = strdup(joined(inside, "kernel-marker.so"));
    copy_file(BROKEN_PLUGINS "/kernel-marker.so", copy, 0644);
    const struct {
        const char *path;
        mode_t mode;
        const char *why;
    } cases[] = {
        {copy, 0646, "everyone can write to the file"},
        {inside, 0757, "everyone can write to its folder"},
        {inside, 01757, "everyone can write to its folder"}, /* sticky, but everyone may still add files */
        {above, 0757, "above, a folder above it"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        chmod(cases[c].path, cases[c].mode);
        refused_unopened(copy, cases[c].why);
        chmod(cases[c].path, cases[c].path == copy ? 0644 : 0755);
    }
    if (geteuid() == 0) { /* root must not load files of other users either */
        const struct {
            const char *path;
            uid_t user;
            gid_t group;
            mode_t mode;
            const char *why;
        } strangers[] = {
            {copy, 4242, 0, 0644, "the file belongs to neither root nor you"},
            {inside, 4242, 0, 0755, "its folder belongs to neither root nor you"},
            {copy, 0, 4242, 0664, "group 4242 can write to the file"},
            {inside, 0, 4242, 0775, "group 4242 can write to its folder"},
        };
        for (size_t c = 0; c < sizeof strangers / sizeof *strangers; c++) {
            assert_int_equal(chown(strangers[c].path, strangers[c].user, strangers[c].group), 0);
            chmod(strangers[c].path, strangers[c].mode);
            refused_unopened(copy, strangers[c].why);
            assert_int_equal(chown(strangers[c].path, 0, 0), 0);
            chmod(strangers[c].path, strangers[c].path == copy ? 0644 : 0755);
        }
    }
    /* A symbolic link in the path is followed, and the folders above its target are checked. */
    chmod(above, 0757);
    assert_int_equal(symlink("above/inside", joined(folder, "link")), 0);
    refused_unopened(joined(folder, "link/kernel-marker.so"), "above, a folder above it");
    chmod(above, 01757); /* in a sticky folder users cannot replace files of others */
    assert_int_equal(link(copy, joined(folder, "hard")), 0); /* a second hard link is no reason to refuse the file */
    mercer_context *context = new_context();
    MUST(mercer_plugin_check(context, joined(folder, "link/kernel-marker.so")));
    mercer_context_destroy(context);
    assert_true(ran()); /* the trace works, so no file refused above was opened */
    unlink(joined(folder, "marker"));
    free(copy);
}

/* ---- contents of the file ---------------------------------------------------------------------------------------- */

static unsigned char *bytes; /* contents of the file, which each case damages */
static size_t count;
static Elf64_Ehdr *header(void) { return (Elf64_Ehdr *)bytes; }
static Elf64_Phdr *segment(uint32_t type) {
    Elf64_Phdr *at = (Elf64_Phdr *)(bytes + header()->e_phoff);
    while (at->p_type != type) at++;
    return at;
}
static Elf64_Shdr *section(uint32_t type) {
    Elf64_Shdr *at = (Elf64_Shdr *)(bytes + header()->e_shoff);
    while (at->sh_type != type) at++;
    return at;
}
static Elf64_Dyn *dynamic(int64_t tag) {
    Elf64_Dyn *at = (Elf64_Dyn *)(bytes + segment(PT_DYNAMIC)->p_offset);
    while (at->d_tag != tag) at++;
    return at;
}
static Elf64_Sym *symbol(void) {
    Elf64_Shdr *table = section(SHT_DYNSYM);
    const char *names = (char *)bytes + ((Elf64_Shdr *)(bytes + header()->e_shoff))[table->sh_link].sh_offset;
    Elf64_Sym *at = (Elf64_Sym *)(bytes + table->sh_offset);
    while (strcmp(names + at->st_name, "mercer_plugin") != 0) at++;
    return at;
}
static struct {
    int64_t struct_size;
    int32_t abi, kind;
} * module(void) {
    Elf64_Phdr *at = (Elf64_Phdr *)(bytes + header()->e_phoff);
    const uint64_t address = symbol()->st_value;
    while (at->p_type != PT_LOAD || address < at->p_vaddr || address >= at->p_vaddr + at->p_filesz) at++;
    return (void *)(bytes + at->p_offset + (address - at->p_vaddr));
}

/* clang-format off */
static void magic(void) { bytes[1] = 'L'; }
static void word_size(void) { bytes[EI_CLASS] = ELFCLASS32; }
static void byte_order(void) { bytes[EI_DATA] = ELFDATA2MSB; }
static void machine(void) { header()->e_machine = EM_68K; }
static void executable(void) { header()->e_type = ET_EXEC; }
static void segment_size(void) { header()->e_phentsize = 32; }
static void section_size(void) { header()->e_shentsize = 0; }
static void stack(void) { segment(PT_GNU_STACK)->p_flags |= PF_X; }
static void no_stack(void) { segment(PT_GNU_STACK)->p_type = PT_NULL; }
static void no_dynamic(void) { segment(PT_DYNAMIC)->p_type = PT_NULL; }
static void relocations(void) { dynamic(DT_RELASZ)->d_tag = DT_TEXTREL; }
static void relocation_flag(void) { Elf64_Dyn *at = dynamic(DT_RELASZ); at->d_tag = DT_FLAGS, at->d_un.d_val = DF_TEXTREL; }
static void segments_beyond(void) { header()->e_phoff = count; }
static void segments_overflow(void) { header()->e_phoff = UINT64_MAX - 8; }
static void segment_beyond(void) { segment(PT_LOAD)->p_filesz = count + 1; }
static void segment_overflow(void) { segment(PT_LOAD)->p_offset = UINT64_MAX - 8; }
static void sections_beyond(void) { header()->e_shoff = count - 8; }
static void sections_overflow(void) { header()->e_shoff = UINT64_MAX - 8; }
static void section_beyond(void) { section(SHT_STRTAB)->sh_size = count + 1; }
static void no_sections(void) { header()->e_shnum = 0; }
static void names_elsewhere(void) { section(SHT_DYNSYM)->sh_link = 9999; }
static void no_symbol(void) { symbol()->st_name += 1; }
static void undefined(void) { symbol()->st_shndx = SHN_UNDEF; }
static void function(void) { symbol()->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC); }
static void elsewhere(void) { symbol()->st_value = UINT64_MAX - 8; }
static void other_abi(void) { module()->abi = 1000; }
static void short_module(void) { module()->struct_size = 80; }
static void negative_module(void) { module()->struct_size = INT64_MIN; }
static void no_kind(void) { module()->kind = 4; }
/* clang-format on */

static void damaged_modules(void **state) {
    (void)state;
    static const struct {
        void (*damage)(void);
        const char *why;
    } cases[] = {
        {magic, "not an ELF file"},
        {word_size, "word size differs from that of this library"},
        {byte_order, "byte order differs from that of this library"},
        {machine, "built for another machine"},
        {executable, "not a shared object"},
        {segment_size, "headers have an unknown size"},
        {section_size, "headers have an unknown size"},
        {stack, "requires an executable stack"},
        {no_stack, "requires an executable stack"},
        {no_dynamic, "no dynamic section"},
        {relocations, "text relocations"},
        {relocation_flag, "text relocations"},
        {segments_beyond, "shorter than its program headers declare"},
        {segments_overflow, "shorter than its program headers declare"},
        {segment_beyond, "shorter than its program headers declare"},
        {segment_overflow, "shorter than its program headers declare"},
        {sections_beyond, "shorter than its section headers declare"},
        {sections_overflow, "shorter than its section headers declare"},
        {section_beyond, "shorter than its section headers declare"},
        {no_sections, "does not export 'mercer_plugin'"},
        {names_elsewhere, "does not export 'mercer_plugin'"},
        {no_symbol, "does not export 'mercer_plugin'"},
        {undefined, "does not export 'mercer_plugin'"},
        {function, "'mercer_plugin' is not data"},
        {elsewhere, "'mercer_plugin' is empty"},
        {other_abi, "plugin ABI 1000, but this library has 0"},
        {short_module, "module.struct_size = 80, must be at least 88"},
        {negative_module, "module.struct_size = -9223372036854775808, must be at least"},
        {no_kind, "kind = 4 is unknown"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bytes = read_file(BROKEN_PLUGINS "/kernel-marker.so", &count);
        cases[c].damage();
        write_file(plugin, bytes, count);
        chmod(plugin, 0644);
        refused_unopened(plugin, cases[c].why);
        free(bytes);
        unlink(plugin);
    }
}

/* The dynamic linker maps the file as its headers declare, and access beyond the end of a truncated
 * file would raise a signal. So truncated files must be refused before they are opened. */
static void truncated_modules(void **state) {
    (void)state;
    bytes = read_file(BROKEN_PLUGINS "/kernel-marker.so", &count);
    for (size_t part = 0; part < 128; part++) {
        /* 64 cuts all over the file, and 64 in its first 1024 bytes. */
        const size_t kept = part < 64 ? count * part / 64 : 16 * (part - 64);
        write_file(plugin, bytes, kept);
        chmod(plugin, 0644);
        refused_unopened(plugin, kept < sizeof(Elf64_Ehdr) ? "not an ELF file" : "shorter than its");
        unlink(plugin);
    }
    write_file(plugin, bytes, count - 1);
    refused_unopened(plugin, "shorter than its section headers declare");
    static const char text[] = "this is a text, which no dynamic linker can make sense of whatever its length";
    write_file(plugin, text, sizeof text);
    refused_unopened(plugin, "not an ELF file");
    free(bytes);
    unlink(plugin);
}

static void modules_that_are_no_plugins(void **state) {
    (void)state;
    copy_file(STRANGER, plugin, 0644); /* a valid library, but no plugin */
    refused_unopened(plugin, "does not export 'mercer_plugin'");
    unlink(plugin);
    char *undefined_symbol = joined(folder, "kernel-undefined.so");
    copy_file(BROKEN_PLUGINS "/kernel-undefined.so", undefined_symbol, 0644);
    refused_unopened(undefined_symbol, "undefined symbol: mercer_tests_nobody_defines_this");
    unlink(undefined_symbol);
}

static void refusals_leave_no_file_open(void **state) {
    (void)state;
    copy_file(STRANGER, plugin, 0644);
    char *copy = joined(folder, "kernel-undefined.so");
    copy_file(BROKEN_PLUGINS "/kernel-undefined.so", copy, 0644);
    refused(copy, "");
    const int before = open_files();
    for (int i = 0; i < 20; i++) {
        refused(plugin, "");
        refused(copy, "");
        refused("/dev/null", "");
    }
    assert_int_equal(open_files(), before);
    unlink(plugin), unlink(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_no_paths),
        cmocka_unit_test(wrong_kinds_of_files),
        cmocka_unit_test(wrong_paths),
        cmocka_unit_test(damaged_modules),
        cmocka_unit_test(truncated_modules),
        cmocka_unit_test(modules_that_are_no_plugins),
        cmocka_unit_test(files_that_others_may_write),
        cmocka_unit_test(refusals_leave_no_file_open),
    };
    return cmocka_run_group_tests(tests, begin_here, end);
}
