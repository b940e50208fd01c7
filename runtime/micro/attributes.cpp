// SPDX-License-Identifier: Apache-2.0
// runtime/micro/attributes.cpp - tables of fields from the rows of attributes.def, and the one walk
// over them.
#include "runtime/micro/attributes.h"

#include <cstddef>
#include <cstring>
#include <new>

#include "runtime/op/all_operators.h"

namespace ingot::micro {
namespace {

// The largest number of each enum of the schema; tests/micro/schema_test.cpp compares them.
constexpr uint8_t kMaxConvMethod = 3, kMaxChannelLayout = 1, kMaxPoolKind = 3, kMaxReduceKind = 9,
                  kMaxNormKind = 3, kMaxCausalMask = 2, kMaxEmptyRows = 2, kMaxGridMode = 2,
                  kMaxGridPadding = 2, kMaxRoiMode = 1, kMaxTreeAggregate = 2,
                  kMaxQuantizeRounding = 1, kMaxRequantMode = 6, kMaxQuantizedFunction = 2,
                  kMaxDynamicRange = 2, kMaxFftKind = 3, kMaxRandomKind = 1, kMaxBlockType = 14,
                  kMaxScatterReduction = 4;

template <class Member>
constexpr AttributeField::Form form_of() {
  static_assert(sizeof(Member) == 4 || sizeof(Member) == 1, "a number of 32 bits, or a flag");
  return sizeof(Member) == 4 ? AttributeField::kWord : AttributeField::kFlag;
}

bool read_field(FlatReader* reader, uint32_t at, const AttributeField& field, uint8_t* to) {
  if (field.form == AttributeField::kWord) {
    const uint32_t word = reader->load32(at);
    memcpy(to, &word, sizeof word);
    return true;
  }
  const uint8_t byte = reader->load8(at);
  if (field.form == AttributeField::kFlag) {
    *to = byte != 0;
    return true;
  }
  *to = byte;
  if (field.form == AttributeField::kChoice) return byte <= field.most;
  const uint32_t alpha = reader->load32(at + 4), beta = reader->load32(at + 8);
  memcpy(to + offsetof(ActivationSpec, alpha), &alpha, sizeof alpha);
  memcpy(to + offsetof(ActivationSpec, beta), &beta, sizeof beta);
  return byte < kActivationCount;
}

bool read_fields(FlatReader* reader, uint32_t table, const AttributeField* fields, uint32_t count,
                 void* to) {
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t at = reader->field(table, i);
    if (at && !read_field(reader, at, fields[i], static_cast<uint8_t*>(to) + fields[i].offset))
      return false;
  }
  return true;
}

/// What the schema says of fields that a file leaves out, where the struct says something else.
template <class A>
void set_absent(A*) {}
template <>
void set_absent(NormalizeAttributes* t) {
  t->epsilon = 0;
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): names of types and fields
#define FIELD(name) {offsetof(A, name), form_of<decltype(A::name)>(), 0},
#define CHOICE(op, name, Enum) {offsetof(A, name), AttributeField::kChoice, kMax##Enum},
#define ACTIVATION(name) {offsetof(A, name), AttributeField::kActivation, 0},
// An empty row ends each list, because a list may be empty.
#define INGOT_ATTRIBUTES(op, fields)                                                        \
  bool read_##op##_attributes(FlatReader* reader, uint32_t table, void* to) {               \
    using A = op##Attributes;                                                               \
    static_assert(sizeof(A) <= kAttributeRoom && sizeof(A) < 256, "fits the room");         \
    static constexpr AttributeField kFields[] = {fields{0, AttributeField::kWord, 0}};      \
    set_absent(new (to) A());                                                               \
    return read_fields(reader, table, kFields, sizeof kFields / sizeof kFields[0] - 1, to); \
  }
// NOLINTEND(bugprone-macro-parentheses)
#include "runtime/micro/attributes.def"

bool read_Elementwise_attributes(FlatReader* reader, uint32_t table, void* to) {
  static_assert(sizeof(ElementwiseAttributes) <= kAttributeRoom, "fits the room");
  constexpr uint32_t kSteps = 0, kCompute = 1, kStepBytes = 12;
  auto* const t = new (to) ElementwiseAttributes();
  const FlatVector steps = reader->vector(table, kSteps, kStepBytes);
  const uint8_t compute = reader->byte(table, kCompute);
  if (steps.count > uint32_t(kMaxElementwiseSteps) || compute > uint8_t(ComputeType::kU64))
    return false;
  t->step_count = steps.count, t->compute = ComputeType(compute);
  for (uint32_t i = 0; i < steps.count; i++) {
    const uint32_t at = steps.at + i * kStepBytes, alpha = reader->load32(at + 4),
                   beta = reader->load32(at + 8);
    ElementwiseStep& step = t->steps[i];
    step.op = ElementwiseOp(reader->load8(at));
    step.a = reader->load8(at + 1), step.b = reader->load8(at + 2), step.c = reader->load8(at + 3);
    memcpy(&step.alpha, &alpha, sizeof alpha);
    memcpy(&step.beta, &beta, sizeof beta);
  }
  return true;
}

bool read_Slice_attributes(FlatReader* reader, uint32_t table, void* to) {
  static_assert(sizeof(SliceAttributes) <= kAttributeRoom, "fits the room");
  constexpr uint32_t kStarts = 0, kSteps = 1, kNumberBytes = 8;
  auto* const t = new (to) SliceAttributes();
  const FlatVector starts = reader->vector(table, kStarts, kNumberBytes),
                   steps = reader->vector(table, kSteps, kNumberBytes);
  if (starts.count != steps.count || starts.count > uint32_t(kMaxRank)) return false;
  t->rank = starts.count;
  for (uint32_t i = 0; i < starts.count; i++) {
    t->starts[i] = int64_t(reader->load64(starts.at + i * kNumberBytes));
    t->steps[i] = int64_t(reader->load64(steps.at + i * kNumberBytes));
    if (t->starts[i] < 0) return false;  // an expression of dimensions
  }
  return true;
}

bool read_Transpose_attributes(FlatReader* reader, uint32_t table, void* to) {
  static_assert(sizeof(TransposeAttributes) <= kAttributeRoom, "fits the room");
  constexpr uint32_t kPerm = 0;
  auto* const t = new (to) TransposeAttributes();
  const FlatVector perm = reader->vector(table, kPerm, 1);
  if (perm.count > uint32_t(kMaxRank)) return false;
  t->rank = perm.count;
  for (uint32_t i = 0; i < perm.count; i++) t->perm[i] = reader->load8(perm.at + i);
  return true;
}

}  // namespace ingot::micro
