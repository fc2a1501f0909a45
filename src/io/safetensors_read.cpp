#include "../core/json.h"
#include "safetensors_format.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace mercer {

using namespace safetensors;

namespace {

static_assert(std::endian::native == std::endian::little, "tensors are used as they lie in the file");

constexpr int64_t piece_bytes = int64_t{64} << 20; // most bytes allocated before data for them arrive
constexpr int64_t empty_side = INT32_MAX;          // longest side of a tensor without entries
constexpr int most_items = 300'000;                // most JSON items of a header, which limits their memory

struct Entry {
    std::string name;
    int64_t begin = 0, end = 0;
    std::string crc;
    Tensor tensor;
};

class Reader {
  public:
    Reader(const ByteSource &source, int64_t known_size, const std::string &what)
        : source_(source), known_size_(known_size), what_(what) {}
    SafetensorsFile read(const std::function<void(const std::string &)> &accept);

  private:
    [[noreturn]] void refuse(const std::string &reason) const {
        fail(MERCER_E_MODEL, "%.300s: %.600s", what_.c_str(), reason.c_str());
    }
    int64_t fetch(void *bytes, int64_t count);
    void read_header();
    SortedJson parse_header() const;
    void read_metadata(SortedJson &metadata);
    std::string metadata_crc(const SortedJson &metadata, const std::string &name) const;
    void read_entry(const std::string &name, const SortedJson &value);
    void check_layout();
    void read_tensor(Entry &entry);

    const ByteSource &source_;
    int64_t known_size_;
    std::string what_, header_, metadata_json_;
    Claim claim_; // counts the bytes of the header in the budget
    std::vector<Entry> entries_;
};

// Returns the number of bytes read, which is less than count only at the end.
int64_t Reader::fetch(void *bytes, int64_t count) {
    int64_t done = 0;
    while (done < count) {
        int64_t got = source_(static_cast<char *>(bytes) + done, count - done);
        if (got < 0 || got > count - done)
            fail(MERCER_E_CALLBACK, "the source gave %" PRId64 " bytes, must be 0 to %" PRId64, got, count - done);
        if (got == 0) break;
        done += got;
    }
    return done;
}

void Reader::read_header() {
    uint64_t length = 0;
    if (fetch(&length, 8) < 8) refuse("ends inside the header's length");
    if (length < opening.size() + no_digits.size() || length > longest_header || (length + 8) % alignment != 0)
        refuse(format("not a model file, or its header is damaged: its length is %" PRIu64, length));
    if (known_size_ >= 0 && static_cast<int64_t>(length) > known_size_ - 8)
        refuse(
            format("the header is truncated: %" PRIu64 " bytes declared, %" PRId64 " there", length, known_size_ - 8));
    if (auto budget = Budget::current()) claim_ = Claim(budget, static_cast<int64_t>(length));
    while (header_.size() < length) {
        size_t before = header_.size(), more = std::min<size_t>(length - before, size_t{1} << 20);
        header_.resize(before + more);
        if (fetch(header_.data() + before, static_cast<int64_t>(more)) < static_cast<int64_t>(more))
            refuse("ends inside its header");
    }
    if (!header_.starts_with(opening)) refuse("the header is damaged, or was not written by mercer");
    std::string digits = header_.substr(opening.size(), no_digits.size()), right = crc_of_header(header_);
    if (digits != right) refuse("the header is damaged: its CRC-32 is " + right + ", which contradicts the file");
    size_t text = header_.find_last_not_of(' ') + 1;
    if (header_[text - 1] != '}' || header_.size() - text >= alignment ||
        std::any_of(header_.begin(), header_.end(), [](unsigned char c) { return c < ' '; }))
        refuse("the header is not padded with blanks to 64 bytes, or contains control characters");
}

SortedJson Reader::parse_header() const {
    std::vector<std::set<std::string>> keys; // keys of each open object and array
    int items = 0;
    auto check = [&](int, SortedJson::parse_event_t event, SortedJson &value) {
        using Event = SortedJson::parse_event_t;
        if (++items > most_items) refuse("the header has too many entries");
        if (event == Event::object_start || event == Event::array_start) {
            keys.emplace_back();
            if (keys.size() > 3) refuse("the header is nested too deeply");
        } else if (event == Event::object_end || event == Event::array_end) {
            keys.pop_back();
        } else if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
            refuse("the header contains a key twice");
        }
        return true;
    };
    SortedJson header = SortedJson::parse(header_, check, false);
    if (!header.is_object()) refuse("the header is not JSON");
    return header;
}

std::string Reader::metadata_crc(const SortedJson &metadata, const std::string &name) const {
    auto found = metadata.find("crc32." + name);
    if (found == metadata.end()) refuse("the header has no CRC-32 of tensor '" + name + "'");
    const std::string &digits = found->get_ref<const std::string &>();
    if (digits.size() != 8 || digits.find_first_not_of("0123456789abcdef") != digits.npos)
        refuse("the header's CRC-32 of tensor '" + name + "' is not 8 hexadecimal digits");
    return digits;
}

void Reader::read_metadata(SortedJson &metadata) {
    for (auto &item : metadata.items())
        if (!item.value().is_string()) refuse("the header's __metadata__ must contain text only");
    if (metadata.value("format", "") != "mercer") refuse("the header lacks format = mercer");
    if (!metadata.contains("mercer")) refuse("the header has no text 'mercer'");
    for (Entry &entry : entries_) entry.crc = metadata_crc(metadata, entry.name);
    if (metadata.size() != 3 + entries_.size()) refuse("the header's __metadata__ has an unknown key");
    metadata_json_ = std::move(metadata["mercer"].get_ref<std::string &>());
}

// Reads a list of two non-negative numbers, or of one if `fewest` is 1. Returns false for others.
bool read_sizes(const SortedJson &list, size_t fewest, int64_t *first, int64_t *second) {
    if (!list.is_array() || list.size() < fewest || list.size() > 2) return false;
    int64_t *to = first;
    for (const SortedJson &value : list) {
        if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) return false;
        *std::exchange(to, second) = value.get<int64_t>();
    }
    return true;
}

void Reader::read_entry(const std::string &name, const SortedJson &value) {
    if (!is_tensor_name(name)) refuse("the header has a tensor with an illegal name");
    Entry entry;
    entry.name = name;
    Tensor &tensor = entry.tensor;
    auto wrong = [&](const char *reason) { refuse("tensor '" + name + "' in the header: " + reason); };
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
        wrong("must have dtype, shape and data_offsets, nothing else");
    if (!value["dtype"].is_string()) wrong("dtype must be F32, F64 or I64");
    for (const DtypeName &known : dtypes)
        if (value["dtype"].get_ref<const std::string &>() == known.name) tensor.dtype = known.dtype;
    if (tensor.dtype == 0) wrong("dtype must be F32, F64 or I64");
    if (!read_sizes(value["shape"], 1, &tensor.rows, &tensor.cols)) wrong("shape must be one or two sizes");
    if (!read_sizes(value["data_offsets"], 2, &entry.begin, &entry.end)) wrong("data_offsets must be two sizes");
    tensor.vector = value["shape"].size() == 1;
    int64_t bytes = 0;
    if (__builtin_mul_overflow(tensor.rows, tensor.cols, &bytes) ||
        __builtin_mul_overflow(bytes, dtype_size(tensor.dtype), &bytes))
        wrong("shape is too large");
    if (bytes == 0 && std::max(tensor.rows, tensor.cols) > empty_side) wrong("shape is too large");
    if (entry.end < entry.begin || entry.end - entry.begin != bytes) wrong("data_offsets do not fit shape and dtype");
    entries_.push_back(std::move(entry));
}

// Sorts the tensors and checks that they follow each other without gaps to the end of the file.
void Reader::check_layout() {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry &a, const Entry &b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
    int64_t at = 0, there = known_size_ - 8 - static_cast<int64_t>(header_.size());
    for (const Entry &entry : entries_) {
        if (entry.begin != at) refuse("tensor '" + entry.name + "' in the header: leaves a gap or overlaps another");
        at = entry.end;
        if (known_size_ >= 0 && at > there) refuse("tensor '" + entry.name + "' is truncated");
    }
    if (known_size_ >= 0 && at != there)
        refuse(format("%" PRId64 " bytes follow the last tensor of the header", there - at));
}

// If the size is unknown, memory is allocated piece by piece as the bytes arrive.
void Reader::read_tensor(Entry &entry) {
    int64_t total = entry.end - entry.begin, most = known_size_ >= 0 ? total : std::min(total, piece_bytes);
    std::vector<Buffer<unsigned char>> pieces;
    uint32_t crc = 0;
    for (int64_t done = 0; done < total || pieces.empty(); done += most) {
        Buffer<unsigned char> &piece = pieces.emplace_back(std::min(most, total - done));
        if (fetch(piece.data(), piece.size()) < piece.size()) refuse("tensor '" + entry.name + "' is truncated");
        crc = crc_of(piece.data(), piece.size(), crc);
    }
    if (crc_text(crc) != entry.crc)
        refuse("tensor '" + entry.name + "' is damaged: its CRC-32 is " + crc_text(crc) + ", the header declares " +
               entry.crc);
    if (pieces.size() == 1) {
        entry.tensor.bytes = std::move(pieces[0]);
        return;
    }
    Buffer<unsigned char> whole(total);
    unsigned char *to = whole.data();
    for (Buffer<unsigned char> &piece : pieces) {
        to = std::copy(piece.begin(), piece.end(), to);
        piece = Buffer<unsigned char>();
    }
    entry.tensor.bytes = std::move(whole);
}

SafetensorsFile Reader::read(const std::function<void(const std::string &)> &accept) {
    read_header();
    SortedJson header = parse_header();
    for (auto &item : header.items())
        if (item.key() != "__metadata__") read_entry(item.key(), item.value());
    read_metadata(header["__metadata__"]);
    check_layout();
    if (accept) accept(metadata_json_);
    SafetensorsFile file;
    file.metadata_json = std::move(metadata_json_);
    for (Entry &entry : entries_) {
        read_tensor(entry);
        file.tensors.emplace(entry.name, std::move(entry.tensor));
    }
    // Bytes after the last tensor of a stream are not read; in a file, check_layout() has refused
    // them.
    return file;
}

} // namespace

SafetensorsFile read_safetensors(const ByteSource &source, int64_t known_size, const std::string &what,
                                 const std::function<void(const std::string &metadata_json)> &accept) {
    return Reader(source, known_size, what).read(accept);
}

} // namespace mercer
