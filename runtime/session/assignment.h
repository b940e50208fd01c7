// SPDX-License-Identifier: Apache-2.0
// runtime/session/assignment.h - which device each weight lies on and each instruction runs on,
// decided once for a model, by a callback per weight. Depends on the program alone: neither on
// bindings nor on threads.
// Owns     its block.
// Threads  immutable but for `plan`, which the holder of the model's WorkspaceLock works in.
// Errors   kNoSuchDevice (with the weight's name) kLimitExceeded kOutOfMemory, those of
//          SourceWeights::open() and read_source().
// Allocates assign_devices: one block that stays; one more for the metadata while it runs.
#pragma once
#include "runtime/session/preparation.h"

namespace ingot {

constexpr uint32_t kMaxDevices = 8;  // of one assignment, the CPU included

/// A weight as the callback sees it. One for each weight that the metadata record, and for each
/// constant that they do not.
struct Weight {
  const char* name = "";
  const char* trained_on = "";    // in the words of its framework; "" where the file does not say
  DType dtype = DType::kInvalid;  // as kernels see it
  uint8_t rank = 0;
  int64_t dims[kMaxRank] = {};  // as the source had them
  uint64_t bytes = 0;           // of the constant that holds it, where it lies
  int32_t value = -1;           // that constant
};

enum class PlacementReason : uint8_t { kAsked, kDefault, kWithAsked, kOnCpu, kNoKernel, kUnread };

/// Why an instruction runs where it does.
enum class WhyRuns : uint8_t {
  kDefault,
  kAsked,     // with a weight that it reads
  kFollows,   // without weights, where what it reads was made
  kTogether,  // in an If or a Loop that runs there
  kLacks,     // this and MissingKernel: on the CPU, since its device cannot
};

struct AssignedWeight : Weight {
  uint8_t asked = 0;      // index of the device, by the callback or by default
  bool is_asked = false;  // by the callback
  uint8_t devices = 0;    // bit i: it lies on device i
  PlacementReason why = PlacementReason::kDefault;
};

/// A constant in the memory of a device other than the CPU, sorted by device, then value.
struct WeightPlacement {
  int32_t value;
  uint32_t device;
  uint64_t offset;  // from the start of that device's arena
};

struct AssignmentRequest {
  const char* device = nullptr;  // of what is not asked for: as SessionRequest::device
  void* user = nullptr;
  /// A device's name, or null or "": the one above. Called once for each weight.
  const char* (*place)(void* user, const Weight& weight) = nullptr;
};

struct DeviceAssignment;
struct RunSession;

/// One device of a split session: [weights][scratch][activations, at the offsets of the plan].
struct DeviceShare {
  uint64_t shared_bytes = 0;  // weights apart from this
  uint64_t bytes = 0, weights_bytes = 0, scratch = 0, scratch_bytes = 0, activations = 0;
  uint32_t instructions = 0;  // in the program
  // in a run, but for what branches and bodies add (share.h)
  uint32_t launches = 0, uploads = 0, downloads = 0;
  uint64_t upload_bytes = 0, download_bytes = 0;
  uint32_t waits = 0;  // in a run
};

/// Everything about the devices of one session. Without memory `bases` are null.
struct SplitPlan {
  const DeviceAssignment* assignment = nullptr;
  DeviceShare shares[kMaxDevices];
  uint8_t* bases[kMaxDevices] = {};
  Device devices[kMaxDevices];  // with the state of those that have memory
  // shared by the sessions of the model; null: at the head of the device's arena
  uint8_t* weights[kMaxDevices] = {};
  uint32_t segment_count = 0, transfer_count = 0;
};

/// What the session calls where a program is split (split.cpp). It is reached through the
/// assignment, so that a program without one links none of it.
struct SplitCode {
  /// Sizes and counts, into the assignment's plan. @pre p.planned and p.scratch are decided.
  Status (*plan)(const OpenModel& model, const LifetimeRules& rules, Preparation* p,
                 ErrorDetail* detail);
  /// Bytes that the session's own memory has for it.
  uint64_t (*block_bytes)(const OpenModel& model, const Preparation& p);
  /// Memory of each device, and the weights in it. @pre `home` has the weights that the CPU finds.
  /// On failure nothing is held.
  Status (*take)(const OpenModel& model, const Preparation& p, const SessionRequest& request,
                 const uint8_t* home, ErrorDetail* detail);
  void (*release)(SplitPlan* plan);
  /// Fills the block and hangs it into the session.
  void (*fill)(const OpenModel& model, const LifetimeRules& rules, const Preparation& p,
               RunSession* session, uint8_t* block);
  /// The address that `instruction` uses of a value whose storage is `root`, given the one on the
  /// CPU; and back.
  void* (*away)(const SplitPlan& plan, const Preparation& p, uint32_t instruction, int32_t root,
                uint64_t offset, void* at_home);
  void* (*home)(const RunSession& session, uint32_t instruction, int32_t value, void* away);
};

struct DeviceAssignment {
  const OpenModel* model = nullptr;
  Allocator allocator;
  uint8_t* block = nullptr;
  uint64_t block_bytes = 0;
  const SplitCode* code = nullptr;
  uint32_t device_count = 1;
  uint32_t used_count = 0;
  uint32_t only = 0;  // the device used, where that is one
  // 0 is the CPU, which always takes part: inputs, outputs and state are there
  Device devices[kMaxDevices];
  uint32_t default_device = 0;
  uint32_t instruction_counts[kMaxDevices] = {};
  // of the WeightPlacements of a device, rounded; of the CPU: what it reads
  uint64_t weights_bytes[kMaxDevices] = {};
  // the first instruction that its device has no kernel for; the CPU runs it
  uint32_t lacking = kNoInstruction;
  MissingKernel lack = MissingKernel::kNothing;  // why
  // of a device that lacks kernels: always the same for a model and a device
  bool is_fallback = false;
  // what the session takes for its device when several are used
  Device split;
  char split_name[64] = {};      // "cpu, fake:0"
  Span<uint8_t> of_instruction;  // device, by instruction
  Span<uint8_t> reasons;         // WhyRuns, by instruction
  Span<AssignedWeight> weights;
  Span<WeightPlacement> placements;
  mutable SplitPlan plan;
};

/// Asks for every weight and decides. The allocator is the model's.
Status assign_devices(const OpenModel& model, const AssignmentRequest& request,
                      DeviceAssignment** out, ErrorDetail* detail);
void release_assignment(DeviceAssignment* assignment);

/// Where a placement lies; null when `value` is not on that device.
const WeightPlacement* find_placement(const DeviceAssignment& assignment, uint32_t device,
                                      int32_t value);

/// One past the last step of what runs as one: an instruction, or an If or a Loop with all that is
/// in it.
uint32_t unit_end(const ProgramDef& program, uint32_t step);

}  // namespace ingot
