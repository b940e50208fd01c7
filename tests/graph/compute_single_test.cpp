// SPDX-License-Identifier: Apache-2.0
// Programs in half precision: computed in f32 between ports that keep their types.
#include "tools/graph/compute_single.h"

#include <doctest/doctest.h>

#include "tests/support/graph_evaluator.h"
#include "tools/graph/tensor_math.h"

using namespace ingot;
using namespace ingot::graph;

namespace {

ValueId value(Model& model, const char* name, DType dtype, std::vector<int64_t> dims) {
  const ValueId id = model.add_value(name, dtype);
  model.values[size_t(id)].dims.assign(dims.begin(), dims.end());
  model.values[size_t(id)].shape_known = true;
  return id;
}

Node& add(Model& model, Operator op, std::vector<ValueId> inputs, ValueId output) {
  Node node;
  node.op = op;
  node.name = text(op);
  node.inputs = std::move(inputs);
  node.outputs = {output};
  model.graph.nodes.push_back(std::move(node));
  return model.graph.nodes.back();
}

/// x [1,2] f16 -> MatMul with a constant -> y [1,2] f16.
Model product(DType half) {
  Model model;
  const ValueId x = value(model, "x", half, {1, 2}), y = value(model, "y", half, {1, 2});
  const ValueId w =
      model.add_constant("w", make_floating(half, {2, 2}, {1, -0.5, 65504, 6.103515625e-05}));
  model.graph.inputs = {x};
  model.graph.outputs = {y};
  add(model, op::MatMul, {x, w}, y);
  return model;
}

}  // namespace

TEST_CASE("a product of half precision is computed in f32 between ports that keep their types") {
  for (const DType half : {DType::kF16, DType::kBF16}) {
    Model model = product(half);
    CHECK(compute_in_single(model) == 3);
    REQUIRE(model.graph.nodes.size() == 3);
    const Node &in = model.graph.nodes[0], &product = model.graph.nodes[1],
               &out = model.graph.nodes[2];
    CHECK(in.op == op::Cast);
    CHECK(product.op == op::MatMul);
    CHECK(out.op == op::Cast);
    CHECK(in.inputs[0] == model.graph.inputs[0]);
    CHECK(out.outputs[0] == model.graph.outputs[0]);
    CHECK(DType(in.integer(attr::to, 0)) == DType::kF32);
    CHECK(DType(out.integer(attr::to, 0)) == half);
    const auto type = [&](ValueId id) { return model.values[size_t(id)].dtype; };
    CHECK(type(model.graph.inputs[0]) == half);
    CHECK(type(model.graph.outputs[0]) == half);
    CHECK(model.values[size_t(model.graph.inputs[0])].name == "x");
    CHECK(model.values[size_t(model.graph.outputs[0])].name == "y");
    for (const ValueId id : {product.inputs[0], product.inputs[1], product.outputs[0]})
      CHECK(type(id) == DType::kF32);
    const Constant& w = *model.constant(product.inputs[1]);
    REQUIRE(w.dtype == DType::kF32);
    for (int64_t i = 0; i < 4; i++)
      CHECK(double(w.as<float>()[i]) ==
            rounded_to(half, std::vector<double>{1, -0.5, 65504, 6.103515625e-05}[size_t(i)]));
    REQUIRE(model.notes.size() == 1);
    CHECK(model.notes[0].find("3 of ") != std::string::npos);
  }
}

TEST_CASE("what autocast puts before a product is no rounding any more") {
  Model model = product(DType::kF16);
  const ValueId wide = value(model, "wide", DType::kF32, {1, 2}),
                narrow = value(model, "narrow", DType::kF16, {1, 2});
  model.graph.inputs = {wide};
  add(model, op::Cast, {wide}, narrow).attributes[attr::to] = int64_t(DType::kF16);
  std::swap(model.graph.nodes[0], model.graph.nodes[1]);
  model.graph.nodes[1].inputs[0] = narrow;
  CHECK(compute_in_single(model) > 0);
  CHECK(DType(model.graph.nodes[0].integer(attr::to, 0)) == DType::kF32);
  CHECK(model.values[size_t(narrow)].dtype == DType::kF32);
  CHECK(model.values[size_t(model.graph.inputs[0])].dtype == DType::kF32);
}

TEST_CASE(
    "elementwise operators and movement stay as they are, also in a branch; a product in a branch "
    "does not") {
  Model model;
  const ValueId x = value(model, "x", DType::kF16, {2}), y = value(model, "y", DType::kF16, {2});
  model.graph.inputs = {x};
  model.graph.outputs = {y};
  add(model, op::Add, {x, x}, y);
  CHECK(compute_in_single(model) == 0);
  CHECK(model.graph.nodes.size() == 1);
  CHECK(model.notes.empty());

  const ValueId inner = value(model, "inner", DType::kF16, {2}),
                whether = value(model, "whether", DType::kBool, {});
  const auto branch = [&](Operator op) {
    auto body = std::make_shared<Graph>();
    Node node;
    node.op = op;
    node.inputs = {x};
    node.outputs = {inner};
    body->nodes.push_back(std::move(node));
    body->outputs = {inner};
    return body;
  };
  model.graph.nodes.clear();
  Node& choice = add(model, op::If, {whether}, y);
  choice.attributes[attr::then_branch] = branch(op::Neg);
  choice.attributes[attr::else_branch] = branch(op::Identity);
  CHECK(compute_in_single(model) == 0);
  model.graph.nodes.back().attributes[attr::else_branch] = branch(op::ReduceSum);
  CHECK(compute_in_single(model) == 3);
  CHECK(model.values[size_t(inner)].dtype == DType::kF32);
}

TEST_CASE("keys and values that are kept in f16 stay so where queries are f32") {
  for (const DType queries : {DType::kF32, DType::kF16}) {
    Model model;
    const ValueId q = value(model, "q", queries, {1, 3, 8}),
                  row = value(model, "row", DType::kF16, {3, 8}),
                  at = value(model, "at", DType::kI64, {3, 1}),
                  kept = value(model, "kept", DType::kF16, {5, 8}),
                  next = value(model, "next", DType::kF16, {5, 8}),
                  keys = value(model, "keys", DType::kF16, {1, 5, 8}),
                  y = value(model, "y", queries, {1, 3, 8});
    model.graph.inputs = {q, row, at, kept};
    model.graph.outputs = {y, next};
    add(model, op::ScatterND, {kept, at, row}, next);
    add(model, op::Reshape, {next}, keys);
    add(model, op::Attention, {q, keys, keys}, y);
    const bool is_single = queries == DType::kF32;
    CHECK((compute_in_single(model) == 0) == is_single);
    CHECK(model.values[size_t(keys)].dtype == (is_single ? DType::kF16 : DType::kF32));
    if (!is_single) continue;
    model.graph.nodes[0].attributes[attr::reduction] = std::string("add");
    CHECK(compute_in_single(model) > 0);
  }
}

TEST_CASE("the reference's attention over rows of 8 bits is that over their numbers") {
  constexpr int64_t kKeys = 3, kHeads = 2, kDim = 32, kRow = kDim + 4;
  const auto result = [&](DType kept, int64_t row, const test::Tensor& keys) {
    Model model;
    const ValueId q = value(model, "q", DType::kF32, {1, 1, kHeads * kDim}),
                  k = value(model, "k", kept, {1, kKeys, kHeads * row}),
                  y = value(model, "y", DType::kF32, {1, 1, kHeads * kDim});
    Node& node = add(model, op::Attention, {q, k, k}, y);
    node.attributes = {{attr::heads, kHeads}, {attr::kv_heads, kHeads}, {attr::scale, 0.1}};
    test::Evaluator evaluator(model);
    test::Tensor queries{{1, 1, kHeads * kDim}, {}};
    for (int64_t i = 0; i < kHeads * kDim; i++) queries.at.push_back(double(i % 7) - 3);
    evaluator.set(q, queries), evaluator.set(k, keys);
    evaluator.run(model.graph);
    return evaluator.get(y).at;
  };
  test::Tensor codes{{1, kKeys, kHeads * kRow}, {}}, numbers{{1, kKeys, kHeads * kDim}, {}};
  for (int64_t head = 0; head < kKeys * kHeads; head++) {
    for (int64_t d = 0; d < kDim; d++) {
      const int8_t code = int8_t(head * 41 + d * 29);
      codes.at.push_back(double(uint8_t(code)));
      numbers.at.push_back(code * (head % 2 ? 0.0625 : 0.03125));
    }
    for (const double byte : {0.0, 0.0, head % 2 ? 128.0 : 0.0, 61.0}) codes.at.push_back(byte);
  }
  CHECK(result(DType::kU8, kRow, codes) == result(DType::kF32, kDim, numbers));
}

TEST_CASE("bits are those of the type that the program states, whatever computes beside them") {
  for (const DType half : {DType::kF16, DType::kBF16}) {
    Model model = product(half);
    const ValueId y = model.graph.outputs[0], bits = value(model, "bits", DType::kU16, {1, 2}),
                  back = value(model, "back", half, {1, 2});
    add(model, op::BitCast, {y}, bits);
    add(model, op::BitCast, {bits}, back);
    model.graph.outputs = {back};
    CHECK(compute_in_single(model) == 4);
    size_t casts = 0;
    for (const Node& node : model.graph.nodes) {
      if (node.op != op::BitCast) continue;
      casts++;
      CHECK(dtype_bytes(model.values[size_t(node.inputs[0])].dtype) == 2);
      CHECK(dtype_bytes(model.values[size_t(node.outputs[0])].dtype) == 2);
    }
    CHECK(casts == 2);
    // x, product, to half, bits, back, to f32, and the port
    CHECK(model.graph.nodes.size() == 7);
    CHECK(model.graph.nodes[2].op == op::Cast);
    CHECK(DType(model.graph.nodes[2].integer(attr::to, 0)) == half);
    CHECK(DType(model.graph.nodes[5].integer(attr::to, 0)) == DType::kF32);
  }
  Model alone;
  const ValueId x = value(alone, "x", DType::kF16, {2}), bits = value(alone, "y", DType::kI16, {2});
  alone.graph.inputs = {x};
  alone.graph.outputs = {bits};
  add(alone, op::BitCast, {x}, bits);
  CHECK(compute_in_single(alone) == 0);
}
