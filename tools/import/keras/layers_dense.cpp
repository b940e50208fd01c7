// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_dense.cpp - products with a matrix, and rows of a table.
#include "tools/import/aten/arithmetic.h"
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

void dense(LayerCall& call) {
  const int64_t units = call.integer("units", 0);
  const bool bias = call.truth("use_bias", true);
  const std::string activation = call.activation("activation");
  const std::vector<Weight> w = call.weights(bias ? 2 : 1);
  if (w[0].dims.size() != 2)
    call.corrupt("its kernel has " + std::to_string(w[0].dims.size()) + " dimensions, expected 2");
  call.expect_dims(w[0], {call.extent(call.rank() - 1), units}, "kernel");
  ValueId x = call.b.emit(op::MatMul, {call.input(), call.net.constant(w[0])});
  if (bias) {
    call.expect_dims(w[1], {units}, "bias");
    x = call.b.emit(op::Add, {x, call.net.constant(w[1])});
  }
  call.give(call.net.activation(x, activation, call.b.rank(x) - 1));
}

/// `count` weights, the first of them the table.
void look_up(LayerCall& call, size_t count) {
  const int64_t rows = call.integer("input_dim", 0), width = call.integer("output_dim", 0);
  const bool masks_zero = call.truth("mask_zero", false);
  const std::vector<Weight> w = call.weights(count);
  call.expect_dims(w[0], {rows, width}, "table");
  if (count > 1) call.expect_dims(w[1], {width, rows}, "reverse table");
  const ValueId indices = call.b.cast(call.input(), DType::kI32);
  call.give(
      call.b.emit(op::Gather, {call.net.constant(w[0]), indices}, {{attr::axis, int64_t(0)}}));
  if (!masks_zero) return;
  if (call.b.rank(indices) != 2)
    call.refuse("mask_zero", "of other than [batch, steps] is not built");
  const aten::Term number = {&call.b, indices};
  call.output_masks = {(!equal(number, 0)).id};
}

void embedding(LayerCall& call) { look_up(call, 1); }

/// An Embedding: calls with reverse=True are refused in import.cpp.
void reversible_embedding(LayerCall& call) {
  look_up(call, call.truth("tie_weights", true) ? 1 : 2);
}

/// Steps that are one number everywhere are left out, and are zeros.
void masking(LayerCall& call) {
  call.expect_rank(3);
  const aten::Term x = {&call.b, call.input()};
  const aten::Term differs = !equal(x, double(float(call.number("mask_value", 0))));
  const aten::Term held = differs.cast(DType::kI32).reduce(op::ReduceMax, {2}) > 0.0;
  const graph::Dims dims = x.dims();
  call.give(where(held.reshape({dims[0], dims[1], graph::Dim(1)}), x, 0).id);
  (void)call.mask();  // another one ends here
  call.output_masks = {held.id};
}

}  // namespace

void add_dense(TranslateTable& table) {
  table["Dense"] = dense;
  table["Embedding"] = embedding;
  table["ReversibleEmbedding"] = reversible_embedding;
  table["Masking"] = masking;
}

}  // namespace ingot::keras
