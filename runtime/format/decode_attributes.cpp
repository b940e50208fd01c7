// SPDX-License-Identifier: Apache-2.0
// runtime/format/decode_attributes.cpp - sizes of the plain structs, and the decoders of attributes
// that are plain fields.
#include <new>

#include "runtime/format/decode.h"
#include "runtime/op/all_operators.h"

namespace ingot {
namespace {

template <class A>
constexpr uint16_t rounded() {
  static_assert(alignof(A) <= 8);
  return uint16_t((sizeof(A) + 7) / 8 * 8);
}

constexpr uint16_t kBytes[kOpCodeCount] = {
    0,
#define INGOT_OPERATOR(name, number, text, family) rounded<name##Attributes>(),
#include "runtime/op/operators.def"
};

/// Of the family `plain`: fields as they are, enums checked.
// NOLINTBEGIN(bugprone-macro-parentheses): names of types and fields
#define FIELD(name) to->name = from.name();
#define CHOICE(op, name, Enum)                                             \
  if (uint8_t(from.name()) > uint8_t(fb::Enum::MAX)) return #op "." #name; \
  to->name = decltype(to->name)(from.name());
#define INGOT_ATTRIBUTES(op, fields)                           \
  const char* decode(const fb::op& from, op##Attributes* to) { \
    (void)from, (void)to;                                      \
    fields return nullptr;                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)
#include "runtime/op/attributes.def"

}  // namespace

const char* decode_quantized_stage(const fb::QuantizedConv2d& from, QuantizedConv2dAttributes* to) {
  return decode(from, to);
}

uint32_t attribute_bytes(OpCode op) {
  return uint32_t(op) < uint32_t(kOpCodeCount) ? kBytes[uint32_t(op)] : 0;
}

#define FIELD(name)
#define CHOICE(op, name, Enum)
#define INGOT_ATTRIBUTES(op, fields) INGOT_DECODER(op)
#include "runtime/op/attributes.def"

const char* decode_activation(const fb::ActivationSpec* from, ActivationSpec* to) {
  if (!from) return nullptr;
  if (uint8_t(from->kind()) >= kActivationCount) return "attributes.activation.kind";
  *to = {Activation(from->kind()), from->alpha(), from->beta()};
  return nullptr;
}

}  // namespace ingot
