// SPDX-License-Identifier: Apache-2.0
// runtime/format/decode_custom.cpp - operators of the application's: their attributes as arrays in
// the block, and who computes them.
#include <new>

#include "runtime/format/decode.h"
#include "runtime/format/validate.h"
#include "runtime/op/custom.h"

namespace ingot {
namespace {

template <class T>
constexpr uint64_t words(uint64_t count) {
  return (count * sizeof(T) + 7) / 8;
}

uint64_t numbers_of(const fb::CustomAttribute& attribute) {
  return uint64_t{vector_size(attribute.integers())} + vector_size(attribute.numbers());
}

template <class T, class Vector>
const T* copy_numbers(const Vector* from, uint64_t** room) {
  if (!from) return nullptr;
  static_assert(sizeof(T) == sizeof(uint64_t));
  T* const first = reinterpret_cast<T*>(*room);
  for (uint32_t i = 0; i < from->size(); i++) new (first + i) T(from->Get(i));
  *room += from->size();
  return first;
}

const char* decode(const fb::Custom& from, CustomAttributes* to) {
  to->domain = text_or_empty(from.domain());
  to->name = from.name()->c_str();
  to->count = vector_size(from.attributes());
  return nullptr;
}

}  // namespace

INGOT_DECODER(Custom)

uint64_t custom_words(const fb::Instruction& instruction) {
  const fb::Custom& from = *instruction.attributes_as_Custom();
  uint64_t total = words<CustomAttribute>(vector_size(from.attributes()));
  for (uint32_t i = 0; i < vector_size(from.attributes()); i++)
    total += numbers_of(*from.attributes()->Get(i));
  return total;
}

const char* decode_custom_lists(const fb::Instruction& instruction, uint64_t** room,
                                CustomAttributes* to) {
  const fb::Custom& from = *instruction.attributes_as_Custom();
  if (to->count == 0) return nullptr;
  auto* const list = reinterpret_cast<CustomAttribute*>(*room);
  to->list = list;
  *room += words<CustomAttribute>(to->count);
  for (uint32_t i = 0; i < to->count; i++) {
    const fb::CustomAttribute& attribute = *from.attributes()->Get(i);
    if (!attribute.name()) return "Custom.attributes[].name";
    const int kinds = int(attribute.text() != nullptr) + int(attribute.integers() != nullptr) +
                      int(attribute.numbers() != nullptr);
    if (kinds != 1) return "Custom.attributes[]: one of text, integers, numbers";
    CustomAttribute* const made = new (list + i) CustomAttribute();
    made->name = attribute.name()->c_str();
    made->text = attribute.text() ? attribute.text()->c_str() : nullptr;
    made->integers = copy_numbers<int64_t>(attribute.integers(), room);
    made->numbers = copy_numbers<double>(attribute.numbers(), room);
    made->count = uint32_t(numbers_of(attribute));
  }
  return nullptr;
}

}  // namespace ingot
