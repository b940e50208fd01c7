// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/conv_rules.h"

namespace ingot::conv {

using rules::refuse;

bool check_window(const WindowAttributes& t, Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  const uint32_t positive[] = {t.kernel_h, t.kernel_w,   t.stride_h,
                               t.stride_w, t.dilation_h, t.dilation_w};
  for (uint32_t extent : positive)
    if (extent < 1 || extent > kMaxExtent)
      return refuse(v, "kernel, stride and dilation are 1 to 2^20", kAttribute, kMaxExtent, extent);
  const uint32_t pads[] = {t.pad_top, t.pad_left, t.pad_bottom, t.pad_right};
  for (uint32_t pad : pads)
    if (pad > kMaxExtent) return refuse(v, "pads are at most 2^20", kAttribute, kMaxExtent, pad);
  return true;
}

bool check_epilogue(const ActivationSpec& a, Violation* v) {
  if (a.kind == Activation::kPrelu || int(a.kind) >= kActivationCount)
    return refuse(v, "an epilogue's activation is known and not prelu", Violation::kAttribute,
                  int64_t(Activation::kMish), int64_t(a.kind));
  return true;
}

bool output_extent(int64_t in, uint32_t before, uint32_t after, uint32_t kernel, uint32_t stride,
                   uint32_t dilation, int64_t* out) {
  const int64_t span = in + before + after - int64_t(dilation) * (int64_t(kernel) - 1) - 1;
  if (in < 0 || span < 0) return false;
  *out = span / stride + 1;
  return true;
}

bool check_weights(const TensorType& w, int operand, Packing packing, const int64_t* dims, int rank,
                   Violation* v) {
  if (w.packing != packing && w.packing != Packing::kDense)
    return refuse(v, "weights have the packing of their method", operand, int64_t(packing),
                  int64_t(w.packing));
  if (w.rank != rank)
    return refuse(v, "weights have the rank of their method", operand, rank, w.rank);
  for (int i = 0; i < rank; i++)
    if (w.dims[i] != dims[i])
      return refuse(v, "weights' dims agree with attributes and operands", operand, dims[i],
                    w.dims[i]);
  uint64_t bytes = 0;
  if (!storage_bytes(w, &bytes) || bytes > uint64_t{1} << 60)
    return refuse(v, "weights are at most 2^60 bytes", operand);
  if (!w.is_dense())
    return refuse(v, "weights are dense over rows", operand, w.row_length(), w.row_stride);
  return true;
}

bool check_bias(const TensorType* bias, int operand, int64_t o, Violation* v) {
  if (!bias) return true;
  if (bias->packing != Packing::kVector16 && bias->packing != Packing::kDense)
    return refuse(v, "a bias is vector16", operand, int64_t(Packing::kVector16),
                  int64_t(bias->packing));
  if (bias->rank != 1 || bias->dims[0] != o)
    return refuse(v, "a bias is [O]", operand, o, bias->rank ? int64_t{bias->dims[0]} : -1);
  return true;
}

bool check_f32(const OpArguments& a, Violation* v) {
  for (int i = 0; i < a.input_count; i++)
    if (a.inputs[i].present() && a.inputs[i].dtype != DType::kF32)
      return refuse(v, "operand is f32", i, int64_t(DType::kF32), int64_t(a.inputs[i].dtype));
  if (a.outputs[0].dtype != DType::kF32)
    return refuse(v, "output is f32", rules::output(0), int64_t(DType::kF32),
                  int64_t(a.outputs[0].dtype));
  return true;
}

}  // namespace ingot::conv
