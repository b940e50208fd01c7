// SPDX-License-Identifier: Apache-2.0
// Linear and matmul.
#include <doctest/doctest.h>

#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "tests/conformance/weights.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct LinearCase {
  const char* name;
  std::vector<int64_t> x;  // the last is k
  int64_t o;
  ActivationSpec act = {};
  int residual = 0;  // 1 after, 2 first
  bool bias = true;
  int64_t x_padding = 0, y_padding = 0;
};

struct MatMulCase {
  const char* name;
  std::vector<int64_t> a, b, y;
  bool trans_a = false, trans_b = false;
  float alpha = 1;
  int64_t padding = 0;
};

}  // namespace

TEST_CASE("linear: rows, tails, batches and epilogues") {
  const ActivationSpec relu{Activation::kRelu, 0, 0}, gelu{Activation::kGelu, 0, 0},
      tanh{Activation::kTanh, 0, 0};
  const LinearCase cases[] = {
      {"one row", {1, 300}, 1000, relu},
      {"one row of rank 1", {40}, 21, gelu},
      {"one row, residual", {1, 64}, 40, relu, 2},
      {"two rows", {2, 50}, 260},
      {"tokens", {2, 9, 33}, 48, gelu, 1},
      {"many rows", {131, 20}, 30, tanh, 0, false},
      {"views", {7, 11}, 17, relu, 1, true, 5, 3},
      {"k of one", {5, 1}, 16},
      {"k of zero", {4, 0}, 18, relu},
      {"no rows", {0, 8}, 18},
      {"no outputs", {3, 8}, 0},
      {"rows beyond one block", {90, 5000}, 18},
      {"tiles of rows and outputs", {3, 130, 36}, 200, gelu, 2},
  };
  for (const LinearCase& c : cases) {
    LinearAttributes t;
    t.activation = c.act, t.residual_first = c.residual == 2;
    const int64_t k = c.x.back();
    const Weights w = random_weights(Packing::kPanels16, {c.o, k}, 5, k),
                  b = random_weights(Packing::kVector16, {c.o}, 6, 1);
    std::vector<int64_t> y = c.x;
    y.back() = c.o;
    Case test{c.name, OpCode::kLinear, &t, {}, {}, {5e-6, 1e-5}};
    test.inputs = {Tensor(DType::kF32, c.x, c.x_padding).random(1), w.packed,
                   c.bias ? b.packed : Tensor()};
    if (c.residual) test.inputs.push_back(Tensor(DType::kF32, y, c.y_padding).random(2));
    test.outputs = {Tensor(DType::kF32, y, c.y_padding)};
    run_case(test);
    test.oracle_inputs = test.inputs;
    test.oracle_inputs[1] = w.dense;
    if (c.bias) test.oracle_inputs[2] = b.dense;
    run_case(test);
  }
}

TEST_CASE("linear: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(LinearAttributes&, Case&);
  };
  const Wrong wrongs[] = {
      {"linear's x has a last dimension",
       [](LinearAttributes&, Case& c) { c.inputs[0] = Tensor(DType::kF32, {}); }},
      {"linear's weights are [O, K]",
       [](LinearAttributes&, Case& c) {
         c.inputs[1] = Tensor(DType::kF32, {20, 1, 8});
       }},
      {"weights' dims agree with attributes and operands",
       [](LinearAttributes&, Case& c) { c.inputs[0].view().dims[1] = 7; }},
      {"weights have the packing of their method",
       [](LinearAttributes&, Case& c) { c.inputs[1].view().packing = Packing::kDepthwise16; }},
      {"linear's y is [..., O]",
       [](LinearAttributes&, Case& c) { c.outputs[0].view().dims[1] = 19; }},
      {"linear's y is [..., O]",
       [](LinearAttributes&, Case& c) { c.outputs[0] = Tensor(DType::kF32, {60}); }},
      {"an epilogue's activation is known and not prelu",
       [](LinearAttributes& t, Case&) { t.activation.kind = Activation(15); }},
      {"a bias is [O]",
       [](LinearAttributes&, Case& c) { c.inputs[2] = Tensor(DType::kF32, {19}); }},
      {"operand is f32",
       [](LinearAttributes&, Case& c) { c.inputs[2] = Tensor(DType::kF16, {20}); }},
      {"same dimensions",
       [](LinearAttributes&, Case& c) {
         c.inputs.push_back(Tensor(DType::kF32, {4, 20}));
       }},
      {"not too many inputs", [](LinearAttributes&, Case& c) { c.inputs.resize(7, c.inputs[0]); }},
  };
  for (const Wrong& w : wrongs) {
    LinearAttributes t;
    Case c{w.rule, OpCode::kLinear, &t};
    c.inputs = {Tensor(DType::kF32, {3, 8}), Tensor(DType::kF32, {20, 8}, 0, Packing::kPanels16),
                Tensor(DType::kF32, {20}, 0, Packing::kVector16)};
    c.outputs = {Tensor(DType::kF32, {3, 20})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}

TEST_CASE("matmul: transpositions, broadcasts, tails") {
  const MatMulCase cases[] = {
      {"square", {19, 19}, {19, 19}, {19, 19}},
      {"one row", {1, 70}, {70, 200}, {1, 200}},
      {"two rows, tail", {2, 31}, {31, 19}, {2, 19}, false, false, 0.5f, 3},
      {"one row, transposed a", {70, 1}, {70, 33}, {1, 33}, true},
      {"one row, transposed b", {1, 70}, {33, 70}, {1, 33}, false, true},
      {"scores", {2, 3, 17, 24}, {2, 3, 21, 24}, {2, 3, 17, 21}, false, true, 0.25f},
      {"context", {2, 3, 17, 21}, {2, 3, 21, 24}, {2, 3, 17, 24}},
      {"transposed a", {4, 20, 50}, {4, 20, 18}, {4, 50, 18}, true},
      {"both transposed", {20, 45}, {7, 20}, {45, 7}, true, true, -2.0f, 2},
      {"b shared by the batch", {5, 6, 9}, {9, 40}, {5, 6, 40}},
      {"a shared by the batch", {6, 9}, {5, 9, 40}, {5, 6, 40}},
      {"batches broadcast both ways", {3, 1, 4, 5}, {1, 2, 5, 6}, {3, 2, 4, 6}},
      {"one column", {23, 12}, {12, 1}, {23, 1}},
      {"k of zero", {3, 0}, {0, 4}, {3, 4}},
      {"k of zero, one row", {1, 0}, {0, 4}, {1, 4}},
      {"no rows", {2, 0, 4}, {4, 4}, {2, 0, 4}},
      {"more panels than the scratch holds", {9, 900}, {900, 150}, {9, 150}},
      {"views", {7, 11}, {11, 37}, {7, 37}, false, false, 1, 4},
      {"tiles in every direction", {150, 36}, {36, 140}, {150, 140}},
      {"tiles, a batch of transposed b",
       {3, 70, 52},
       {3, 100, 52},
       {3, 70, 100},
       false,
       true,
       0.125f},
      {"tiles, both transposed, odd", {2, 35, 67}, {2, 71, 35}, {2, 67, 71}, true, true, 1, 1},
  };
  for (const MatMulCase& c : cases) {
    MatMulAttributes t;
    t.trans_a = c.trans_a, t.trans_b = c.trans_b, t.alpha = c.alpha;
    Case test{c.name, OpCode::kMatMul, &t, {}, {Tensor(DType::kF32, c.y, c.padding)}, {5e-6, 5e-5}};
    test.inputs = {Tensor(DType::kF32, c.a, c.padding).random(1, -1, 1),
                   Tensor(DType::kF32, c.b, c.padding).random(2, -1, 1)};
    run_case(test);
  }
}

TEST_CASE("matmul: the contract refuses") {
  struct Wrong {
    const char* rule;
    std::vector<int64_t> a, b, y;
  };
  const Wrong wrongs[] = {
      {"matmul's operands are matrices", {4}, {4, 5}, {5}},
      {"matmul's operands are matrices", {3, 4}, {4}, {3}},
      {"matmul's inner dimensions agree", {3, 4}, {5, 6}, {3, 6}},
      {"matmul's y has the larger rank", {2, 3, 4}, {4, 5}, {6, 5}},
      {"matmul's y is [..., M, N]", {3, 4}, {4, 5}, {2, 5}},
      {"matmul's y is [..., M, N]", {3, 4}, {4, 5}, {3, 6}},
      {"matmul's batch dimensions broadcast", {2, 3, 4}, {3, 4, 5}, {2, 3, 5}},
      {"matmul's y has the broadcast batch", {1, 3, 4}, {3, 4, 5}, {1, 3, 5}},
  };
  for (const Wrong& w : wrongs) {
    const MatMulAttributes t;
    CHECK(refusal({w.rule,
                   OpCode::kMatMul,
                   &t,
                   {Tensor(DType::kF32, w.a), Tensor(DType::kF32, w.b)},
                   {Tensor(DType::kF32, w.y)}}) == w.rule);
  }
}
