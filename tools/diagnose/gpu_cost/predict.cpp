#include "tools/diagnose/gpu_cost/predict.h"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "runtime/device/gpu/f16_activations.h"
#include "runtime/device/gpu/launch_order.h"
#include "runtime/plan/greedy_planner.h"
#include "runtime/session/pairs.h"
#include "tools/files/failure.h"

namespace ingot::gpu_cost {
namespace {

// Cycles. Graph launches of dependent kernels were 0.5 us apart beyond the kernels on a V100 at
// 1.53 GHz (NVIDIA, Getting Started with CUDA Graphs); a load of memory that misses all caches
// takes 470 to 570 on A100 and H100 (arXiv:2208.11174, arXiv:2402.13499); filling a pipeline of
// k-tiles 600, as kernels/cuda/gemm/tile_model.h has it.
constexpr double kGap = 765, kMemoryLatency = 550, kFill = 600;
// What is left of the gap where a kernel is there already and waits for the end of the one before:
// assumed, a word that travels through the second-level cache.
constexpr double kEarlyGap = 270;
constexpr double kIssueCycle = 4;                  // instructions of warps, one of each sub-core
constexpr double kChipCycle = 128, kL2Cycle = 48;  // bytes a cycle of a multiprocessor
constexpr uint32_t kRegisters = 64 << 10, kThreadRegisters = 64;  // kernels are compiled for 64 to
                                                                  // 128 a thread
constexpr uint64_t kFirstAddress = uint64_t{1} << 40, kArena = kFirstAddress / 4;

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

/// A program's operands at addresses that no kernel reads: plans ask for alignment alone.
class Operands {
 public:
  Operands(const cli::ProgramView& view, const GpuModel& gpu) : view_(view) {
    const ProgramDef& program = view.program();
    packed_.resize(program.values.size);
    const GpuTraits traits = traits_of(gpu);
    if (ingot_cuda_kernel_set.pairs(traits, GpuPrecision(program.precision)))
      find_f16_weights(program, {packed_.data(), packed_.size()});
    const bool may_be_f16 =
        cuda::has_f16_activations(GpuPrecision(program.precision), traits) &&
        std::none_of(program.steps.data, program.steps.data + program.steps.size,
                     [](const StepDef& step) { return step.kind != StepKind::kRun; });
    offsets_ = view.offsets(), plan_bytes_ = view.plan_bytes();
    if (!may_be_f16) return;
    f16_storage_.resize(program.values.size);
    unplaced_ = kLowestStorage + program.alignment;
    choose_f16_activations(ingot_cuda_kernel_set, traits,
                           {&program,
                            {},
                            [](void* self, uint32_t i) {
                              Operands& o = *static_cast<Operands*>(self);
                              return o.of(o.view_.program().instructions[i]);
                            },
                            this,
                            unplaced_},
                           f16_storage_.data());
    unplaced_ = 0;
    plan();
    for (size_t v = 0; v < f16_storage_.size(); v++)
      if (f16_storage_[v]) f16_storage_[v] = address_of(program.values[v].root);
  }
  /// Of the activations; a session takes the file's places instead where they end no later.
  uint64_t plan_bytes() const { return plan_bytes_; }
  /// By value; null: none.
  const uint64_t* f16_storage() const {
    return f16_storage_.empty() ? nullptr : f16_storage_.data();
  }
  OpArguments of(const InstructionDef& instruction) {
    views_.clear();
    for (uint32_t i = 0; i < instruction.input_count; i++) add(instruction.inputs[i]);
    for (uint32_t i = 0; i < instruction.output_count; i++) add(instruction.outputs[i]);
    OpArguments a;
    a.attributes = instruction.attributes;
    a.inputs = views_.data(), a.outputs = views_.data() + instruction.input_count;
    a.input_count = instruction.input_count, a.output_count = instruction.output_count;
    return a;
  }

 private:
  void add(int32_t value) {
    TensorView operand;
    if (value >= 0) {
      static_cast<TensorType&>(operand) = view_.type(value);
      if (packed_[size_t(value)].pairs) operand.dtype = DType::kF16;
      operand.data = reinterpret_cast<void*>(address_of(value));
    }
    views_.push_back(operand);
  }
  /// Where the plan has it; constants each for itself.
  uint64_t address_of(int32_t value) const {
    const uint64_t root = uint64_t(view_.program().values[size_t(value)].root);
    const uint64_t inside = view_.bound_program().root_offset[value];
    if (unplaced_) return unplaced_ + inside;
    const bool is_planned = root < offsets_.size() && offsets_[root] < kArena;
    return is_planned ? kArena + offsets_[root] + inside : kFirstAddress * (1 + root) + inside;
  }
  /// The plan of runtime/session/f16_plan.cpp, which may keep the file's where it is as small.
  void plan() {
    std::vector<Lifetime> lifetimes = view_.lifetimes();
    halve_f16_lifetimes(f16_storage_.data(), {lifetimes.data(), lifetimes.size()});
    const ProgramDef& program = view_.program();
    const uint32_t steps = uint32_t(std::max<size_t>(program.steps.size, 1));
    std::vector<uint64_t> offsets(lifetimes.size(), kNoOffset),
        workspace(planner_workspace_bytes(uint32_t(lifetimes.size()), steps) / 8 + 1);
    PlanSummary summary;
    const Status status =
        plan_greedy({lifetimes.data(), lifetimes.size()}, steps, program.alignment,
                    {reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8},
                    {offsets.data(), offsets.size()}, &summary, nullptr);
    if (!status.ok()) return;  // f16 takes the first halves of the places in the file's plan
    offsets_ = offsets, plan_bytes_ = summary.bytes;
  }
  const cli::ProgramView& view_;
  std::vector<F16WeightPlace> packed_;
  std::vector<uint64_t> f16_storage_, offsets_;
  uint64_t plan_bytes_ = 0;
  uint64_t unplaced_ = 0;  // where each storage begins while nothing has a place
  std::vector<TensorView> views_;
};

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
};

Status record(void* user, const GpuLaunch& launch) {
  Recorder& r = *static_cast<Recorder*>(user);
  r.launches.push_back({ingot_cuda_kernel_set.kernels[launch.kernel].name, work_of(launch),
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
                                 Operands* operands, bool weights_stay, uint32_t index,
                                 const GpuVariant* variant, Schedule* schedule) {
  const InstructionDef& instruction = view.program().instructions[index];
  const GpuPrecision precision = GpuPrecision(view.program().precision);
  const GpuTraits traits = traits_of(gpu);
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
  work.sink = {&recorder, record};
  recorder.operands = access_of(instruction, view.program().values, a, fault);
  recorder.scratch = work.scratch, recorder.scratch_bytes = work.scratch_bytes;
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
  const double missed = (weights_stay ? 0 : w.weight_bytes) + (w.bytes > cached ? w.bytes : 0);
  const double under_way = std::min(blocks, resident * processors) * w.in_flight;
  const double cycles[] = {
      0,
      w.issued * most / rate_of(gpu, w.unit),
      w.instructions * most / kIssueCycle,
      w.on_chip * most / kChipCycle,
      w.fetched * most / kL2Cycle,
      missed / gpu.memory_gbytes * gpu.clock_ghz,
      (w.bytes + w.weight_bytes) / under_way * kMemoryLatency,
  };
  LaunchCost cost;
  cost.waves = std::ceil(blocks / (resident * processors));
  const double start = (is_early ? kEarlyGap : kGap) + kFill + kMemoryLatency;
  size_t bound = 0;
  for (size_t i = 1; i < std::size(cycles); i++)
    if (cycles[i] > cycles[bound]) bound = i;
  cost.bound = cycles[bound] > start ? Bound(bound) : Bound::kLaunch;
  cost.start_ns = start / gpu.clock_ghz;
  cost.ns = (start + cycles[bound]) / gpu.clock_ghz;
  return cost;
}

ProgramCost predict(const cli::ProgramView& view, const GpuModel& gpu) {
  ProgramCost all;
  all.gpu = &gpu;
  all.weights_stay = do_weights_stay(view, gpu);
  Operands operands(view, gpu);
  all.activation_bytes = operands.plan_bytes();
  Schedule schedule(gpu);
  double chained = 0;
  for (uint32_t i = 0; i < view.program().instructions.size; i++) {
    if (is_control(view.program().instructions[i].op)) {
      schedule.join();
      continue;
    }
    InstructionCost cost =
        cost_instruction(view, gpu, &operands, all.weights_stay, i, nullptr, &schedule);
    all.launches += cost.kernels.size(), all.left_to_cpu += !cost.row;
    all.flops += cost.flops, all.bytes += cost.bytes;
    chained += cost.ns, all.start_ns += cost.start_ns;
    all.instructions.push_back(std::move(cost));
  }
  all.ns = schedule.end(), all.hidden_ns = chained - all.ns;
  return all;
}

InstructionCost predict_variant(const cli::ProgramView& view, const GpuModel& gpu,
                                uint32_t instruction, const std::string& name, uint16_t parts) {
  const InstructionDef& def = view.program().instructions[instruction];
  const GpuPrecision precision = GpuPrecision(view.program().precision);
  const GpuTraits traits = traits_of(gpu);
  Operands operands(view, gpu);
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
