// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/bench/bench.cpp - speed of the convolution kernels by layer, one thread:
// ingot_kernel_bench [ISA] [FILTER].
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cpu/bench/layers.h"
#include "kernels/cpu/cpu_kernels.h"

using namespace ingot;
using namespace ingot::bench;

namespace {

/// A tensor with memory of its own, filled with small numbers.
struct Operand {
  TensorView view;
  std::vector<float> memory;
  explicit Operand(std::vector<int64_t> dims, Packing packing = Packing::kDense) {
    view.dtype = DType::kF32, view.packing = packing, view.rank = uint8_t(dims.size());
    for (size_t i = 0; i < dims.size(); i++) view.dims[i] = dims[i];
    view.row_stride = view.row_length();
    uint64_t bytes = 0;
    if (!storage_bytes(view, &bytes)) std::abort();
    memory.resize(bytes / 4 + 16);
    uint32_t state = 1;
    for (float& f : memory)
      state = state * 1664525u + 1013904223u, f = float(state >> 8) / float(1 << 24) - 0.5f;
    view.data =
        reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  }
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Best time of a kernel in seconds, some 60 ms of trying.
double best_seconds(const KernelEntry& kernel, const OpArguments& a) {
  const ScratchNeed need =
      kernel.contract->scratch ? kernel.contract->scratch(a, 1) : ScratchNeed{};
  std::vector<char> scratch(need.per_thread_bytes + 64);
  Team team;
  team.scratch =
      reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  double best = 1e9;
  const double end = now() + 0.06;
  for (int i = 0; i < 3 || now() < end; i++) {
    const double t0 = now();
    (void)kernel.run(a, team);
    const double t = now() - t0;
    best = t < best ? t : best;
  }
  return best;
}

void report(const char* name, const KernelTable& table, OpCode op, const OpArguments& a,
            double flops) {
  Violation v;
  const OpContract* contract = find_contract(table, op);
  if (!contract->check(a, &v)) {
    std::printf("%-34s refused: %s, expected %lld, found %lld\n", name, v.rule,
                static_cast<long long>(v.expected), static_cast<long long>(v.found));
    return;
  }
  const double seconds = best_seconds(*find_kernel(table, op, a), a);
  std::printf("%-34s %9.1f us %8.1f GFLOP/s\n", name, seconds * 1e6, flops / seconds * 1e-9);
}

Conv2dAttributes attributes_of(const ConvLayer& l, int64_t h) {
  Conv2dAttributes t;
  t.kernel_h = t.kernel_w = l.k, t.stride_h = t.stride_w = l.stride,
  t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = l.k / 2;
  if (h == 1) t.pad_top = t.pad_bottom = t.pad_left = t.pad_right = 0;
  t.method = l.method, t.groups = l.method == kDepthwise ? uint32_t(l.cin) : 1;
  t.activation.kind = l.activation, t.residual_first = true;
  t.input_layout = l.nchw ? ChannelLayout::kNchw : ChannelLayout::kNhwc;
  return t;
}
int64_t extent(int64_t in, const ConvLayer& l) { return (in + 2 * (l.k / 2) - l.k) / l.stride + 1; }
Operand weights_of(const ConvLayer& l) {
  const Packing packing = l.method == kDirect     ? Packing::kPanels16
                          : l.method == kWinograd ? Packing::kWinogradF43
                                                  : Packing::kDepthwise16;
  return Operand({l.cout, l.k, l.k, l.method == kDepthwise ? 1 : l.cin}, packing);
}
double flops_of(const ConvLayer& l, int64_t oh, int64_t ow) {
  return 2.0 * double(oh * ow * l.cout) * l.k * l.k * double(l.method == kDepthwise ? 1 : l.cin);
}

void run_layer(const KernelTable& table, const ConvLayer& l) {
  const int64_t oh = extent(l.h, l), ow = extent(l.w, l);
  Conv2dAttributes t = attributes_of(l, l.h);
  t.residual_first = l.residual;
  const Operand x(l.nchw ? std::vector<int64_t>{1, l.cin, l.h, l.w}
                         : std::vector<int64_t>{1, l.h, l.w, l.cin});
  const Operand w = weights_of(l), b({l.cout}, Packing::kVector16), r({1, oh, ow, l.cout}),
                y({1, oh, ow, l.cout});
  const TensorView inputs[] = {x.view, w.view, b.view, r.view};
  const OpArguments a{&t, inputs, &y.view, uint16_t(l.residual ? 4 : 3), 1};
  report(l.name, table, OpCode::kConv2d, a, flops_of(l, oh, ow));
}

void run_chain(const KernelTable& table, const ChainLayer& c) {
  ChainAttributes t;
  t.stage_count = 3, t.band_rows = c.band_rows;
  std::vector<Operand> operands;
  operands.reserve(8);
  operands.emplace_back(c.nchw ? std::vector<int64_t>{1, c.stages[0].cin, c.h, c.w}
                               : std::vector<int64_t>{1, c.h, c.w, c.stages[0].cin});
  int64_t h = c.h, w = c.w;
  double flops = 0;
  for (int i = 0; i < 3; i++) {
    const ConvLayer& l = c.stages[i];
    t.stages[i] = attributes_of(l, h);
    t.stages[i].residual_first = false;
    if (i == 0 && c.nchw) t.stages[i].input_layout = ChannelLayout::kNchw;
    operands.push_back(weights_of(l));
    operands.emplace_back(std::vector<int64_t>{l.cout}, Packing::kVector16);
    h = extent(h, l), w = extent(w, l);
    flops += flops_of(l, h, w);
  }
  const Operand y({1, h, w, c.stages[2].cout});
  std::vector<TensorView> inputs;
  for (const Operand& o : operands) inputs.push_back(o.view);
  const OpArguments a{&t, inputs.data(), &y.view, uint16_t(inputs.size()), 1};
  report(c.name, table, OpCode::kChain, a, flops);
}

}  // namespace

int main(int argc, char** argv) {
  const KernelTable* table =
      cpu_kernels(argc > 1 && std::strcmp(argv[1], "best") != 0 ? argv[1] : nullptr);
  const char* filter = argc > 2 ? argv[2] : "";
  if (!table) {
    std::fprintf(stderr,
                 "ingot_kernel_bench: instruction set '%s' is not built or cannot run here\n",
                 argv[1]);
    return 1;
  }
  std::printf("%s, one thread, best time\n", table->isa);
  for (const ConvLayer& l : kLayers)
    if (std::strstr(l.name, filter)) run_layer(*table, l);
  for (const ChainLayer& c : kChains)
    if (std::strstr(c.name, filter)) run_chain(*table, c);
}
