// runtime/op/gpu_kernel.h - what a GPU's kernels promise the device that launches them: which instructions they know, and for
// each the launches that compute it. Host side only; knows neither a driver nor device code.
//
//   row.supports()   can this operator with these attributes, element types, ranks and packings run in this precision? Asked before
//                    extents are known, so it never looks at dims. An exact row serves every precision: rows that serve fewer come
//                    first in the set.
//   row.scratch()    bytes beside what the contract says, for these extents
//   row.plan()       the launches, with addresses fixed; nothing is launched here: the sink records (a graph) or runs (a test)
//   row.choices      where an instruction can be computed in several ways: which, the one that plan() takes unasked first
//
// Exactness  under GpuPrecision::kExact a row gives the bits of the CPU's kernels; see runtime/op/<operator>.h for the order.
// Calls      nothing but the sink. No allocation, no state: any thread.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

/// The device as far as a plan may depend on it.
struct GpuTraits {
  int sm = 0;  // 87: compute capability 8.7; 0: the emulator, which has everything
  int multiprocessors = 1;
  uint32_t shared_bytes = 48 << 10;  // that a block may have
  bool has_async_copy() const { return sm == 0 || sm >= 80; }
  bool has_tensor_cores() const { return sm == 0 || sm >= 75; }  // mma.sync m16n8k8 and larger
};

/// Same numbers as ingot.fb.Precision. What a file may lose on a GPU; the CPU computes all of them in f32.
enum class GpuPrecision : uint8_t {
  kExact = 0,  // f32 in the contract's order: the bits of the CPU
  kFast = 1,   // products through tf32, bf16 or f16 tensor cores, f32 at the seams
  kFp16 = 2,   // products and their operands in f16
};

struct GpuLaunch {
  uint16_t kernel = 0;                          // index in GpuKernelSet::kernels
  uint32_t grid_x = 1, grid_y = 1, grid_z = 1;  // blocks; y and z below 65536
  uint32_t shared_bytes = 0;                    // dynamic
  const void* params = nullptr;                 // one struct, passed by value; copied by the sink
  uint32_t params_bytes = 0;
};

/// One of several ways to compute an instruction. All ways of an exact row give the same bits.
struct GpuChoice {
  const char* name = "";  // static; files know it by this and by `parts`: "128x64"
  uint16_t parts = 1;     // that k is cut into
  uint16_t id = 0;        // the row's own
};
constexpr uint32_t kMaxGpuChoices = 24;

struct GpuSink {
  void* user = nullptr;
  Status (*launch)(void* user, const GpuLaunch& launch) = nullptr;
};

/// One instruction to be turned into launches.
struct GpuWork {
  const OpArguments* arguments = nullptr;  // addresses of the device
  uint8_t* scratch = nullptr;              // of the device, 256-byte aligned; what the contract and scratch() asked for
  uint64_t scratch_bytes = 0;
  uint32_t* fault = nullptr;  // of the device: a kernel that meets an index outside its range writes fault_value there
  uint32_t fault_value = 0;   // and goes on without touching memory it should not
  GpuTraits traits;
  GpuPrecision precision = GpuPrecision::kExact;
  GpuSink sink;
  const GpuChoice* choice =
      nullptr;  // one that the row lists for these arguments; null, or none of them: as the model has it
};

struct GpuChoices {
  /// Every way for these extents, the one of the model first. Asked with addresses or without (then all are aligned); at most
  /// kMaxGpuChoices are written.
  uint32_t (*list)(const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision,
                   GpuChoice* out) = nullptr;
  /// Bytes of scratch for one of them; null: what GpuRow::scratch says suffices for all.
  uint64_t (*scratch)(const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision,
                      const GpuChoice& choice) = nullptr;
};

struct GpuRow {
  OpCode op;
  const char* name;                                                                                    // static
  bool (*supports)(const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision);     // null: always
  uint64_t (*scratch)(const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision);  // null: none
  Status (*plan)(const GpuWork& work);
  GpuChoices choices = {};  // list null: there is one way
};

/// A kernel of device code.
struct GpuKernel {
  const char* name;       // as in the module
  uint16_t unit;          // index in GpuKernelSet::units
  uint16_t threads;       // of a block
  uint32_t params_bytes;  // of its one parameter
};

/// Where a port's bytes are in a run, as the kernels that move ports find it (pinned memory).
struct PortDescriptor {
  uint64_t address;     // of the GPU: pinned memory of the host, or the caller's device memory
  uint64_t row_stride;  // bytes there
};
/// The parameter of the kernels copy_in and copy_out: rows of `row_bytes` between the arena and the place in the descriptor.
struct PortParams {
  const volatile PortDescriptor* descriptor;
  char* home;
  uint64_t home_stride;  // bytes
  uint64_t row_bytes, rows;
};

/// In pinned memory: what the host reads to go on behind an If or a Loop.
struct ControlTold {
  uint32_t condition;
  int64_t count;
};
/// The parameter of the kernel tell_control. Null: not asked for.
struct ControlParams {
  int64_t* iteration;         // for the body, which may overwrite it
  volatile int64_t* counter;  // in pinned memory, the loop's own: 0 where `begins` is 1, else one more
  uint64_t begins;
  const uint8_t* condition;
  const int64_t* count;
  volatile ControlTold* told;
};

/// A loop that has begun, where the GPU decides; pinned memory, by how many loops it lies in.
struct LoopTrip {
  int64_t iteration, count;
};
enum class Deciding : uint32_t { kIf = 0, kLoop = 1, kRepeat = 2 };
/// The parameter of the kernel decide, which sets conditions of a graph's nodes: those of an If, or of a Loop before its first
/// iteration and behind each. Null or 0: not asked for.
struct DecideParams {
  uint64_t handles[2];  // of the driver: where the If is true, where it is false; of the Loop
  Deciding what;
  uint32_t refuses[2];          // 1: the file has no such branch
  uint32_t fault_value;         // written to `fault` where the file was not cast for what is asked
  volatile uint32_t* fault;     // of the run; where one was found, no loop goes on
  volatile uint64_t* taken[2];  // one more where that branch or the body begins
  const uint8_t* condition;     // null: `known_condition`
  const int64_t* count;         // null: `known_count`
  uint64_t known_condition;
  int64_t known_count, most;
  int64_t* iteration;  // for the body, which may overwrite it
  volatile LoopTrip* trip;
  volatile ControlTold* told;  // the count that was too large
};

/// Everything that an application links for GPUs of one make.
struct GpuKernelSet {
  Span<const Span<const GpuRow>* const> families;  // rows are tried in order
  Span<const GpuKernel> kernels;
  Span<const char* const> units;    // modules: each is loaded when a program needs one of its kernels
  Span<const uint8_t> (*images)();  // device code of all architectures, see kernels/cuda/image; empty: built without
  uint16_t copy_in, copy_out;       // kernels of the ports, see kernels/cuda/ports
  uint16_t tell_control;            // see kernels/cuda/control
  uint16_t decide;  // in a unit of its own, which some architectures lack: kernels/cuda/control/decide.cuh
  /// Whether weights are to be given as pairs of f16, wherever takes_pairs() (runtime/op/weight_pairs.h): the rows then take them.
  bool (*pairs)(const GpuTraits& traits, GpuPrecision precision);
};

/// The ways that a row has for an instruction; at least one is written, without a name where there is nothing to choose.
uint32_t list_gpu_choices(const GpuRow& row, const OpArguments& arguments, const GpuTraits& traits,
                          GpuPrecision precision, GpuChoice* out);
/// Scratch of one of them; null: of what plan() takes unasked.
uint64_t gpu_scratch(const GpuRow& row, const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision,
                     const GpuChoice* choice);

/// The first row of an operator that can run these arguments in this precision; null when there is none.
const GpuRow* find_gpu_row(const GpuKernelSet& set, OpCode op, const OpArguments& arguments, const GpuTraits& traits,
                           GpuPrecision precision);

}  // namespace ingot
