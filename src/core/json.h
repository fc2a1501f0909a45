// JSON values that can be destroyed when memory has run out. The destructors of nlohmann's own
// types allocate a stack, and if that fails, the process ends. The destructors here recurse
// instead, so every parser must limit the nesting depth of its text, because deep nesting would
// overflow the call stack.
//
// Compare a value with a std::string, never with a literal: nlohmann converts a literal to a JSON
// value inside a function that is noexcept, so if memory runs out there, the process ends.
//
// The types are distinct from nlohmann's, so that a program that links the static library keeps its
// own destructors and the library keeps these.
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

using Json = nlohmann::basic_json<OrderedMembers>;      // keeps the order of insertion
using SortedJson = nlohmann::basic_json<SortedMembers>; // finds a member fast, even among very many

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

// Makes an object. It replaces nlohmann's constructor from a list in braces, which leaks the
// members that it has already made if memory runs out.
inline Json record(std::initializer_list<std::pair<const char *, Json>> members) {
    Json out = Json::object();
    for (const auto &[name, value] : members) out[name] = value;
    return out;
}

} // namespace mercer
