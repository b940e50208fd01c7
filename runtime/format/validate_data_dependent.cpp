// SPDX-License-Identifier: Apache-2.0
// runtime/format/validate_data_dependent.cpp - symbols whose value an instruction writes: who may
// write it, and what may depend on it.
#include "runtime/format/validate.h"
#include "runtime/op/control.h"
#include "runtime/op/data_dependent.h"
#include "runtime/op/pad.h"
#include "runtime/op/slice.h"

namespace ingot {
namespace {

class DataDependence {
 public:
  DataDependence(const ProgramDef& program, uint8_t* dims) : p_(program), dims_(dims) {
    for (size_t i = 0; i < p_.dim_exprs.size; i++) {
      const DimExpr& e = p_.dim_exprs[i];
      dims_[i] = e.op == DimOp::kSymbol ? of_symbol(p_.symbols[size_t(e.a)]) : of_expression(e);
    }
  }
  bool depends(Dim dim) const { return of(dim) & kDepends; }
  /// No number makes it larger than the data-dependent symbols' bounds do.
  bool is_bounded(Dim dim) const { return !(of(dim) & kMayExceed); }
  bool depends(const ValueDef& v) const {
    bool any = depends(v.row_stride) || depends(v.alias_offset);
    for (int i = 0; i < v.rank; i++) any = any || depends(v.dims[i]);
    return any;
  }

 private:
  static constexpr uint8_t kDepends = 1, kMayExceed = 2, kMayBeNegative = 4;

  uint8_t of(Dim dim) const { return dim < 0 ? dims_[-1 - dim] : uint8_t{0}; }
  uint8_t of_symbol(const SymbolDef& s) const {
    if (s.resolved_by >= 0) return uint8_t(kDepends | (of(s.bound) & kMayExceed));
    return uint8_t(s.low < 0 ? kMayBeNegative : 0);
  }
  uint8_t of_expression(const DimExpr& e) const {
    const uint8_t a = of(e.a), b = of(e.b), both = a | b;
    bool exceeds = both & kMayExceed, negative = both & kMayBeNegative;
    switch (e.op) {
      case DimOp::kSub: exceeds = exceeds || depends(e.b), negative = true; break;
      case DimOp::kMul: exceeds = exceeds || negative; break;
      case DimOp::kFloorDiv:
      case DimOp::kCeilDiv: exceeds = exceeds || depends(e.b), negative = a & kMayBeNegative; break;
      case DimOp::kMax: negative = a & b & kMayBeNegative; break;
      default: break;
    }
    const bool depends = both & kDepends;
    return uint8_t((depends ? kDepends : 0) | (depends && exceeds ? kMayExceed : 0) |
                   (negative ? kMayBeNegative : 0));
  }

  const ProgramDef& p_;
  uint8_t* dims_;
};

Status validate_symbol(const ProgramDef& p, size_t index, const uint32_t* written_in,
                       ErrorDetail* d) {
  const SymbolDef& s = p.symbols[index];
  const auto refuse = [&](const char* rule) {
    const Status bad = fail_entry(d, Code::kMeaningInvalid, rule, int32_t(index), p.values.size,
                                  uint64_t(int64_t{s.resolved_by}), p.program_offset);
    name_detail(d, s.name);
    return bad;
  };
  if (size_t(s.resolved_by) >= p.values.size) return refuse("symbols[].resolved_by: no such value");
  const ValueDef& v = p.values[size_t(s.resolved_by)];
  if (v.dtype != DType::kI64 || v.rank != 0)
    return refuse("symbols[].resolved_by: is no i64 scalar");
  if (!written_in[s.resolved_by]) return refuse("symbols[].resolved_by: no instruction writes it");
  if (!known_dim(p, s.bound) || s.bound > kMaxNumber) return refuse("symbols[].bound");
  return {};
}

/// Where it may lie is the same for every number: at the start of its storage, row after row,
/// alone or with others of its kind.
Status validate_value(const ProgramDef& p, const DataDependence& dependence, size_t index,
                      ErrorDetail* d) {
  const ValueDef& v = p.values[index];
  const bool own = dependence.depends(v);
  if (v.alias != AliasKind::kNone && own != dependence.depends(p.values[size_t(v.alias_of)]))
    return fail_value(d, p, "values[].alias: of data-dependent extents, or alias_of, not both",
                      int32_t(index), 0, 1);
  if (!own) return {};
  if (v.kind == ValueKind::kInput || v.kind == ValueKind::kState || v.kind == ValueKind::kConstant)
    return fail_value(d, p, "values[].dims: an input, a state or a constant is not data-dependent",
                      int32_t(index), 0, uint64_t(v.kind));
  if (v.row_stride != 0 || v.alias_offset != 0)
    return fail_value(d, p, "values[].row_stride or alias_offset of data-dependent extents",
                      int32_t(index), 0, uint64_t(v.row_stride));
  return {};
}

bool attributes_depend(const InstructionDef& i, const DataDependence& dependence) {
  if (i.symbolic_slot < 0) return false;
  const int64_t* dims = nullptr;
  uint32_t rank = 0;
  if (i.op == OpCode::kSlice) {
    const auto& slice = *static_cast<const SliceAttributes*>(i.attributes);
    dims = slice.starts, rank = slice.rank;
  } else if (i.op == OpCode::kPad) {
    const auto& pad = *static_cast<const PadAttributes*>(i.attributes);
    dims = pad.before, rank = pad.rank;
  } else if (i.op == OpCode::kLoop) {
    dims = &static_cast<const LoopAttributes*>(i.attributes)->most, rank = 1;
  }
  for (uint32_t k = 0; k < rank; k++)
    if (dependence.depends(dims[k])) return true;
  return false;
}

/// What an operator finds has the extent that it finds: nothing else tells a reader where the
/// written elements end.
Status validate_found(const ProgramDef& p, uint32_t index, ErrorDetail* d) {
  const InstructionDef& i = p.instructions[index];
  for (uint32_t k = 0; k + 1 < i.output_count; k++) {
    const int axis = i.outputs[k] < 0 ? -1 : found_axis(i.op, i.attributes, k);
    if (axis < 0) continue;
    const ValueDef& v = p.values[size_t(i.outputs[k])];
    const int32_t count = i.outputs[i.output_count - 1];
    // the first is the contract's to refuse; none can be found
    if (axis >= v.rank || v.dims[axis] == 0) continue;
    const DimExpr* e = v.dims[axis] < 0 ? &p.dim_exprs[size_t(-1 - v.dims[axis])] : nullptr;
    if (e && e->op == DimOp::kSymbol && count >= 0 && p.symbols[size_t(e->a)].resolved_by == count)
      continue;
    return fail_operand(
        d, p,
        "values[].dims: an extent that the data decides is the symbol resolved by this operator",
        index, i.outputs[k], uint64_t(int64_t{count}), uint64_t(v.dims[axis]));
  }
  return {};
}

}  // namespace

Status validate_data_dependent(const ProgramDef& p, ValueDef* values, InstructionDef* instructions,
                               const uint32_t* written_in, uint8_t* dims, uint8_t* resolving,
                               ErrorDetail* detail) {
  for (uint32_t i = 0; i < p.instructions.size; i++) INGOT_TRY(validate_found(p, i, detail));
  if (p.free_symbols == p.symbols.size) return {};
  for (size_t i = p.free_symbols; i < p.symbols.size; i++)
    INGOT_TRY(validate_symbol(p, i, written_in, detail));
  const DataDependence dependence(p, dims);
  for (size_t i = 0; i < p.values.size; i++) {
    INGOT_TRY(validate_value(p, dependence, i, detail));
    values[i].is_data_dependent = dependence.depends(p.values[i]);
  }
  for (size_t i = p.free_symbols; i < p.symbols.size; i++) resolving[p.symbols[i].resolved_by] = 1;
  for (size_t index = 0; index < p.instructions.size; index++) {
    InstructionDef& i = instructions[index];
    i.reads_data_dependent = attributes_depend(i, dependence);
    const uint32_t count = uint32_t{i.input_count} + i.output_count;
    for (uint32_t k = 0; k < count; k++) {
      const int32_t v = k < i.input_count ? i.inputs[k] : i.outputs[k - i.input_count];
      if (v < 0) continue;
      const bool depends = dependence.depends(p.values[size_t(v)]);
      i.is_data_dependent = i.is_data_dependent || depends;
      i.reads_data_dependent = i.reads_data_dependent || (depends && k < i.input_count);
      i.resolves = i.resolves || (k >= i.input_count && resolving[v]);
    }
    i.is_data_dependent = i.is_data_dependent || i.reads_data_dependent;
    if (i.op == OpCode::kLoop)
      i.may_exceed_bound =
          !dependence.is_bounded(static_cast<const LoopAttributes*>(i.attributes)->most);
  }
  return {};
}

}  // namespace ingot
