// JSON values that can be destroyed when memory has run out. The destructors of nlohmann's own types allocate a stack: if that
// fails, the process ends. These destructors recurse instead, so every parser must limit the depth of its text.
// Compare with a std::string, never with a literal: nlohmann converts a literal to a value where exceptions are not allowed.
// The types are our own, so that a program that links the static library keeps its destructors and we keep ours.
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
