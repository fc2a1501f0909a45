// JSON values that outlive a want of memory. nlohmann's own come to pieces by means of a stack that they allocate, in their
// destructors: where that fails, the process ends. These come to pieces by recursion, so whoever reads a text bounds its depth.
// Compare with a std::string, never with a literal: of that nlohmann makes a value where nothing may be thrown.
// Types of our own, so that a program that links the static library keeps its destructors and we keep ours.
#pragma once
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace mercer {

template <class Key, class Value, class Compare, class Allocator>
struct OrderedMembers : nlohmann::ordered_map<Key, Value, Compare, Allocator> {
    using nlohmann::ordered_map<Key, Value, Compare, Allocator>::ordered_map;
};
template <class Key, class Value, class Compare, class Allocator>
struct SortedMembers : std::map<Key, Value, Compare, Allocator> {
    using std::map<Key, Value, Compare, Allocator>::map;
};

using Json = nlohmann::basic_json<OrderedMembers>;      // members as they were added
using SortedJson = nlohmann::basic_json<SortedMembers>; // found fast, however many a stranger wrote

} // namespace mercer

template <>
inline void mercer::Json::json_value::destroy(value_t type) {
    if (type == value_t::object) delete object;
    if (type == value_t::array) delete array;
    if (type == value_t::string) delete string;
    if (type == value_t::binary) delete binary;
}
template <>
inline void mercer::SortedJson::json_value::destroy(value_t type) {
    if (type == value_t::object) delete object;
    if (type == value_t::array) delete array;
    if (type == value_t::string) delete string;
    if (type == value_t::binary) delete binary;
}

namespace mercer {

// An object. Written as a list in braces, nlohmann's loses what it has where memory ends.
inline Json record(std::initializer_list<std::pair<const char *, Json>> members) {
    Json out = Json::object();
    for (const auto &[name, value] : members) out[name] = value;
    return out;
}

} // namespace mercer
