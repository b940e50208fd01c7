// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/one_instruction.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cuda/cuda_kernels.h"
#include "runtime/base/checked_math.h"
#include "runtime/op/f16_weights.h"

namespace ingot::conformance {

OpArguments arguments_of(const Work& w, const std::vector<TensorView>& views, const TensorView& y) {
  OpArguments a;
  a.attributes = w.attributes, a.inputs = views.data(), a.input_count = uint16_t(views.size()),
  a.outputs = &y, a.output_count = 1;
  return a;
}
std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back(t.view());
  return views;
}

void pack_f16_weights(Work* w) {
  for (uint32_t k = 1; k < w->inputs.size(); k++) {
    const TensorView& panels = w->inputs[k].view();
    const bool has_bias = k + 1 < w->inputs.size() && w->inputs[k + 1].present();
    const Packing bias = has_bias ? w->inputs[k + 1].view().packing : Packing::kVector16;
    if (!takes_f16_weights(w->op, w->attributes, k, panels.packing, bias)) continue;
    int64_t depth = 1;
    for (int i = 1; i < panels.rank; i++) depth *= panels.dims[i];
    for (int64_t panel = 0; panel < ceil_div(panels.dims[0], kPanel); panel++)
      make_f16_weights(panels.as<const uint8_t>() + panel * depth * 64, size_t(depth),
                       w->inputs[k].view().as<uint8_t>() + panel * ceil_div(depth, 2) * 64);
    w->inputs[k].view().dtype = DType::kF16;
  }
}

Tensor with_type(const Tensor& t, DType dtype) {
  if (!t.present()) return t;
  const TensorView& v = t.view();
  std::vector<int64_t> dims;
  for (int i = 0; i < v.rank; i++) dims.push_back(v.dims[i]);
  Tensor to(dtype, dims, v.row_stride - v.row_length());
  for (int64_t i = 0; i < v.elements(); i++) to.set(i, t.at(i));
  return to;
}

Work with_f16(const Work& w, uint64_t operands) {
  Work to = w;
  for (size_t i = 0; i < w.inputs.size(); i++)
    if (operands >> i & 1) to.inputs[i] = with_type(w.inputs[i], DType::kF16);
  if (operands >> w.inputs.size() & 1) to.output = with_type(w.output, DType::kF16);
  return to;
}

uint64_t f16_operands_of(const Work& w, const GpuTraits& traits) {
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, w.output.view());
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, w.op, a, traits, GpuPrecision::kFp16);
  REQUIRE(row != nullptr);
  return row->f16_operands ? row->f16_operands(a, traits) : 0;
}

Tensor on_cpu(const Work& w, const char* table) {
  Tensor y = w.output;
  y.poison();
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, y.view());
  const KernelEntry* kernel = find_kernel(
      std::string(table) == "oracle" ? *oracle_kernels() : *cpu_kernels(table), w.op, a);
  REQUIRE(kernel != nullptr);
  Violation violation;
  REQUIRE_MESSAGE(kernel->contract->check(a, &violation), violation.rule);
  const ScratchNeed need =
      kernel->contract->scratch ? kernel->contract->scratch(a, 1) : ScratchNeed{};
  std::vector<uint8_t> own(need.per_thread_bytes + 64), shared(need.shared_bytes + 64);
  const auto aligned = [](std::vector<uint8_t>& m) {
    return m.data() + (64 - reinterpret_cast<uintptr_t>(m.data()) % 64) % 64;
  };
  Team team;
  team.scratch = aligned(own), team.shared = aligned(shared);
  CHECK(kernel->run(a, team).ok());
  return y;
}

bool is_tensorcore_row(const Work& w, int sm, GpuPrecision precision) {
  const std::vector<TensorView> views = views_of(w.inputs);
  GpuTraits traits;
  traits.sm = sm;
  const GpuKernelEntry* row = find_gpu_row(
      ingot_cuda_kernel_set, w.op, arguments_of(w, views, w.output.view()), traits, precision);
  return row && std::string(row->name).find("tensorcore") != std::string::npos;
}

void check_close(const Tensor& got, const Tensor& want, check::Tolerance tolerance) {
  double largest = 0, worst = 0;
  int64_t first = -1;  // that is off
  for (int64_t i = 0; i < want.view().elements(); i++)
    largest = std::max(largest, std::fabs(want.at(i)));
  const double allowed = tolerance.relative * largest + tolerance.absolute;
  for (int64_t i = 0; i < want.view().elements(); i++) {
    if (std::isnan(want.at(i)) && std::isnan(got.at(i))) continue;
    const double error = std::isnan(got.at(i)) ? 1e30 : std::fabs(got.at(i) - want.at(i));
    worst = error <= worst ? worst : error;
    if (first < 0 && !(error <= allowed)) first = i;
  }
  CHECK_MESSAGE(first < 0, "element " << first << ": " << (first < 0 ? 0 : got.at(first))
                                      << " instead of " << (first < 0 ? 0 : want.at(first))
                                      << "; off by " << worst << " of " << largest);
}

bool Run::ran(const std::string& name) const {
  for (const std::string& k : kernels)
    if (k.find(name) != std::string::npos) return true;
  return false;
}

}  // namespace ingot::conformance
