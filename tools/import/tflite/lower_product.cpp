// tools/import/tflite/lower_product.cpp - matrix products.
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

/// Whatever is in front of the last axis counts as rows.
void fully_connected(Call& call) {
  call.expect_inputs(2, 3);
  if (call.integer("weights_format") != 0)
    call.refuse("weights_format", "shuffled weights are not supported",
                "export the model with weights in their order");
  aten::Builder& b = call.b;
  const bool hybrid = has_hybrid_weights(call, 1, 0);
  if (!hybrid) call.expect_rank(1, 2);
  const Dims weight = hybrid ? weight_dims(call) : b.dims(call.input(1));  // [O, I]
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
  if (hybrid) return finish(hybrid_linear(call, x, 1, 2, call.flag("asymmetric_quantize_inputs")));
  std::vector<ValueId> inputs = {x, call.input(1)};
  if (call.has(2)) {
    if (b.rank(call.input(2)) != 1) {  // some converters write [1, O]
      if (graph::product(b.dims(call.input(2))) != weight[0])
        call.corrupt("its bias has shape " + graph::text(b.dims(call.input(2))));
      inputs.push_back(b.reshape(call.input(2), Dims{weight[0]}));
    } else {
      inputs.push_back(call.input(2));
    }
  }
  finish(b.emit("Gemm", inputs,
                {{"alpha", 1.0}, {"beta", 1.0}, {"transA", int64_t(0)}, {"transB", int64_t(1)}}));
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
  call.expect_inputs(2, 2);
  ValueId x = call.input(0), y = call.input(1);
  if (call.flag("adj_x")) x = swapped(call, x);
  if (call.flag("adj_y")) y = swapped(call, y);
  call.give(call.b.emit("MatMul", {x, y}));
}

}  // namespace

void add_product(TranslateTable& table) {
  table["FULLY_CONNECTED"] = fully_connected;
  table["BATCH_MATMUL"] = batch_matmul;
}

}  // namespace ingot::tflite
