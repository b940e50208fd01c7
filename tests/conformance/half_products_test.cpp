// SPDX-License-Identifier: Apache-2.0
// Products of fp16 and bf16 programs: of halves where the processor multiplies them, in f32
// elsewhere. Runs on every instruction set, so that a processor without them runs the same cases.
#include "runtime/op/half_products.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/op/linear.h"
#include "tests/conformance/conv2d_run.h"
#include "tests/conformance/weights.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();

constexpr ReducedPrecision kFormats[] = {ReducedPrecision::kF16, ReducedPrecision::kBf16};
const char* precision_of(ReducedPrecision precision) {
  return precision == ReducedPrecision::kF16 ? "fp16" : "bf16";
}

/// On x86.
bool multiplies_tiles(ReducedPrecision precision) {
  return precision == ReducedPrecision::kBf16 &&
         (cpu_kernels("avx512bf16") || cpu_kernels("amxbf16"));
}
bool multiplies(ReducedPrecision precision) {
  return cpu_kernels(precision == ReducedPrecision::kF16 ? "neonfp16" : "neonbf16") ||
         multiplies_tiles(precision);
}

/// The name that the best instruction set here has for what may be of halves, and `pays_in_tiles`.
std::string expected_name(ReducedPrecision precision, const std::string& kernel,
                          bool pays_in_tiles) {
  const bool is_f32 = !multiplies(precision) || (multiplies_tiles(precision) && !pays_in_tiles);
  return kernel + (is_f32 ? "_f32" : precision == ReducedPrecision::kF16 ? "_f16" : "_bf16");
}

struct Half {
  const char* name;
  int64_t n, h, w, c, o;
  uint32_t kernel = 1, stride = 1, dilation = 1, pad = 0;
  ActivationSpec act = {};
  Residual residual = Residual::kNone;
  bool bias = true;
  int64_t x_padding = 0, y_padding = 0;
};

/// Rounded to the nearest, ties to even.
Tensor to_bf16(Tensor t) {
  Tensor one(DType::kBF16, {1});
  for (int64_t i = 0; i < t.view().elements(); i++) one.set(0, t.at(i)), t.set(i, one.at(0));
  return t;
}

/// spoil(x, w): numbers of the input and of the dense weights. `absolute`: tolerance where large
/// numbers cancel each other.
template <class Spoil>
void run_conv(ReducedPrecision precision, const Half& c, const Spoil& spoil,
              double absolute = 1e-5) {
  CAPTURE(precision_of(precision));
  Conv2dAttributes t;
  t.kernel_h = t.kernel_w = c.kernel, t.stride_h = t.stride_w = c.stride;
  t.dilation_h = t.dilation_w = c.dilation;
  t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = c.pad;
  t.activation = c.act, t.residual_first = c.residual == Residual::kFirst,
  t.reduced_precision = precision;
  const int64_t oh = conv_extent<int64_t>(c.h, 2 * c.pad, c.kernel, c.stride, c.dilation),
                ow = conv_extent<int64_t>(c.w, 2 * c.pad, c.kernel, c.stride, c.dilation);
  const std::vector<int64_t> dims = {c.o, c.kernel, c.kernel, c.c};
  Weights w = random_weights(Packing::kPanels16, dims, 5, int64_t(c.kernel) * c.kernel * c.c);
  const Weights b = random_weights(Packing::kVector16, {c.o}, 6, 1);
  Case test{c.name, OpCode::kConv2d, &t, {}, {}, {4e-6, absolute}};
  Tensor x = Tensor(DType::kF32, {c.n, c.h, c.w, c.c}, c.x_padding).random(1);
  spoil(x, w.dense);
  const std::vector<float> packed = pack_weights(
      Packing::kPanels16, dims,
      std::span<const float>(w.dense.view().as<float>(), size_t(w.dense.view().elements())));
  std::copy(packed.begin(), packed.end(), w.packed.view().as<float>());
  test.inputs = {x, w.packed, c.bias ? b.packed : Tensor()};
  if (c.residual != Residual::kNone)
    test.inputs.push_back(Tensor(DType::kF32, {c.n, oh, ow, c.o}, c.y_padding).random(2));
  test.outputs = {Tensor(DType::kF32, {c.n, oh, ow, c.o}, c.y_padding)};
  test.oracle_inputs = test.inputs;
  test.oracle_inputs[1] = w.dense;
  if (c.bias) test.oracle_inputs[2] = b.dense;
  test.rounded_inputs = test.oracle_inputs, test.rounded_tolerance = {4e-6, absolute};
  for (int i = 0; i < 2; i++)
    test.rounded_inputs[size_t(i)] = to_bf16(test.oracle_inputs[size_t(i)]);
  CHECK(run_case(test) == expected_name(precision, "conv2d_direct",
                                        half_products::pays_in_tiles(int64_t(c.kernel) * c.kernel,
                                                                     c.c, c.o, c.n * oh * ow)));
}
void run_conv(ReducedPrecision precision, const Half& c) {
  run_conv(precision, c, [](Tensor&, Tensor&) {});
}

}  // namespace

TEST_CASE("halves: convolutions by tails of rows, channels, outputs and runs") {
  const Half cases[] = {
      {"one tile", 1, 2, 4, 16, 16},
      {"a tile of four", 1, 3, 4, 16, 32, 1, 1, 1, 0, kReluSpec},
      {"five rows are left", 1, 3, 7, 24, 48, 1, 1, 1, 0, kRelu6Spec},
      {"one row is left", 1, 7, 7, 40, 32, 1, 1, 1, 0, kClipSpec, Residual::kFirst},
      {"odd channels", 1, 5, 5, 19, 21, 1, 1, 1, 0, kReluSpec},
      {"channels of no panel", 2, 4, 5, 32, 9, 1, 1, 1, 0, kSiluSpec},
      {"two runs", 1, 4, 4, 104, 16},
      {"runs of unequal length", 1, 3, 5, 296, 20, 1, 1, 1, 0, kHardSwishSpec, Residual::kAfter},
      {"residual before a limit", 1, 5, 8, 64, 64, 1, 1, 1, 0, kReluSpec, Residual::kFirst},
      {"residual behind a limit", 1, 5, 8, 64, 64, 1, 1, 1, 0, kReluSpec, Residual::kAfter},
      {"residual and no limit", 1, 5, 9, 64, 32, 1, 1, 1, 0, {}, Residual::kAfter},
      {"views", 1, 6, 5, 24, 32, 1, 1, 1, 0, kRelu6Spec, Residual::kAfter, true, 8, 5},
      {"no bias", 3, 3, 3, 16, 16, 1, 1, 1, 0, {}, Residual::kNone, false},
      {"stride 2", 1, 9, 11, 16, 32, 1, 2},
      {"window", 1, 9, 7, 16, 32, 3, 1, 1, 1, kReluSpec},
      {"window, odd channels", 2, 6, 7, 17, 18, 3, 1, 1, 1, kSiluSpec, Residual::kFirst},
      {"window, stride 2, views", 2, 11, 9, 32, 16, 3, 2, 1, 1, kReluSpec, Residual::kAfter, true,
       8, 3},
      {"window, dilation", 1, 12, 13, 8, 24, 3, 1, 2, 2},
      {"window without pads", 1, 8, 8, 24, 16, 5},
      {"two blocks of rows", 1, 14, 14, 160, 17, 3, 1, 1, 1, kLeakySpec},
      {"sums finished later", 1, 13, 23, 16, 32, 1, 1, 1, 0, kSiluSpec},
  };
  for (const char* isa : {"neonfp16", "neonbf16", "avx512bf16", "amxbf16"})
    for (const char* built : built_isas())
      if (std::strcmp(isa, built) == 0 && !cpu_kernels(isa))
        std::printf("[skip] no %s kernels on this machine\n", isa);
  for (const ReducedPrecision precision : kFormats)
    for (Half c : cases) {
      run_conv(precision, c);
      if (!multiplies_tiles(precision)) continue;
      // more rows, channels and outputs, with the same tails: as many as x86 asks for
      c.n += 2, c.c += 32, c.o += 32;
      run_conv(precision, c);
    }
}

TEST_CASE("halves: every convolution of the other suite, where it may be of halves and where not") {
  for (const ReducedPrecision precision : kFormats) {
    const std::string name = expected_name(precision, "conv2d_direct", true);
    int taken = 0;
    for (const Conv2dCase& c : kConv2dCases)
      taken += run_conv2d(c, true, {2e-6, 6e-6}, precision) == name;
    if (multiplies(precision)) CHECK(taken >= 5);
  }
}

TEST_CASE("halves: what f16 cannot hold") {
  for (const ReducedPrecision precision : kFormats)
    for (const Half& c :
         {Half{"pointwise", 1, 5, 5, 32, 40, 1, 1, 1, 0, kReluSpec, Residual::kFirst},
          Half{"pointwise, limits", 1, 5, 7, 32, 32, 1, 1, 1, 0, kRelu6Spec},
          Half{"pointwise, long activation", 1, 17, 9, 16, 32, 1, 1, 1, 0, kSiluSpec},
          Half{"window", 1, 6, 7, 16, 32, 3, 1, 1, 1},
          Half{"window, wide", 1, 6, 7, 32, 48, 3, 1, 1, 1, kReluSpec, Residual::kAfter}}) {
      INFO(std::string(c.name));
      // one number of a pixel, by which the others are not to lose
      for (const float number : {1e5f, -3e6f, 65520.0f, kInfinity, -kInfinity, kNan})
        run_conv(
            precision, c, [&](Tensor& x, Tensor&) { x.set(3 * c.c + 5, number); },
            std::isfinite(number) ? 2e-7 * std::fabs(number) : 1e-5);
      // of an output; what is not finite is not multiplied by the zeros of a border everywhere
      for (const float number : {1e5f, kInfinity, kNan})
        if (c.pad == 0 || std::isfinite(number))
          run_conv(
              precision, c,
              [&](Tensor&, Tensor& w) { w.set(int64_t{7} * c.kernel * c.kernel * c.c, number); },
              0.1);
      // products beyond 65504 of numbers that are not
      run_conv(
          precision, c,
          [&](Tensor& x, Tensor& w) { x.set(0, 60000), w.set(0, 60000), w.set(1, -300); }, 0.5);
      // sums beyond it, of one sign and of both
      for (const int sign : {1, -1})
        run_conv(
            precision, c,
            [&](Tensor& x, Tensor& w) {
              for (int64_t i = 0; i < c.c; i++) {
                const double number = w.at(i) < 0 ? -60000 : 60000;
                x.set(i, i % 16 < 8 ? number : sign * number);
              }
            },
            0.1);
      // below what f16 has: nothing is left of them
      run_conv(precision, c, [&](Tensor& x, Tensor&) {
        for (int64_t i = 0; i < c.c; i++) x.set(i, 1e-9);
      });
    }
}

TEST_CASE("halves: bf16 is rounded to the nearest, ties to even") {
  const double numbers[] = {1 + 0x1p-8,  1 + 0x3p-8,           1 + 0x1p-8 + 0x1p-20, -1 - 0x1p-8,
                            -1 - 0x3p-8, 1 + 0x1p-8 - 0x1p-20, 3 - 0x1p-7,           0x1p-120};
  for (const int64_t c : {8, 16, 19, 35, 64})  // groups of eight, pairs of them, and tails
    run_conv(ReducedPrecision::kBf16, {"ties", 1, 4, 5, c, 24}, [&](Tensor& x, Tensor& w) {
      for (int64_t i = 0; i < x.view().elements(); i++) x.set(i, numbers[i % 8]);
      for (int64_t i = 0; i < w.view().elements(); i++) w.set(i, numbers[i * 5 % 8]);
    });
}

TEST_CASE("halves: sums of one sign") {
  for (const ReducedPrecision precision : kFormats)
    for (const int64_t k : {96, 768, 4096}) {
      const Half c{"one sign", 1, 3, 7, k, 16};
      run_conv(precision, c, [&](Tensor& x, Tensor& w) {
        for (int64_t i = 0; i < x.view().elements(); i++) x.set(i, std::fabs(x.at(i)));
        for (int64_t i = 0; i < w.view().elements(); i++) w.set(i, std::fabs(w.at(i)));
      });
    }
}

TEST_CASE("halves: linear") {
  struct Row {
    const char* name;
    std::vector<int64_t> x;
    int64_t o;
    ActivationSpec act = {};
    int residual = 0;  // 1 behind, 2 first
    bool of_halves = true;
    int64_t x_padding = 0, y_padding = 0;
  };
  const ActivationSpec gelu{Activation::kGelu, 0, 0};
  std::vector<Row> rows = {
      {"one row", {1, 64}, 32, {}, 0, false},
      {"seven rows", {7, 64}, 32, gelu, 0, false},
      {"few channels", {16, 12}, 32, {}, 0, false},
      {"few outputs", {16, 64}, 8, {}, 0, false},
      {"eight rows", {8, 64}, 32, gelu},
      {"tokens", {2, 19, 33}, 48, gelu, 1},
      {"many rows", {131, 24}, 30, kReluSpec},
      {"views", {19, 16}, 17, kReluSpec, 1, true, 5, 3},
      {"rows beyond one block", {90, 5000}, 18},
      {"tiles of rows and outputs", {3, 130, 36}, 200, gelu, 2},
      {"seventeen rows of odd length", {17, 65}, 600, kReluSpec, 2},
  };
  if (multiplies_tiles(ReducedPrecision::kBf16))
    rows.push_back({"two blocks of rows, panels in turn", {270, 1100}, 250, {}, 2});
  for (const ReducedPrecision precision : kFormats)
    for (const Row& c : rows) {
      CAPTURE(precision_of(precision));
      LinearAttributes t;
      t.activation = c.act, t.residual_first = c.residual == 2, t.reduced_precision = precision;
      const int64_t k = c.x.back();
      const Weights w = random_weights(Packing::kPanels16, {c.o, k}, 5, k),
                    b = random_weights(Packing::kVector16, {c.o}, 6, 1);
      std::vector<int64_t> y = c.x;
      y.back() = c.o;
      Case test{c.name, OpCode::kLinear, &t, {}, {}, {5e-6, 1e-5}};
      test.inputs = {Tensor(DType::kF32, c.x, c.x_padding).random(1), w.packed, b.packed};
      if (c.residual) test.inputs.push_back(Tensor(DType::kF32, y, c.y_padding).random(2));
      test.outputs = {Tensor(DType::kF32, y, c.y_padding)};
      test.oracle_inputs = test.inputs;
      test.oracle_inputs[1] = w.dense, test.oracle_inputs[2] = b.dense;
      test.rounded_inputs = test.oracle_inputs, test.rounded_tolerance = test.tolerance;
      for (int i = 0; i < 2; i++)
        test.rounded_inputs[size_t(i)] = to_bf16(test.oracle_inputs[size_t(i)]);
      CHECK(run_case(test) == (c.of_halves
                                   ? expected_name(precision, "linear",
                                                   half_products::pays_in_tiles(
                                                       1, k, c.o, test.outputs[0].view().rows()))
                                   : "linear_f32"));
    }
}

TEST_CASE("halves: chains") {
  struct Stage {
    int64_t o;
    uint32_t kernel, stride, pad;
    bool depthwise;
  };
  const std::vector<Stage> chains[] = {
      {{48, 1, 1, 0, false}, {48, 3, 1, 1, true}, {24, 1, 1, 0, false}},
      {{24, 3, 1, 1, false}, {40, 3, 2, 1, false}, {16, 3, 1, 1, false}},
      {{24, 3, 2, 1, true}, {33, 1, 1, 0, false}},
  };
  for (const ReducedPrecision precision : kFormats)
    for (const std::vector<Stage>& stages : chains)
      for (const uint32_t band : {1u, 2u, 5u, 64u}) {
        ChainAttributes t;
        t.stage_count = uint32_t(stages.size()), t.band_rows = band;
        const int64_t n = 2;
        int64_t c = 24, h = 13, w = 11;
        Case test{"chain", OpCode::kChain, &t, {}, {}, {1e-5, 3e-5}};
        test.inputs = {Tensor(DType::kF32, {n, h, w, c}).random(1)};
        test.oracle_inputs = test.inputs;
        for (size_t i = 0; i < stages.size(); i++) {
          const Stage& s = stages[i];
          Conv2dAttributes& a = t.stages[i];
          a.kernel_h = a.kernel_w = s.kernel, a.stride_h = a.stride_w = s.stride;
          a.pad_top = a.pad_left = a.pad_bottom = a.pad_right = s.pad;
          a.activation = kReluSpec, a.reduced_precision = precision;
          if (s.depthwise) a.method = kDw, a.groups = uint32_t(c);
          const int64_t slice = s.depthwise ? 1 : c;
          const Weights weights = random_weights(
              s.depthwise ? Packing::kDepthwise16 : Packing::kPanels16,
              {s.o, s.kernel, s.kernel, slice}, uint32_t(3 + i), s.kernel * s.kernel * slice);
          const Weights bias = random_weights(Packing::kVector16, {s.o}, uint32_t(9 + i), 1);
          test.inputs.push_back(weights.packed), test.inputs.push_back(bias.packed);
          test.oracle_inputs.push_back(weights.dense), test.oracle_inputs.push_back(bias.dense);
          h = conv_extent<int64_t>(h, 2 * s.pad, s.kernel, s.stride, 1);
          w = conv_extent<int64_t>(w, 2 * s.pad, s.kernel, s.stride, 1);
          c = s.o;
        }
        test.outputs = {Tensor(DType::kF32, {n, h, w, c})};
        CHECK(run_case(test) == expected_name(precision, "chain", true));
      }
}

TEST_CASE("halves: scratch is that of f32 where nothing may be of halves, and never less") {
  Conv2dAttributes t;
  t.kernel_h = t.kernel_w = 3, t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = 1;
  for (const int64_t c : {3, 8, 17, 512})
    for (const int64_t size : {1, 2, 7, 28}) {
      const Tensor x(DType::kF32, {1, size, size, c}), w(DType::kF32, {32, 3, 3, c}),
          y(DType::kF32, {1, size, size, 32});
      const TensorView inputs[] = {x.view(), w.view()}, outputs[] = {y.view()};
      const OpArguments a = {&t, inputs, outputs, 2, 1};
      t.reduced_precision = ReducedPrecision::kNone;
      const uint64_t in_f32 = kConv2dContract.scratch(a, 2).per_thread_bytes;
      t.reduced_precision = ReducedPrecision::kBf16;
      const uint64_t in_bf16 = kConv2dContract.scratch(a, 2).per_thread_bytes;
      t.reduced_precision = ReducedPrecision::kF16;
      const uint64_t in_f16 = kConv2dContract.scratch(a, 2).per_thread_bytes;
      const bool takes = half_products::takes(t, {1, size, size, c, size, size, 32});
      CHECK(takes == (c >= 8 && size > 2));
      CHECK((takes ? in_f16 >= in_f32 : in_f16 == in_f32));
      CHECK(in_bf16 == in_f16);
    }
}

namespace {

Tensor run_alone(const KernelEntry& kernel, const void* attributes,
                 const std::vector<TensorView>& inputs, Tensor y, uint64_t scratch) {
  const OpArguments a = {attributes, inputs.data(), &y.view(), uint16_t(inputs.size()), 1};
  std::vector<double> memory(scratch / sizeof(double) + 8);
  Team team;
  team.scratch = memory.data();
  CHECK(kernel.run(a, team).ok());
  return y;
}

/// f32 panels and the same numbers as bf16, which they are.
struct BothWeights {
  Tensor dense, f32, bf16;
  BothWeights(std::vector<int64_t> dims, int64_t k) {
    const Weights w = random_weights(Packing::kPanels16, dims, 5, k);
    dense = to_bf16(w.dense), f32 = w.packed;
    bf16 = Tensor(DType::kBF16, dims, 0, Packing::kPanels16);
    const std::vector<float> packed = pack_weights(
        Packing::kPanels16, dims,
        std::span<const float>(dense.view().as<float>(), size_t(dense.view().elements())));
    for (size_t i = 0; i < packed.size(); i++) {
      uint32_t bits;
      std::memcpy(&bits, &packed[i], sizeof bits);
      f32.view().as<float>()[i] = packed[i];
      bf16.view().as<uint16_t>()[i] = uint16_t(bits >> 16);
    }
  }
};

/// With weights of bf16 `op` has one kernel a table, which gives the bits that its f32 panels give.
/// inputs[1]: the weights.
void check_bf16_weights(OpCode op, const void* attributes, std::vector<TensorView> inputs,
                        const BothWeights& w, const Tensor& y, const Tensor& x) {
  inputs[0] = x.view(), inputs[1] = w.bf16.view();
  const OpArguments in_bf16 = {attributes, inputs.data(), &y.view(), uint16_t(inputs.size()), 1};
  for (const char* isa : built_isas())
    if (const KernelTable* const table = cpu_kernels(isa)) {
      CAPTURE(isa);
      CHECK((find_kernel(*table, op, in_bf16) != nullptr) == table->takes_bf16_weights);
    }
  const Tensor rounded = to_bf16(x);
  std::vector<TensorView> of_oracle = inputs;
  of_oracle[0] = rounded.view(), of_oracle[1] = w.dense.view();
  const OpArguments dense = {attributes, of_oracle.data(), &y.view(), uint16_t(inputs.size()), 1};
  const KernelEntry* const oracle = find_kernel(*oracle_kernels(), op, dense);
  REQUIRE(oracle != nullptr);
  const Tensor expected = run_alone(*oracle, attributes, of_oracle, y,
                                    oracle->contract->scratch(dense, 1).per_thread_bytes);
  const bool as_f32 = y.view().rows() < 16;  // with panels of f32, of which a chain decides itself
  for (const char* isa : {"avx512bf16", "amxbf16"})
    if (const KernelTable* const table = cpu_kernels(isa)) {
      CAPTURE(isa);
      inputs[1] = w.bf16.view();
      const KernelEntry* const kernel = find_kernel(*table, op, in_bf16);
      REQUIRE(kernel != nullptr);
      const uint64_t scratch = kernel->contract->scratch(in_bf16, 1).per_thread_bytes;
      const Tensor found = run_alone(*kernel, attributes, inputs, y, scratch);
      inputs[1] = w.f32.view();
      int64_t first = 0;
      if (!as_f32)
        CHECK(found.same_bits(run_alone(*kernel, attributes, inputs, y, scratch), &first));
      double worst = 0;
      for (int64_t i = 0; i < y.view().elements(); i++)
        worst = std::max(worst,
                         std::fabs(found.at(i) - expected.at(i)) / (1 + std::fabs(expected.at(i))));
      CHECK(worst < 1e-5);
    }
}

}  // namespace

TEST_CASE("halves: weights of bf16 are read as they lie, for however few rows") {
  for (const char* isa : {"avx512bf16", "amxbf16"})
    if (!cpu_kernels(isa)) std::printf("[skip] no %s kernels on this machine\n", isa);
  for (const int64_t rows : {1, 3, 8, 16, 17, 90, 300})
    for (const int64_t k : {24, 65, 128, 1100})
      for (const int64_t o : {22, 48, 250}) {
        if (!half_products::reads_bf16(1, k, o)) continue;
        CAPTURE(rows);
        CAPTURE(k);
        CAPTURE(o);
        LinearAttributes t;
        t.activation = kReluSpec, t.reduced_precision = ReducedPrecision::kBf16;
        const Tensor x = Tensor(DType::kF32, {rows, k}).random(1), y(DType::kF32, {rows, o});
        check_bf16_weights(OpCode::kLinear, &t, {{}, {}}, BothWeights({o, k}, k), y, x);
      }
  for (const int64_t size : {1, 2, 5, 20})
    for (const int64_t c : {24, 72})
      for (const uint32_t kernel : {1u, 3u}) {
        CAPTURE(size);
        CAPTURE(c);
        CAPTURE(kernel);
        Conv2dAttributes t;
        t.kernel_h = t.kernel_w = kernel;
        t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = kernel / 2;
        t.reduced_precision = ReducedPrecision::kBf16;
        const Tensor x = Tensor(DType::kF32, {1, size, size, c}).random(1),
                     y(DType::kF32, {1, size, size, 40});
        check_bf16_weights(OpCode::kConv2d, &t, {{}, {}},
                           BothWeights({40, kernel, kernel, c}, kernel * kernel * c), y, x);
        ChainAttributes chain;
        chain.stage_count = 1, chain.band_rows = 2, chain.stages[0] = t;
        check_bf16_weights(OpCode::kChain, &chain, {{}, {}, {}},
                           BothWeights({40, kernel, kernel, c}, kernel * kernel * c), y, x);
      }
}

TEST_CASE("halves: which weights may be bf16") {
  CHECK(half_products::reads_bf16(1, 24, 22));
  CHECK_FALSE(half_products::reads_bf16(1, 20, 64));  // padding
  CHECK_FALSE(half_products::reads_bf16(9, 20, 64));  // taps of half a group
  CHECK_FALSE(half_products::reads_bf16(1, 64, 7));   // half of a panel
  CHECK_FALSE(half_products::reads_bf16(9, 16, 16));  // rounding rows takes longer
  Conv2dAttributes t;
  const int64_t dims[] = {64, 3, 3, 32};
  CHECK_FALSE(half_products::reads_bf16(OpCode::kConv2d, &t, 1, dims));  // an exact program
  t.reduced_precision = ReducedPrecision::kBf16;
  CHECK(half_products::reads_bf16(OpCode::kConv2d, &t, 1, dims));
  CHECK_FALSE(half_products::reads_bf16(OpCode::kConv2d, &t, 2, dims));
  CHECK_FALSE(half_products::reads_bf16(OpCode::kMatMul, &t, 1, dims));
  t.input_layout = ChannelLayout::kNchw;
  CHECK_FALSE(half_products::reads_bf16(OpCode::kConv2d, &t, 1, dims));
}
