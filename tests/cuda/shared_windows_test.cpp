// SPDX-License-Identifier: Apache-2.0
// 3x3 windows that a block reads out of a patch in shared memory, emulated: each tile against the
// CPU and the naive oracle, in tf32 and of f16, the same bits in every order of threads, no bank
// conflict; which extents the cost model takes them for, and what they are not offered for.
#include <doctest/doctest.h>

#include "kernels/cuda/tensorcore/tile_choice.h"
#include "runtime/op/conv2d.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct SharedCase {
  const char* name;
  int64_t n, h, w, c, o;
  uint32_t top = 1, left = 1, bottom = 1, right = 1;
  int residual = 0;  // 1: before, 2: after the activation
  Activation activation = Activation::kNone;
  int64_t padding = 0;  // of rows of memory
  bool bias = true;
};

Work make_work(const SharedCase& c, Conv2dAttributes* t) {
  t->kernel_h = t->kernel_w = 3;
  t->pad_top = c.top, t->pad_left = c.left, t->pad_bottom = c.bottom, t->pad_right = c.right;
  t->activation = {c.activation, 0.3f, 0.5f}, t->residual_first = c.residual == 1;
  const int64_t oh = c.h + c.top + c.bottom - 2, ow = c.w + c.left + c.right - 2;
  Work w{OpCode::kConv2d, t, {}, Tensor(DType::kF32, {c.n, oh, ow, c.o}, c.padding)};
  w.inputs = {Tensor(DType::kF32, {c.n, c.h, c.w, c.c}, c.padding).random(1),
              random_weights(Packing::kPanels16, {c.o, 3, 3, c.c}, 2, 9 * c.c).packed,
              c.bias ? Tensor(DType::kF32, {c.o}, 0, Packing::kVector16).random(3) : Tensor()};
  if (c.residual)
    w.inputs.push_back(Tensor(DType::kF32, {c.n, oh, ow, c.o}, 2 * c.padding).random(4));
  return w;
}

/// Every variant that shares windows; returns how many there were.
int check_variants(const Work& w, const Tensor& want, const Tensor& oracle, GpuPrecision precision,
                   const char* kernel) {
  GpuTraits traits;
  traits.multiprocessors = 2;
  const check::Tolerance tolerance =
      precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product;
  int shared = 0;
  const Run model = on_gpu(w, precision, 0, traits);
  REQUIRE(model.status.ok());
  for (int variant = 0; variant < model.variants; variant++) {
    const Run run = on_gpu(w, precision, 0, traits, variant);
    if (!run.ran("shared_windows")) continue;
    CAPTURE(run.kernels[0]);
    CAPTURE(run.splits);
    CHECK(run.ran(kernel));
    CHECK(run.ran("add_splits") == (run.splits > 1));
    check_close(run.y, want, tolerance);
    check_close(run.y, oracle, tolerance);
    for (const uint32_t order : {1u, 33u}) {
      int64_t at = -1;
      const bool same = on_gpu(w, precision, order, traits, variant).y.same_bits(run.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
    shared++;
  }
  return shared;
}

/// In tf32; where c allows it of f16 as well, whose y and residual are f16 or f32.
void check_shared(const SharedCase& c) {
  INFO(c.name);
  Conv2dAttributes t;
  const Work w = make_work(c, &t);
  const int64_t slices = (c.c + 15) / 16, half_slices = (c.c + 31) / 32;
  const auto parts = [](int64_t n) { return n >= 4 ? 3 : n >= 2 ? 2 : 1; };
  const int count = check_variants(w, on_cpu(w), on_cpu(w, "oracle"), GpuPrecision::kFast,
                                   "product_tf32_shared_windows");
  int tiles = 0;
  for (int i = int(cuda::TileKind::kShared32); i < cuda::kTileKinds; i++)
    tiles += cuda::is_worth_sharing(cuda::TileKind(i), c.o);
  CHECK(tiles >= 1);
  CHECK(count == tiles * parts(slices));
  if (c.c % 8 || c.padding % 8) return;
  for (const bool all : {false, true}) {
    Work f16 = w, same = w;  // same: its numbers
    f16.inputs[0] = with_type(w.inputs[0], DType::kF16);
    same.inputs[0] = with_type(f16.inputs[0], DType::kF32);
    if (all) f16.output = with_type(w.output, DType::kF16);
    if (all && c.residual) {
      f16.inputs[3] = with_type(w.inputs[3], DType::kF16);
      same.inputs[3] = with_type(f16.inputs[3], DType::kF32);
    }
    pack_f16_weights(&f16);
    const int of_f16 = check_variants(f16, on_cpu(same), on_cpu(same, "oracle"),
                                      GpuPrecision::kFp16, "product_f16_shared_windows");
    CHECK(of_f16 == tiles * parts(half_slices));
  }
}

}  // namespace

TEST_CASE("tensor cores, shared windows: every tile, odd images, slices that are not whole") {
  using A = Activation;
  const SharedCase cases[] = {
      {"one slice", 1, 8, 16, 16, 16},
      {"odd image", 1, 7, 9, 16, 32, 1, 1, 1, 1, 1, A::kRelu},
      {"a quad of channels", 1, 5, 6, 4, 16},
      {"three quads", 1, 6, 11, 12, 20},
      {"slices and a quad", 2, 7, 5, 36, 48, 1, 1, 1, 1, 2, A::kSilu},
      {"an eight behind slices", 1, 9, 10, 40, 80, 1, 1, 1, 1, 1, A::kRelu},
      {"f16: slices and a half", 1, 5, 9, 80, 80, 1, 1, 1, 1, 2, A::kSilu},
      {"f16: a quarter of a slice", 1, 9, 5, 24, 24},
      {"f16: whole slices", 1, 6, 7, 64, 64, 1, 1, 1, 1, 1, A::kGelu},
      {"outputs no multiple of four", 1, 6, 7, 16, 37, 1, 1, 1, 1, 1, A::kRelu},
      {"more outputs than a tile", 1, 6, 8, 16, 100, 1, 1, 1, 1, 2, A::kHardSwish},
      {"one pixel", 1, 1, 1, 8, 16},
      {"one column", 3, 9, 1, 8, 16},
      {"one row", 3, 1, 9, 8, 16},
      {"many small images", 11, 3, 4, 16, 16},
      {"rows of memory with room", 2, 6, 7, 24, 32, 1, 1, 1, 1, 1, A::kRelu, 8},
      {"no bias", 1, 6, 7, 8, 16, 1, 1, 1, 1, 0, A::kNone, 0, false},
  };
  for (const SharedCase& c : cases) check_shared(c);
}

TEST_CASE("tensor cores, shared windows: padding on each side by itself") {
  for (uint32_t top : {0u, 1u, 2u})
    for (uint32_t bottom : {0u, 1u, 2u}) {
      CAPTURE(top);
      CAPTURE(bottom);
      check_shared({"rows", 3, 4, 6, 8, 16, top, 1, bottom, 1});
      check_shared({"columns", 2, 5, 4, 8, 16, 1, top, 1, bottom});
    }
  check_shared({"none", 2, 7, 8, 16, 32, 0, 0, 0, 0, 1});
  check_shared({"wide", 2, 3, 4, 8, 16, 3, 4, 5, 2});
}

TEST_CASE("tensor cores, shared windows: images wider than a patch are strips") {
  check_shared({"two strips of some tiles", 2, 5, 113, 8, 16});
  check_shared({"the last strip is narrower", 1, 4, 121, 4, 80, 1, 0, 1, 1, 1});
}

TEST_CASE("tensor cores, shared windows: strips cover y with the fewest tiles") {
  cuda::ProductParams p = {};
  p.c = 16, p.pixel_stride = 16, p.pad_top = p.pad_left = 1;
  const auto cut = [&](int images, int h, int width, int o) {
    p.h = p.oh = h, p.width = p.ow = width, p.m = images * h * width;
    return cuda::cut_strips(p, cuda::max_patch(o / 16));
  };
  // one strip: padding between rows and between images is there once
  CHECK(cut(8, 20, 20, 32).pitch == 21);
  CHECK(cut(8, 20, 20, 32).image_rows == 21);
  CHECK(cut(8, 20, 20, 32).tiles == 28);
  CHECK(cut(8, 80, 80, 32).count == 1);
  CHECK(cut(8, 80, 80, 80).count == 2);
  CHECK(cut(1, 160, 160, 32).pitch == 82);
  for (const int o : {32, 48, 64, 80})
    for (int width = 1; width < 700; width += 7) {
      const cuda::WindowStrips s = cut(2, 9, width, o);
      CAPTURE(width);
      REQUIRE(s.count > 0);
      CHECK(s.columns * s.count >= width);
      CHECK(s.patch % 4 == 0);
      CHECK(s.patch >= cuda::kSharedPixels + 2 * s.pitch + 2);
      CHECK(cuda::shared_windows_bytes(o / 16, s.patch) <= 48 << 10);
    }
  p.pixel_stride = 1 << 28;  // more pieces than 32 bits count
  CHECK(cut(1, 9, 9, 32).count == 0);
}

TEST_CASE("tensor cores, shared windows: what the cost model takes them for") {
  using cuda::TileKind;
  struct Choice {
    int images, h, c, o, multiprocessors;
    TileKind kind;
  };
  const Choice choices[] = {
      {8, 160, 16, 16, 8, TileKind::kShared32}, {8, 80, 32, 32, 8, TileKind::kShared32},
      {8, 80, 16, 48, 8, TileKind::kShared48},  {8, 40, 64, 64, 132, TileKind::kShared64},
      {8, 80, 64, 80, 8, TileKind::kShared80},  {8, 40, 64, 96, 8, TileKind::kShared48},
      {8, 80, 64, 128, 8, TileKind::kWide},     {1, 7, 512, 512, 8, TileKind::kSquare}};
  for (const Choice& c : choices) {
    CAPTURE(c.h);
    CAPTURE(c.o);
    cuda::ProductParams p = {};
    p.h = p.oh = p.width = p.ow = c.h, p.m = c.images * c.h * c.h;
    p.c = c.c, p.o = c.o, p.k = 9 * c.c, p.pixel_stride = c.c, p.pad_top = p.pad_left = 1;
    double cycles = 0;
    cuda::TileChoice choice = cuda::choose_tile(1, p.m, p.o, p.k, c.multiprocessors, &cycles);
    cuda::choose_shared_tile(p, c.multiprocessors, cycles, &choice);
    CHECK(int(choice.kind) == int(c.kind));
  }
  Conv2dAttributes t;
  const Work w = make_work({"a plan", 1, 24, 24, 32, 80}, &t);
  GpuTraits traits;
  traits.multiprocessors = 2;
  const Run run = on_gpu(w, GpuPrecision::kFast, 0, traits);
  CHECK(run.kernels == std::vector<std::string>{"ingot_product_tf32_shared_windows"});
}

TEST_CASE("tensor cores, shared windows: other windows have none") {
  const auto count = [](uint32_t kernel, uint32_t stride, uint32_t dilation, int64_t c) {
    Conv2dAttributes t;
    t.kernel_h = t.kernel_w = kernel, t.stride_h = t.stride_w = stride;
    t.dilation_h = t.dilation_w = dilation;
    const int64_t out = conv_extent<int64_t>(13, 0, kernel, stride, dilation);
    Work w{OpCode::kConv2d, &t, {}, Tensor(DType::kF32, {1, out, out, 16})};
    w.inputs = {
        Tensor(DType::kF32, {1, 13, 13, c}).random(1),
        random_weights(Packing::kPanels16, {16, kernel, kernel, c}, 2, kernel * kernel * c).packed};
    GpuTraits traits;
    int found = 0;
    const int variants = on_gpu(w, GpuPrecision::kFast, 0, traits).variants;
    for (int v = 0; v < variants; v++)
      found += on_gpu(w, GpuPrecision::kFast, 0, traits, v).ran("shared_windows");
    return found;
  };
  CHECK(count(3, 1, 1, 8) == 1);
  CHECK(count(3, 2, 1, 8) == 0);
  CHECK(count(3, 1, 2, 8) == 0);
  CHECK(count(5, 1, 1, 8) == 0);
  CHECK(count(3, 1, 1, 6) == 0);
}
