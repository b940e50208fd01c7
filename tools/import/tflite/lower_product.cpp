// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_product.cpp - matrix products.
#include <cmath>
#include <numeric>

#include "tools/import/tflite/hybrid.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

/// Of a matrix of whole numbers.
Dims weight_dims(Call& call) {
  const std::vector<int64_t> shape = ModelFile::shape(call.tensor(1));
  if (shape.size() != 2)
    call.corrupt("its weights have " + std::to_string(shape.size()) + " dimensions, expected 2");
  return {Dim(shape[0]), Dim(shape[1])};
}

/// x times weights of 4 or 8 bits in blocks of a row, which stay as they are; kAbsent where kernels
/// take no such blocks.
ValueId times_blocks(Call& call, ValueId x) {
  const fb::Tensor& t = call.tensor(1);
  const ModelFile& file = call.translator.file();
  const bool is_half = t.type() == fb::TensorType::int4;
  if (!(is_half || t.type() == fb::TensorType::int8) || !ModelFile::is_quantized(t) ||
      !file.bytes(t).is_there || !call.reads_floats() || !file.quantization(t).is_blockwise)
    return kAbsent;
  const Dims dims = weight_dims(call);
  const int64_t outputs = *dims[0].value(), columns = *dims[1].value();
  const std::string name = ModelFile::name(t, size_t(call.tensor_index(1)));
  const BlockIntegers blocks = read_block_integers(file, *call.scope.graph, t, name);
  const bool fits = blocks.block == columns || blocks.block % 8 == 0;
  bool has_zeros = false, are_int8 = true;
  std::vector<int8_t> numbers(blocks.integers.begin(), blocks.integers.end()), zeros;
  for (const double zero : blocks.zeros) {
    are_int8 &= zero >= -128 && zero <= 127 && zero == std::nearbyint(zero);
    has_zeros |= zero != 0;
    if (are_int8) zeros.push_back(int8_t(zero));
  }
  if (!fits || !are_int8) return kAbsent;
  const std::vector<float> scales(blocks.scales.begin(), blocks.scales.end());
  const auto constant = [&](DType dtype, int64_t width, const void* values) {
    return call.b.constant(graph::make_constant(dtype, {outputs, width}, values));
  };
  const int64_t count = columns / blocks.block;
  std::vector<ValueId> inputs = {x, constant(DType::kI8, columns, numbers.data()), kAbsent, kAbsent,
                                 constant(DType::kF32, count, scales.data())};
  if (has_zeros) inputs.push_back(constant(DType::kI8, count, zeros.data()));
  call.mark_read(1);
  call.on_bytes = true;
  return call.b.emit(
      op::Linear, inputs,
      {{attr::bits, int64_t(is_half ? 4 : 8)}, {attr::block, count > 1 ? blocks.block : 0}});
}

/// Whatever is in front of the last axis counts as rows.
void fully_connected(Call& call) {
  if (call.integer("weights_format") != 0)
    call.refuse("weights_format", "shuffled weights are not supported",
                "export the model with weights in their order");
  aten::Builder& b = call.b;
  const bool is_constant = call.translator.file().bytes(call.tensor(1)).is_there;
  if (!is_constant) call.expect_rank(1, 2);
  const Dims weight = is_constant ? weight_dims(call) : b.dims(call.input(1));  // [O, I]
  ValueId x = call.input(0);
  const Dims in = b.dims(x);
  const bool keep = call.flag("keep_num_dims");
  if (in.empty()) call.corrupt("its input has no dimensions");
  const bool fits = in.back() == weight[1];
  if (keep && !fits)
    call.corrupt("its input has shape " + graph::text(in) + ", its weights " + graph::text(weight));
  if (in.size() != 2 || !fits) {
    const Dim all = graph::product(in);
    Dim rows(1);
    if (fits)
      for (size_t d = 0; d + 1 < in.size(); d++) rows = rows * in[d];
    else if (weight[1].value() && *weight[1].value() > 0)
      rows = all / weight[1];
    if (!fits && rows * weight[1] != all)
      call.corrupt("its input has shape " + graph::text(in) + ", its weights " +
                   graph::text(weight));
    x = b.reshape(x, Dims{rows, weight[1]});
  }
  const auto finish = [&](ValueId y) {
    y = call.activated(y);
    if (keep && in.size() != 2) {
      Dims out(in.begin(), in.end() - 1);
      out.push_back(weight[0]);
      y = b.reshape(y, out);
    }
    call.give(y);
  };
  if (has_hybrid_weights(call, 1, 0))
    return finish(hybrid_linear(call, x, 1, 2, call.flag("asymmetric_quantize_inputs")));
  ValueId bias = call.has(2) ? call.input(2) : kAbsent;
  if (bias != kAbsent && b.rank(bias) != 1) {  // some converters write [1, O]
    if (graph::product(b.dims(bias)) != weight[0])
      call.corrupt("its bias has shape " + graph::text(b.dims(bias)));
    bias = b.reshape(bias, Dims{weight[0]});
  }
  if (const ValueId y = times_blocks(call, x); y != kAbsent)
    return finish(bias == kAbsent ? y : b.emit(op::Add, {y, bias}));
  std::vector<ValueId> inputs = {x, call.input(1)};
  if (bias != kAbsent) inputs.push_back(bias);
  finish(b.emit(op::Gemm, inputs,
                {{attr::alpha, 1.0},
                 {attr::beta, 1.0},
                 {attr::transA, int64_t(0)},
                 {attr::transB, int64_t(1)}}));
}

ValueId swapped(Call& call, ValueId x) {
  const int64_t rank = call.b.rank(x);
  if (rank < 2) call.corrupt("its input has " + std::to_string(rank) + " dimensions");
  std::vector<int64_t> perm(size_t(rank), 0);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[size_t(rank) - 1], perm[size_t(rank) - 2]);
  return call.b.transpose(x, perm);
}
void batch_matmul(Call& call) {
  ValueId x = call.input(0), y = call.input(1);
  if (call.flag("adj_x")) x = swapped(call, x);
  if (call.flag("adj_y")) y = swapped(call, y);
  call.give(call.b.emit(op::MatMul, {x, y}));
}

}  // namespace

void add_product(TranslateTable& table) {
  table["FULLY_CONNECTED"] = {2, 3, fully_connected};
  table["BATCH_MATMUL"] = {2, 2, batch_matmul};
}

}  // namespace ingot::tflite
