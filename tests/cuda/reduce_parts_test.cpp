// SPDX-License-Identifier: Apache-2.0
// Reductions over outer dimensions in fast and fp16 files: in parts of equal length where few
// outputs would be a few threads alone; exact files keep one chain an output, with its bits.
#include <doctest/doctest.h>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "runtime/op/reduce.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Reduction {
  const char* name;
  std::vector<int64_t> dims;
  uint32_t axes;
  std::vector<int64_t> outputs;
  size_t launches = 2;  // of a file that is not exact
};

/// On the emulated GPU; `scratch_share`: how much of the scratch that was asked for there is.
Tensor reduce(const Work& w, GpuPrecision precision, uint32_t order, size_t* launches,
              uint64_t scratch_share = 1) {
  Tensor y = w.output;
  y.poison();
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, y.view());
  GpuWork work;
  work.traits.multiprocessors = 4, work.precision = precision, work.arguments = &a;
  const GpuKernelEntry* row = find_gpu_row(ingot_cuda_kernel_set, w.op, a, work.traits, precision);
  REQUIRE(row != nullptr);
  work.scratch_bytes = gpu_scratch(*row, a, work.traits, precision, nullptr) * scratch_share;
  std::vector<uint8_t> scratch(work.scratch_bytes + 512, 0xa5);
  work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256;
  *launches = 0;
  work.sink = {launches, [](void* user, const GpuLaunch& l) {
                 ++*static_cast<size_t*>(user);
                 return cuda::emulate::run_launch(l);
               }};
  cuda::emulate::set_order(order);
  REQUIRE(row->plan(work).ok());
  cuda::emulate::set_order(0);
  CHECK(y.guard_fault() == "");
  for (const uint8_t* at = work.scratch + work.scratch_bytes; at < scratch.data() + scratch.size();
       at++)
    REQUIRE(*at == 0xa5);
  return y;
}

void check_reduction(const Reduction& c, ReduceKind kind) {
  CAPTURE(c.name);
  CAPTURE(int(kind));
  ReduceAttributes t;
  t.kind = kind, t.axes = c.axes;
  Work w{OpCode::kReduce,
         &t,
         {Tensor(DType::kF32, c.dims, 3).random(7)},
         Tensor(DType::kF32, c.outputs)};
  size_t launches = 0;
  int64_t at = -1;
  const Tensor exact = reduce(w, GpuPrecision::kExact, 0, &launches);
  CHECK(launches == 1);
  CHECK(exact.same_bits(on_cpu(w), &at));
  const Tensor want = on_cpu(w, "oracle");
  for (const GpuPrecision precision : {GpuPrecision::kFast, GpuPrecision::kFp16}) {
    const Tensor got = reduce(w, precision, 0, &launches);
    CHECK(launches == c.launches);
    check_close(got, want, {1e-6, 0, 0});
    for (const uint32_t order : {1u, 33u})
      CHECK(reduce(w, precision, order, &launches).same_bits(got, &at));
    if (c.launches == 1) CHECK(got.same_bits(exact, &at));
    // a session that was bound to other extents: one chain, as in exact files
    CHECK(reduce(w, precision, 0, &launches, 0).same_bits(exact, &at));
    CHECK(launches == 1);
  }
}

}  // namespace

TEST_CASE("reduce: many positions of few outputs go in parts, unless the file is exact") {
  const Reduction cases[] = {
      {"a global pool", {2, 16, 12, 5}, 0b110, {2, 1, 1, 5}},
      {"the first dimension", {96, 7}, 0b01, {1, 7}},
      {"a kept dimension behind the reduced", {80, 3, 4}, 0b001, {1, 3, 4}},
      {"reduced dimensions apart", {20, 3, 20, 4}, 0b0101, {1, 3, 1, 4}, 1},
      {"a prime number of positions", {97, 4}, 0b01, {1, 4}, 1},
      {"few positions", {60, 4}, 0b01, {1, 4}, 1},
      {"outputs for all multiprocessors", {64, 1100}, 0b01, {1, 1100}, 1},
  };
  for (const Reduction& c : cases)
    for (const ReduceKind kind :
         {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin})
      check_reduction(c, kind);
  check_reduction({"norms are one chain", {96, 7}, 0b01, {1, 7}, 1}, ReduceKind::kL2);
}
