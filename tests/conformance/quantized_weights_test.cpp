// SPDX-License-Identifier: Apache-2.0
// Linear with weights of 8 and 4 bits: rows, tails, blocks, zeros, epilogues; and that the bits are
// those of the same weights as f32.
#include "tests/conformance/quantized_weights.h"

#include <doctest/doctest.h>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/base/checked_math.h"
#include "runtime/op/linear.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct QuantizedCase {
  const char* name;
  Extents x;  // the last is k
  int64_t o;
  uint32_t block = 0;
  ActivationSpec activation = {};
  int residual = 0;  // 1 after, 2 first
  bool bias = true;
  int64_t x_padding = 0, y_padding = 0;
};

/// Output 0 of the first kernel that takes the case, one thread.
Tensor computed(const KernelTable& table, const Case& c) {
  std::vector<TensorView> inputs, outputs;
  for (const Tensor& t : c.inputs) inputs.push_back(t.view());
  Tensor y = c.outputs[0];
  outputs.push_back(y.view());
  OpArguments a;
  a.attributes = c.attributes, a.inputs = inputs.data(), a.outputs = outputs.data();
  a.input_count = uint16_t(inputs.size()), a.output_count = 1;
  const KernelEntry* kernel = find_kernel(table, c.op, a);
  REQUIRE(kernel != nullptr);
  const ScratchNeed need = kernel->contract->scratch(a, 1);
  std::vector<float> scratch(need.per_thread_bytes / 4 + 16);
  Team team;
  team.scratch = scratch.data();
  REQUIRE(kernel->run(a, team).ok());
  return y;
}

}  // namespace

TEST_CASE("linear with quantized weights: rows, tails, blocks, epilogues") {
  const ActivationSpec relu{Activation::kRelu, 0, 0}, gelu{Activation::kGelu, 0, 0};
  const QuantizedCase cases[] = {
      {"one row, one scale an output", {1, 300}, 1000, 0, relu},
      {"one row of rank 1", {40}, 21, 8, gelu},
      {"one row, blocks and a tail", {1, 75}, 40, 32, relu, 2},
      {"one row, k of an odd number of halves", {1, 13}, 70},
      {"a block longer than the row", {1, 20}, 33, 64},
      {"two rows", {2, 50}, 260, 16},
      {"tokens", {2, 9, 33}, 48, 32, gelu, 1},
      {"many rows", {131, 20}, 30, 0, relu, 0, false},
      {"views", {7, 11}, 17, 8, relu, 1, true, 5, 3},
      {"one row of a view", {1, 64}, 17, 32, {}, 0, true, 5, 3},
      {"k of one", {5, 1}, 16},
      {"k of zero", {4, 0}, 18, 8, relu},
      {"k of zero, one row", {1, 0}, 18},
      {"no rows", {0, 8}, 18},
      {"no outputs", {3, 8}, 0},
      {"every panel of a group", {1, 128}, 16 * 7 + 3, 128},
      {"rows beyond one block", {90, 2000}, 18, 128},
  };
  uint32_t seed = 1;
  for (const QuantizedCase& c : cases)
    for (const int bits : {8, 4})
      for (const bool zeros : {false, true}) {
        LinearAttributes t;
        t.activation = c.activation, t.residual_first = c.residual == 2, t.block = c.block;
        const int64_t k = c.x.back();
        const QuantizedWeights w = weights_in_blocks(c.o, k, bits, c.block, zeros, seed);
        const std::vector<float> bias(size_t(c.o), 0.25f);
        const std::vector<float> padded = pack_vector16(bias);
        Extents y = c.x;
        y.back() = c.o;
        const std::string name =
            std::string(c.name) + ", " + std::to_string(bits) + " bits" + (zeros ? ", zeros" : "");
        Case test{name, OpCode::kLinear, &t, {}, {}, {5e-6, 1e-5}};
        test.inputs = {
            Tensor(DType::kF32, c.x, c.x_padding).random(seed + 3), w.packed,
            c.bias
                ? filled(DType::kF32, {c.o}, Packing::kVector16, padded.data(), padded.size() * 4)
                : Tensor(),
            c.residual ? Tensor(DType::kF32, y, c.y_padding).random(seed + 4) : Tensor(), w.scales};
        if (zeros) test.inputs.push_back(w.zeros);
        test.outputs = {Tensor(DType::kF32, y, c.y_padding)};
        run_case(test);
        test.oracle_inputs = test.inputs;
        test.oracle_inputs[1] = w.dense, test.oracle_inputs[4] = w.scales_dense;
        if (zeros) test.oracle_inputs[5] = w.zeros_dense;
        run_case(test);
        CAPTURE(name);
        Case plain = test;
        LinearAttributes whole = t;
        whole.block = 0;
        plain.attributes = &whole, plain.inputs.resize(4), plain.inputs[1] = w.floats;
        for (const char* isa : {"scalar", "sse2", "avx2", "avx512", "neon", "rvv"})
          if (const KernelTable* table = cpu_kernels(isa)) {
            int64_t first = -1;
            CHECK_MESSAGE(computed(*table, test).same_bits(computed(*table, plain), &first), isa,
                          " differs from f32 weights at ", first);
          }
        seed += 7;
      }
}

TEST_CASE("linear with quantized weights: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(LinearAttributes&, Case&);
  };
  const Wrong wrongs[] = {
      {"weights with scales are i8, or u8 of 4 bits",
       [](LinearAttributes&, Case& c) {
         c.inputs[1] = Tensor(DType::kF32, {20, 40}, 0, Packing::kPanels16);
       }},
      {"weights without scales are f32", [](LinearAttributes&, Case& c) { c.inputs.resize(2); }},
      {"zeros and blocks are those of weights with scales",
       [](LinearAttributes&, Case& c) {
         c.inputs.resize(2), c.inputs[1] = Tensor(DType::kF32, {20, 40}, 0, Packing::kPanels16);
       }},
      {"a block is a multiple of 8, at most 2^30",
       [](LinearAttributes& t, Case&) { t.block = 12; }},
      {"weights' dims agree with attributes and operands",
       [](LinearAttributes& t, Case&) { t.block = 8; }},
      {"weights' dims agree with attributes and operands",
       [](LinearAttributes&, Case& c) {
         c.inputs[1] = Tensor(DType::kU8, {20, 40}, 0, Packing::kPanels16x4);
       }},
      {"weights have the packing of their method",
       [](LinearAttributes&, Case& c) {
         c.inputs[1] = Tensor(DType::kU8, {20, 20}, 0, Packing::kPanels16);
       }},
      {"operand is f32",
       [](LinearAttributes&, Case& c) {
         c.inputs[4] = Tensor(DType::kI32, {20, 2}, 0, Packing::kPanels16);
       }},
      {"zeros are i8",
       [](LinearAttributes&, Case& c) {
         c.inputs[5] = Tensor(DType::kU8, {20, 2}, 0, Packing::kPanels16);
       }},
      {"weights' dims agree with attributes and operands",
       [](LinearAttributes&, Case& c) {
         c.inputs[5] = Tensor(DType::kI8, {20, 3}, 0, Packing::kPanels16);
       }},
      {"not too many inputs", [](LinearAttributes&, Case& c) { c.inputs.resize(7, c.inputs[0]); }},
  };
  for (const Wrong& w : wrongs) {
    LinearAttributes t;
    t.block = 32;
    Case c{w.rule, OpCode::kLinear, &t};
    c.inputs = {Tensor(DType::kF32, {3, 40}),
                Tensor(DType::kI8, {20, 40}, 0, Packing::kPanels16),
                Tensor(),
                Tensor(),
                Tensor(DType::kF32, {20, 2}, 0, Packing::kPanels16),
                Tensor(DType::kI8, {20, 2}, 0, Packing::kPanels16)};
    c.outputs = {Tensor(DType::kF32, {3, 20})};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
