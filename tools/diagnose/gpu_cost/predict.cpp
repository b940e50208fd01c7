// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/gpu_cost/predict.h"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/cycle_rates.h"
#include "runtime/device/gpu/f16_activations.h"
#include "runtime/device/gpu/launch_order.h"
#include "tools/diagnose/gpu_cost/gpu_operands.h"
#include "tools/files/failure.h"

namespace ingot::gpu_cost {
namespace {

using cuda::kChipCycle, cuda::kEarlyGap, cuda::kFill, cuda::kGap, cuda::kIssueCycle, cuda::kL2Cycle,
    cuda::kMemoryLatency;
constexpr uint32_t kRegisters = 64 << 10, kThreadRegisters = 64;  // kernels are compiled for 64 to
                                                                  // 128 a thread

/// Multiply-adds of a multiprocessor in a cycle.
double rate_of(const GpuModel& gpu, Unit unit) {
  switch (unit) {
    case Unit::kF16: return gpu.f16_cycle * gpu.mma_share;
    case Unit::kS8: return gpu.f16_cycle * gpu.mma_share * 2;
    case Unit::kTf32: return gpu.f16_cycle * gpu.mma_share / 2;
    case Unit::kDot4: return gpu.fma_cycle * 2.0;  // four products, at half the rate of an fma
    case Unit::kF32:
    case Unit::kNone: break;
  }
  return gpu.fma_cycle;
}

double resident_blocks(const GpuModel& gpu, const LaunchWork& w) {
  const Residency most = residency_of(gpu.sm);
  double blocks = most.blocks;
  blocks = std::min(blocks, double(most.threads / w.threads));
  blocks = std::min(blocks, double(kRegisters / kThreadRegisters / uint32_t(w.threads)));
  blocks = std::min(blocks, double(most.shared_bytes / (w.shared_bytes + (1u << 10))));
  return std::max(blocks, 1.0);
}

struct RecordedLaunch {
  const char* name;
  LaunchWork work;
  LaunchAccess touched;
};
struct Recorder {
  std::vector<RecordedLaunch> launches;
  LaunchAccess operands;  // of the instruction
  const uint8_t* scratch;
  uint64_t scratch_bytes;
  bool one_load;
};

Status record(void* user, const GpuLaunch& launch) {
  Recorder& r = *static_cast<Recorder*>(user);
  LaunchWork work = work_of(launch);
  if (r.one_load) work.in_flight /= work.loads;
  r.launches.push_back({ingot_cuda_kernel_set.kernels[launch.kernel].name, work,
                        access_of(r.operands, launch, r.scratch, r.scratch_bytes)});
  return {};
}

/// When launches begin and end.
class Schedule {
 public:
  explicit Schedule(const GpuModel& gpu) : has_early_(gpu.sm >= 90) {}
  /// Before add(): whether the launch starts before the only one that it waits for has ended.
  bool wait(const LaunchAccess& touched) {
    order_.wait(touched, &waits_);
    return has_early_ && waits_.count == 1 && waits_.launches[0].is_kernel;
  }
  void add(const LaunchCost& cost) {
    double begin = 0;
    for (uint32_t i = 0; i < waits_.count; i++)
      begin = std::max(begin, ends_[index_of(waits_.launches[i])]);
    free_ = std::max(begin + cost.start_ns, free_) + (cost.ns - cost.start_ns);
    add_end(free_, true);
  }
  /// What is no launch: all ends before it, and it before all.
  void join() {
    order_.wait(LaunchAccess(), &waits_);
    add_end(free_, false);
  }
  double end() const { return free_; }
  /// Of the program, by no address that is read.
  GpuCounters counters = {reinterpret_cast<uint32_t*>(kFirstAddress / 16), kGpuCounters};

 private:
  static size_t index_of(const LaunchOrder::Launch& l) {
    return size_t(reinterpret_cast<uintptr_t>(l.node));
  }
  void add_end(double ns, bool is_kernel) {
    order_.add({reinterpret_cast<void*>(uintptr_t(ends_.size())), is_kernel});
    ends_.push_back(ns);
  }
  const bool has_early_;
  LaunchOrder order_;
  LaunchOrder::Waits waits_;
  std::vector<double> ends_;
  double free_ = 0;  // when the last launch so far has done its work
};

/// Operands of an instruction that its launches say nothing of, in equal parts.
void share_operands(const cli::ProgramView& view, const InstructionDef& instruction,
                    const OpArguments& a, std::vector<RecordedLaunch>* launches) {
  size_t unknown = 0;
  for (const RecordedLaunch& launch : *launches) unknown += !launch.work.known;
  if (!unknown) return;
  double weights = 0;
  for (uint32_t i = 0; i < instruction.input_count; i++) {
    const int32_t v = instruction.inputs[i];
    if (v >= 0 && view.program().values[size_t(v)].kind == ValueKind::kConstant)
      weights += double(view.program().values[size_t(v)].constant_bytes);
  }
  double halved = 0;  // of what the file says
  const auto halve = [&](const TensorView& t, int32_t value) {
    if (value >= 0 && t.dtype == DType::kF16 && view.type(value).dtype == DType::kF32)
      halved += double(t.elements()) * 2;
  };
  for (uint32_t i = 0; i < instruction.input_count; i++) halve(a.inputs[i], instruction.inputs[i]);
  for (uint32_t i = 0; i < instruction.output_count; i++)
    halve(a.outputs[i], instruction.outputs[i]);
  const double all = std::max(double(view.bytes_moved(instruction)) - halved, weights);
  for (RecordedLaunch& launch : *launches) {
    LaunchWork& work = launch.work;
    if (work.known) continue;
    work.weight_bytes = weights / double(unknown);
    work.bytes = (all - weights) / double(unknown);
    work.fetched = std::max(work.fetched, work.weight_bytes + work.bytes);
  }
}

InstructionCost cost_instruction(const cli::ProgramView& view, const GpuModel& gpu,
                                 GpuOperands* operands, bool weights_stay, uint32_t index,
                                 const GpuVariant* variant, Schedule* schedule,
                                 const Without& without = {}) {
  const InstructionDef& instruction = view.program().instructions[index];
  const GpuPrecision precision = gpu_precision(view.program().precision);
  GpuTraits traits = traits_of(gpu);
  if (without.large_tiles) traits.shared_bytes = 48 << 10;
  const F16Arguments arguments(operands->of(instruction), instruction, operands->f16_storage());
  const OpArguments& a = arguments.get();
  InstructionCost cost;
  cost.instruction = index;
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, instruction.op, a, traits, precision);
  if (!row) {
    schedule->join();
    return cost;
  }
  cost.row = row->name;
  Recorder recorder;
  GpuWork work;
  work.arguments = &a;
  work.scratch = reinterpret_cast<uint8_t*>(kFirstAddress / 2);
  work.scratch_bytes = gpu_scratch(*row, a, traits, precision, variant);
  uint32_t* const fault = reinterpret_cast<uint32_t*>(kFirstAddress / 8);
  work.fault = fault, work.fault_value = 1;
  work.traits = traits, work.precision = precision, work.variant = variant;
  if (!without.last_block) work.counters = &schedule->counters;
  if (!without.early_weights) work.constants = constants_of(instruction, view.program().values, a);
  work.sink = {&recorder, record};
  recorder.operands = access_of(instruction, view.program().values, a, fault);
  recorder.scratch = work.scratch, recorder.scratch_bytes = work.scratch_bytes;
  recorder.one_load = without.loads;
  const Status status = row->plan(work);
  if (!status.ok())
    host::fail(host::Exit::kUnsupported, "instruction " + std::to_string(index) + ", " +
                                             op_name(instruction.op) + ": no plan for " + gpu.name +
                                             ": " + code_name(status.code()));
  share_operands(view, instruction, a, &recorder.launches);
  double longest = -1;
  for (const RecordedLaunch& launch : recorder.launches) {
    const LaunchCost c = cost_of(gpu, launch.work, weights_stay, schedule->wait(launch.touched));
    schedule->add(c);
    cost.kernels.push_back(launch.name);
    cost.flops += 2 * launch.work.multiply_adds;
    cost.bytes += launch.work.weight_bytes + launch.work.bytes;
    cost.weight_bytes += launch.work.weight_bytes;
    cost.waves += c.waves, cost.ns += c.ns, cost.start_ns += c.start_ns;
    if (c.ns > longest) longest = c.ns, cost.bound = c.bound;
  }
  return cost;
}

/// Whether the next run finds the weights where this one left them.
bool do_weights_stay(const cli::ProgramView& view, const GpuModel& gpu) {
  double bytes = 0;
  for (const ValueDef& value : view.program().values)
    if (value.kind == ValueKind::kConstant) bytes += double(value.constant_bytes);
  return bytes <= gpu.l2_mbytes * 1e6 / 2;
}

}  // namespace

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::kLaunch: return "launch";
    case Bound::kArithmetic: return "arithmetic";
    case Bound::kIssue: return "issue";
    case Bound::kOnChip: return "on chip";
    case Bound::kL2: return "l2";
    case Bound::kMemory: return "memory";
    case Bound::kLatency: return "latency";
  }
  return "";
}

LaunchCost cost_of(const GpuModel& gpu, const LaunchWork& w, bool weights_stay, bool is_early) {
  const double processors = gpu.multiprocessors, resident = resident_blocks(gpu, w);
  const double blocks = std::max(w.blocks, 1.0);
  // of the multiprocessor that has the most blocks
  const double most = std::ceil(blocks / processors) / blocks;
  // What is small enough was left in the cache by the launch before.
  const double cached = gpu.l2_mbytes * 1e6 / 4;
  // Memory is idle while the launch before drains and this one has not begun: first weights come.
  const double memory_cycle = gpu.memory_gbytes / gpu.clock_ghz;
  const double early =
      is_early && !weights_stay ? std::min(w.early_bytes, (kGap - kEarlyGap) * memory_cycle) : 0;
  const double missed =
      (weights_stay ? 0 : w.weight_bytes - early) + (w.bytes > cached ? w.bytes : 0);
  const double under_way = std::min(blocks, resident * processors) * w.in_flight;
  const double cycles[] = {
      0,
      w.issued * most / rate_of(gpu, w.unit),
      w.instructions * most / kIssueCycle,
      w.on_chip * most / kChipCycle,
      w.fetched * most / kL2Cycle,
      missed / memory_cycle,
      (w.bytes + w.weight_bytes) / under_way * kMemoryLatency,
  };
  LaunchCost cost;
  cost.waves = std::ceil(blocks / (resident * processors));
  const double start =
      (is_early ? kEarlyGap + kFill * (1 - w.early_share) : kGap + kFill) + kMemoryLatency;
  size_t bound = 0;
  for (size_t i = 1; i < std::size(cycles); i++)
    if (cycles[i] > cycles[bound]) bound = i;
  cost.bound = cycles[bound] > start ? Bound(bound) : Bound::kLaunch;
  cost.start_ns = start / gpu.clock_ghz;
  cost.ns = (start + cycles[bound] + w.tail) / gpu.clock_ghz;
  return cost;
}

ProgramCost predict(const cli::ProgramView& view, const GpuModel& gpu, const Without& without) {
  ProgramCost all;
  all.gpu = &gpu;
  all.weights_stay = do_weights_stay(view, gpu);
  GpuOperands operands(view, gpu);
  all.activation_bytes = operands.plan_bytes();
  Schedule schedule(gpu);
  double chained = 0;
  for (uint32_t i = 0; i < view.program().instructions.size; i++) {
    if (is_control(view.program().instructions[i].op)) {
      schedule.join();
      continue;
    }
    InstructionCost cost =
        cost_instruction(view, gpu, &operands, all.weights_stay, i, nullptr, &schedule, without);
    all.launches += cost.kernels.size(), all.left_to_cpu += !cost.row;
    all.flops += cost.flops, all.bytes += cost.bytes, all.weight_bytes += cost.weight_bytes;
    chained += cost.ns, all.start_ns += cost.start_ns;
    all.instructions.push_back(std::move(cost));
  }
  all.ns = schedule.end(), all.hidden_ns = chained - all.ns;
  return all;
}

InstructionCost predict_variant(const cli::ProgramView& view, const GpuModel& gpu,
                                uint32_t instruction, const std::string& name, uint16_t parts) {
  const InstructionDef& def = view.program().instructions[instruction];
  const GpuPrecision precision = gpu_precision(view.program().precision);
  const GpuTraits traits = traits_of(gpu);
  GpuOperands operands(view, gpu);
  const F16Arguments arguments(operands.of(def), def, operands.f16_storage());
  const OpArguments& a = arguments.get();
  GpuVariant variants[kMaxGpuVariants];
  const GpuKernelEntry* row = find_gpu_row(ingot_cuda_kernel_set, def.op, a, traits, precision);
  const uint32_t count = row ? list_gpu_variants(*row, a, traits, precision, variants) : 0;
  const GpuVariant* asked = nullptr;
  for (uint32_t i = 0; i < count; i++)
    if (variants[i].name == name && variants[i].parts == parts) asked = &variants[i];
  // as it is measured: behind itself
  Schedule schedule(gpu);
  cost_instruction(view, gpu, &operands, do_weights_stay(view, gpu), instruction, asked, &schedule);
  return cost_instruction(view, gpu, &operands, do_weights_stay(view, gpu), instruction, asked,
                          &schedule);
}

}  // namespace ingot::gpu_cost
