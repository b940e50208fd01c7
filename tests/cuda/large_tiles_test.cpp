// SPDX-License-Identifier: Apache-2.0
// Tiles of 128x128, whose blocks ask for 80 KB of shared memory: where a GPU gives that, whole
// steps of k are multiplied as by the other tiles; which layers take them.
#include <doctest/doctest.h>

#include "kernels/cuda/tensorcore/tile_choice.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

GpuTraits with_shared(uint32_t bytes, int multiprocessors = 1) {
  GpuTraits traits;
  traits.shared_bytes = bytes, traits.multiprocessors = multiprocessors;
  return traits;
}
constexpr uint32_t kAsked = 99 << 10;

/// In every order the same bits, near the exact ones; the variant of large tiles of one part.
void check_large(const Work& w, GpuPrecision precision, const char* kernel, const Tensor& want) {
  const GpuTraits traits = with_shared(kAsked);
  int found = 0;
  const int variants = on_gpu(w, precision, 0, traits).variants;
  for (int variant = 0; variant < variants; variant++) {
    const Run run = on_gpu(w, precision, 0, traits, variant);
    if (!run.ran("128x128")) continue;
    CAPTURE(run.splits);
    found++;
    CHECK_MESSAGE(run.ran(kernel), run.kernels[0]);
    check_close(run.y, want,
                precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product);
    for (uint32_t order : {1u, 33u}) {
      int64_t at = -1;
      const bool same = on_gpu(w, precision, order, traits, variant).y.same_bits(run.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
  }
  CHECK(found >= 1);
  for (int variant = 0; variant < on_gpu(w, precision, 0, with_shared(79 << 10)).variants;
       variant++)
    CHECK(!on_gpu(w, precision, 0, with_shared(79 << 10), variant).ran("128x128"));
}

Work linear(const LinearAttributes& t, int64_t rows, int64_t k, int64_t o) {
  Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, {rows, o})};
  w.inputs = {Tensor(DType::kF32, {rows, k}).random(1),
              random_weights(Packing::kPanels16, {o, k}, 2, k).packed,
              Tensor(DType::kF32, {o}, 0, Packing::kVector16).random(3)};
  return w;
}

}  // namespace

TEST_CASE("tensor cores, large tiles: rows and windows in tf32, rows of f16") {
  LinearAttributes t;
  t.activation = {Activation::kGelu, 0, 0};
  // 1 and 9 steps, more than a ring and no multiple of it; two tiles with tails each way
  for (const Work& rows : {linear(t, 150, 16, 140), linear(t, 130, 144, 131)})
    check_large(rows, GpuPrecision::kFast, "tf32_rows", on_cpu(rows));
  Work halves = linear(t, 150, 288, 140);
  const Tensor want = on_cpu(halves);
  pack_f16_weights(&halves);
  check_large(with_f16(halves, 1), GpuPrecision::kFp16, "f16_word_rows", want);
  Conv2dAttributes c;
  c.kernel_h = c.kernel_w = 3, c.pad_top = c.pad_left = c.pad_bottom = c.pad_right = 1;
  c.stride_h = c.stride_w = 2;
  Work windows{OpCode::kConv2d, &c, {}, Tensor(DType::kF32, {1, 12, 12, 136})};
  windows.inputs = {Tensor(DType::kF32, {1, 24, 24, 16}).random(1),
                    random_weights(Packing::kPanels16, {136, 3, 3, 16}, 2, 144).packed,
                    Tensor(DType::kF32, {136}, 0, Packing::kVector16).random(3)};
  check_large(windows, GpuPrecision::kFast, "tf32_windows", on_cpu(windows));
}

TEST_CASE("tensor cores, large tiles: k that is no whole step, and batches, are other tiles'") {
  LinearAttributes t;
  const Work odd = linear(t, 150, 20, 140);
  const GpuTraits traits = with_shared(kAsked);
  for (int variant = 0; variant < on_gpu(odd, GpuPrecision::kFast, 0, traits).variants; variant++)
    CHECK(!on_gpu(odd, GpuPrecision::kFast, 0, traits, variant).ran("128x128"));
}

TEST_CASE("tensor cores, large tiles: the model takes them where there are many blocks") {
  struct Case {
    int64_t m, o, k;
    int multiprocessors, sm;
    bool large;
  };
  const Case cases[] = {{8 * 56 * 56, 256, 64, 8, 87, true},  // ResNet-50 at batch 8
                        {8 * 14 * 14, 1024, 256, 132, 90, true},
                        {14 * 14, 1024, 256, 132, 90, false},  // and at batch 1
                        {64, 1536, 384, 8, 87, false}};
  for (const Case& c : cases) {
    CAPTURE(c.m);
    const cuda::TileChoice choice =
        cuda::choose_tile(1, c.m, c.o, c.k, c.multiprocessors, nullptr, c.sm);
    CHECK((choice.kind == cuda::TileKind::kLarge) == c.large);
    CHECK(cuda::choose_tile(1, c.m, c.o, c.k, c.multiprocessors).kind != cuda::TileKind::kLarge);
  }
}
