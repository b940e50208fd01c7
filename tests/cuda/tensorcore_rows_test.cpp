// SPDX-License-Identifier: Apache-2.0
// Tensor cores in the emulator alone: which architecture takes which type, and less
// scratch than was asked for.
#include <doctest/doctest.h>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "runtime/op/attention.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/linear.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

TEST_CASE(
    "tensor cores: groups of an image that turns out unaligned make do with the scratch that was "
    "asked for") {
  Conv2dAttributes t;
  t.kernel_h = t.kernel_w = 3, t.groups = 2, t.method = ConvMethod::kGrouped;
  Work w{OpCode::kConv2d, &t, {}, Tensor(DType::kF32, {1, 4, 5, 32})};
  w.inputs = {Tensor(DType::kF32, {1, 6, 7, 32}, 4).random(1),
              random_weights(Packing::kDense, {32, 3, 3, 16}, 2, 9 * 16).packed};
  Tensor around(DType::kF32, {1, 6, 7, 36});  // whose channels from the second on are the image
  for (int64_t i = 0; i < 6 * 7 * 32; i++) around.set(i / 32 * 36 + 1 + i % 32, w.inputs[0].at(i));
  std::vector<TensorView> views = views_of(w.inputs);
  Tensor y = w.output;
  GpuWork work;
  const auto scratch_of = [&] {
    const OpArguments a = arguments_of(w, views, y.view());
    const GpuKernelEntry* const row =
        find_gpu_row(ingot_cuda_kernel_set, w.op, a, work.traits, GpuPrecision::kFp16);
    return row->scratch(a, work.traits, GpuPrecision::kFp16);
  };
  const TensorView at = y.view();
  views[0].data = views[1].data = y.view().data = nullptr;  // as a session asks
  work.scratch_bytes = scratch_of();
  views[0].data = around.view().as<float>() + 1, views[1].data = w.inputs[1].view().data,
  y.view() = at;
  REQUIRE(scratch_of() > work.scratch_bytes);  // tiles would want packed weights
  std::vector<uint8_t> scratch(work.scratch_bytes + 512, 0xa5);
  const OpArguments a = arguments_of(w, views, y.view());
  work.arguments = &a, work.precision = GpuPrecision::kFp16;
  work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256;
  work.sink = {nullptr, [](void*, const GpuLaunch& l) { return cuda::emulate::run_launch(l); }};
  y.poison();
  REQUIRE(
      find_gpu_row(ingot_cuda_kernel_set, w.op, a, work.traits, work.precision)->plan(work).ok());
  const uint8_t* const end = scratch.data() + scratch.size();
  for (const uint8_t* byte = work.scratch + work.scratch_bytes; byte < end; byte++)
    REQUIRE(*byte == 0xa5);
  int64_t differs = -1;
  CHECK(y.same_bits(on_cpu(w), &differs));
}

TEST_CASE(
    "tensor cores: split-K has fewer parts where scratch has no room for all, and nothing is "
    "written behind it") {
  LinearAttributes t;
  Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, {2, 40})};
  w.inputs = {Tensor(DType::kF32, {2, 2048}).random(1),
              random_weights(Packing::kPanels16, {40, 2048}, 2, 2048).packed};
  const Tensor want = on_cpu(w);
  const std::vector<TensorView> views = views_of(w.inputs);
  Tensor y = w.output;
  const OpArguments a = arguments_of(w, views, y.view());
  GpuWork work;
  uint32_t fault = 0;
  work.traits.multiprocessors = 64;
  work.precision = GpuPrecision::kFast;
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, w.op, a, work.traits, work.precision);
  const uint64_t needed = row->scratch(a, work.traits, work.precision);
  REQUIRE(needed >= 8 * 2 * 40 * 4);
  for (const uint64_t bytes : {uint64_t{0}, needed / 4, needed - 1, needed}) {
    CAPTURE(bytes);
    std::vector<uint8_t> scratch(needed + 256, 0xa5);
    uint32_t most = 1;
    work.arguments = &a, work.fault = &fault, work.scratch_bytes = bytes;
    work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256;
    work.sink = {&most, [](void* user, const GpuLaunch& l) {
                   if (l.grid_y > *static_cast<uint32_t*>(user))
                     *static_cast<uint32_t*>(user) = l.grid_y;
                   return cuda::emulate::run_launch(l);
                 }};
    y.poison();
    REQUIRE(row->plan(work).ok());
    check_close(y, want, check::kTf32Product);
    CHECK(most * 2 * 40 * 4 <= (bytes ? bytes : 2 * 40 * 4));
    const uint8_t* const end = scratch.data() + scratch.size();
    for (const uint8_t* at = work.scratch + bytes; at < end; at++) REQUIRE(*at == 0xa5);
  }
}

TEST_CASE("tensor cores: which GPU takes which type; what the exact rows keep") {
  LinearAttributes t;
  Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, {40, 32})};
  w.inputs = {Tensor(DType::kF32, {40, 16}).random(1),
              random_weights(Packing::kPanels16, {32, 16}, 2, 16).packed};
  GpuTraits traits;
  traits.sm = 75;
  CHECK(on_gpu(w, GpuPrecision::kFast, 0, traits).ran("f16"));
  traits.sm = 80;
  CHECK(on_gpu(w, GpuPrecision::kFast, 0, traits).ran("tf32"));
  CHECK(on_gpu(w, GpuPrecision::kFp16, 0, traits).ran("f16"));
  CHECK(!is_tensorcore_row(w, 72, GpuPrecision::kFast));
  CHECK(!is_tensorcore_row(w, 87, GpuPrecision::kExact));
  CHECK(is_tensorcore_row(w, 87, GpuPrecision::kFast));
}

TEST_CASE("attention on tensor cores: which GPU takes which type") {
  AttentionAttributes t;
  Work w{OpCode::kAttention, &t, {}, Tensor(DType::kF32, {1, 3, 8})};
  const Tensor x = Tensor(DType::kF32, {1, 3, 8}).random(1);
  w.inputs = {x, x, x};
  GpuTraits traits;
  traits.sm = 75;
  CHECK(on_gpu(w, GpuPrecision::kFast, 0, traits).ran("f16"));
  traits.sm = 87;
  CHECK(on_gpu(w, GpuPrecision::kFast, 0, traits).ran("tf32"));
  CHECK(on_gpu(w, GpuPrecision::kFp16, 0, traits).ran("f16"));
  CHECK(is_tensorcore_row(w, 87, GpuPrecision::kFp16));
  CHECK(!is_tensorcore_row(w, 72, GpuPrecision::kFp16));
  CHECK(!is_tensorcore_row(w, 87, GpuPrecision::kExact));
}
