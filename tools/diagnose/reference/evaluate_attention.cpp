// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/op/attention_blocks.h"
#include "tools/diagnose/reference/evaluator.h"

namespace ingot::reference {
namespace {

/// Element d of token t of head h of batch b, whichever of the two layouts. `is_8`: rows of codes
/// and scales.
struct Heads {
  const Tensor& x;
  int64_t heads;
  bool is_8 = false;
  int64_t length() const { return x.dims[x.dims.size() - 2]; }
  int64_t row() const { return x.dims.size() == 4 ? x.dims[3] : x.dims[2] / heads; }
  int64_t dim() const {
    return is_8 ? row() / attention::kScaledBytes * attention::kScaledUnit : row();
  }
  size_t at(int64_t b, int64_t h, int64_t t, int64_t d) const {
    return size_t(x.dims.size() == 4 ? offset_of(x.dims, {b, h, t, d})
                                     : offset_of(x.dims, {b, t, h * row() + d}));
  }
  double number(int64_t b, int64_t h, int64_t t, int64_t d) const {
    if (!is_8) return x.at[at(b, h, t, d)];
    const size_t from = at(b, h, t, dim() + d / attention::kScaledUnit * 4);
    uint8_t bytes[4];
    for (size_t i = 0; i < 4; i++) bytes[i] = uint8_t(x.at[from + i]);
    float scale;
    std::memcpy(&scale, bytes, 4);
    return int8_t(uint8_t(x.at[at(b, h, t, d)])) * double(scale);
  }
};

}  // namespace

std::vector<Tensor> evaluate_attention(Evaluator& e, const graph::Node& node) {
  if (node.op != op::Attention) return {};
  const int64_t heads = node.integer(attr::heads, 1), kv_heads = node.integer(attr::kv_heads, 1),
                group = heads / kv_heads;
  const bool is_8 = e.dtype(node.inputs[1]) == DType::kU8;
  const Heads q{e.in(node, 0), heads}, k{e.in(node, 1), kv_heads, is_8},
      v{e.in(node, 2), kv_heads, is_8};
  const double scale = node.number(attr::scale, 1), cap = node.number(attr::softcap, 0);
  const std::string causal = node.text(attr::causal, "none");
  Dimensions dims;
  if (!e.declared(node, 0, dims)) dims = {q.x.dims[0], heads, q.length(), v.dim()};
  Tensor y{dims, {}};
  y.at.resize(size_t(y.elements()));
  const Heads out{y, heads};
  for_each_index({q.x.dims[0], heads, q.length()}, [&](const Dimensions& at) {
    int64_t keys = e.has(node, 4)
                       ? int64_t(e.in(node, 4).at[e.in(node, 4).at.size() > 1 ? size_t(at[0]) : 0])
                       : k.length();
    const int64_t count = keys,
                  batch = e.has(node, 5) ? int64_t(e.in(node, 5).at[size_t(at[0])]) : at[0];
    if (causal == "top_left") keys = std::min(keys, at[2] + 1);
    if (causal == "bottom_right")
      keys = std::max<int64_t>(0, std::min(keys, at[2] + 1 + count - q.length()));
    std::vector<double> weights;
    const std::string empty = node.text(attr::empty_rows, "zero");
    const double hidden = empty == "mean" ? -double(std::numeric_limits<float>::max()) : -INFINITY;
    double top = -double(std::numeric_limits<float>::max()), sum = 0;
    for (int64_t j = 0; j < keys; j++) {
      double score = 0;
      for (int64_t d = 0; d < q.dim(); d++)
        score += q.x.at[q.at(at[0], at[1], at[2], d)] * k.number(batch, at[1] / group, j, d);
      score *= scale;
      if (cap > 0) score = cap * std::tanh(score / cap);
      if (e.has(node, 3)) {
        const double mask = broadcast_at(e.in(node, 3), {at[0], at[1], at[2], j});
        score =
            e.dtype(node.inputs[3]) == DType::kBool ? (mask != 0 ? score : hidden) : score + mask;
      }
      weights.push_back(score);
      top = std::max(top, score);
    }
    if (e.has(node, attention::kSinks)) {
      const double sink = std::min(e.in(node, attention::kSinks).at[size_t(at[1])],
                                   double(std::numeric_limits<float>::max()));
      top = std::max(top, sink), sum = std::exp(sink - top);
    }
    for (double& w : weights) sum += w = std::exp(w - top);
    for (int64_t d = 0; d < v.dim(); d++) {
      double all = 0;
      for (int64_t j = 0; j < keys; j++)
        all += weights[size_t(j)] * v.number(batch, at[1] / group, j, d);
      y.at[out.at(at[0], at[1], at[2], d)] = sum != 0                           ? all / sum
                                             : empty == "nan" && k.length() > 0 ? double(NAN)
                                                                                : 0;
    }
  });
  return {y};
}

}  // namespace ingot::reference
