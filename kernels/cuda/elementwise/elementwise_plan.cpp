// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/elementwise/elementwise_plan.cpp - broadcasting as strides, neighbouring dimensions
// merged.
#include "kernels/cuda/cuda_kernels.h"

namespace ingot::cuda {
namespace {

void set_strides(const TensorView& x, const TensorType& y, GridOperand* o) {
  int64_t stride = 1;
  for (int i = y.rank - 1, k = x.rank - 1; i >= 0; i--, k--) {
    o->strides[i] = k >= 0 && x.dims[k] != 1 ? stride : 0;
    if (k >= 0) stride = k == x.rank - 1 ? int64_t{x.row_stride} : stride * x.dims[k];
  }
  o->data = x.as<char>();
  o->dtype = x.dtype;
}

/// Merges dimension i into i + 1 wherever each operand's step over i is its whole run over i + 1.
/// Extents of 1 disappear.
void merge_dims(ElementwiseParams* p) {
  const int operands = p->inputs + 1;
  int kept = 0;
  for (int i = 0; i < p->rank; i++) {
    if (p->dims[i] == 1) continue;
    bool merges = kept > 0;
    for (int k = 0; k < operands && merges; k++) {
      const int64_t* s = p->operands[k].strides;
      merges = s[kept - 1] == s[i] * p->dims[i];
    }
    if (merges) kept--;
    p->dims[kept] = (merges ? p->dims[kept] : 1) * p->dims[i];
    for (int k = 0; k < operands; k++) p->operands[k].strides[kept] = p->operands[k].strides[i];
    kept++;
  }
  if (kept == 0) {
    p->dims[kept] = 1;
    for (int k = 0; k < operands; k++) p->operands[k].strides[kept] = 0;
    kept = 1;
  }
  p->rank = kept;
  for (int k = 0; k < operands; k++) {
    GridOperand& o = p->operands[k];
    o.is_linear = true;
    for (int64_t i = kept - 1, run = 1; i >= 0; run *= p->dims[i--])
      o.is_linear = o.is_linear && (o.strides[i] == run || p->dims[i] == 1);
  }
}

/// Functions of the C library, whose bits another library does not promise, stay on the CPU.
bool supports_elementwise(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  if (t.compute != ComputeType::kF64) return true;
  for (uint32_t i = 0; i < t.step_count; i++)
    if (f64_bits(t.steps[i].op) == FunctionBits::kLibrary) return false;
  return true;
}

uint64_t f16_operands_of_chain(const OpArguments& a, const GpuTraits&) {
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  return t.step_count == 0 || t.compute == ComputeType::kF32 ? ~uint64_t{0} : 0;
}

/// The type that a conversion goes through: exact for every value of the source.
ComputeType conversion_type(DType from) {
  switch (from) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return ComputeType::kF32;
    case DType::kF64: return ComputeType::kF64;
    case DType::kU64: return ComputeType::kU64;
    default: return ComputeType::kI64;
  }
}

KernelId kernel_of(ComputeType compute) {
  switch (compute) {
    case ComputeType::kF32: return KernelId::elementwise_f32;
    case ComputeType::kF64: return KernelId::elementwise_f64;
    case ComputeType::kI64: return KernelId::elementwise_i64;
    case ComputeType::kU64: return KernelId::elementwise_u64;
  }
  return KernelId::elementwise_f32;
}

#define INGOT_VECTORIZED(function, expression) case ElementwiseOp::function:
bool is_vectorized_op(ElementwiseOp op) {
  switch (op) {
#include "kernels/cuda/elementwise/vectorized_functions.def"
    return true;
    default: return false;
  }
}
/// Whether every step reads operands, constants and the result before alone.
bool is_straight(const ElementwiseParams& p) {
  for (int i = 0; i < p.step_count; i++) {
    const ElementwiseStep& s = p.steps[i];
    if (!is_vectorized_op(s.op)) return false;
    const uint8_t registers[3] = {s.a, s.b, s.c};
    for (int k = 0; k < elementwise_arity(s.op); k++)
      if (registers[k] != kConstantRegister && int(registers[k]) >= p.inputs &&
          int(registers[k]) != p.inputs + i - 1)
        return false;
  }
  return true;
}
/// An operand of a vectorized chain: neighbours lie side by side, where four of them are aligned,
/// or are one element.
bool make_vectorized(const ElementwiseParams& p, const GridOperand& o, VectorizedOperand* q) {
  const int last = p.rank - 1;
  if (o.dtype != DType::kF32 && o.dtype != DType::kF16 && o.dtype != DType::kBF16) return false;
  if (o.strides[last] != 0 && o.strides[last] != 1) return false;
  *q = {o.data, {0, 0}, o.dtype, o.strides[last] == 1};
  for (int i = 0; i < last; i++) q->strides[kVectorizedRank - 1 - last + i] = o.strides[i];
  const uint64_t bytes = uint64_t(dtype_bytes(o.dtype));
  const uint64_t bits = reinterpret_cast<uintptr_t>(o.data) |
                        (uint64_t(q->strides[0]) | uint64_t(q->strides[1])) * bytes;
  return !q->is_row || bits % (4 * bytes) == 0;
}
/// False: the chain needs the kernel that knows everything.
bool make_vectorized_chain(const ElementwiseParams& p, VectorizedParams* q) {
  const int last = p.rank - 1;
  if (p.rank > kVectorizedRank || p.dims[last] % 4 != 0 || p.count > INT32_MAX || !is_straight(p))
    return false;
  for (int k = 0; k <= p.inputs; k++)
    if (!make_vectorized(p, p.operands[k], &q->operands[k])) return false;
  if (!q->operands[p.inputs].is_row) return false;
  q->groups = p.count / 4;
  q->last = fast_divisor(p.dims[last] / 4);
  q->middle = fast_divisor(p.rank > 1 ? p.dims[last - 1] : 1);
  q->inputs = p.inputs;
  q->step_count = p.step_count;
  for (int i = 0; i < p.step_count; i++) q->steps[i] = p.steps[i];
  return true;
}

Status plan_elementwise(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  const TensorView& y = a.outputs[0];
  if (y.elements() == 0) return {};
  ElementwiseParams p = {};
  p.count = y.elements();
  p.rank = y.rank;
  p.inputs = a.input_count;
  p.step_count = int(t.step_count);
  for (int i = 0; i < y.rank; i++) p.dims[i] = y.dims[i];
  for (int k = 0; k < p.inputs; k++) set_strides(a.inputs[k], y, &p.operands[k]);
  set_strides(y, y, &p.operands[p.inputs]);
  for (uint32_t i = 0; i < t.step_count; i++) p.steps[i] = t.steps[i];
  merge_dims(&p);
  ComputeType compute = t.compute;
  if (t.step_count == 0) {
    compute = conversion_type(a.inputs[0].dtype);
    if (a.inputs[0].dtype == y.dtype) {  // bits as they are
      const int bytes = dtype_bytes(y.dtype);
      const DType same = bytes == 8   ? DType::kI64
                         : bytes == 4 ? DType::kU32
                         : bytes == 2 ? DType::kU16
                                      : DType::kU8;
      p.operands[0].dtype = p.operands[1].dtype = same;
      compute = ComputeType::kI64;
    }
  }
  VectorizedParams vectorized = {};
  if (compute == ComputeType::kF32 && make_vectorized_chain(p, &vectorized))
    return launch(work, KernelId::elementwise_vectorized,
                  blocks_for(vectorized.groups, 256, work.traits), vectorized);
  for (int i = 0; i < p.rank; i++) p.by_dims[i] = fast_divisor(p.dims[i]);
  return launch(work, kernel_of(compute), blocks_for(p.count, 256, work.traits), p);
}

constexpr GpuKernelEntry kElementwiseTable[] = {{OpCode::kElementwise,
                                                 "elementwise",
                                                 supports_elementwise,
                                                 nullptr,
                                                 plan_elementwise,
                                                 {},
                                                 f16_operands_of_chain}};

}  // namespace

const Span<const GpuKernelEntry> kElementwiseRows = Span<const GpuKernelEntry>(kElementwiseTable);

}  // namespace ingot::cuda
