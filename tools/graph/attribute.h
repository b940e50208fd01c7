// SPDX-License-Identifier: Apache-2.0
// tools/graph/attribute.h - attributes of nodes, from the rows of attributes.def. Code
// names one as attr::axis: a name that has no row does not compile, nor does another type.
// Threads  any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ingot::graph {

/// In the order of their names.
enum class AttributeName : uint16_t {
#define ATTRIBUTE(name, types) name,
#include "tools/graph/attributes.def"
#undef ATTRIBUTE
};

inline constexpr const char* kAttributeNames[] = {
#define ATTRIBUTE(name, types) #name,
#include "tools/graph/attributes.def"
#undef ATTRIBUTE
};

/// "axis".
constexpr std::string_view name_of(AttributeName name) { return kAttributeNames[size_t(name)]; }
inline std::string text(AttributeName name) { return kAttributeNames[size_t(name)]; }

namespace attribute_types {
enum Types : unsigned {
  Integer = 1,
  Number = 2,  // a whole number too
  Text = 4,
  Integers = 8,
  Numbers = 16,
  Texts = 32,
  Tensor = 64,
  Dims = 128,
  Graph = 256
};
/// By AttributeName.
inline constexpr unsigned kOf[] = {
#define ATTRIBUTE(name, types) types,
#include "tools/graph/attributes.def"
#undef ATTRIBUTE
};
}  // namespace attribute_types

/// A name with the types that its attribute may hold.
template <unsigned Types>
struct AttributeKey {
  AttributeName name;
  constexpr operator AttributeName() const { return name; }
};

/// For a loop over names of several types.
using AttributeNames = std::initializer_list<AttributeName>;

}  // namespace ingot::graph

namespace ingot::attr {
#define ATTRIBUTE(name, types)                                         \
  inline constexpr graph::AttributeKey<                                \
      graph::attribute_types::kOf[size_t(graph::AttributeName::name)]> \
      name{graph::AttributeName::name};
#include "tools/graph/attributes.def"
#undef ATTRIBUTE
}  // namespace ingot::attr
