// SPDX-License-Identifier: Apache-2.0
// runtime/session/preparation.h - everything that is decided before memory is taken. requirements()
// and creation both call prepare() and nothing else, so they cannot disagree.
// Owns     nothing: results lie in the model's workspace.
// Threads  the holder of the WorkspaceLock.
// Errors   kNotFound kUnboundDimension kDimensionOutOfBounds kPlanInvalid kNoKernel kLimitExceeded
//          kInvalidArgument kNoSuchDevice
#pragma once
#include "runtime/base/os/platform.h"
#include "runtime/device/device.h"
#include "runtime/device/host/background.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/session/model.h"

namespace ingot {

struct DeviceAssignment;
struct SplitPlan;

struct DimBinding {
  const char* name = nullptr;
  int64_t value = 0;
};

enum class ArenaSource : uint8_t { kOwn, kCaller, kAllocator };

/// What a session is asked to be.
struct SessionRequest {
  const char* device = nullptr;
  const char* device_reason = nullptr;           // why that one, where it was not asked for; static
  const DeviceAssignment* assignment = nullptr;  // or these devices
  Span<const DimBinding> bindings;
  bool rebindable = false;
  Span<const DimBinding> upper_bounds;  // rebindable: instead of those in the file
  int threads = 0;
  LifetimeRules rules;
  void* gpu_stream = nullptr;
  bool asynchronous =
      // what is started runs on a thread of the session's, where the device does not run by itself
      false;
  bool ignore_tunings = false;  // kernels as the cost model chooses, whatever the file says
  bool host_branches = false;   // the host decides Ifs and Loops, whatever the device could
  bool blocking_wait = false;   // who waits for a device sleeps
  bool strict = false;          // no instruction may run on another device than the one asked for
  bool huge_pages = false, lock_memory = false, poison = false, prefault = false;
  ThreadPool* pool = nullptr;
  Executor executor;
  ArenaSource arena_source = ArenaSource::kOwn;
  void* arena = nullptr;
  uint64_t arena_bytes = 0;  // kCaller: its size; otherwise a limit, 0: none
  Allocator allocator;
};

/// A program with its dimensions fixed and its activations placed.
struct PlannedProgram {
  BoundProgram bound;
  Span<const Lifetime> lifetimes;  // by value
  // by value: in the activation region; kNoOffset where it has no bytes there
  Span<const uint64_t> offsets;
  uint64_t bytes = 0;  // of the activation region, state included
  uint64_t state_bytes = 0;
  uint64_t lower_bound = 0;
  uint32_t peak_step = 0;
  Span<const uint64_t> capacities;   // by value, when rebindable: no binding may need more
  Span<const int64_t> symbol_highs;  // the same; `bound` is the binding at these
  // of a device that keeps activations as f16 (f16_plan.h): it is asked about this program
  bool chooses_f16 = false;
  // by value: not 0 where it is f16, with half the bytes in `lifetimes`; empty: as the file says
  Span<const uint64_t> f16_storage;
};

struct ScratchTotals {
  uint64_t per_thread = 0, shared = 0;  // the largest of any instruction, multiples of 64
  // by instruction, where each has a place of its own among the activations; else empty
  Span<const ScratchPlace> places;
  uint64_t beyond = 0;  // bytes that these places take behind the activations
};

/// How long a run is likely to take, told by the bytes that its instructions read and write. Far
/// from exact: it only decides whether helpers are worth waking by default, and for how long the
/// first step waits for them.
uint64_t traffic_bytes(const OpenModel& model, const BoundProgram& bound);

enum class WeightsForm : uint8_t { kInPlace, kMapped, kCopied };

/// Byte offsets from the start of the arena, in the order in which they lie; where scratch goes
/// beyond the activations, `tables` lie last.
struct Layout {
  uint64_t bytes = 0, alignment = 0;
  WeightsForm weights = WeightsForm::kInPlace;
  // by weight part: its first byte, kNoOffset: widened only; unless kInPlace
  const uint64_t* part_offsets = nullptr;
  uint64_t weights_bytes = 0;
  uint64_t writable = 0;  // what follows is private
  bool f16_weights =
      // all constants lie one by one from `constants` on, those that may be as packed f16 weights;
      // no parts, nothing widened
      false;
  uint64_t constants = 0;
  // constants that the file stores in 16 bits, as f32: widened_bytes of them
  uint64_t widened = 0, widened_bytes = 0;
  bool has_bf16_weights = false;  // BoundProgram's: some of those lie as they are stored
  uint64_t tables = 0, tables_bytes = 0;
  // where instructions have places of their own: what those take behind the activations
  uint64_t scratch = 0, scratch_bytes = 0;
  uint64_t activations = 0, activations_bytes = 0;

  /// The first byte behind the weights.
  uint64_t first_own() const { return tables < activations ? tables : activations; }
  // a device without host memory: tables and copies of ports lie outside
  uint64_t host_bytes = 0;
  uint64_t pinned_bytes = 0;  // of these, what lies in the device's own memory of the host
  uint64_t shared_bytes =
      // weights that lie apart from the arena, shared by the sessions of the model on this device
      0;
  uint8_t* shared = nullptr;  // and there, once they are there
  // there `tables` are the constants of the program, from this one on
  const uint8_t* inline_first = nullptr;
};

/// Whether a constant is f32 there and 16 bits in the file.
inline bool is_widened_in(const Layout& layout, const ValueDef& value) {
  const bool is_bf16 = os::kHasBf16Weights && layout.has_bf16_weights && value.may_stay_bf16;
  return is_widened(value) && !is_bf16;
}

struct Preparation {
  Device device;
  SplitPlan* split = nullptr;  // the assignment's workspace, where several devices are used
  int threads = 1;
  const char* threads_reason = "";
  bool starts_threads = false;            // of its own
  bool on_fast = false;                   // and they stay on the fast processors
  bool starts_background = false;         // for what is started
  bool has_branches = false;              // an If or a Loop on a device with launches
  const QueueInterface* queue = nullptr;  // of a run that needs the host at its ends alone
  uint32_t join_spins = 0;                // pauses that the first step of a run waits for helpers
  PlannedProgram planned;
  bool ignores_tunings = false;
  TuningView tunings;
  ScratchTotals scratch;
  Layout layout;
};

/// By which scratch is asked for: a session that may be bound again has room for what the model
/// takes at any binding.
inline TuningView tunings_of(const Preparation& p) {
  return p.planned.capacities.size ? TuningView() : p.tunings;
}

/// Finds lifetimes, takes the file's plan or makes one, and validates it. A rebindable request is
/// planned at the upper bound of each symbol, every value with the most bytes that it has at any
/// corner of the bounds. `device`: the one that all of it is for; null: none of its own kernels.
Status plan_program(const OpenModel& model, const SessionRequest& request, const Device* device,
                    PlannedProgram* out, ErrorDetail* detail);
/// Writes the values that `bindings` name into `values`, which is by symbol; kInvalidArgument where
/// two contradict each other.
Status read_bindings(const ProgramDef& program, Span<const DimBinding> bindings, const char* field,
                     int64_t* values, ErrorDetail* detail);
/// Validates that every instruction has a kernel, and sums up scratch; `for_all`: what smaller
/// extents may need as well. `needs`, unless null, by instruction: its stride, and in `at` what is
/// shared; UINT32_MAX where that is more.
Status find_kernels(const OpenModel& model, const BoundProgram& bound, int threads, bool for_all,
                    TensorView* operands, ScratchPlace* needs, ScratchTotals* out,
                    ErrorDetail* detail);
/// How scratch of a device with kernels of its own is asked for.
struct DeviceScratch {
  Span<const uint64_t> f16_storage;         // PlannedProgram's
  TuningView tunings;                       // else as the cost model has it
  const uint8_t* of_instruction = nullptr;  // those that are on `index` of an assignment; null: all
  uint32_t index = 0;
  bool is_least = false;  // what they make do with
};
/// The same of such a device.
Status find_device_scratch(const OpenModel& model, const BoundProgram& bound, const Device& device,
                           const DeviceScratch& asked, TensorView* operands, uint64_t* bytes,
                           ErrorDetail* detail);
/// Bytes behind that scratch: for what launches count, and where one of these instructions is a
/// Loop whose iterations the device counts.
uint64_t find_word_bytes(const OpenModel& model, const Device& device,
                         const uint8_t* of_instruction, uint32_t index);
/// Finds OpenModel::f16_weights where `device` is the first that wants them. Errors kOutOfMemory
/// kLimitExceeded.
Status place_f16_weights(const OpenModel& model, const Device& device, ErrorDetail* detail);
/// Whether this device holds the weights of this program as packed f16 weights. @pre
/// place_f16_weights(). Any thread: of a device that does not, nothing of the model is read that
/// another session might be making.
bool holds_f16_weights(const OpenModel& model, const Device& device);
/// Whether a device has a value as packed f16 weights; -1: no value.
inline bool has_f16_weights(const OpenModel& model, const Device& device, int32_t value) {
  return os::kHasOtherDevices && value >= 0 && holds_f16_weights(model, device) &&
         model.f16_weights.places[size_t(value)].is_packed;
}
/// The types of such operands, as kernels of the device see them.
void mark_f16_weights(const OpenModel& model, const Device& device,
                      const InstructionDef& instruction, TensorView* inputs);
/// What is known of an instruction's operands before extents are: types, ranks, packings; dims are
/// 0.
OpArguments operand_kinds(const ProgramDef& program, uint32_t instruction, TensorView* operands);
/// Why a device cannot run an instruction, so that the CPU does.
enum class MissingKernel : uint8_t {
  kNothing,
  kControl,
  kResolves,
  kDataDependent,
  kOperator,
  kTypes
};
/// Whether `device` can run an instruction of the program at all; null `supports`: whatever the
/// CPU's table can.
MissingKernel find_missing_kernel(const OpenModel& model, const Device& device,
                                  uint32_t instruction, TensorView* operands);
/// One static sentence, the same in reports and (with "strict: " before it) in errors.
const char* missing_kernel_text(MissingKernel lack, bool is_strict);
inline bool can_run(const OpenModel& model, const Device& device, uint32_t instruction,
                    TensorView* operands) {
  return find_missing_kernel(model, device, instruction, operands) == MissingKernel::kNothing;
}

/// Why the host decides every If and Loop of `device`; null: the device does, wherever it can.
inline const char* why_host_decides(const Device& device) {
  return device.interface->why_host_decides ? device.interface->why_host_decides(device)
                                            : "the device decides nothing by itself";
}
/// The program as it is before it has memory: steps, how many ports `device` moves, and who decides
/// there.
StepProgram outline_of(const ProgramDef& program, const Device& device);

/// Operand types of an instruction into `operands`; addresses stay null.
OpArguments operand_types(const ProgramDef& program, const BoundProgram& bound,
                          uint32_t instruction, TensorView* operands);
/// The same as the device holds them: weights may be packed f16 weights there, and activations f16
/// (PlannedProgram::f16_storage). @pre place_f16_weights()
OpArguments operand_types_on(const OpenModel& model, const Device& device,
                             const BoundProgram& bound, Span<const uint64_t> f16_storage,
                             uint32_t index, TensorView* operands);

/// False where ports are copied from and to the memory that they are bound to: on a device with
/// memory of its own, and where an assignment uses several devices.
bool ports_may_be_outside(const SessionRequest& request);

Status prepare(const OpenModel& model, const SessionRequest& request, Preparation* out,
               ErrorDetail* detail);

}  // namespace ingot
