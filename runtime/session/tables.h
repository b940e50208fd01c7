// SPDX-License-Identifier: Apache-2.0
// runtime/session/tables.h - the session's own arrays, cut from the arena: resolved calls, ports,
// states.
// Owns     nothing.
// Threads  filled once by who creates the session.
#pragma once
#include "runtime/base/bump_allocator.h"
#include "runtime/session/preparation.h"

namespace ingot {

struct RunSession;
struct QueuedRun;

/// An input or an output.
struct Port {
  // at the bounds of data-dependent symbols; equal to the view's type without such
  TensorType most;
  // type and stride; data is what the user sees: bound memory, a host copy, the arena, or null
  TensorView view;
  int32_t value = -1;
  int32_t root = -1;        // whose storage it is
  int64_t home_stride = 0;  // elements between rows where the program keeps it
  uint8_t* home = nullptr;  // in the arena or on the device; null where the caller must bind
  // what the operands' addresses count from now; 0 while nothing is bound and there is no home
  uintptr_t base = 0;
  uint8_t* host_copy = nullptr;  // of a device without host memory
  bool on_device = false;        // bound to memory of the device
  // another port whose storage, wherever that is bound, this one lies in
  const Port* owner = nullptr;
  uint64_t offset_in_root = 0;  // bytes
  // bound memory goes to the kernels as it is; else it is copied before or after the run
  bool is_direct = false;
  bool is_bound = false;
};

struct StateSlot {
  TensorView view;  // dense; data is null on a device without host memory
  uint8_t* home = nullptr;
  uint64_t bytes = 0;
  const uint8_t* init = nullptr;  // where the kernels find it; null: zeros
};

/// What a session keeps of its preparation, so that binding it anew takes nothing from outside.
struct Rebinding {
  int64_t* symbol_values = nullptr;  // now
  int64_t* candidates = nullptr;     // while rebinding
  int64_t* symbol_highs = nullptr;
  uint8_t* binding = nullptr;
  uint64_t binding_bytes = 0;        // 0: not rebindable
  uint64_t* capacities = nullptr;    // by value
  Lifetime* lifetimes = nullptr;     // by value
  uint64_t* offsets = nullptr;       // by value
  uint64_t* part_offsets = nullptr;  // by weight part
  TensorView* operands = nullptr;    // of one instruction
  // by value, where PlannedProgram::chooses_f16: what is f16 now; null: nothing ever is
  uint64_t* f16_storage = nullptr;
};

/// The numbers of a program's data-dependent symbols in this run.
struct ResolvedSizes {
  // by data-dependent symbol; below 0: not resolved yet. Null: no size depends on data
  int64_t* sizes = nullptr;
  int64_t* dim_values = nullptr;   // by expression
  uint64_t* capacities = nullptr;  // by value: its bytes at the bounds
  // by root: bytes from its start that this run wrote, of those with data-dependent extents
  uint64_t* written = nullptr;
};

struct Tables {
  RunSession* session = nullptr;
  ResolvedSizes resolved;
  Rebinding rebinding;
  Call* calls = nullptr;  // by instruction
  // inputs, then outputs, of one instruction behind the other; see continues_operands()
  TensorView* operands = nullptr;
  uint8_t* attributes = nullptr;  // resolved ones, that would not outlive the workspace
  Port* inputs = nullptr;
  Port* outputs = nullptr;
  StateSlot* states = nullptr;
  ThreadPool* pool = nullptr;         // of its own
  ThreadTeam* thread_team = nullptr;  // for the caller's executor
  QueuedRun* queued = nullptr;        // where there are threads
  Background* background = nullptr;   // that does what is started
  uint8_t* host_copies = nullptr;     // of ports, each 64-byte aligned
  // by instruction, where scratch lies among the activations
  ScratchPlace* scratch_places = nullptr;
  PortRoute* routes = nullptr;  // of a device that moves ports: by input, then by output
  PortDescriptor* descriptors = nullptr;
  // by data-dependent symbol, where a device moves ports: what it found in the last run
  int64_t* found = nullptr;
  // by instruction, where the host decides for a device: StepProgram::known
  uint64_t* known = nullptr;
  // by subprogram, where the host decides for a device: StepProgram::entered
  uint64_t* entered = nullptr;
  uint8_t* split = nullptr;  // the block of SplitCode::fill
};

/// One code path measures (the bump allocator has no base) and cuts; it writes nothing.
Tables carve_tables(const OpenModel& model, const Preparation& p, BumpAllocator* bump);

/// Of a device with memory of the host: [descriptors][sizes that the data decides][copies of
/// ports]; else 0.
uint64_t pinned_bytes(const OpenModel& model, const Preparation& p);
/// Hands that memory to the tables.
void use_pinned(const OpenModel& model, uint8_t* pinned, Tables* tables);

/// Copies what rebinding needs out of the model's workspace. @pre p.planned.capacities is there
void fill_rebinding(const OpenModel& model, const Preparation& p, const Rebinding& to);

/// Fills calls, operands, ports and states. `base` is the arena's; constants in place come from the
/// model's memory.
void fill_tables(const OpenModel& model, const Preparation& p, const LifetimeRules& rules,
                 uint8_t* base, const Tables& tables);

/// Fills Tables::known, if it is there.
/// Errors   kFileRead
Status read_known(const OpenModel& model, const Tables& tables, ErrorDetail* detail);

/// True where the first operand of instruction i is the last one of the instruction before it, as
/// in most of a network: both are one view. Not where several devices have addresses of their own.
bool continues_operands(const ProgramDef& program, uint32_t i, bool is_split);

/// True when the kernels find `value` in the storage of `port`, bound or not.
bool lies_in(const ProgramDef& program, const LifetimeRules& rules, const Port& port,
             int32_t value);

/// Where a constant's bytes lie for the kernels.
const uint8_t* constant_address(const OpenModel& model, const Layout& layout, const uint8_t* base,
                                const ValueDef& value);

}  // namespace ingot
