// SPDX-License-Identifier: Apache-2.0
// runtime/device/gpu/kernel_set.h - what a GPU's kernels promise the device that launches them:
// which instructions they know, and for each the launches that compute it. Host side only; knows
// neither a driver nor device code.
//
//   row.supports()   can this operator with these attributes, element types, ranks and packings run
//                    in this precision? Asked before
//                    extents are known, so it never looks at dims. An exact row serves every
//                    precision: rows that serve fewer come
//                    first in the set.
//   row.scratch()    bytes beside what the contract says, for these extents
//   row.plan()       the launches, with addresses fixed; nothing is launched here: the sink records
//                    (a graph) or runs (a test)
//   row.variants      where an instruction can be computed in several kernel variants: which, the
//                     one that
//                    plan() takes unasked first
//
// Exactness  under GpuPrecision::kExact a row gives the bits of the CPU's kernels; see
//            runtime/op/<operator>.h for the order.
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

/// Same numbers as ingot.fb.Precision. What a file may lose on a GPU; a CPU computes all of them
/// in f32, but the last two of halves where it can (runtime/op/half_products.h).
enum class GpuPrecision : uint8_t {
  kExact = 0,  // f32 in the contract's order: the bits of the CPU
  kFast = 1,   // products through tf32, bf16 or f16 tensor cores, f32 at the seams
  kFp16 = 2,   // products and their operands in f16
  kBf16 = 3,   // a CPU's; no kernel of a GPU is asked for it
};
/// What a GPU computes of a program of that precision.
constexpr GpuPrecision gpu_precision(uint32_t precision) {
  return GpuPrecision(precision) == GpuPrecision::kBf16 ? GpuPrecision::kFast
                                                        : GpuPrecision(precision);
}

struct GpuLaunch {
  uint16_t kernel = 0;                          // index in GpuKernelSet::kernels
  uint32_t grid_x = 1, grid_y = 1, grid_z = 1;  // blocks; y and z below 65536
  uint32_t shared_bytes = 0;                    // dynamic
  const void* params = nullptr;                 // one struct, passed by value; copied by the sink
  uint32_t params_bytes = 0;
};

/// One of several kernel variants to compute an instruction. All variants of an exact row give the
/// same bits.
struct GpuVariant {
  const char* name = "";  // static; files know it by this and by `parts`: "128x64"
  uint16_t parts = 1;     // that k is cut into
  uint16_t id = 0;        // the row's own
};
constexpr uint32_t kMaxGpuVariants = 32;

struct GpuSink {
  void* user = nullptr;
  Status (*launch)(void* user, const GpuLaunch& launch) = nullptr;
};

/// Where constant operands of an instruction begin. No launch writes there, so that a kernel may
/// read them while the launches that it waits for still run.
class GpuConstants {
 public:
  /// Of more operands than are remembered: not a constant.
  void add(const void* at) {
    if (count_ < kMax) at_[count_++] = at;
  }
  bool has(const void* at) const {
    for (uint32_t i = 0; i < count_; i++)
      if (at_[i] == at) return true;
    return false;
  }
  bool has_or_null(const void* at) const { return !at || has(at); }

 private:
  static constexpr uint32_t kMax = 16;
  const void* at_[kMax] = {};
  uint32_t count_ = 0;
};

/// Words of the device that are zero before and behind every launch: blocks that share an output
/// count in them which of them is the last. Each launch of a graph has its own.
constexpr uint32_t kGpuCounters = 4096;  // of a program
struct GpuCounters {
  uint32_t* next = nullptr;
  uint32_t left = 0;
  /// `count` of them; null: there are not as many.
  uint32_t* take(uint64_t count) {
    if (count > left) return nullptr;
    uint32_t* const taken = next;
    next += count, left -= uint32_t(count);
    return taken;
  }
};

/// One instruction to be turned into launches.
struct GpuWork {
  const OpArguments* arguments = nullptr;  // addresses of the device
  // of the device, 256-byte aligned; what the contract and scratch() asked for
  uint8_t* scratch = nullptr;
  uint64_t scratch_bytes = 0;
  // of the device: a kernel that meets an index outside its range writes fault_value there
  uint32_t* fault = nullptr;
  uint32_t fault_value = 0;  // and goes on without touching memory it should not
  GpuTraits traits;
  GpuPrecision precision = GpuPrecision::kExact;
  GpuConstants constants;  // of the device; those that are not here may be written at any time
  GpuCounters* counters = nullptr;  // null: there are none
  GpuSink sink;
  const GpuVariant* variant =
      // one that the row lists for these arguments; null, or none of them: as the cost model
      // chooses
      nullptr;
};

struct GpuVariants {
  /// Every variant for these extents, the one of the model first. Asked with addresses or without
  /// (then all are aligned); at most kMaxGpuVariants are written.
  uint32_t (*list)(const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision,
                   GpuVariant* out) = nullptr;
  /// Bytes of scratch for one of them, and with less plan() takes one that has enough; null: what
  /// GpuKernelEntry::scratch says suffices for all.
  uint64_t (*scratch)(const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision,
                      const GpuVariant& variant) = nullptr;
};

struct GpuKernelEntry {
  OpCode op;
  // static
  const char* name;
  // null: always
  bool (*supports)(const OpArguments& arguments, const GpuTraits& traits, GpuPrecision precision);
  // null: none
  uint64_t (*scratch)(const OpArguments& arguments, const GpuTraits& traits,
                      GpuPrecision precision);
  Status (*plan)(const GpuWork& work);
  GpuVariants variants = {};  // list null: there is one kernel variant
  /// Operands, inputs before outputs, that are or may be f16 where the file says f32, a bit each;
  /// null: none. Asked with the types that the operands have now, for given extents, in fp16.
  uint64_t (*f16_operands)(const OpArguments& arguments, const GpuTraits& traits) = nullptr;
  /// What plan() makes do with where it was given less than scratch() asks for; null: the least of
  /// its variants, or it does not.
  uint64_t (*least_scratch)(const OpArguments& arguments, const GpuTraits& traits,
                            GpuPrecision precision) = nullptr;
};

/// A kernel of device code.
struct GpuKernel {
  const char* name;       // as in the module
  uint16_t unit;          // index in GpuKernelSet::units
  uint16_t threads;       // of a block
  uint32_t params_bytes;  // of its one parameter
};

/// Everything that an application links for GPUs of one make.
struct GpuKernelSet {
  Span<const Span<const GpuKernelEntry>* const> families;  // rows are tried in order
  Span<const GpuKernel> kernels;
  // modules: each is loaded when a program needs one of its kernels
  Span<const char* const> units;
  // device code of all architectures, see kernels/cuda/embed; empty: built without
  Span<const uint8_t> (*images)();
  uint16_t copy_in, copy_out;  // kernels of the ports, see kernels/cuda/ports
  uint16_t publish_condition;  // see kernels/cuda/control
  // in a unit of its own, which some architectures lack: kernels/cuda/control/decide.cuh
  uint16_t decide;
  /// Whether weights are to be given as packed f16 weights, wherever takes_f16_weights()
  /// (runtime/op/f16_weights.h): the rows then take them.
  bool (*takes_f16_weights)(const GpuTraits& traits, GpuPrecision precision);
};

/// The variants that a row has for an instruction; at least one is written, without a name where
/// there is nothing to choose.
uint32_t list_gpu_variants(const GpuKernelEntry& row, const OpArguments& arguments,
                           const GpuTraits& traits, GpuPrecision precision, GpuVariant* out);
/// Scratch of one of them; null: of what plan() takes unasked.
uint64_t gpu_scratch(const GpuKernelEntry& row, const OpArguments& arguments,
                     const GpuTraits& traits, GpuPrecision precision, const GpuVariant* variant);
/// What plan() needs at least: it may be given more for these extents than for larger ones.
uint64_t least_gpu_scratch(const GpuKernelEntry& row, const OpArguments& arguments,
                           const GpuTraits& traits, GpuPrecision precision);

/// The first row of an operator that can run these arguments in this precision; null when there is
/// none.
const GpuKernelEntry* find_gpu_row(const GpuKernelSet& set, OpCode op, const OpArguments& arguments,
                                   const GpuTraits& traits, GpuPrecision precision);

}  // namespace ingot
