// SPDX-License-Identifier: Apache-2.0
// What early weights, tiles of 128x128 and sums in the last block change, counted in the emulator
// on layers of ResNet-50 and MiniLM; ./dev show gpu-levers prints it beside predictions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "kernels/cuda/emulate/emulator.h"
#include "runtime/op/linear.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

const LinearAttributes kPlain;

Work linear(int64_t rows, int64_t k, int64_t o) {
  Work w{OpCode::kLinear, &kPlain, {}, Tensor(DType::kF32, {rows, o})};
  w.inputs = {Tensor(DType::kF32, {rows, k}).random(1),
              random_weights(Packing::kPanels16, {o, k}, 2, k).packed,
              Tensor(DType::kF32, {o}, 0, Packing::kVector16).random(3)};
  return w;
}
GpuTraits traits_of(uint32_t shared_bytes, int multiprocessors) {
  GpuTraits traits;
  traits.shared_bytes = shared_bytes, traits.multiprocessors = multiprocessors;
  return traits;
}
/// Copies of 16 bytes to shared memory by the variant whose kernel has this in its name.
size_t copies_of(const Work& w, const GpuTraits& traits, const char* kernel) {
  const int variants = on_gpu(w, GpuPrecision::kFast, 0, traits).variants;
  for (int variant = 0; variant < variants; variant++) {
    const Run run = on_gpu(w, GpuPrecision::kFast, 0, traits, variant);
    if (run.ran(kernel) && run.splits == 1) return size_t(cuda::emulate::counts.copies);
  }
  FAIL(kernel << ": no such variant");
  return 0;
}

}  // namespace

TEST_CASE("levers: copies of weights before the wait") {
  const Work w = linear(64, 384, 384);  // MiniLM's, 64 tokens
  size_t early = 0, copies = 0, least = ~size_t{0};
  for (int i = 0; i < 4; i++) {  // on_gpu() has runs without constants
    const Run run = on_gpu(w, GpuPrecision::kFast, 0, traits_of(48 << 10, 132));
    CHECK(run.ran("product_tf32_rows"));
    if (run.early_copies > early) early = run.early_copies, copies = cuda::emulate::counts.copies;
    least = std::min(least, size_t(run.early_copies));
  }
  printf("counted: 64 x 384 to 384: %zu of %zu copies before the wait, without %zu\n", early,
         copies, least);
  CHECK(least == 0);
  CHECK(early * 10 > copies);
}

TEST_CASE("levers: copies of a tile of 128x128") {
  const Work w = linear(256, 64, 256);  // of ResNet-50's first pointwise layers, fewer pixels
  const GpuTraits traits = traits_of(99 << 10, 1);
  const size_t large = copies_of(w, traits, "128x128"), wide = copies_of(w, traits, "128x64");
  printf("counted: 256 x 64 to 256: %zu copies, by tiles of 128x64 %zu\n", large, wide);
  CHECK(large * 3 == wide * 2);
}

TEST_CASE("levers: launches of a product in parts") {
  Work apart = linear(64, 1536, 384);  // MiniLM's, 64 tokens
  Work last = apart;
  last.counters = true;
  const GpuTraits traits = traits_of(48 << 10, 132);
  int found = 0;
  const int variants = on_gpu(apart, GpuPrecision::kFast, 0, traits).variants;
  for (int variant = 0; variant < variants && !found; variant++) {
    const Run one = on_gpu(last, GpuPrecision::kFast, 0, traits, variant);
    if (one.splits == 1 || one.kernels.size() != 1) continue;
    const Run two = on_gpu(apart, GpuPrecision::kFast, 0, traits, variant);
    found++;
    printf("counted: 64 x 1536 to 384 in %u parts: 1 launch, without %zu\n", one.splits,
           two.kernels.size());
    CHECK(two.kernels.size() == 2);
    CHECK(one.y.same_bits(two.y, nullptr));
  }
  CHECK(found == 1);
}
