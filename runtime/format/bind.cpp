// SPDX-License-Identifier: Apache-2.0
// runtime/format/bind.cpp - gives symbols their values: dimensions, resolved attributes, types,
// places of aliases; then every instruction is held against its contract.
#include <new>

#include "runtime/base/checked_math.h"
#include "runtime/format/region.h"
#include "runtime/format/validate.h"
#include "runtime/op/control.h"
#include "runtime/op/pad.h"
#include "runtime/op/slice.h"

namespace ingot {
namespace {

constexpr uint64_t kUnplaced = ~uint64_t{0};

/// A slot that holds either of the attributes with dimensions in them.
struct SymbolicSlot {
  alignas(
      8) uint8_t bytes[sizeof(PadAttributes) > sizeof(SliceAttributes) ? sizeof(PadAttributes)
                                                                       : sizeof(SliceAttributes)];
  static_assert(sizeof(LoopAttributes) <= sizeof(SliceAttributes), "fits");
};

struct BindingArrays {
  int64_t* dim_values;
  uint64_t* value_bytes;
  uint64_t* root_offset;
  const void** attributes;
  SymbolicSlot* slots;
  TensorView* operands;  // of one instruction, during validation
  int32_t* chain;        // of one alias, during validation
};

BindingArrays take_arrays(Block* block, const ProgramDef& p) {
  BindingArrays a;
  a.dim_values = block->take<int64_t>(p.dim_exprs.size);
  a.value_bytes = block->take<uint64_t>(p.values.size);
  a.root_offset = block->take<uint64_t>(p.values.size);
  a.attributes = block->take<const void*>(p.instructions.size);
  a.slots = block->take<SymbolicSlot>(p.symbolic_attribute_count);
  a.operands = block->take<TensorView>(p.max_operands);
  a.chain = block->take<int32_t>(p.values.size);
  return a;
}

/// What cannot be is the caller's fault where the caller chose dimensions, else the file's.
Code blame(const ProgramDef& p) {
  return p.free_symbols ? Code::kDimensionOutOfBounds : Code::kMeaningInvalid;
}

Status check_symbols(const ProgramDef& p, Span<const int64_t> values, ErrorDetail* d) {
  if (values.size != p.free_symbols)
    return fail(d, Code::kInvalidArgument, "symbol_values: number", p.free_symbols, values.size);
  for (size_t i = 0; i < values.size; i++) {
    const SymbolDef& s = p.symbols[i];
    const int64_t highest = s.high ? s.high : kMaxNumber;
    if (values[i] >= s.low && values[i] <= highest) continue;
    const bool unbound = values[i] < 0;
    const char* const field = unbound ? "" : values[i] < s.low ? "at least" : "at most";
    const Status bad = fail(d, unbound ? Code::kUnboundDimension : Code::kDimensionOutOfBounds,
                            field, unbound ? 0 : uint64_t(values[i] < s.low ? s.low : highest),
                            unbound ? 0 : uint64_t(values[i]));
    name_detail(d, s.name);
    if (d && unbound) d->hint = "give it one in options.bindings";
    return bad;
  }
  return {};
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

bool evaluate(DimOp op, int64_t a, int64_t b, int64_t* out) {
  switch (op) {
    case DimOp::kAdd: return checked_add(a, b, out);
    case DimOp::kSub: return checked_sub(a, b, out);
    case DimOp::kMul: return checked_mul(a, b, out);
    case DimOp::kFloorDiv: return b > 0 && (*out = floor_div(a, b), true);
    case DimOp::kCeilDiv: return b > 0 && (*out = floor_div(a, b) + (a % b != 0), true);
    case DimOp::kMin: *out = a < b ? a : b; return true;
    case DimOp::kMax: *out = a > b ? a : b; return true;
    case DimOp::kSymbol: break;
  }
  return false;
}

Status resolve_all(const ProgramDef& p, const BindingArrays& a, const BoundProgram& bound,
                   ErrorDetail* d) {
  for (uint32_t index = 0; index < p.instructions.size; index++) {
    const InstructionDef& i = p.instructions[index];
    a.attributes[index] = i.attributes;
    if (i.symbolic_slot < 0) continue;
    int64_t wrong;
    if (!resolve_attributes(i, bound, a.slots[i.symbolic_slot].bytes, &wrong))
      return fail_instruction(d, blame(p), "instructions[].attributes: starts or before", index,
                              uint64_t(kMaxNumber), uint64_t(wrong),
                              p.program_offset + i.table_offset);
    a.attributes[index] = a.slots[i.symbolic_slot].bytes;
  }
  return {};
}

Status measure_values(const ProgramDef& p, const BoundProgram& bound, uint64_t* value_bytes,
                      ErrorDetail* d) {
  for (size_t i = 0; i < p.values.size; i++) {
    if (value_storage(p, bound, int32_t(i), &value_bytes[i])) continue;
    const Status bad = fail_value(
        d, p, "values[].dims or row_stride: negative, too large or too small", int32_t(i),
        uint64_t(kMaxElements), uint64_t(dim_value(bound, p.values[i].row_stride)));
    if (d) d->code = blame(p);
    return p.free_symbols ? Status(blame(p)) : bad;
  }
  return {};
}

/// One alias whose parent is placed.
Status place_alias(const ProgramDef& p, const BoundProgram& bound, uint64_t* root_offset,
                   int32_t index, ErrorDetail* d) {
  const ValueDef& v = p.values[size_t(index)];
  const int64_t offset = dim_value(bound, v.alias_offset);
  const uint64_t width = uint64_t(dtype_bytes(v.dtype));
  if (offset < 0 || offset > kMaxElements)
    return fail_value(d, p, "values[].alias_offset", index, uint64_t(kMaxElements),
                      uint64_t(offset));
  // An empty view begins where its parent does: its offset may lie behind the storage.
  const uint64_t at =
      root_offset[v.alias_of] + (bound.value_bytes[index] ? uint64_t(offset) * width : 0);
  if (at > bound.value_bytes[v.root] || bound.value_bytes[index] > bound.value_bytes[v.root] - at)
    return fail_value(d, p, "values[].alias_offset: leaves the root's storage", index,
                      bound.value_bytes[v.root], at + bound.value_bytes[index]);
  root_offset[index] = at;
  const Region own = make_region(value_type(p, bound, index), int64_t(at / width));
  const Region whole =
      make_region(value_type(p, bound, v.alias_of), int64_t(root_offset[v.alias_of] / width));
  int64_t shared;
  if (v.alias == AliasKind::kInPlace && !same_region(own, whole))
    return fail_value(d, p, "values[].alias in_place: other elements than alias_of", index,
                      uint64_t(whole.elements()), uint64_t(own.elements()));
  if (own.elements() != 0 && (!common_elements(own, whole, &shared) || shared != own.elements()))
    return fail_value(d, p, "values[].alias view: elements that alias_of does not have", index,
                      uint64_t(own.elements()), uint64_t(shared));
  return {};
}

Status place_aliases(const ProgramDef& p, const BoundProgram& bound, uint64_t* root_offset,
                     int32_t* chain, ErrorDetail* d) {
  for (size_t i = 0; i < p.values.size; i++)
    root_offset[i] = p.values[i].alias == AliasKind::kNone ? 0 : kUnplaced;
  for (size_t i = 0; i < p.values.size; i++) {
    size_t length = 0;
    for (int32_t at = int32_t(i); root_offset[at] == kUnplaced; at = p.values[size_t(at)].alias_of)
      chain[length++] = at;
    while (length > 0) INGOT_TRY(place_alias(p, bound, root_offset, chain[--length], d));
  }
  return {};
}

bool may_be_strided(uint32_t mask, uint32_t operand) {
  return (mask >> (operand < 31 ? operand : 31)) & 1;
}

/// Of an extent that a dimension bound from outside may decide.
bool has_open_operand(const ProgramDef& p, const InstructionDef& i) {
  const auto is_open = [&](int32_t value) {
    if (value < 0) return false;
    const ValueDef& v = p.values[size_t(value)];
    for (int k = 0; k < v.rank; k++)
      if (v.dims[k] < 0) return true;
    return false;
  };
  for (uint32_t k = 0; k < i.input_count; k++)
    if (is_open(i.inputs[k])) return true;
  for (uint32_t k = 0; k < i.output_count; k++)
    if (is_open(i.outputs[k])) return true;
  return false;
}

Status validate_instruction(const ProgramDef& p, const BoundProgram& bound, uint32_t index,
                            TensorView* operands, ErrorDetail* d) {
  const InstructionDef& i = p.instructions[index];
  TensorView* outputs = operands + i.input_count;
  for (uint32_t k = 0; k < i.input_count; k++)
    static_cast<TensorType&>(operands[k]) = value_type(p, bound, i.inputs[k]);
  for (uint32_t k = 0; k < i.output_count; k++)
    static_cast<TensorType&>(outputs[k]) = value_type(p, bound, i.outputs[k]);
  for (uint32_t k = 0; k < i.input_count; k++)
    if (operands[k].present() && operands[k].packing == Packing::kDense &&
        !operands[k].is_dense() && !may_be_strided(i.contract->strided_inputs, k))
      return fail_operand(d, p, "values[].row_stride: this operand must be dense", index,
                          i.inputs[k], uint64_t(operands[k].row_length()),
                          uint64_t(operands[k].row_stride));
  for (uint32_t k = 0; k < i.output_count; k++)
    if (outputs[k].present() && !outputs[k].is_dense() &&
        !may_be_strided(i.contract->strided_outputs, k))
      return fail_operand(d, p, "values[].row_stride: this result must be dense", index,
                          i.outputs[k], uint64_t(outputs[k].row_length()),
                          uint64_t(outputs[k].row_stride));
  const OpArguments arguments = {bound.attributes[index], operands, outputs, i.input_count,
                                 i.output_count};
  Violation violation;
  if (!i.contract->check(arguments, &violation)) {
    const int32_t k = violation.operand;
    int32_t value = -1;
    if (k >= 0 && k < i.input_count) value = i.inputs[k];
    if (k < 0 && -1 - k < i.output_count) value = i.outputs[-1 - k];
    const Status bad = fail_operand(d, p, violation.rule, index, value,
                                    uint64_t(violation.expected), uint64_t(violation.found));
    if (!p.free_symbols || !has_open_operand(p, i)) return bad;
    if (d) d->code = Code::kShapeMismatch, d->hint = "these sizes cannot be combined; bind others";
    return Status(Code::kShapeMismatch);
  }
  const int32_t y = i.output_count ? i.outputs[0] : -1;
  if (y < 0 || is_control(i.op)) return {};
  // In place of another value, or (what a loop carries) of itself.
  const int32_t overwritten =
      p.values[size_t(y)].alias == AliasKind::kInPlace ? p.values[size_t(y)].alias_of : y;
  const uint32_t allowed = i.contract->in_place ? i.contract->in_place(arguments) : 0;
  for (uint32_t k = 0; k < i.input_count; k++)
    if (i.inputs[k] == overwritten && (k >= 32 || !((allowed >> k) & 1)))
      return fail_operand(d, p, "values[].alias in_place: the contract does not allow it here",
                          index, y, allowed, k);
  return {};
}

Status validate_state_sizes(const ProgramDef& p, const BoundProgram& bound, ErrorDetail* d) {
  for (const StateDef& s : p.states)
    if (s.init >= 0 && bound.value_bytes[s.init] != bound.value_bytes[s.value])
      return fail_value(d, p, "states[].init: another size than the state", s.value,
                        bound.value_bytes[s.value], bound.value_bytes[s.init]);
  return {};
}

}  // namespace

Status evaluate_dims(const ProgramDef& p, Span<const int64_t> symbols, const int64_t* resolved,
                     int64_t* values, ErrorDetail* d) {
  const auto value = [&](Dim dim) { return dim >= 0 ? dim : values[-1 - dim]; };
  for (size_t i = 0; i < p.dim_exprs.size; i++) {
    const DimExpr& e = p.dim_exprs[i];
    if (e.op == DimOp::kSymbol) {
      const size_t s = size_t(e.a);
      if (s < p.free_symbols)
        values[i] = symbols.data ? symbols[s] : values[i];
      else if (resolved && resolved[s - p.free_symbols] >= 0)
        values[i] = resolved[s - p.free_symbols];
      else
        values[i] = value(p.symbols[s].bound);
    } else if (!evaluate(e.op, value(e.a), value(e.b), &values[i])) {
      return fail_entry(d, blame(p), "dim_exprs[]: overflow, or a division by zero or less",
                        int32_t(i), uint64_t(value(e.a)), uint64_t(value(e.b)), p.program_offset);
    }
  }
  return {};
}

bool resolve_attributes(const InstructionDef& i, const BoundProgram& bound, void* slot,
                        int64_t* wrong) {
  const bool slice = i.op == OpCode::kSlice;
  int64_t* dims;
  uint32_t rank;
  if (slice) {
    auto* to = new (slot) SliceAttributes(*static_cast<const SliceAttributes*>(i.attributes));
    dims = to->starts, rank = to->rank;
  } else if (i.op == OpCode::kLoop) {
    dims = &(new (slot) LoopAttributes(*static_cast<const LoopAttributes*>(i.attributes)))->most,
    rank = 1;
  } else {
    auto* to = new (slot) PadAttributes(*static_cast<const PadAttributes*>(i.attributes));
    dims = to->before, rank = to->rank;
  }
  for (uint32_t k = 0; k < rank; k++) {
    *wrong = dims[k] = dim_value(bound, dims[k]);
    if (dims[k] > kMaxNumber || dims[k] < (i.op == OpCode::kPad ? -kMaxNumber : 0)) return false;
  }
  return true;
}

bool value_storage(const ProgramDef& program, const BoundProgram& bound, int32_t value,
                   uint64_t* bytes) {
  const ValueDef& v = program.values[size_t(value)];
  int64_t dims[kMaxRank] = {};
  TensorType type;
  for (int k = 0; k < v.rank; k++) dims[k] = dim_value(bound, v.dims[k]);
  const int64_t row_stride = dim_value(bound, v.row_stride);
  return row_stride >= 0 && make_type(v, dims, row_stride, &type) && storage_bytes(type, bytes);
}

uint64_t binding_bytes(const ProgramDef& program) {
  Block block;
  take_arrays(&block, program);
  count_dataflow(program, &block);
  return block.used();
}

void raise_value_bytes(const ProgramDef& program, Span<const int64_t> symbol_values,
                       Span<uint8_t> memory, uint64_t* largest) {
  Block block(memory);
  const BindingArrays a = take_arrays(&block, program);
  const BoundProgram bound = {a.dim_values, a.value_bytes, a.root_offset, a.attributes};
  if (!block.fits() || !evaluate_dims(program, symbol_values, nullptr, a.dim_values, nullptr).ok())
    return;
  uint64_t bytes;
  for (size_t i = 0; i < program.values.size; i++)
    if (value_storage(program, bound, int32_t(i), &bytes) && bytes > largest[i]) largest[i] = bytes;
}

TensorType value_type(const ProgramDef& program, const BoundProgram& bound, int32_t value) {
  TensorType type;
  if (value < 0) return type;
  const ValueDef& v = program.values[size_t(value)];
  type.dtype = bound.has_bf16_weights && v.may_stay_bf16 ? DType::kBF16 : v.dtype;
  type.packing = v.packing;
  type.rank = v.rank;
  for (int i = 0; i < v.rank; i++) type.dims[i] = dim_value(bound, v.dims[i]);
  const int64_t row_stride = dim_value(bound, v.row_stride);
  type.row_stride = row_stride ? row_stride : type.row_length();
  return type;
}

Status bind_program(const ProgramDef& program, Span<const int64_t> symbol_values,
                    Span<uint8_t> memory, BoundProgram* out, ErrorDetail* detail) {
  *out = BoundProgram{};
  if (reinterpret_cast<uintptr_t>(memory.data) % 16 != 0)
    return fail(detail, Code::kMisaligned, "binding memory", 16,
                reinterpret_cast<uintptr_t>(memory.data) % 16);
  const uint64_t need = binding_bytes(program);
  if (!memory.data || memory.size < need)
    return fail(detail, Code::kArenaTooSmall, "binding memory", need, memory.size);
  INGOT_TRY(check_symbols(program, symbol_values, detail));
  Block block(memory);
  const BindingArrays a = take_arrays(&block, program);
  const BoundProgram bound = {a.dim_values, a.value_bytes, a.root_offset, a.attributes};
  INGOT_TRY(evaluate_dims(program, symbol_values, nullptr, a.dim_values, detail));
  INGOT_TRY(resolve_all(program, a, bound, detail));
  INGOT_TRY(measure_values(program, bound, a.value_bytes, detail));
  INGOT_TRY(place_aliases(program, bound, a.root_offset, a.chain, detail));
  for (uint32_t i = 0; i < program.instructions.size; i++)
    INGOT_TRY(validate_instruction(program, bound, i, a.operands, detail));
  INGOT_TRY(validate_state_sizes(program, bound, detail));
  INGOT_TRY(validate_dataflow(program, bound, &block, detail));
  *out = bound;
  return {};
}

}  // namespace ingot
