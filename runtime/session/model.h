// SPDX-License-Identifier: Apache-2.0
// runtime/session/model.h - a file that was opened, validated and decoded, with the working memory
// that binding it takes.
// Owns     its blocks and its source; see ingot.h for what must outlive it.
// Threads  immutable but for the workspace, which one thread at a time holds (WorkspaceLock): when
//          a session is made or requirements are asked for, never in run().
// Errors   those of runtime/format/format.h; kOutOfMemory{need, have}.
// Allocates open: four blocks, largest last but
//          one.
#pragma once
#include <atomic>

#include "runtime/device/device.h"
#include "runtime/format/format.h"
#include "runtime/memory/allocator.h"
#include "runtime/plan/lifetime.h"

namespace ingot {

struct F16WeightPacker;

struct CallerReader {
  void* user = nullptr;
  int32_t (*read)(void* user, uint64_t offset, void* out, size_t bytes) = nullptr;
};

struct RunSession;

/// The caller's, and the code that writes to it, which a program without a log does not link.
struct LogSink {
  void* user = nullptr;
  void (*write)(void* user, int32_t level, const char* text) = nullptr;
  /// Of a session that was made; `detail`: of the GPU's failure where it was given up.
  void (*session)(const RunSession& session, const ErrorDetail& detail) = nullptr;
};

/// Where the bytes of a model come from: exactly one of path, memory, reader.
struct ModelOrigin {
  const char* path = nullptr;
  const void* memory = nullptr;
  uint64_t memory_bytes = 0;
  CallerReader reader;
  uint64_t reader_bytes = 0;
};

struct OpenRequest {
  const KernelTable* kernels = nullptr;
  bool check_hashes = false;
  bool copy_weights = false;
  Allocator allocator;    // used when block is null
  void* block = nullptr;  // the caller's memory for the model
  uint64_t block_bytes = 0;
  CustomOperators custom;  // beside the kernels
};

/// Arrays that binding and planning work in. Sized when the model is opened, so that neither
/// allocates.
struct Workspace {
  int64_t* symbol_values = nullptr;
  int64_t* symbol_highs = nullptr;  // of a session that may be rebound
  uint64_t* capacities = nullptr;   // by value: largest bytes at any corner of its bounds
  uint8_t* binding = nullptr;
  uint64_t binding_bytes = 0;
  Lifetime* lifetimes = nullptr;          // by value
  uint64_t* offsets = nullptr;            // by value
  uint64_t* part_offsets = nullptr;       // by weight part
  TensorView* operands = nullptr;         // of one instruction
  ScratchPlace* scratch_needs = nullptr;  // by instruction
  uint8_t* planner = nullptr;
  uint64_t planner_bytes = 0;
};

/// Weights in the memory of a device, one copy for all sessions that are there.
struct SharedWeights {
  uint8_t* base = nullptr;  // null: free
  uint64_t bytes = 0;
  uint32_t sessions = 0;
  bool is_fallback = false;  // only those that the device reads
  Device device;
};
constexpr size_t kMaxSharedWeights = 16;

/// Constants outside the program part on a device that holds weights as packed f16 weights; made
/// when such a device is first asked for.
struct F16WeightPlace {
  uint32_t block;  // where it lies, in blocks of kWidenedBlock bytes
  bool is_packed;  // every use may have it as packed f16 weights
};
struct F16Weights {
  const F16WeightPacker* code = nullptr;  // null: nobody asked yet
  Span<F16WeightPlace> places;            // by value
  uint64_t bytes = 0;                     // of all these constants; 0: none may be packed
};

struct OpenModel {
  Source source;
  CallerReader reader;
  FileView file;
  ProgramDef program;
  const KernelTable* kernels = nullptr;
  KernelTable with_custom = {};  // what `kernels` is where operators were handed in
  bool copy_weights = false;
  // of what is copied into an arena, too: the file may have changed since
  bool check_hashes = false;
  bool is_static = false;  // no symbols: bound once, when opened
  BoundProgram bound;      // of a static program
  Allocator allocator;
  LogSink log;
  uint64_t weights_bytes = 0;
  uint64_t held_bytes = 0;  // all blocks
  mutable Workspace workspace;
  // [kMaxSharedWeights] once a device wants them; under the WorkspaceLock
  mutable SharedWeights* shared_weights = nullptr;
  mutable F16Weights f16_weights;  // under the WorkspaceLock
  mutable Span<uint8_t> tunings;   // validated, once a device wants them; under the WorkspaceLock
  mutable void (*drop_tunings)(const OpenModel& model) = nullptr;
  mutable std::atomic<uint32_t> workspace_busy{0};

  struct Block {
    uint8_t* at = nullptr;
    uint64_t bytes = 0;
  };
  static constexpr int kBlocks = 4;
  Block blocks[kBlocks];
  bool blocks_are_lent = false;
};

Status open_model(const ModelOrigin& origin, const OpenRequest& request, OpenModel** out,
                  ErrorDetail* detail);
void close_model(OpenModel* model);

class WorkspaceLock {
 public:
  explicit WorkspaceLock(const OpenModel& model);
  ~WorkspaceLock();
  WorkspaceLock(const WorkspaceLock&) = delete;
  WorkspaceLock& operator=(const WorkspaceLock&) = delete;

 private:
  const OpenModel& model_;
};

/// The model's own, or the heap where its memory was lent.
inline Allocator allocator_of(const OpenModel& model) {
  return model.allocator.allocate ? model.allocator : heap_allocator();
}

/// Copies a name into an error.
void name_error(ErrorDetail* detail, const char* name);

}  // namespace ingot
