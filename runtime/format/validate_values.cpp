// SPDX-License-Identifier: Apache-2.0
// runtime/format/validate_values.cpp - values one by one, then the forest of aliases.
#include "runtime/base/checked_math.h"
#include "runtime/format/validate.h"

namespace ingot {

Status validate_dims(const ProgramDef& program, ErrorDetail* detail) {
  for (size_t i = 0; i < program.symbols.size; i++) {
    const SymbolDef& s = program.symbols[i];
    const bool bounded = s.high != 0;
    if (s.resolved_by >= 0 ? i < program.free_symbols : i >= program.free_symbols)
      return fail_entry(detail, Code::kMeaningInvalid,
                        "symbols[]: a free one behind a data-dependent one", int32_t(i),
                        program.free_symbols, i, program.program_offset);
    if (s.low < 0 || s.low > kMaxNumber || s.high < 0 || s.high > kMaxNumber ||
        (bounded && s.high < s.low)) {
      const Status bad =
          fail_entry(detail, Code::kMeaningInvalid, "symbols[]: low and high", int32_t(i),
                     uint64_t(s.low), uint64_t(s.high), program.program_offset);
      name_detail(detail, s.name);
      return bad;
    }
  }
  for (size_t i = 0; i < program.dim_exprs.size; i++) {
    const DimExpr& e = program.dim_exprs[i];
    const auto backwards = [&](Dim dim) {
      return dim >= 0 ? dim <= kMaxNumber : uint64_t(-1 - dim) < i;
    };
    const char* rule = nullptr;
    if (e.op == DimOp::kSymbol) {
      if (e.a < 0 || uint64_t(e.a) >= program.symbols.size || e.b != 0)
        rule = "dim_exprs[]: symbol";
      else if (program.symbols[size_t(e.a)].resolved_by >= 0 &&
               !backwards(program.symbols[size_t(e.a)].bound))
        rule = "symbols[].bound: refers to an expression behind the symbol's";
    } else if (!backwards(e.a) || !backwards(e.b)) {
      rule = "dim_exprs[]: refers to itself or a later one";
    } else if ((e.op == DimOp::kFloorDiv || e.op == DimOp::kCeilDiv) && e.b == 0) {
      rule = "dim_exprs[]: divides by zero";
    }
    if (rule)
      return fail_entry(detail, Code::kMeaningInvalid, rule, int32_t(i), i, uint64_t(e.a),
                        program.program_offset);
  }
  return {};
}

bool make_type(const ValueDef& value, const int64_t* dims, int64_t row_stride, TensorType* out) {
  *out = TensorType{};
  out->dtype = value.dtype;
  out->packing = value.packing;
  out->rank = value.rank;
  int64_t elements = 1, rows = 1, span;
  for (int i = 0; i < value.rank; i++) {
    if (dims[i] < 0 || dims[i] > kMaxExtent) return false;
    out->dims[i] = dims[i];
    // Empty dimensions count as one, so that no order of multiplying can overflow.
    if (!checked_mul(elements, dims[i] ? dims[i] : int64_t{1}, &elements) ||
        elements > kMaxElements)
      return false;
    if (i + 1 < value.rank) rows *= dims[i] ? dims[i] : 1;
  }
  const int64_t length = out->row_length();
  out->row_stride = row_stride ? row_stride : length;
  if (out->row_stride < length) return false;
  return checked_mul(rows, out->row_stride ? int64_t{out->row_stride} : int64_t{1}, &span) &&
         span <= kMaxElements;
}

namespace {

Status validate_constant(const FileView& file, const ProgramDef& program, ValueDef* v,
                         int32_t index, ErrorDetail* d) {
  TensorType type;
  uint64_t bytes, end;
  for (int i = 0; i < v->rank; i++)
    if (v->dims[i] < 0)
      return fail_value(d, program, "values[].dims: a constant's are numbers", index, 0,
                        uint64_t(i));
  if (v->row_stride != 0)
    return fail_value(d, program, "values[].row_stride: a constant has none", index, 0,
                      uint64_t(v->row_stride));
  if (!make_type(*v, v->dims, 0, &type) || !storage_bytes(type, &bytes))
    return fail_value(d, program, "values[].dims: too large, or not what the packing needs", index,
                      uint64_t(kMaxElements), 0);
  if (is_widened(*v)) {
    if (!program.features.has(Feature::kWidened))
      return fail_value(d, program, "values[].stored without the feature \"widened\"", index, 0,
                        uint64_t(v->stored));
    if (v->stored != DType::kF16 && v->stored != DType::kBF16)
      return fail_value(d, program, "values[].stored: f16 or bf16", index, uint64_t(DType::kF16),
                        uint64_t(v->stored));
    if (v->dtype != DType::kF32)
      return fail_value(d, program, "values[].stored: of an f32 constant", index,
                        uint64_t(DType::kF32), uint64_t(v->dtype));
    if (v->inline_data)
      return fail_value(d, program, "values[].stored of inline data", index, 0,
                        uint64_t(v->stored));
  }
  if (v->inline_data) {
    if (v->segment != 0 || v->segment_offset != 0)
      return fail_value(d, program, "values[].segment of inline data", index, 0, v->segment_offset);
    if (v->constant_bytes != bytes)
      return fail_value(d, program, "values[].inline_data: bytes", index, bytes, v->constant_bytes);
    const uint64_t at = uint64_t(static_cast<const uint8_t*>(v->inline_data) - file.program);
    if (bytes != 0 && at % 16 != 0)
      return fail_value(d, program, "values[].inline_data: alignment", index, 16, at % 16);
    return {};
  }
  if (v->segment >= file.weight_part_count)
    return fail_value(d, program, "values[].segment", index, file.weight_part_count, v->segment);
  const uint64_t alignment = file.header.segment_alignment < 64 ? 16 : 64;
  if (v->segment_offset % alignment != 0)
    return fail_value(d, program, "values[].segment_offset: alignment", index, alignment,
                      v->segment_offset);
  const PartEntry part = weight_part(file, v->segment);
  v->constant_bytes = bytes;
  if (!checked_add(v->segment_offset, stored_bytes(*v), &end) || end > part.bytes)
    return fail_value(d, program, "values[].segment_offset: outside the part", index, part.bytes,
                      v->segment_offset);
  return {};
}

/// Gives a constant that is stored smaller its place among those that a session widens. Many may
/// share stored bytes, each is widened by itself.
Status place_widened(ProgramDef* program, ValueDef* v, int32_t index, ErrorDetail* d) {
  if (!is_widened(*v)) return {};
  uint64_t at;
  if (!checked_align(program->widened_bytes, kWidenedBlock, &at) ||
      at / kWidenedBlock > UINT32_MAX ||
      !checked_add(at, v->constant_bytes, &program->widened_bytes))
    return fail_entry(d, Code::kLimitExceeded, "values[].stored: bytes when widened", index,
                      kWidenedBlock * UINT32_MAX, program->widened_bytes,
                      program->program_offset + v->table_offset);
  v->widened_block = uint32_t(at / kWidenedBlock);
  return {};
}

/// All that a value says about itself.
Status validate_value(const FileView& file, const ProgramDef& program, ValueDef* v, int32_t index,
                      ErrorDetail* d) {
  const int32_t count = int32_t(program.values.size);
  for (int i = 0; i < v->rank; i++)
    if (!known_dim(program, v->dims[i]))
      return fail_value(d, program, "values[].dims: no such expression", index,
                        program.dim_exprs.size, uint64_t(-1 - v->dims[i]));
  if (!known_dim(program, v->row_stride) || !known_dim(program, v->alias_offset))
    return fail_value(d, program, "values[].row_stride or alias_offset: no such expression", index,
                      program.dim_exprs.size, 0);
  if (v->kind == ValueKind::kConstant) {
    if (v->alias != AliasKind::kNone)
      return fail_value(d, program, "values[].alias of a constant", index, 0, uint64_t(v->alias));
    INGOT_TRY(validate_constant(file, program, v, index, d));
  } else {
    if (v->packing != Packing::kDense)
      return fail_value(d, program, "values[].packing: constants only", index, 0,
                        uint64_t(v->packing));
    if (v->inline_data || v->segment != 0 || v->segment_offset != 0)
      return fail_value(d, program, "values[].segment: constants only", index, 0, v->segment);
    if (is_widened(*v))
      return fail_value(d, program, "values[].stored: constants only", index, 0,
                        uint64_t(v->stored));
  }
  if (v->alias == AliasKind::kNone) {
    if (v->alias_of != -1 || v->alias_offset != 0)
      return fail_value(d, program, "values[].alias_of without alias", index, uint64_t(-1),
                        uint64_t(int64_t{v->alias_of}));
    return {};
  }
  if (v->kind != ValueKind::kActivation && v->kind != ValueKind::kOutput)
    return fail_value(d, program, "values[].alias: activations and outputs only", index, 0,
                      uint64_t(v->kind));
  if (v->alias_of < 0 || v->alias_of >= count || v->alias_of == index)
    return fail_value(d, program, "values[].alias_of", index, uint64_t(count),
                      uint64_t(int64_t{v->alias_of}));
  if (v->alias == AliasKind::kInPlace && v->alias_offset != 0)
    return fail_value(d, program, "values[].alias_offset of an in_place value", index, 0,
                      uint64_t(v->alias_offset));
  return {};
}

/// A value against the one that it lies in, whose root is known.
Status validate_alias(const ProgramDef& program, int32_t index, ErrorDetail* d) {
  const ValueDef& v = program.values[size_t(index)];
  const ValueDef& parent = program.values[size_t(v.alias_of)];
  const ValueDef& root = program.values[size_t(parent.root)];
  const bool view = v.alias == AliasKind::kView;
  if (view ? v.dtype != parent.dtype : dtype_bytes(v.dtype) != dtype_bytes(parent.dtype))
    return fail_value(d, program, "values[].dtype differs from that of alias_of", index,
                      uint64_t(parent.dtype), uint64_t(v.dtype));
  if (root.packing != Packing::kDense)
    return fail_value(d, program, "values[].alias_of a packed constant", index, 0,
                      uint64_t(root.packing));
  const bool read_only = root.kind == ValueKind::kConstant || root.kind == ValueKind::kInput;
  if (read_only && (!view || v.kind == ValueKind::kOutput))
    return fail_value(d, program, "values[].alias_of: constants and inputs are never written",
                      index, 0, uint64_t(root.kind));
  return {};
}

}  // namespace

Status validate_values(const FileView& file, ProgramDef* program, ValueDef* values,
                       int32_t* scratch, ErrorDetail* detail) {
  const size_t count = program->values.size;
  for (size_t i = 0; i < count; i++) {
    INGOT_TRY(validate_value(file, *program, &values[i], int32_t(i), detail));
    INGOT_TRY(place_widened(program, &values[i], int32_t(i), detail));
  }
  // root: -1 not reached, -2 on the way. Each value enters the path once.
  constexpr int32_t kUnseen = -1, kOnPath = -2;
  for (size_t i = 0; i < count; i++)
    values[i].root = values[i].alias == AliasKind::kNone ? int32_t(i) : kUnseen;
  for (size_t i = 0; i < count; i++) {
    size_t length = 0;
    int32_t at = int32_t(i);
    for (; values[at].root == kUnseen; at = values[at].alias_of) {
      values[at].root = kOnPath;
      scratch[length++] = at;
    }
    if (values[at].root == kOnPath)
      return fail_value(detail, *program, "values[].alias_of: a cycle", at, 0, 0);
    while (length > 0) {
      const int32_t child = scratch[--length];
      INGOT_TRY(validate_alias(*program, child, detail));
      values[child].root = values[values[child].alias_of].root;
    }
  }
  return {};
}

}  // namespace ingot
