// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/normalize/normalize_plan.cpp - Softmax and Normalize: rows that a warp holds, rows
// that take a block, columns, channels.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "kernels/cuda/reduce/reduce_params.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kHeldRow = 1024;  // as in softmax.cuh

Status plan_softmax(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const SoftmaxAttributes& t = work.arguments->as<SoftmaxAttributes>();
  const int axis = int(t.axis);
  if (x.elements() == 0) return {};
  SoftmaxParams p = {};
  p.x = x.as<const char>();
  p.y = y.as<char>();
  p.n = x.dims[axis];
  p.lines = x.elements() / p.n;
  p.x_line = x.row_stride;
  p.y_line = y.row_stride;
  p.x_dtype = x.dtype;
  p.y_dtype = y.dtype;
  p.log = t.log;
  if (axis == x.rank - 1) {
    if (p.n > kHeldRow)
      return launch(work, KernelId::softmax_long, blocks_for(p.lines, 1, work.traits), p);
    return launch(work, KernelId::softmax_rows, blocks_for(p.lines, 4, work.traits), p);
  }
  p.columns = fast_divisor(x.row_length());
  p.middle = fast_divisor(extent_of(x, axis + 1, x.rank - 1));
  p.x_axis = stride_of(x, axis);
  p.y_axis = stride_of(y, axis);
  p.x_outer = p.x_axis * p.n;
  p.y_outer = p.y_axis * p.n;
  p.x_middle = x.row_stride;
  p.y_middle = y.row_stride;
  return launch(work, KernelId::softmax_columns, blocks_for(p.lines, 128, work.traits), p);
}

bool by_channel(const OpArguments& a) {
  const NormKind kind = a.as<NormalizeAttributes>().kind;
  return kind == NormKind::kInstance || kind == NormKind::kGroup;
}
uint64_t normalize_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const TensorType& x = a.inputs[0];
  return by_channel(a) ? uint64_t(x.dims[0]) * uint64_t(x.row_length()) * 4 * sizeof(float) : 0;
}

template <class T>
const T* parameter(const OpArguments& a, int i) {
  const TensorView* p = a.optional(i);
  return p ? p->as<const T>() : nullptr;
}

/// Of scale and bias: that of the file, where x and y may be f16.
DType parameter_type(const OpArguments& a) {
  for (int i = 1; i < 3; i++)
    if (const TensorView* p = a.optional(i)) return p->dtype;
  return DType::kF32;
}
/// x and y of rows.
uint64_t f16_operands_of_normalize(const OpArguments& a, const GpuTraits&) {
  return by_channel(a) ? 0 : 1 | uint64_t{1} << a.input_count;
}

Status plan_channels(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const NormalizeAttributes& t = a.as<NormalizeAttributes>();
  NormChannelsParams p = {};
  const int64_t channels = x.row_length();
  p.x = x.as<const float>();
  p.y = y.as<float>();
  p.scale = parameter<float>(a, 1);
  p.bias = parameter<float>(a, 2);
  p.images = x.dims[0];
  p.positions = x.rows() / p.images;
  p.x_stride = x.row_stride;
  p.y_stride = y.row_stride;
  p.channels = fast_divisor(channels);
  p.by_positions = fast_divisor(p.positions);
  p.group = fast_divisor(t.kind == NormKind::kGroup ? channels / t.groups : 1);
  p.epsilon = t.epsilon;
  const int64_t each = p.images * channels;
  p.sums = reinterpret_cast<float*>(work.scratch);
  p.squares = p.sums + each;
  p.means = p.squares + each;
  p.inverses = p.means + each;
  const uint32_t tiles = blocks_for(p.images * ((channels + 31) / 32), 1, work.traits);
  Status status = launch(work, KernelId::norm_channel_sums, tiles, p);
  if (!status.ok()) return status;
  status = launch(work, KernelId::norm_channel_squares, tiles, p);
  if (!status.ok()) return status;
  status = launch(work, KernelId::norm_channel_finish, blocks_for(each, 128, work.traits), p);
  if (!status.ok()) return status;
  return launch(work, KernelId::norm_channel_apply, blocks_for(x.elements(), 256, work.traits), p);
}

Status plan_normalize(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const NormalizeAttributes& t = a.as<NormalizeAttributes>();
  if (x.elements() == 0) return {};
  if (by_channel(a)) return plan_channels(work);
  const bool strided = int(t.axis) == x.rank - 1;
  NormRowsParams p = {};
  p.x = x.as<const char>();
  p.y = y.as<char>();
  p.scale = parameter<char>(a, 1);
  p.bias = parameter<char>(a, 2);
  p.rows = extent_of(x, 0, int(t.axis));
  p.n = extent_of(x, int(t.axis), x.rank);
  p.x_stride = strided ? int64_t{x.row_stride} : p.n;
  p.y_stride = strided ? int64_t{y.row_stride} : p.n;
  p.epsilon = t.epsilon;
  p.x_dtype = x.dtype;
  p.y_dtype = y.dtype;
  p.dtype = parameter_type(a);
  p.has_mean = t.kind == NormKind::kLayer;
  if (p.n > kHeldRow)
    return launch(work, KernelId::norm_long, blocks_for(p.rows, 1, work.traits), p);
  return launch(work, KernelId::norm_rows, blocks_for(p.rows, 4, work.traits), p);
}

constexpr GpuKernelEntry kNormalizeTable[] = {
    {OpCode::kSoftmax, "softmax", nullptr, nullptr, plan_softmax, {}, each_may_be_f16},
    {OpCode::kNormalize,
     "normalize",
     nullptr,
     normalize_scratch,
     plan_normalize,
     {},
     f16_operands_of_normalize}};

}  // namespace

const Span<const GpuKernelEntry> kNormalizeRows = Span<const GpuKernelEntry>(kNormalizeTable);

}  // namespace ingot::cuda
