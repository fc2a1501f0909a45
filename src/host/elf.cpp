#include "elf.h"

#include "../core/error.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <link.h>
#include <mercer/plugin.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

// The ELF header of this library itself; the linker defines this symbol. A module that is loaded
// beside the library must have the same class, byte order and machine.
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace mercer {
namespace {

static_assert(offsetof(ModuleHead, struct_size) == offsetof(mercer_module, struct_size));
static_assert(offsetof(ModuleHead, abi) == offsetof(mercer_module, abi));
static_assert(offsetof(ModuleHead, kind) == offsetof(mercer_module, kind));
static_assert(sizeof(ModuleHead) == offsetof(mercer_module, header));

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);
using Dynamic = ElfW(Dyn);

class File {
  public:
    File(const std::string &path, int fd) : path_(path), fd_(fd) {
        struct stat status;
        if (fstat(fd, &status) != 0) refuse(std::strerror(errno));
        size_ = static_cast<uint64_t>(status.st_size);
    }

    [[noreturn]] void refuse(const char *why) const { fail(MERCER_E_PLUGIN, "%s: refused, %s", path_.c_str(), why); }

    // Reads count objects at offset. If the file ends too early, it is refused for the reason
    // `shorter`.
    template <class T>
    std::vector<T> read(uint64_t offset, uint64_t count, const char *shorter) const {
        uint64_t bytes = 0, end = 0;
        if (__builtin_mul_overflow(count, sizeof(T), &bytes) || __builtin_add_overflow(offset, bytes, &end) ||
            end > size_)
            refuse(shorter);
        std::vector<T> out(count);
        for (auto *to = reinterpret_cast<char *>(out.data()); offset < end;) {
            const ssize_t got = pread(fd_, to, end - offset, static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) refuse(got < 0 ? std::strerror(errno) : shorter);
            to += got, offset += static_cast<uint64_t>(got);
        }
        return out;
    }

    bool holds(uint64_t offset, uint64_t bytes) const {
        uint64_t end = 0;
        return !__builtin_add_overflow(offset, bytes, &end) && end <= size_;
    }

  private:
    const std::string &path_;
    int fd_;
    uint64_t size_;
};

constexpr char short_segments[] = "the file is shorter than its program headers declare";
constexpr char short_sections[] = "the file is shorter than its section headers declare";

Header read_header(const File &file) {
    constexpr char no_elf[] = "it is not an ELF file";
    const auto header = file.read<Header>(0, 1, no_elf)[0];
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) file.refuse(no_elf);
    if (header.e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS])
        file.refuse("its word size differs from that of this library");
    if (header.e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA])
        file.refuse("its byte order differs from that of this library");
    if (header.e_machine != __ehdr_start.e_machine) file.refuse("it was built for another machine");
    if (header.e_type != ET_DYN) file.refuse("it is not a shared object");
    if (header.e_phentsize != sizeof(Segment) || header.e_shentsize != sizeof(Section))
        file.refuse("its headers have an unknown size");
    return header;
}

void check_dynamic(const File &file, const Segment &part) {
    for (const auto &row : file.read<Dynamic>(part.p_offset, part.p_filesz / sizeof(Dynamic), short_segments)) {
        if (row.d_tag == DT_NULL) return;
        if (row.d_tag == DT_TEXTREL || (row.d_tag == DT_FLAGS && (row.d_un.d_val & DF_TEXTREL)))
            file.refuse("it has text relocations");
    }
}

// Checks the segments. The file must contain all bytes that they declare, because dlopen maps this
// much: touching a page beyond the end of a truncated file would end the process with SIGBUS.
void check_segments(const File &file, const std::vector<Segment> &parts) {
    bool stack_is_data = false, dynamic = false;
    for (const auto &part : parts) {
        if (!file.holds(part.p_offset, part.p_filesz)) file.refuse(short_segments);
        if (part.p_type == PT_GNU_STACK) stack_is_data = !(part.p_flags & PF_X);
        if (part.p_type == PT_DYNAMIC) check_dynamic(file, part), dynamic = true;
    }
    if (!dynamic) file.refuse("it has no dynamic section");
    if (!stack_is_data) file.refuse("it requires an executable stack");
}

Symbol find_symbol(const File &file, const Header &header) {
    const auto sections = file.read<Section>(header.e_shoff, header.e_shnum, short_sections);
    for (const auto &section : sections)
        if (section.sh_type != SHT_NOBITS && !file.holds(section.sh_offset, section.sh_size))
            file.refuse(short_sections);
    for (const auto &section : sections) {
        if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
        const auto &linked = sections[section.sh_link];
        auto names = file.read<char>(linked.sh_offset, linked.sh_size, short_sections);
        names.push_back('\0');
        for (const auto &symbol :
             file.read<Symbol>(section.sh_offset, section.sh_size / sizeof(Symbol), short_sections))
            if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < names.size() &&
                std::strcmp(names.data() + symbol.st_name, "mercer_plugin") == 0)
                return symbol;
    }
    file.refuse("it does not export 'mercer_plugin'");
}

// A note consists of a header (size of the name, size of the content, type), the name and the
// content; name and content are each padded to 4 bytes.
std::string build_id_in(const std::vector<char> &notes) {
    using Note = ElfW(Nhdr);
    const auto padded = [](uint64_t size) { return (size + 3) / 4 * 4; };
    for (uint64_t at = 0; at + sizeof(Note) <= notes.size();) {
        Note note;
        std::memcpy(&note, notes.data() + at, sizeof note);
        const uint64_t name = at + sizeof note, content = name + padded(note.n_namesz);
        if (content + note.n_descsz > notes.size()) break;
        if (note.n_type == NT_GNU_BUILD_ID && std::strncmp(notes.data() + name, "GNU", note.n_namesz) == 0)
            return {notes.data() + content, note.n_descsz};
        at = content + padded(note.n_descsz);
    }
    return "";
}

} // namespace

std::string read_build_id(const std::string &path, int fd) {
    std::string id;
    try {
        const File file(path, fd);
        const auto header = read_header(file);
        for (const auto &part : file.read<Segment>(header.e_phoff, header.e_phnum, short_segments))
            if (part.p_type == PT_NOTE && id.empty())
                id = build_id_in(file.read<char>(part.p_offset, part.p_filesz, short_segments));
    } catch (const Error &) {
    }
    return id;
}

ModuleHead read_module_file(const std::string &path, int fd) {
    const File file(path, fd);
    const auto header = read_header(file);
    const auto parts = file.read<Segment>(header.e_phoff, header.e_phnum, short_segments);
    check_segments(file, parts);
    const auto symbol = find_symbol(file, header);
    if ((symbol.st_info & 0xf) != STT_OBJECT) file.refuse("its 'mercer_plugin' is not data");
    for (const auto &part : parts)
        if (part.p_type == PT_LOAD && symbol.st_value >= part.p_vaddr && part.p_filesz >= sizeof(ModuleHead) &&
            symbol.st_value - part.p_vaddr <= part.p_filesz - sizeof(ModuleHead))
            return file.read<ModuleHead>(part.p_offset + (symbol.st_value - part.p_vaddr), 1, short_segments)[0];
    file.refuse("its 'mercer_plugin' is empty");
}

} // namespace mercer
