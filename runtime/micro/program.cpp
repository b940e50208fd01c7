// SPDX-License-Identifier: Apache-2.0
// runtime/micro/program.cpp - values and instructions as they lie in the file. What is read here is
// within its range whatever the file says, also while it runs.
#include <cstring>
#include <new>

#include "runtime/base/byte_order.h"
#include "runtime/base/checked_math.h"
#include "runtime/format/file_layout.h"
#include "runtime/micro/model.h"

namespace ingot::micro {
namespace {

bool meaning_error(MicroError* e, const char* what, uint32_t index, uint32_t need = 0,
                   uint32_t have = 0) {
  return refuse(e, Code::kMeaningInvalid, what, int32_t(index), need, have);
}
bool structure_error(MicroError* e, uint32_t index) {
  return refuse(e, Code::kStructureInvalid, INGOT_MICRO_TEXT("an offset leads out of the program"),
                int32_t(index));
}

/// A number of 64 bits that must be one of 31; -1: it is not.
int32_t small(int64_t n) { return n >= 0 && n <= INT32_MAX ? int32_t(n) : -1; }

/// Dimensions that are numbers, of at most kMaxBytes elements, empty ones counted as one.
bool read_type(FlatReader* r, uint32_t table, uint32_t index, TensorType* type, MicroError* e) {
  const FlatVector dims = r->vector(table, value_field::kDims, 8);
  const uint8_t dtype = r->byte(table, value_field::kDtype),
                packing = r->byte(table, value_field::kPacking);
  if (dtype == 0 || dtype > uint8_t(DType::kBool) || dims.count > uint32_t(kMaxRank))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].dtype or rank"), index, kMaxRank,
                         dims.count);
  if (packing > uint8_t(Packing::kBlocks32))
    return refuse(e, Code::kUnsupportedFeature, INGOT_MICRO_TEXT("values[].packing: not known"),
                  int32_t(index));
  *type = TensorType{};
  type->dtype = DType(dtype), type->packing = Packing(packing), type->rank = uint8_t(dims.count);
  uint32_t elements = 1, rows = 1;
  for (uint32_t i = 0; i < dims.count; i++) {
    const int32_t extent = small(int64_t(r->load64(dims.at + 8 * i)));
    if (extent < 0)
      return refuse(e, Code::kUnsupportedFeature,
                    INGOT_MICRO_TEXT("values[].dims: numbers of 31 bits (convert with --dim)"),
                    int32_t(index));
    type->dims[i] = extent;
    const uint32_t counted = extent ? uint32_t(extent) : 1;
    if (!checked_mul(elements, counted, &elements) || elements > kMaxBytes)
      return meaning_error(e, INGOT_MICRO_TEXT("values[].dims: too large"), index, kMaxBytes);
    if (i + 1 < dims.count) rows *= counted;
  }
  const int64_t length = type->row_length();
  const int32_t stride = small(r->number(table, value_field::kRowStride));
  type->row_stride = stride ? int64_t{stride} : length;
  uint32_t span;
  if (stride < 0 || type->row_stride < length ||
      !checked_mul(rows, uint32_t(int64_t{type->row_stride}), &span) || span > kMaxBytes)
    return meaning_error(e, INGOT_MICRO_TEXT("values[].row_stride"), index);
  return true;
}

bool place_constant(const MicroModel& m, FlatReader* r, uint32_t table, uint32_t index,
                    MicroValue* v, MicroError* e) {
  const FlatVector data = r->vector(table, value_field::kInlineData, 1);
  const uint32_t segment = r->word(table, value_field::kSegment);
  const int32_t offset = small(r->number(table, value_field::kSegmentOffset));
  if (r->field(table, value_field::kInlineData)) {
    if (segment != 0 || offset != 0 || data.count != v->bytes || (v->bytes && data.at % 16 != 0))
      return meaning_error(e, INGOT_MICRO_TEXT("values[].inline_data"), index, v->bytes,
                           data.count);
    v->constant_at = m.program + data.at;
    return true;
  }
  if (segment >= m.weight_parts)
    return meaning_error(e, INGOT_MICRO_TEXT("values[].segment"), index, m.weight_parts, segment);
  const uint8_t* entry = m.image + kHeaderFixedBytes + (m.weight_entry + segment) * kPartEntryBytes;
  const uint32_t part_bytes = load_little<uint32_t>(entry + 16);
  if (offset < 0 || uint32_t(offset) % m.weight_alignment != 0 || uint32_t(offset) > part_bytes ||
      v->bytes > part_bytes - uint32_t(offset))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].segment_offset"), index, part_bytes,
                         uint32_t(offset));
  v->constant_at = load_little<uint32_t>(entry + 8) + uint32_t(offset);
  return true;
}

}  // namespace

bool refuse(MicroError* error, Code code, const char* what, int32_t index, uint32_t need,
            uint32_t have) {
  if (error) *error = {code, index, need, have, what};
  return false;
}

bool read_value(const MicroModel& m, uint32_t index, MicroValue* v, MicroError* e) {
  if (index >= m.values.count)
    return meaning_error(e, INGOT_MICRO_TEXT("a value that is not there"), index, m.values.count);
  FlatReader r = reader_of(m);
  const uint32_t table = r.element(m.values, index);
  if (!read_type(&r, table, index, &v->type, e))
    return r.broken() ? structure_error(e, index) : false;
  if (r.byte(table, value_field::kStored) != 0)
    return refuse(e, Code::kUnsupportedFeature,
                  INGOT_MICRO_TEXT("values[].stored: weights in 16 bits"), int32_t(index));
  const uint8_t kind = r.byte(table, value_field::kKind),
                alias = r.byte(table, value_field::kAlias);
  uint64_t bytes;
  if (kind > uint8_t(ValueKind::kState) || alias > uint8_t(AliasKind::kInPlace) ||
      !storage_bytes(v->type, &bytes) || bytes > kMaxBytes)
    return meaning_error(e, INGOT_MICRO_TEXT("values[].kind, alias or size"), index);
  v->kind = ValueKind(kind), v->alias = AliasKind(alias), v->bytes = uint32_t(bytes);
  v->alias_of = int32_t(r.word(table, value_field::kAliasOf, uint32_t(-1)));
  const int32_t offset = small(r.number(table, value_field::kAliasOffset));
  uint32_t offset_bytes;
  if (offset < 0 ||
      !checked_mul(uint32_t(offset), uint32_t(dtype_bytes(v->type.dtype)), &offset_bytes))
    return meaning_error(e, INGOT_MICRO_TEXT("values[].alias_offset"), index);
  v->alias_offset = offset_bytes, v->constant_at = 0;
  if (v->kind == ValueKind::kConstant && !place_constant(m, &r, table, index, v, e)) return false;
  return !r.broken() || structure_error(e, index);
}

bool read_call(const MicroModel& m, uint32_t index, MicroCall* call, MicroError* e) {
  FlatReader r = reader_of(m);
  const uint32_t table = r.element(m.instructions, index);
  call->op = OpCode(r.byte(table, instruction_field::kAttributesType));
  call->kernel = find_row(*m.kernels, call->op, nullptr);
  if (!call->kernel)
    return refuse(e, Code::kUnsupportedOperator,
                  INGOT_MICRO_TEXT("the kernel table has no such operator: need is its number"),
                  int32_t(index), uint32_t(call->op));
  const uint32_t attributes = r.table(table, instruction_field::kAttributes);
  const FlatVector inputs = r.vector(table, instruction_field::kInputs, 4),
                   outputs = r.vector(table, instruction_field::kOutputs, 4);
  if (inputs.count > kMaxOperands || outputs.count > kMaxOperands - inputs.count)
    return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("instructions[]: operands"),
                  int32_t(index), kMaxOperands, inputs.count + outputs.count);
  const uint32_t version = r.byte(table, instruction_field::kVersion, 1);
  if (version == 0 || version > call->kernel->entry.contract->version)
    return refuse(e, Code::kUnsupportedOperator, INGOT_MICRO_TEXT("instructions[].version"),
                  int32_t(index), call->kernel->entry.contract->version, version);
  if (!attributes || !call->kernel->read(&r, attributes, call->attributes))
    return r.broken() ? structure_error(e, index)
                      : meaning_error(e, INGOT_MICRO_TEXT("instructions[].attributes"), index);
  for (uint32_t k = 0; k < inputs.count + outputs.count; k++) {
    const int32_t value = int32_t(k < inputs.count ? r.load32(inputs.at + 4 * k)
                                                   : r.load32(outputs.at + 4 * (k - inputs.count)));
    call->values[k] = value;
    call->views[k] = TensorView{};
    if (value == -1) continue;
    MicroValue v;
    if (value < 0 || !read_value(m, uint32_t(value), &v, e))
      return meaning_error(e, INGOT_MICRO_TEXT("instructions[]: operand"), index, m.values.count,
                           uint32_t(value));
    static_cast<TensorType&>(call->views[k]) = v.type;
  }
  call->arguments.attributes = call->attributes;
  call->arguments.inputs = call->views, call->arguments.outputs = call->views + inputs.count;
  call->arguments.input_count = uint16_t(inputs.count);
  call->arguments.output_count = uint16_t(outputs.count);
  return !r.broken() || structure_error(e, index);
}

uint32_t find_root(const MicroModel& m, uint32_t index, uint32_t* offset) {
  FlatReader r = reader_of(m);
  *offset = 0;
  for (uint32_t i = 0; i <= kMaxAliases && index < m.values.count; i++) {
    const uint32_t table = r.element(m.values, index);
    if (r.byte(table, value_field::kAlias) == uint8_t(AliasKind::kNone)) return index;
    const uint32_t element = uint32_t(dtype_bytes(DType(r.byte(table, value_field::kDtype))));
    *offset += uint32_t(r.number(table, value_field::kAliasOffset)) * element;
    index = r.word(table, value_field::kAliasOf, kNoPlace);
  }
  return kNoPlace;
}

uint32_t planned_offset(const MicroModel& m, uint32_t root) {
  if (root >= m.offsets.count) return kNoPlace;
  FlatReader r = reader_of(m);
  const int32_t offset = small(int64_t(r.load64(m.offsets.at + 8 * root)));
  return offset < 0 || r.broken() ? kNoPlace : uint32_t(offset);
}

const MicroKernel* find_row(const MicroKernelTable& table, OpCode op, const OpArguments* a) {
  for (uint32_t i = 0; i < table.count; i++) {
    const KernelEntry& entry = table.rows[i].entry;
    if (entry.op == op && (!a || !entry.supports || entry.supports(*a))) return &table.rows[i];
  }
  return nullptr;
}

uint8_t* address_of(const MicroModel& m, uint32_t index, const MicroValue& value) {
  // kernels never write constants; views of them are read only, which was validated
  if (value.kind == ValueKind::kConstant) return const_cast<uint8_t*>(m.image) + value.constant_at;
  uint32_t offset;
  const uint32_t root = find_root(m, index, &offset);
  MicroValue home;
  if (root != index) {
    if (!read_value(m, root, &home, nullptr) || offset > home.bytes ||
        value.bytes > home.bytes - offset)
      return nullptr;
    if (home.kind == ValueKind::kConstant)
      return const_cast<uint8_t*>(m.image) + home.constant_at + offset;
  }
  const uint32_t start = planned_offset(m, root), end = m.arena_bytes - 2 * m.instructions.count;
  if (start > end || offset > end - start || value.bytes > end - start - offset) return nullptr;
  return m.arena + start + offset;
}

}  // namespace ingot::micro
