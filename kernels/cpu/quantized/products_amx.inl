// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/products_amx.inl - products of bytes by AMX: the rows of its table. Each
// asks whether tiles pay and whether the system gives them; those of vectors stand in the tables
// behind it.
#pragma once
#include "kernels/cpu/quantized/chain.inl"
#include "kernels/cpu/quantized/matmul.inl"

namespace ingot::cpu {
namespace {

// Measured: below these, vectors are as quick.
constexpr int64_t kFewestStepBytes = 16, kFewestTilePixels = 4, kFewestBytes = 64,
                  kFewestBytesOfChain = 32, kFewestProducts = 1 << 19;

/// Sums over runs of `run` bytes, of rows of `row` pixels.
inline bool tiles_run(const TensorView& x, int64_t run, int64_t row) {
  return x.dtype == DType::kU8 && row >= kFewestTilePixels && run >= kFewestStepBytes &&
         step_bytes(round_up(run, 4)) >= kFewestStepBytes;
}
/// The same where `outputs` numbers of `bytes` products each are worth the setting of tiles.
inline bool tiles_pay(int64_t bytes, int64_t outputs) {
  return bytes >= kFewestBytes && bytes * outputs >= kFewestProducts && may_use_tiles();
}
/// A convolution of c channels to the image y.
inline bool tiles_convolve(const QuantizedConv2dAttributes& t, const TensorView& x, int64_t c,
                           const TensorView& y) {
  int64_t dims[4];
  quantized::direct_dims(t, 1, c, dims);
  const bool is_pointwise = t.kernel_h * t.kernel_w * t.stride_h * t.stride_w == 1;
  return tiles_run(x, dims[2] * dims[3], is_pointwise ? y.rows() : int64_t{y.dims[2]}) &&
         tiles_pay(dims[1] * dims[2] * dims[3], y.elements());
}

inline bool amx_direct_supports(const OpArguments& a) {
  const TensorView& x = a.inputs[0];
  return quantized_direct_supports(a) &&
         tiles_convolve(a.as<QuantizedConv2dAttributes>(), x, x.dims[3], a.outputs[0]);
}
inline bool amx_grouped_supports(const OpArguments& a) {
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  const TensorView& x = a.inputs[0];
  return quantized_grouped_supports(a) && tiles_convolve(t, x, x.dims[3] / t.groups, a.outputs[0]);
}
inline bool amx_linear_supports(const OpArguments& a) {
  const TensorView& x = a.inputs[0];
  return quantized_linear_supports(a) && tiles_run(x, x.row_length(), x.rows()) &&
         tiles_pay(x.row_length(), a.outputs[0].elements());
}
inline bool amx_matmul_supports(const OpArguments& a) {
  const TensorView& x = a.inputs[0];
  const int64_t k = x.dims[x.rank - 1];
  return tiles_run(x, k, x.dims[x.rank - 2]) && tiles_pay(k, a.outputs[0].elements());
}
/// A stage of products in a chain, from x to y.
inline bool tiles_run_stage(const TensorView& x, const TensorView& y) {
  return x.dims[3] >= kFewestBytesOfChain && tiles_run(x, x.dims[3], y.dims[2]);
}
inline bool amx_chain_supports(const OpArguments& a) {
  if (!quantized_chain_supports(a)) return false;
  quantized::ChainStages stages;
  quantized::chain_stages(a, &stages);
  const TensorView &x = a.inputs[0], &y = stages.y();
  return (stages.expands() || stages.projects()) && (!stages.expands() || tiles_run_stage(x, x)) &&
         (!stages.projects() || tiles_run_stage(y, y)) && may_use_tiles();
}

constexpr KernelEntry kAmxProducts[] = {
    {OpCode::kQuantizedConv2d, "quantized_conv2d_direct_amx", &kQuantizedConv2dContract,
     amx_direct_supports, quantized_conv2d_direct<V>},
    {OpCode::kQuantizedConv2d, "quantized_conv2d_grouped_amx", &kQuantizedConv2dContract,
     amx_grouped_supports, quantized_conv2d_grouped<V>},
    {OpCode::kQuantizedChain, "quantized_chain_amx", &kQuantizedChainContract, amx_chain_supports,
     quantized_chain<V>},
    {OpCode::kQuantizedMatMul, "quantized_matmul_amx", &kQuantizedMatMulContract,
     amx_matmul_supports, quantized_matmul<V>},
    {OpCode::kQuantizedLinear, "quantized_linear_amx", &kQuantizedLinearContract,
     amx_linear_supports, quantized_linear<V>},
    {},
};

}  // namespace
}  // namespace ingot::cpu
