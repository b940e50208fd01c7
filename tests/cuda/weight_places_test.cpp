// SPDX-License-Identifier: Apache-2.0
// Weights of 8 and 4 bits, many rows of f32 at an address that tiles cannot read from, or with less
// scratch than they ask for: scratch is asked for before addresses are known, so the plan makes do.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "tests/conformance/quantized_weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr int64_t kRows = 37, kDepth = 64, kOutputs = 40;

struct Planned {
  Status status;
  Tensor y;
  int launches = 0;
};

/// With x `moved` numbers behind an address of 256 bytes, and `bytes` of scratch.
Planned run_at(const Work& w, GpuPrecision precision, int moved, uint64_t bytes) {
  std::vector<TensorView> views = views_of(w.inputs);
  alignas(256) static float x[kRows * kDepth + 8];
  std::copy_n(w.inputs[0].view().as<const float>(), kRows * kDepth, x + moved);
  views[0].data = x + moved;
  alignas(256) static uint8_t scratch[1 << 16];
  REQUIRE(bytes <= sizeof scratch);
  Planned planned;
  planned.y = w.output;
  planned.y.poison();
  const OpArguments a = arguments_of(w, views, planned.y.view());
  const GpuKernelEntry* row = find_gpu_row(ingot_cuda_kernel_set, w.op, a, {}, precision);
  REQUIRE(row != nullptr);
  GpuWork work;
  work.arguments = &a, work.precision = precision;
  work.scratch = scratch, work.scratch_bytes = bytes;
  work.sink = {&planned.launches, [](void* user, const GpuLaunch& l) {
                 ++*static_cast<int*>(user);
                 return cuda::emulate::run_launch(l);
               }};
  planned.status = row->plan(work);
  return planned;
}

uint64_t scratch_without_addresses(const Work& w, GpuPrecision precision, bool least) {
  std::vector<TensorView> views = views_of(w.inputs);
  TensorView y = w.output.view();
  OpArguments a = arguments_of(w, views, y);
  for (TensorView& view : views) view.data = nullptr;
  y.data = nullptr;
  const GpuKernelEntry* row = find_gpu_row(ingot_cuda_kernel_set, w.op, a, {}, precision);
  REQUIRE(row != nullptr);
  return least ? least_gpu_scratch(*row, a, {}, precision)
               : gpu_scratch(*row, a, {}, precision, nullptr);
}

}  // namespace

TEST_CASE("beside tensor cores: rows anywhere, with the scratch that was asked for") {
  for (const int bits : {8, 4})
    for (const GpuPrecision precision :
         {GpuPrecision::kExact, GpuPrecision::kFast, GpuPrecision::kFp16}) {
      const QuantizedWeights weights = weights_in_blocks(kOutputs, kDepth, bits, 32, true, 11);
      LinearAttributes t;
      t.block = 32;
      Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, {kRows, kOutputs}), true};
      w.inputs = {Tensor(DType::kF32, {kRows, kDepth}).random(1),
                  weights.packed,
                  Tensor(DType::kF32, {kOutputs}, 0, Packing::kVector16).random(3),
                  Tensor(DType::kF32, {kRows, kOutputs}).random(4),
                  weights.scales,
                  weights.zeros};
      const Tensor want = on_cpu(w);
      const uint64_t whole = scratch_without_addresses(w, precision, false),
                     least = scratch_without_addresses(w, precision, true);
      INFO("bits ", bits, ", precision ", int(precision), ", scratch ", whole, ", ", least);
      CHECK(least == 0);
      for (const int moved : {0, 1, 2, 4})
        for (const uint64_t bytes : {whole, least}) {
          const Planned run = run_at(w, precision, moved, bytes);
          REQUIRE(run.status.ok());
          int64_t at = -1;
          if (precision == GpuPrecision::kExact)
            CHECK_MESSAGE(run.y.same_bits(want, &at), "element " << at);
          else
            check_close(run.y, want, check::kF16Product);
        }
      // three times sixteen rows
      CHECK(run_at(w, precision, 1, 0).launches == 3);
    }
}
