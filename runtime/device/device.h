// SPDX-License-Identifier: Apache-2.0
// runtime/device/device.h - what a session needs of a device: memory, a way in and out, and running
// a resolved program.
// Owns     nothing: memory that a device reserved is released through it.
// Threads  as the session's: one at a time for each session; a device serves several sessions at
//          once.
// Errors   kOutOfMemory kNoSuchDevice kDeviceLost kDeviceFault; ErrorDetail.name is the device's.
#pragma once
#include <atomic>

#include "runtime/base/span.h"
#include "runtime/plan/lifetime.h"

namespace ingot {

class ThreadTeam;
struct Device;

/// One instruction, resolved: the kernel, its operands with their addresses, its scratch.
struct Call {
  Kernel run = nullptr;  // null: control flow
  const KernelEntry* kernel = nullptr;
  OpArguments arguments;
};

/// Called by the leader around instructions that resolve a data-dependent symbol or whose types
/// depend on one.
struct ResolveHook {
  void* user = nullptr;
  Status (*before)(void* user, uint32_t instruction, ErrorDetail* detail) = nullptr;
  Status (*after)(void* user, uint32_t instruction, ErrorDetail* detail) = nullptr;
};

/// A port of a program whose device moves ports itself (DeviceInterface::reserve_host).
struct PortRoute {
  uint8_t* home = nullptr;                            // in the device's memory
  uint64_t home_stride = 0, row_bytes = 0, rows = 0;  // bytes, bytes, rows
  bool is_input = false;
  // leaves as soon as this one has run: the number that it found
  uint32_t after = kNoInstruction;
};
struct PortDescriptor;  // runtime/device/gpu/service_kernels.h
struct QueueInterface;  // runtime/device/queue.h

/// What a log says of a device's driver. Strings are static.
struct DriverFacts {
  const char* product = "";                  // that it drives
  const char* library = "";                  // its path
  const char* standard = "";                 // that it implements, with the version
  int version_major = 0, version_minor = 0;  // of the standard
  const char* limited_by = nullptr;          // what keeps it from doing all it can; null: nothing
  const char* limit = "";                    // then: to what
};

/// What was measured for the program, as far as a device has use for it: a validated part
/// (runtime/format/tunings.h) or nothing, and the dimensions that are bound.
struct TuningView {
  Span<const uint8_t> part;
  uint64_t dims = 0;
};

enum class VariantSource : uint8_t { kOnly = 0, kModel = 1, kTuned = 2, kIgnored = 3 };
/// Which of several kernel variants computes an instruction. Strings are static.
struct DeviceVariant {
  const char* name = "";  // "" where there is one kernel variant
  uint32_t parts = 1, variants = 1;
  VariantSource source = VariantSource::kOnly;
  const char* why = "there is one kernel variant";
};

/// Where one instruction's scratch lies, in blocks of 64 bytes: `stride` for each thread from `at`
/// on, then what is shared.
struct ScratchPlace {
  uint32_t at = 0, stride = 0;
};
constexpr uint64_t kScratchBlock = 64;

/// A program whose addresses are fixed. `calls` is by instruction, so that steps index it.
struct StepProgram {
  Span<const StepDef> steps;
  uint32_t first_step = 0;  // steps before it are another device's
  Span<const Call> calls;
  Span<const InstructionDef> instructions;
  Span<const ValueDef> values;
  uint8_t* scratch = nullptr;  // threads * scratch_stride bytes, then what is shared
  uint64_t scratch_stride = 0;
  uint8_t* shared_scratch = nullptr;
  // by instruction, from `scratch` on; null: all have the same place
  const ScratchPlace* scratch_places = nullptr;
  int threads = 1;                        // whose scratch there is
  ResolveHook resolve;                    // null functions where no size depends on data
  Span<const PortRoute> ports;            // that the device moves
  PortDescriptor* descriptors = nullptr;  // by port, in its memory of the host
  uint32_t precision = 0;                 // of the file: GpuPrecision
  TuningView tunings;
  // in its memory of the host: who found a bad index; null: the device's own word
  uint32_t* fault = nullptr;
  const uint64_t* known =
      // by instruction, of devices that run segments: an If's condition or a Loop's count that is
      // a constant
      nullptr;
  // by subprogram: how often this run began it, told by devices that run segments
  uint64_t* entered = nullptr;
  // why the host decides Ifs and Loops; null: the device does, wherever it can
  const char* host_decides = "";
};

/// An instruction that has just ended; the strings are static or the model's.
struct StepEvent {
  uint32_t instruction;
  uint64_t begin_ns, end_ns;
  int team;
};

/// What may end or watch a run.
struct RunControl {
  // not 0: stop at the next instruction; set back to 0 by who stops
  std::atomic<uint32_t>* cancel = nullptr;
  uint64_t deadline_ns = 0;  // of monotonic_ns(); 0: none
  void (*watch)(void* user, const StepEvent& event) = nullptr;
  void* watch_user = nullptr;
};

/// A program before it has memory, all of it for one device, without control flow.
struct F16Program {
  const ProgramDef* program = nullptr;
  LifetimeRules rules;
  /// Operands of an instruction, f32 where the file says so: every storage begins at `storage`, an
  /// address that is aligned as the plan promises and no better; views lie at their offset from
  /// there. What it gives stays until the next call.
  OpArguments (*arguments)(void* user, uint32_t instruction) = nullptr;
  void* user = nullptr;
  uint64_t storage = 0;
};

struct DeviceInterface {
  const char* kind;  // "cpu"
  /// Its memory is addressable: ports are views into it, weights may be mapped or used where they
  /// lie, and the kernels of the table run in it with `thread_team`. Otherwise ports have host
  /// copies, moved by upload and download.
  bool host_memory;
  /// Null where host_memory: the arena then comes from runtime/memory.
  Status (*reserve)(Device& device, uint64_t bytes, uint64_t alignment, uint8_t** out,
                    ErrorDetail* detail);
  void (*release)(Device& device, uint8_t* at, uint64_t bytes);
  Status (*upload)(Device& device, uint8_t* to, const void* from, uint64_t bytes,
                   ErrorDetail* detail);
  Status (*download)(Device& device, void* to, const uint8_t* from, uint64_t bytes,
                     ErrorDetail* detail);
  /// Once, when a session is made: whatever run() needs beside the program.
  Status (*resolve)(Device& device, const StepProgram& program, ErrorDetail* detail);
  Status (*run)(Device& device, const StepProgram& program, const RunControl& control,
                ThreadTeam* thread_team, ErrorDetail* detail);
  /// What the device's driver holds outside the arena for a session of `program`: its steps, and
  /// ports where it moves them.
  uint64_t (*outside_bytes)(const Device& device, const StepProgram& program);

  // Of a device with kernels of its own; null: those of the CPU's table run in its memory.
  /// Asked before extents are known: never looks at dims.
  bool (*supports)(const Device& device, OpCode op, const OpArguments& arguments) = nullptr;
  /// Bytes of scratch, instead of what the contract says.
  uint64_t (*scratch)(const Device& device, OpCode op, const OpArguments& arguments,
                      uint32_t precision, const TuningView& tunings,
                      uint32_t instruction) = nullptr;
  /// What kernels make do with where a session that is bound again has less than scratch() asks for
  /// its new extents; null: they do not.
  uint64_t (*least_scratch)(const Device& device, OpCode op, const OpArguments& arguments,
                            uint32_t precision) = nullptr;
  // Memory of the host that the device reads and writes while a program runs; then run() moves
  // StepProgram::ports.
  Status (*reserve_host)(Device& device, uint64_t bytes, uint8_t** out,
                         ErrorDetail* detail) = nullptr;
  void (*release_host)(Device& device, uint8_t* at) = nullptr;
  /// kInvalidArgument unless all of it is memory of this device, in the session's context.
  Status (*check_memory)(Device& device, const void* at, uint64_t bytes,
                         ErrorDetail* detail) = nullptr;
  /// Weights are uploaded once for all sessions of a model; else each session has its own.
  bool shares_weights = false;
  /// Whether it has a kernel for the operator with any types; null: not asked, supports() says
  /// enough.
  bool (*knows)(OpCode op) = nullptr;
  /// Runs that the caller does not wait for (runtime/device/queue.h); null: it has none.
  const QueueInterface* queue = nullptr;
  /// It is handed segments of a program (runtime/device/segments.h), and the host decides Ifs and
  /// Loops between them: so many segments are in a run as the data say.
  bool runs_segments = false;
  /// Of these: bytes behind the scratch that a program with loops and so many subprograms keeps its
  /// counters in, a multiple of 256 that begins at one.
  uint64_t (*loop_counter_bytes)(uint32_t subprograms) = nullptr;
  /// Bytes there in front of them that the device keeps zero whenever nothing runs, for a program
  /// of that precision; likewise. Null: none.
  uint64_t (*zeroed_bytes)(uint32_t precision) = nullptr;
  /// Of these: why the host decides every If and Loop, a static sentence; null where the device can
  /// decide inside a segment. A null function: it never can.
  const char* (*why_host_decides)(const Device& device) = nullptr;
  /// Of these: the program is one segment, with nothing left to the host. By address, so that
  /// programs without such a device do not link the code.
  bool (*is_one_segment)(const StepProgram& outline) = nullptr;
  /// Null: there is one kernel variant for every instruction, and tunings are not read.
  void (*variant)(const Device& device, OpCode op, const OpArguments& arguments, uint32_t precision,
                  const TuningView& tunings, uint32_t instruction, DeviceVariant* out) = nullptr;
  /// Whether kernels take weights as packed f16 weights (runtime/op/f16_weights.h) in programs of
  /// this precision. Null: never.
  bool (*takes_f16_weights)(const Device& device, uint32_t precision) = nullptr;
  /// Which activations its kernels write and read as f16: by value F16Program::storage, or 0 where
  /// it is as the file says. Asked for programs that allow it. Null: none ever is.
  void (*choose_f16)(const Device& device, const F16Program& program, uint64_t* storage) = nullptr;
  /// What to do where it has a kernel for no instruction of a program; static.
  const char* no_kernel_hint = "use the device auto or cpu";
  /// Null: it has no driver.
  void (*describe_driver)(const Device& device, DriverFacts* out) = nullptr;
};

struct Device {
  const DeviceInterface* interface = nullptr;
  const char* name = "";    // "fake:0"; static
  const char* reason = "";  // why this one; static
  int ordinal = 0;
  void* state = nullptr;       // of a session's split, or its share of a GPU
  void* stream = nullptr;      // of the caller's, for a GPU
  bool host_branches = false;  // asked for: the host decides although the device could
  bool blocking_wait = false;  // asked for: who waits for it sleeps
};

/// What a back end does by name; its devices' functions are in their DeviceInterface.
struct DeviceBackend {
  /// @pre `name` is the row's, alone or before ":". kNoSuchDevice with the reason.
  Status (*find)(const char* name, Device* out, ErrorDetail* detail);
  /// The device that "auto" takes: false with a static reason when there is none.
  bool (*find_best)(Device* out, const char** why_not);
  /// Its devices in order, or one that does not exist and why; false beyond the last.
  bool (*offer)(uint32_t index, struct DeviceOffer* out);
  /// Device::stream may be the caller's (ingot_session_options.gpu_stream).
  bool takes_stream;
};

/// A row of backends.def.
struct BackendRow {
  const char* name;             // of its devices, before ":"; null behind the last row
  const DeviceBackend* linked;  // null: this program was linked without it
  const char* not_linked;       // the error then, which begins with "device: "
};
extern const BackendRow kBackends[];
extern const char kDeviceNames[];  // which to use: the hint of an error
/// The row whose devices have names like this one; null: none.
const BackendRow* find_backend(const char* name);

/// By name: null or "auto", "cpu", one of a back end, "null", "fake:0", "fake:1". kNoSuchDevice
/// where the program was linked without the back end, or where it cannot use the device.
Status find_device(const char* name, Device* out, ErrorDetail* detail);

/// A name that find_device() knows, in order; false beyond the last. The strings are static.
struct DeviceOffer {
  const char* name;
  bool exists;
  const char* why;  // what it is, or why it is not there
};
bool device_offer(uint32_t index, DeviceOffer* out);

/// An error of a device, with its name.
Status fail_on(const Device& device, ErrorDetail* detail, Code code, const char* field,
               uint64_t need = 0, uint64_t have = 0);

}  // namespace ingot

// Defined by ingot_NAME. Declared here, or a constant would be of its file alone, and a program
// with the library would say that it was linked without it.
#define INGOT_BACKEND(name, title) extern "C" const ingot::DeviceBackend ingot_##name##_backend;
#include "runtime/device/backends.def"
