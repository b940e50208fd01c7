// SPDX-License-Identifier: Apache-2.0
// Pooling.
#include "runtime/op/pool2d.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct PoolCase {
  const char* name;
  int64_t n, h, w, c;
  uint32_t kh, kw, sh = 1, sw = 1, top = 0, left = 0, bottom = 0, right = 0, dh = 1, dw = 1;
  int64_t padding = 0;
};

Pool2dAttributes attributes_of(const PoolCase& c) {
  Pool2dAttributes t;
  t.kernel_h = c.kh, t.kernel_w = c.kw, t.stride_h = c.sh, t.stride_w = c.sw, t.dilation_h = c.dh,
  t.dilation_w = c.dw;
  t.pad_top = c.top, t.pad_left = c.left, t.pad_bottom = c.bottom, t.pad_right = c.right;
  return t;
}

}  // namespace

TEST_CASE("pool2d: windows, pads, tails and every kind") {
  const PoolCase cases[] = {
      {"2x2", 1, 8, 10, 16, 2, 2, 2, 2},
      {"3x3 stride 2", 2, 11, 9, 21, 3, 3, 2, 2, 1, 1, 1, 1},
      {"uneven pads", 1, 7, 6, 5, 3, 2, 2, 1, 0, 1, 1, 0},
      {"ceil mode", 1, 6, 7, 9, 3, 3, 2, 2, 0, 0, 1, 1},
      {"global", 1, 7, 7, 70, 7, 7},
      {"global, few channels", 3, 5, 6, 3, 5, 6},
      {"dilated", 1, 9, 9, 17, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
      {"one row", 1, 1, 50, 12, 1, 4, 1, 3},
      {"views", 2, 6, 6, 11, 2, 2, 1, 1, 0, 0, 0, 0, 1, 1, 3},
      {"window in the padding", 1, 3, 3, 4, 2, 2, 1, 1, 3, 3, 3, 3},
      {"empty", 0, 4, 4, 4, 2, 2},
      {"5x5 same", 1, 10, 10, 130, 5, 5, 1, 1, 2, 2, 2, 2},
  };
  for (const PoolCase& c : cases)
    for (int kind = 0; kind < 5; kind++) {
      Pool2dAttributes t = attributes_of(c);
      t.kind = PoolKind(kind < 4 ? kind : 3), t.p = kind == 4 ? 1 : 2;
      const int64_t oh = (c.h + c.top + c.bottom - c.dh * (c.kh - 1) - 1) / c.sh + 1,
                    ow = (c.w + c.left + c.right - c.dw * (c.kw - 1) - 1) / c.sw + 1;
      Case test{std::string(c.name) + ", kind " + std::to_string(kind),
                OpCode::kPool2d,
                &t,
                {},
                {},
                {2e-6, 4e-6}};
      test.inputs = {Tensor(DType::kF32, {c.n, c.h, c.w, c.c}, c.padding).random(1)};
      test.outputs = {Tensor(DType::kF32, {c.n, oh, ow, c.c}, c.padding)};
      run_case(test);
      // A NaN in a window is what comes out, wherever it stands.
      for (int64_t i = 0; i < test.inputs[0].view().elements(); i += 37)
        test.inputs[0].set(i, std::numeric_limits<double>::quiet_NaN());
      test.name += ", NaN";
      run_case(test);
    }
}

TEST_CASE("pool2d: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(Pool2dAttributes&, Case&);
  };
  const Wrong wrongs[] = {
      {"pool2d.kind is known", [](Pool2dAttributes& t, Case&) { t.kind = PoolKind(4); }},
      {"pool2d.p is 1 or 2", [](Pool2dAttributes& t, Case&) { t.kind = PoolKind::kLp, t.p = 3; }},
      {"kernel, stride and dilation are 1 to 2^20",
       [](Pool2dAttributes& t, Case&) { t.stride_w = 0; }},
      {"pads are at most 2^20", [](Pool2dAttributes& t, Case&) { t.pad_bottom = 1u << 31; }},
      {"the window fits the padded image", [](Pool2dAttributes& t, Case&) { t.kernel_h = 5; }},
      {"pool2d's x is a batch of images",
       [](Pool2dAttributes&, Case& c) {
         c.inputs[0] = Tensor(DType::kF32, {4, 4, 3});
       }},
      {"pool2d's y is [N,OH,OW,C]",
       [](Pool2dAttributes&, Case& c) {
         c.outputs[0] = Tensor(DType::kF32, {1, 2, 2, 4});
       }},
      {"output is f32",
       [](Pool2dAttributes&, Case& c) {
         c.outputs[0] = Tensor(DType::kI32, {1, 2, 2, 3});
       }},
  };
  for (const Wrong& w : wrongs) {
    Pool2dAttributes t;
    t.kernel_h = t.kernel_w = t.stride_h = t.stride_w = 2;
    Case c{w.rule,
           OpCode::kPool2d,
           &t,
           {Tensor(DType::kF32, {1, 4, 4, 3})},
           {Tensor(DType::kF32, {1, 2, 2, 3})}};
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
