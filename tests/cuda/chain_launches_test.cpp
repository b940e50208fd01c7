// SPDX-License-Identifier: Apache-2.0
// Which chains are one launch of depthwise and pointwise, and which go stage by stage; the bits of
// the CPU either way.
#include <doctest/doctest.h>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "runtime/op/conv2d.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// A depthwise window and what stands behind it, three tiles of 128 pixels on three multiprocessors
/// by default.
struct Pair {
  const char* name;
  int launches = 2;
  int64_t h = 20, w = 20, c = 16, o = 16;
  uint32_t k = 3, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_h = 1, pad_w = 1;
  uint32_t next_k = 1, next_stride = 1, next_pad = 0;
  int64_t batch = 1, x_padding = 0;
  int multiprocessors = 3;
};

std::vector<std::string> launches_of(const Work& w, const GpuTraits& traits, Tensor* y) {
  std::vector<std::string> kernels;
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, y->view());
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, w.op, a, traits, GpuPrecision::kExact);
  REQUIRE(row != nullptr);
  std::vector<uint8_t> scratch(gpu_scratch(*row, a, traits, GpuPrecision::kExact, nullptr) + 256);
  GpuWork work;
  work.arguments = &a, work.traits = traits;
  work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256;
  work.scratch_bytes = scratch.size() - 256;
  work.sink = {&kernels, [](void* user, const GpuLaunch& l) {
                 static_cast<std::vector<std::string>*>(user)->push_back(
                     ingot_cuda_kernel_set.kernels[l.kernel].name);
                 return cuda::emulate::run_launch(l);
               }};
  REQUIRE(row->plan(work).ok());
  return kernels;
}

void run_pair(const Pair& c) {
  INFO(c.name);
  ChainAttributes t;
  t.stage_count = 2, t.band_rows = 4;
  Conv2dAttributes &first = t.stages[0], &next = t.stages[1];
  first.method = ConvMethod::kDepthwise, first.groups = uint32_t(c.c),
  first.kernel_h = first.kernel_w = c.k;
  first.stride_h = c.stride_h, first.stride_w = c.stride_w;
  first.dilation_h = c.dilation_h, first.dilation_w = c.dilation_w;
  first.pad_top = first.pad_bottom = c.pad_h, first.pad_left = first.pad_right = c.pad_w;
  first.activation = {Activation::kSilu, 0, 0};
  next.kernel_h = next.kernel_w = c.next_k, next.stride_h = next.stride_w = c.next_stride;
  next.pad_top = next.pad_left = next.pad_bottom = next.pad_right = c.next_pad;
  next.activation = {Activation::kRelu, 0, 0};
  const auto through = [](int64_t extent, uint32_t k, uint32_t stride, uint32_t dilation,
                          uint32_t pad) {
    return conv_extent<int64_t>(extent, 2 * pad, k, stride, dilation);
  };
  const int64_t h = through(through(c.h, c.k, c.stride_h, c.dilation_h, c.pad_h), c.next_k,
                            c.next_stride, 1, c.next_pad);
  const int64_t w = through(through(c.w, c.k, c.stride_w, c.dilation_w, c.pad_w), c.next_k,
                            c.next_stride, 1, c.next_pad);
  Work work{OpCode::kChain, &t, {}, Tensor(DType::kF32, {c.batch, h, w, c.o})};
  work.inputs = {Tensor(DType::kF32, {c.batch, c.h, c.w, c.c}, c.x_padding).random(1),
                 random_weights(Packing::kDepthwise16, {c.c, c.k, c.k, 1}, 2, c.k * c.k).packed,
                 random_weights(Packing::kVector16, {c.c}, 3, 1).packed,
                 random_weights(Packing::kPanels16, {c.o, c.next_k, c.next_k, c.c}, 4,
                                c.next_k * c.next_k * c.c)
                     .packed,
                 random_weights(Packing::kVector16, {c.o}, 5, 1).packed};
  GpuTraits traits;
  traits.multiprocessors = c.multiprocessors;
  Tensor y = work.output;
  y.poison();
  const std::vector<std::string> kernels = launches_of(work, traits, &y);
  CHECK(int(kernels.size()) == c.launches);
  CHECK((kernels[0] == "ingot_depthwise_pointwise") == (c.launches == 1));
  CHECK(y.guard_fault() == "");
  int64_t at = -1;
  const bool same = y.same_bits(on_cpu(work), &at);
  CHECK_MESSAGE(same, "element " << at << " has other bits than the CPU's");
}

// One case is a line.
// clang-format off
const Pair kPairs[] = {
    {.name = "3x3 and 1x1", .launches = 1},
    {.name = "channels between two k-tiles, outputs between two panels",
     .launches = 1,
     .c = 20,
     .o = 29},
    {.name = "stride 2", .launches = 1, .h = 40, .w = 39, .stride_h = 2, .stride_w = 2},
    {.name = "rows farther apart than columns", .launches = 1, .h = 60, .stride_h = 3},
    {.name = "rows of the window apart", .launches = 1, .dilation_h = 2, .pad_h = 2},
    {.name = "no pads", .launches = 1, .h = 24, .w = 22, .pad_h = 0, .pad_w = 0},
    {.name = "tiles across images", .launches = 1, .h = 5, .w = 4, .batch = 20},
    {.name = "stride 2, rows that are no groups of four",
     .h = 40,
     .w = 42,
     .stride_h = 2,
     .stride_w = 2},
    {.name = "stride 3", .h = 60, .w = 60, .stride_h = 3, .stride_w = 3},
    {.name = "columns of the window apart",
     .dilation_h = 2,
     .dilation_w = 2,
     .pad_h = 2,
     .pad_w = 2},
    {.name = "5x5", .k = 5, .pad_h = 2, .pad_w = 2},
    {.name = "1x1 by channels", .k = 1, .pad_h = 0, .pad_w = 0},
    {.name = "channels that are no quads", .c = 18},
    {.name = "pixels of x that are not aligned", .x_padding = 1},
    {.name = "more outputs than a tile has", .o = 33},
    {.name = "fewer tiles than multiprocessors", .multiprocessors = 4},
    {.name = "a window behind it", .next_k = 3, .next_pad = 1},
    {.name = "a pointwise one that skips pixels", .h = 40, .w = 40, .next_stride = 2},
    {.name = "a pointwise one with pads", .next_pad = 2},
};
// clang-format on

}  // namespace

TEST_CASE(
    "chain: depthwise and pointwise are one launch where that pays by the model, and two anywhere "
    "else") {
  for (const Pair& c : kPairs) run_pair(c);
}
