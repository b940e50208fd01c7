// SPDX-License-Identifier: Apache-2.0
// The numbers that runtime/micro has of the schema's fields are those of the generated header, and
// attributes are read as runtime/format reads them.
#include <doctest/doctest.h>

#include <string>

#include "ingot_schema/ingot_generated.h"
#include "runtime/format/decode.h"
#include "runtime/micro/attributes.h"
#include "runtime/micro/schema_fields.h"
#include "runtime/op/all_operators.h"
#include "tools/compile/write/encode_attributes.h"

using namespace ingot;
using namespace ingot::micro;

namespace {

/// As the generated header counts: 4 bytes of the table's and the object's sizes, then 2 a field.
constexpr int slot(uint32_t field) { return 4 + 2 * int(field); }
#define CHECK_FIELD(Table, NAME, field) CHECK(int(fb::Table::VT_##NAME) == slot(field))

void encode(const convert::Attributes& from, flatbuffers::FlatBufferBuilder* builder) {
  const auto attributes = convert::encode_attributes(*builder, from);
  fb::InstructionBuilder instruction(*builder);
  instruction.add_attributes_type(fb::Attributes(from.index()));
  instruction.add_attributes(attributes);
  builder->Finish(instruction.Finish());
}

/// What an object holds, without the bytes between its fields.
template <class A>
std::string contents(const uint8_t* object) {
  flatbuffers::FlatBufferBuilder builder;
  encode(*reinterpret_cast<const A*>(object), &builder);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

/// One instruction's attributes, encoded and read in both ways; equal, or refused by both.
template <class A>
void compare_readers(const convert::Attributes& from, ReadAttributes read) {
  flatbuffers::FlatBufferBuilder builder;
  encode(from, &builder);
  const uint8_t* bytes = builder.GetBufferPointer();
  alignas(8) uint8_t whole[4096] = {}, micro[kAttributeRoom] = {};
  const char* rule =
      decoder_of(OpCode(from.index()))(*flatbuffers::GetRoot<fb::Instruction>(bytes), whole);
  FlatReader reader(bytes, builder.GetSize());
  const bool known = read(&reader, reader.table(reader.load32(0), 1), micro);
  CHECK(known == (rule == nullptr));
  CHECK_FALSE(reader.broken());
  if (known) CHECK(contents<A>(whole) == contents<A>(micro));
}

template <class T>
void set(T* to, uint8_t n) {
  *to = T(n);
}
void set(bool* to, uint8_t n) { *to = n % 2 == 0; }

}  // namespace

TEST_CASE("schema_fields: the generated header has the same numbers") {
  using namespace program_field;
  CHECK_FIELD(Program, REQUIRED_FEATURES, kRequiredFeatures);
  CHECK_FIELD(Program, SYMBOLS, kSymbols);
  CHECK_FIELD(Program, DIM_EXPRS, kDimExprs);
  CHECK_FIELD(Program, VALUES, kValues);
  CHECK_FIELD(Program, SUBPROGRAMS, kSubprograms);
  CHECK_FIELD(Program, INPUTS, kInputs);
  CHECK_FIELD(Program, OUTPUTS, kOutputs);
  CHECK_FIELD(Program, STATES, kStates);
  CHECK_FIELD(Program, PLAN, kPlan);
  CHECK_FIELD(Program, ALIGNMENT, kAlignment);
  CHECK_FIELD(Value, DTYPE, value_field::kDtype);
  CHECK_FIELD(Value, PACKING, value_field::kPacking);
  CHECK_FIELD(Value, KIND, value_field::kKind);
  CHECK_FIELD(Value, ALIAS, value_field::kAlias);
  CHECK_FIELD(Value, ALIAS_OF, value_field::kAliasOf);
  CHECK_FIELD(Value, ALIAS_OFFSET, value_field::kAliasOffset);
  CHECK_FIELD(Value, DIMS, value_field::kDims);
  CHECK_FIELD(Value, ROW_STRIDE, value_field::kRowStride);
  CHECK_FIELD(Value, SEGMENT, value_field::kSegment);
  CHECK_FIELD(Value, SEGMENT_OFFSET, value_field::kSegmentOffset);
  CHECK_FIELD(Value, INLINE_DATA, value_field::kInlineData);
  CHECK_FIELD(Value, STORED, value_field::kStored);
  CHECK_FIELD(Instruction, ATTRIBUTES_TYPE, instruction_field::kAttributesType);
  CHECK_FIELD(Instruction, ATTRIBUTES, instruction_field::kAttributes);
  CHECK_FIELD(Instruction, VERSION, instruction_field::kVersion);
  CHECK_FIELD(Instruction, INPUTS, instruction_field::kInputs);
  CHECK_FIELD(Instruction, OUTPUTS, instruction_field::kOutputs);
  CHECK_FIELD(Subprogram, INSTRUCTIONS, subprogram_field::kInstructions);
  CHECK_FIELD(Port, VALUE, port_field::kValue);
  CHECK_FIELD(Plan, OFFSETS, plan_field::kOffsets);
  CHECK_FIELD(Plan, BYTES, plan_field::kBytes);
  CHECK(int(fb::ValueKind::state) == int(micro::ValueKind::kState));
  CHECK(int(fb::AliasKind::in_place) == int(micro::AliasKind::kInPlace));
}

TEST_CASE("attributes: defaults, every field, and enums that are not known, as runtime/format") {
#define FIELD(name) set(&a.name, n);
#define CHOICE(op, name, Enum) a.name = decltype(a.name)(n);
#define ACTIVATION(name) a.name = {Activation(n), float(n), -1.5f};
#define INGOT_ATTRIBUTES(op, fields)                                         \
  compare_readers<op##Attributes>(op##Attributes(), read_##op##_attributes); \
  for (const uint8_t n : {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 15, 16, 255}) {     \
    op##Attributes a;                                                        \
    (void)n, (void)a;                                                        \
    fields compare_readers<op##Attributes>(a, read_##op##_attributes);       \
  }
#include "runtime/micro/attributes.def"
  ElementwiseAttributes chain;
  compare_readers<ElementwiseAttributes>(chain, read_Elementwise_attributes);
  chain.compute = ComputeType::kI64, chain.step_count = 3;
  chain.steps[1] = {ElementwiseOp::kBitwiseXor, 1, 254, 3, 128.0f, -2.5f};
  compare_readers<ElementwiseAttributes>(chain, read_Elementwise_attributes);
  TransposeAttributes transpose;
  compare_readers<TransposeAttributes>(transpose, read_Transpose_attributes);
  transpose.rank = 4;
  for (uint8_t i = 0; i < 4; i++) transpose.perm[i] = uint8_t(3 - i);
  compare_readers<TransposeAttributes>(transpose, read_Transpose_attributes);
}
