// runtime/format/decode_attributes.cpp - sizes of the plain structs, the way to the family that
// fills each, and the family whose attributes are plain fields.
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
#define INGOT_ATTRIBUTES(op, fields)                                  \
  const char* decode_fields(const fb::op& from, op##Attributes* to) { \
    (void)from, (void)to;                                             \
    fields return nullptr;                                            \
  }
// NOLINTEND(bugprone-macro-parentheses)
#include "runtime/op/attributes.def"

const char* decode_plain_attributes(const fb::Instruction& instruction, void* room) {
  switch (instruction.attributes_type()) {
#define FIELD(name)
#define CHOICE(op, name, Enum)
#define INGOT_ATTRIBUTES(op, fields) \
  case fb::Attributes::op:           \
    return decode_fields(*instruction.attributes_as_##op(), new (room) op##Attributes());
#include "runtime/op/attributes.def"
    default: return "instructions[].attributes";
  }
}

}  // namespace

const char* decode_quantized_stage(const fb::QuantizedConv2d& from, QuantizedConv2dAttributes* to) {
  return decode_fields(from, to);
}

uint32_t attribute_bytes(OpCode op) {
  return uint32_t(op) < uint32_t(kOpCodeCount) ? kBytes[uint32_t(op)] : 0;
}

const char* decode_attributes(const fb::Instruction& instruction, void* to) {
  using Decode = const char* (*)(const fb::Instruction&, void*);
  static constexpr Decode kDecode[kOpCodeCount] = {
      nullptr,
#define INGOT_OPERATOR(name, number, text, family) decode_##family##_attributes,
#include "runtime/op/operators.def"
  };
  const uint8_t op = uint8_t(instruction.attributes_type());
  return op > 0 && op < kOpCodeCount ? kDecode[op](instruction, to) : "instructions[].attributes";
}

const char* decode_activation(const fb::ActivationSpec* from, ActivationSpec* to) {
  if (!from) return nullptr;
  if (uint8_t(from->kind()) >= kActivationCount) return "attributes.activation.kind";
  *to = {Activation(from->kind()), from->alpha(), from->beta()};
  return nullptr;
}

}  // namespace ingot
