// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/options.h - what a conversion can be told, and what it reports.
// Errors   graph::ConversionError with the CLI's exit code.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/op/block_linear.h"
#include "tools/compile/image/image_input.h"
#include "tools/compile/passes/pipeline.h"
#include "tools/compile/stream/stream.h"
#include "tools/compile/write/program_builder.h"
#include "tools/compile/write/storage.h"
#include "tools/weights/overlay/overlay.h"

namespace ingot::convert {

enum class WinogradMode { kAuto, kOff, kBudget };

/// A pair of ports that is one variable kept in the arena from run to run.
struct StatePair {
  std::string input, output;
  double init = 0;  // of every element in a fresh session
};

/// The smallest arena for more work: see tools/compile/patches/patches.h.
struct MinimumRam {
  bool is_wanted = false;
  double max_work = 2;  // multiply-adds, times those of the whole network
};

struct ConvertOptions {
  std::vector<std::string> targets{"cpu"};  // cpu, cuda, mcu
  WinogradMode winograd = WinogradMode::kAuto;
  uint64_t winograd_bytes = 0;  // budget: how much larger Winograd may make the weights
  bool fuse_chains = true;
  MinimumRam min_ram;
  // for the core of `ingot firmware`, no whole runtime: no chains, whose rings it does not have
  bool for_core = false;
  // an instruction that no kernel of this build can run is an error
  bool require_kernels = true;
  std::map<std::string, std::string> io_layout;  // port -> "nchw" or "nhwc"
  ImageInputs images;                            // inputs that are frames of a camera in the file
  StreamOptions stream;                          // run for each new frame, see stream.h
  std::vector<std::string> input_shapes;         // "NAME=1x3x224xW", as on the command line
  std::vector<std::string> dims;                 // "NAME=16" or "NAME=1..64"
  int64_t max_elements = 0;                      // of a size that only the data tell
  int64_t context = 0;                           // of a language model
  int32_t slots = 0, lookup = 0;                 // the same
  bool full_windows = false;                     // the same
  DType cache = DType::kF32;                     // of its keys and values: or kF16, kU8
  bool keep_blocks = true;  // as ImportOptions; off where another type of weights is asked for
  // "NAME=i64": of a TorchScript program, whose file does not say
  std::string signature;  // of a TFLite model: which entry point; empty for the first
  std::string exact_to;   // litert, builtin, tflm or onnx; empty for that of the source
  std::vector<std::string> input_types;
  // "NAME=16000": of a TorchScript program's parameters that are no tensors
  std::vector<std::string> arguments;
  // extents that will be fed, see tools/import/onnx/import.h
  std::map<std::string, std::vector<int64_t>> expected_inputs;
  // of a checkpoint, in the place of the source's own
  overlay::OverlayOptions weights;
  uint8_t precision = 0;  // of products: 0 exact, 1 fast, 2 fp16, 3 bf16
  // of those, on a CPU: products that come from these source nodes alone stay exact
  std::set<uint32_t> exact_sources;
  bool bf16_weights = false;  // of a bf16 program: those that it rounds are bf16 in the file
  StorageOptions storage;     // the type of the weights in the file
  /// Source weights in the program's constants, for patterns of storage.keep_fp32. May be empty;
  /// convert_source() has its own.
  std::function<WeightNames(const ProgramSpec&)> name_weights;
  // the bytes of source weights that the program no longer has
  bool keep_weights = false;
  bool keep_training_state = false;             // of a checkpoint: optimizer and the like, as bytes
  std::vector<StatePair> states;                // "IN=OUT", as on the command line
  std::map<std::string, std::string> metadata;  // entries, and name, version, licence
  std::vector<std::string> labels;
  std::vector<GoldenCaseSpec> goldens;  // embedded when not empty
  /// Called with the stage that starts and the share of the work done, 0..1. May be empty.
  std::function<void(const std::string& stage, double done)> progress;
  /// Called once with the imported model, before anything else looks at it: quantization. May be
  /// empty.
  std::function<void(graph::Model&)> rewrite;
  /// Called with "import" and the imported model, then after each pass. May be empty.
  passes::Observer observe;
  std::optional<BlockType> blocks;  // of a language model, as ImportOptions
};

// As the command line has them. @throws ConversionError kUsage.
void set_precision(ConvertOptions& options,
                   const std::string& argument);                          // exact, fast, fp16, bf16
void set_winograd(ConvertOptions& options, const std::string& argument);  // auto, off, bytes
void add_io_layout(ConvertOptions& options, const std::string& argument);  // NAME=nchw, NAME=nhwc
void add_state(ConvertOptions& options, const std::string& argument);      // IN=OUT
/// "IN=NUMBER", after the pair. @throws also kMismatch when no pair has that input.
void set_state_init(ConvertOptions& options, const std::string& argument);
void add_metadata(ConvertOptions& options, const std::string& argument);  // KEY=VALUE
void set_targets(ConvertOptions& options,
                 const std::string& argument);  // cpu,cuda,mcu: any of them

/// What one instruction became and why; in the order of the file's instructions.
struct InstructionReport {
  std::string op, node, note;
  std::string dims;  // of output 0
  double macs = 0;   // at the typical binding
  uint64_t weight_bytes = 0;
};

/// What --min-ram cost and saved. Bytes are those of a microcontroller's arena.
struct MinimumRamReport {
  uint64_t whole_bytes = 0, bytes = 0;
  double whole_work = 0, work = 0;   // multiply-adds
  std::vector<std::string> regions;  // what was computed in patches, one sentence each

  /// "arena 20000 of 40000 bytes (50.0 %), ...".
  std::string text() const;
};

struct ConversionReport {
  std::vector<passes::PassRecord> passes;
  std::vector<std::string> notes;  // reported: training mode, unusual choices
  std::vector<InstructionReport> instructions;
  // transposes and copies that remain, one sentence each
  std::vector<std::string> copies;
  // typical extents of symbolic dims that choices were made for
  std::map<std::string, int64_t> binding;
  std::string order;  // the heuristic that gave the smallest plan
  // of activations, at the typical binding when dims are symbolic
  uint64_t arena_bytes = 0, lower_bound = 0;
  uint64_t weight_bytes = 0, winograd_extra_bytes = 0;
  StorageReport storage;
  MinimumRamReport min_ram;
  std::vector<std::string> hints;  // what another option would do; not kept in the file
  uint32_t states = 0;             // kept in the arena
  // updated where their next value is computed; the others by a copy at the end
  uint32_t states_in_place = 0;
  uint32_t views = 0, in_place = 0, chains = 0, winograd = 0;
  double ratio() const { return lower_bound ? double(arena_bytes) / double(lower_bound) : 1; }
};

struct ConversionResult {
  FileSpec file;  // write_file(file, path) of file_writer.h writes it, whole or not at all
  ConversionReport report;
};

}  // namespace ingot::convert
