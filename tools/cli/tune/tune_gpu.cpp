// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/tune/tune_gpu.h"

#include <algorithm>

#include "runtime/api/translate.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/variant.h"
#include "runtime/device/cuda/variant_timer.h"
#include "runtime/session/split.h"

namespace ingot::cli {
namespace {

constexpr double kSampleNs =
    // what a sample should take at least: events count in steps of about half a microsecond
    200'000;
constexpr double kMaxRepeats = 32;

void must(const Status& status, const ErrorDetail& detail) {
  if (status.ok()) return;
  GpuFault fault{};
  api::report(status, detail, &fault.error);
  throw fault;
}

/// The device that runs an instruction of the session; null where it is no GPU.
Device* device_of(RunSession& s, uint32_t instruction) {
  Device& device =
      s.split ? s.split->devices[s.split->assignment->of_instruction[instruction]] : s.device;
  return device.interface == &cuda::kCudaDevice && device.state ? &device : nullptr;
}
Device* any_device_of(RunSession& s) {
  for (uint32_t i = 0; i < s.program.instructions.size; i++)
    if (Device* device = device_of(s, i)) return device;
  return nullptr;
}

struct Offered {
  const GpuKernelEntry* row = nullptr;
  GpuVariant variants[kMaxGpuVariants];
  uint32_t count = 0;
};
/// At the addresses of the session.
Offered offered(RunSession& s, uint32_t instruction) {
  Offered out;
  const Device* device = device_of(s, instruction);
  if (!device || is_control(s.program.instructions[instruction].op)) return out;
  const OpArguments& arguments = s.program.calls[instruction].arguments;
  const GpuTraits traits = cuda::traits_of(cuda::gpu_facts(device->ordinal));
  const GpuPrecision precision = gpu_precision(s.program.precision);
  out.row = find_gpu_row(ingot_cuda_kernel_set, s.program.instructions[instruction].op, arguments,
                         traits, precision);
  if (out.row) out.count = list_gpu_variants(*out.row, arguments, traits, precision, out.variants);
  return out;
}

/// The launches of a variant, some times one behind the other.
struct VariantGraph {
  cuda::GraphExec graph = nullptr;
  uint32_t repeats = 1;
};

}  // namespace

GpuIdentity gpu_of(ingot_session* session) {
  RunSession& s = *api::unwrap(session);
  GpuIdentity out;
  const Device* device = any_device_of(s);
  if (!device) return out;
  const cuda::GpuFacts& facts = cuda::gpu_facts(device->ordinal);
  out.name = facts.name;
  out.compute_capability = uint32_t(facts.sm);
  out.multiprocessors = uint32_t(cuda::traits_of(facts).multiprocessors);
  out.driver = uint32_t(cuda::driver().version);
  out.precision = uint8_t(s.program.precision);
  for (size_t i = 0; i < s.model->program.free_symbols; i++)
    out.symbols.push_back(s.model->program.symbols[i].name);
  return out;
}

std::vector<TimedVariant> variants_of(ingot_session* session, uint32_t instruction) {
  RunSession& s = *api::unwrap(session);
  const Offered all = offered(s, instruction);
  std::vector<TimedVariant> variants;
  if (all.count <= 1) return variants;
  const Device& device = *device_of(s, instruction);
  const GpuTraits traits = cuda::traits_of(cuda::gpu_facts(device.ordinal));
  for (uint32_t i = 0; i < all.count; i++)
    variants.push_back({all.variants[i].name, all.variants[i].parts,
                        gpu_scratch(*all.row, s.program.calls[instruction].arguments, traits,
                                    gpu_precision(s.program.precision), &all.variants[i])});
  return variants;
}

struct VariantTimer::State {
  RunSession& session;
  cuda::VariantClock timer;
  Offered variants{};
  cuda::TimedWork work{};
  std::vector<VariantGraph> graphs{};

  explicit State(RunSession& s) : session(s), timer(*any_device_of(s)) {}
  ~State() { drop_all(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void drop_all() {
    for (const VariantGraph& variant : graphs)
      if (variant.graph) timer.drop(variant.graph);
    graphs.clear();
  }
  void build(size_t variant, uint32_t repeats) {
    VariantGraph& own = graphs[variant];
    if (own.graph) timer.drop(own.graph);
    own = {nullptr, repeats};
    work.variant = &variants.variants[variant];
    ErrorDetail detail;
    cuda::GraphExec graph = nullptr;
    must(timer.prepare(work, repeats, &graph, &detail), detail);
    own.graph = graph;
  }
  double time(size_t variant) {
    double nanoseconds = 0;
    ErrorDetail detail;
    must(timer.time(graphs[variant].graph, &nanoseconds, &detail), detail);
    return nanoseconds / graphs[variant].repeats;
  }
};

VariantTimer::VariantTimer(ingot_session* session, uint64_t scratch_bytes)
    : state_(std::make_unique<State>(*api::unwrap(session))) {
  ErrorDetail detail;
  must(state_->timer.open(scratch_bytes, &detail), detail);
}
VariantTimer::~VariantTimer() = default;

void VariantTimer::begin(uint32_t instruction) {
  State& t = *state_;
  t.drop_all();
  t.variants = offered(t.session, instruction);
  t.work = {t.session.program.instructions[instruction].op,
            &t.session.program.calls[instruction].arguments,
            gpu_precision(t.session.program.precision), nullptr};
  t.graphs.resize(t.variants.count);
  for (size_t variant = 0; variant < t.graphs.size(); variant++) {
    t.build(variant, 1);
    const double repeats = std::clamp(kSampleNs / std::max(t.time(variant), 1.0), 1.0, kMaxRepeats);
    if (repeats >= 2) t.build(variant, uint32_t(repeats));
  }
}

double VariantTimer::sample(size_t variant) { return state_->time(variant); }

}  // namespace ingot::cli
