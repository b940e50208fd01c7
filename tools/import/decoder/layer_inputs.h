// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/layer_inputs.h - what each layer reads of a token besides the row that goes
// through all of them (Gemma 3n and 4): a row of a table, and a part of a product of the embedding.
//
//   p = (norm(x W / sqrt(width)) + table[token] * sqrt(w)) / sqrt(2), w of it for each layer
//   x = x + norm((gelu(x G) * p[layer]) P), then times a number of the layer
#pragma once
#include <cmath>

#include "tools/import/decoder/latent_attention.h"

namespace ingot::decoder {

class LayerInputs : protected LatentAttention {
 public:
  using LatentAttention::LatentAttention;

 protected:
  /// x [T, width]: the embedding of `ids`.
  void read_layer_inputs(ValueId x, ValueId ids) {
    const int64_t width = n_.layer_input, layers = int64_t(n_.layers.size()), all = layers * width;
    if (width == 0) return;
    const Dim tokens = b_.dims(x)[0];
    const auto split = [&](ValueId of) {
      return b_.reshape(of, {tokens, Dim(layers), Dim(width)});
    };
    const int64_t most = n_.layer_vocabulary ? n_.layer_vocabulary : n_.vocabulary;
    if (most < n_.vocabulary)  // tokens that stand for no text have the row of the first
      ids = b_.emit(op::Where, {b_.emit(op::Less, {ids, whole(DType::kI32, most)}), ids,
                                whole(DType::kI32, 0)});
    const ValueId own = rows(weights_.matrix(Role::kLayerTable, 0, most, all), ids);
    const ValueId projected = scaled(linear(x, Role::kLayerProduct, 0, all, n_.width, kNoBias),
                                     1 / std::sqrt(double(n_.width)));
    const ValueId sum = b_.emit(op::Add, {norm(split(projected), Role::kLayerNorm, 0, width),
                                          split(scaled(own, std::sqrt(double(width))))});
    inputs_ = b_.reshape(scaled(sum, std::sqrt(0.5)), {tokens, Dim(all)});
  }
  /// What the tokens have of it, where only some of them go on.
  template <class Rows>
  void choose_layer_inputs(const Rows& chosen) {
    if (inputs_ != kAbsent) inputs_ = chosen(inputs_);
  }
  /// What layer i makes of its input and x.
  ValueId of_layer_input(ValueId x, int64_t i) {
    const int64_t width = n_.layer_input;
    const ValueId part = b_.slice(inputs_, 1, Dim(i * width), Dim((i + 1) * width)),
                  gate = activated(linear(x, Role::kLayerGate, i, width, n_.width, kNoBias), i),
                  y = linear(b_.emit(op::Mul, {gate, part}), Role::kLayerOut, i, n_.width, width,
                             kNoBias);
    return norm(y, Role::kLayerOutNorm, i, n_.width);
  }
  /// x behind layer i.
  ValueId with_layer_input(ValueId x, int64_t i) {
    if (n_.layer_input) x = b_.emit(op::Add, {x, of_layer_input(x, i)});
    if (!weights_.has(Role::kLayerScale, Part::kWeight, i)) return x;
    return b_.emit(op::Mul, {x, weights_.vector(Role::kLayerScale, Part::kWeight, i, 1)});
  }

 private:
  ValueId inputs_ = kAbsent;  // [T, layers * width]
};

}  // namespace ingot::decoder
