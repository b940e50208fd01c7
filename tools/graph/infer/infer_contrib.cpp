// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_contrib.cpp - operators of onnxruntime's optimizer that need the shapes
// of their operands: products with transposed batches, embeddings, inverses, transforms.
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

/// An operand as the product reads it. transBatch moves dimension 0 before the last two.
ValueId product_operand(NodeContext& context, size_t input, bool is_turned, bool turns_batch) {
  const int64_t rank = context.rank(input);
  if (rank < 2) return context.in(input);
  Integers perm;
  for (int64_t i = 0; i < rank; i++) perm.push_back(i);
  if (turns_batch) {  // [M, batch.., K] is [batch.., M, K]
    perm.erase(perm.begin());
    perm.insert(perm.end() - 1, 0);
  }
  if (is_turned) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return context.make(op::Transpose, {context.in(input)}, {{attr::perm, perm}});
}
void fused_matmul(NodeContext& context) {
  const Node& node = context.node;
  const auto flag = [&](AttributeName key) { return node.integer(key, 0) != 0; };
  const ValueId a = product_operand(context, 0, flag(attr::transA), flag(attr::transBatchA)),
                b = product_operand(context, 1, flag(attr::transB), flag(attr::transBatchB));
  const double alpha = node.number(attr::alpha, 1);
  const ValueId y = context.make(op::MatMul, {a, b});
  context.same(
      0, alpha == 1 ? y : context.make(op::Mul, {y, context.scalar(context.dtype(0), alpha)}));
}

/// word[ids] + position[places] + segment[segments], and its norm; how many keys count is output 1.
void embed_norm(NodeContext& context) {
  const Dims ids = context.dims(0);
  if (ids.size() != 2) context.corrupt("its ids have shape " + text(ids) + ", expected [B, S]");
  const auto rows = [&](size_t table, ValueId at) {
    return context.make(op::Gather, {context.in(table), at}, {{attr::axis, int64_t(0)}});
  };
  ValueId places = context.in(8);
  if (places == kAbsent) places = context.reshape(context.counting(ids[1]), {Dim(1), ids[1]});
  ValueId sum = context.make(op::Add, {rows(2, context.in(0)), rows(3, places)});
  if (context.has(4) && context.has(1)) sum = context.make(op::Add, {sum, rows(4, context.in(1))});
  const DType dtype = DType::kI32;
  ValueId lengths = context.expand(context.scalar(dtype, 0), {ids[0]});
  if (context.has(7) && context.node.integer(attr::mask_index_type, 0) == 2)
    lengths = context.in(7);
  else if (context.has(7))
    lengths = context.make(op::ReduceSum, {context.cast(context.in(7), dtype)},
                           {{attr::axes, Integers{1}}, {attr::keepdims, int64_t(0)}});
  const ValueId y = context.make(
      op::LayerNormalization, {sum, context.in(5), context.in(6)},
      {{attr::axis, int64_t(-1)}, {attr::epsilon, context.node.number(attr::epsilon, 1e-12)}});
  context.same(0, y);
  context.same(1, lengths);
  context.same(2, sum);
}

/// Of 1 to 4 rows, by cofactors: determinants of what is left without a row and a column.
void inverse(NodeContext& context) {
  const Dims in = context.dims(0);
  const int64_t n = in.size() < 2 ? 0 : in.back().value().value_or(0);
  if (n < 1 || in[in.size() - 2] != in.back())
    context.corrupt("its input has shape " + text(in) + ", expected [..., M, M]");
  if (n > 4) context.refuse("", "inverses of " + std::to_string(n) + " rows; built are 1 to 4");
  const int64_t last = int64_t(in.size()) - 1;
  const ValueId whole = context.make(op::Det, {context.in(0)});
  const auto without = [&](int64_t row, int64_t column) {
    Integers rows, columns;
    for (int64_t i = 0; i < n; i++) {
      if (i != row) rows.push_back(i);
      if (i != column) columns.push_back(i);
    }
    const auto index = [&](const Integers& at) {
      return context.constant(make_integer(DType::kI64, {n - 1}, at));
    };
    const ValueId some =
        context.make(op::Gather, {context.in(0), index(rows)}, {{attr::axis, last - 1}});
    return context.make(op::Det,
                        {context.make(op::Gather, {some, index(columns)}, {{attr::axis, last}})});
  };
  Dims one(in.begin(), in.end() - 2);
  one.push_back(Dim(1));
  std::vector<ValueId> elements;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      // of the transposed matrix of cofactors
      ValueId cofactor = n == 1 ? context.make(op::Div, {whole, whole}) : without(j, i);
      if ((i + j) % 2 != 0) cofactor = context.make(op::Neg, {cofactor});
      elements.push_back(context.reshape(context.make(op::Div, {cofactor, whole}), one));
    }
  const ValueId flat = context.make(op::Concat, elements, {{attr::axis, last - 1}});
  context.finish_shaped(op::Reshape, flat, in);
}

void real_to_pairs(NodeContext& context) {
  Dims dims = context.dims(0);
  dims.push_back(Dim(1));
  context.finish(op::DFT, {context.reshape(context.in(0), dims)},
                 {{attr::axis, Integers{int64_t(dims.size()) - 2}},
                  {attr::inverse, int64_t(0)},
                  {attr::onesided, context.node.integer(attr::onesided, 1)}});
}
/// The half of a spectrum that is given tells the other one: its conjugates, from the end.
void pairs_to_real(NodeContext& context) {
  const Dims dims = context.dims(0);
  if (dims.size() < 2 || dims.back() != Dim(2))
    context.corrupt("its input has shape " + text(dims) + ", expected [..., n, 2]");
  const int64_t axis = int64_t(dims.size()) - 2;
  const DType dtype = context.dtype(0);
  ValueId all = context.in(0);
  if (context.node.integer(attr::onesided, 1) != 0) {
    const ValueId others = context.make(op::Slice, {all},
                                        {{attr::starts, Dims{dims[size_t(axis)] - Dim(2)}},
                                         {attr::ends, Dims{Dim(0)}},
                                         {attr::axes, Integers{axis}},
                                         {attr::steps, Integers{-1}}});
    const ValueId conjugate =
        context.make(op::Mul, {others, context.constant(make_floating(dtype, {2}, {1, -1}))});
    all = context.make(op::Concat, {all, conjugate}, {{attr::axis, axis}});
  }
  const ValueId pairs = context.make(
      op::DFT, {all},
      {{attr::axis, Integers{axis}}, {attr::inverse, int64_t(1)}, {attr::onesided, int64_t(0)}});
  context.finish(op::Gather, {pairs, context.scalar(DType::kI64, 0)}, {{attr::axis, axis + 1}});
}

void dynamic_pads(NodeContext& context) {
  Attributes attributes = context.node.attributes;
  if (const auto pads = context.integers(attr::pads, 2)) attributes[attr::pads] = *pads;
  std::vector<ValueId> operands = {context.in(0), context.in(1)};
  if (context.has(3)) operands.push_back(context.in(3));
  context.finish(op::ConvTranspose, operands, attributes);
}

}  // namespace

void add_contrib_rules(InferTable& table) {
  table[op::FusedMatMul] = fused_matmul;
  table[op::EmbedLayerNormalization] = embed_norm;
  table[op::Inverse] = inverse;
  table[op::Rfft] = real_to_pairs;
  table[op::Irfft] = pairs_to_real;
  table[op::ConvTransposeWithDynamicPads] = dynamic_pads;
}

}  // namespace ingot::graph
