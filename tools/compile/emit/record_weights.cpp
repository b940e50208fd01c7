// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/emit/record_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "runtime/op/grouped_linear.h"
#include "tools/compile/emit/source_weights.h"
#include "tools/files/failure.h"
#include "tools/weights/programs/read_weights.h"

namespace ingot::convert {
namespace {

constexpr size_t kMaxFacts = 256;       // entries of one file; more are counted
constexpr size_t kMaxFactBytes = 1024;  // of one

// What trainers save beside the weights.
constexpr const char* kTrainingKeys[] = {"optimizer",
                                         "optimizer_state_dict",
                                         "optimizer_states",
                                         "optim",
                                         "opt",
                                         "lr_scheduler",
                                         "lr_schedulers",
                                         "scheduler",
                                         "scaler",
                                         "grad_scaler",
                                         "amp",
                                         "callbacks",
                                         "loops",
                                         "rng_state",
                                         "random_state"};

bool is_training_state(const checkpoint::Path& path) {
  if (path.size() < 2) return false;
  for (const char* key : kTrainingKeys)
    if (path[0] == key) return true;
  return path[0].rfind("optimizer", 0) == 0;
}

std::string text_of(const checkpoint::FactValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", *real);
    return digits;
  }
  return "none";
}

/// Epoch, step, metrics, hyper-parameters, versions. Those of the optimizer are training state.
void add_facts(const checkpoint::Checkpoint& file, bool keep_training, ConversionResult* result) {
  size_t left_out = 0, kept = 0;
  for (const checkpoint::Fact& fact : file.facts) {
    const std::string value = text_of(fact.value);
    if (is_training_state(fact.path) && !keep_training) continue;
    if (kept >= kMaxFacts || value.size() > kMaxFactBytes) {
      left_out++;
      continue;
    }
    kept++;
    result->file.metadata.entries.emplace_back("checkpoint." + checkpoint::path_text(fact.path),
                                               value);
  }
  if (left_out)
    result->report.hints.push_back("metadata: " + std::to_string(left_out) +
                                   " long or further facts of the checkpoint are not kept");
}

/// Matrices that are what the source has: numbers of 16 bits, and other blocks.
struct KeptWeights {
  size_t halves = 0, blocks = 0;
};
KeptWeights count_kept(const ProgramSpec& program) {
  std::set<int32_t> halves, blocks;
  for (const SubprogramSpec& subprogram : program.subprograms)
    for (const InstructionSpec& instruction : subprogram.instructions) {
      const auto add = [&](BlockType type, size_t operand) {
        (block_format(type).is_float() ? halves : blocks).insert(instruction.inputs[operand]);
      };
      if (const auto* linear = std::get_if<BlockLinearAttributes>(&instruction.attributes))
        add(linear->type, 1);
      if (const auto* gather = std::get_if<BlockGatherAttributes>(&instruction.attributes))
        add(gather->type, 0);
      const auto* grouped = std::get_if<GroupedLinearAttributes>(&instruction.attributes);
      if (grouped && program.values[size_t(instruction.inputs[1])].packing == Packing::kBlocks32)
        add(grouped->type, 1);
    }
  return {halves.size(), blocks.size()};
}

/// What floating types the source mixes, and what became of them; "" where there is one, f32.
/// Training state apart.
std::string say_types(const checkpoint::Checkpoint& source, const StorageReport& storage,
                      bool chosen, const KeptWeights& kept) {
  std::map<checkpoint::ElementType, size_t> counts;
  for (const checkpoint::Tensor& tensor : source.tensors) switch (tensor.type) {
      case checkpoint::ElementType::kF32:
      case checkpoint::ElementType::kF16:
      case checkpoint::ElementType::kBf16:
      case checkpoint::ElementType::kF64: counts[tensor.type]++;
      default: break;
    }
  if (counts.empty() || (counts.size() == 1 && counts.count(checkpoint::ElementType::kF32)))
    return "";
  std::string list;
  for (const auto& [type, count] : counts)
    list +=
        (list.empty() ? "" : ", ") + std::to_string(count) + " " + checkpoint::element_name(type);
  if (kept.halves)
    return "weights: the source has " + list + "; " + std::to_string(kept.halves) +
           " matrices stay in 16 bits, other floats become f32";
  if (kept.blocks) return "";  // whoever made or kept them says so
  const bool f16 = counts.count(checkpoint::ElementType::kF16),
             bf16 = counts.count(checkpoint::ElementType::kBf16);
  const uint64_t others = storage.kept + storage.small + storage.winograd;
  std::string text = "weights: the source has " + list + "; all are computed in f32 and ";
  if (!storage.tensors.empty())
    text += "stored as " + std::string(dtype_name(storage.dtype)) + " (" +
            std::to_string(storage.tensors.size()) + " constants)" +
            (others ? " and f32 (" + std::to_string(others) + ")" : "");
  else
    text += "stored as f32";
  if (!chosen && counts.size() == 1 && (f16 || bf16))
    text += std::string("; --dtype ") + (f16 ? "fp16" : "bf16") +
            " stores them in half of that, without loss";
  return text;
}

}  // namespace

WeightNames name_weights(const std::string& path, const ProgramSpec& program) {
  WeightNames names;
  try {
    const checkpoint::Checkpoint file = weights::read_weights(path);
    KeepWeights none;
    none.small_bytes = 0;
    const std::vector<SourceWeightSpec> found = find_source_weights(file, program, none);
    for (const SourceWeightSpec& weight : found)
      if (weight.value >= 0) names[weight.value].push_back(checkpoint::path_text(weight.path));
  } catch (const host::Failure&) {  // record_weights() says so
  }
  return names;
}

void record_weights(const std::string& path, const overlay::OverlayReport& used,
                    const ConvertOptions& options, ConversionResult* result) {
  checkpoint::Checkpoint file;
  try {
    file = weights::read_weights(path);
  } catch (
      const host::Failure&
          failure) {  // the network was converted; only giving its weights back is not possible
    result->report.hints.push_back("weights: ingot extract will not give them back: " +
                                   failure.message());
    return;
  }
  const bool overlaid = !used.candidates.empty();
  const std::set<std::string> wanted(used.candidates.begin(), used.candidates.end());
  checkpoint::Checkpoint source, training;
  for (checkpoint::Tensor& tensor : file.tensors) {
    const bool of_training = overlaid && is_training_state(tensor.path);
    if (!of_training && overlaid && !wanted.count(checkpoint::path_text(tensor.path))) continue;
    (of_training ? training : source).tensors.push_back(std::move(tensor));
  }
  KeepWeights keep;
  keep.all = options.keep_weights;
  keep.only.insert(used.used.begin(), used.used.end());
  if (options.targets == std::vector<std::string>{"mcu"}) keep.small_bytes = 0;  // flash is dear
  result->file.metadata.weights = find_source_weights(source, result->file.program, keep);
  if (const std::string said = say_types(source, result->report.storage, options.storage.chosen,
                                         count_kept(result->file.program));
      !said.empty())
    result->report.hints.push_back(said);
  if (!overlaid) return;
  add_facts(file, options.keep_training_state, result);
  if (training.tensors.empty()) return;
  uint64_t bytes = 0;
  for (const checkpoint::Tensor& tensor : training.tensors) bytes += tensor.bytes();
  const std::string count =
      std::to_string(training.tensors.size()) + " tensors, " + std::to_string(bytes) + " bytes";
  result->file.metadata.entries.emplace_back(
      "checkpoint.training_state", count + (options.keep_training_state ? ", kept" : ", not kept"));
  if (!options.keep_training_state) {
    result->report.hints.push_back("weights: training state (" + count +
                                   ") is left out; --keep-training-state keeps it");
    return;
  }
  KeepWeights all;
  all.all = true;
  const ProgramSpec nothing;
  for (SourceWeightSpec& spec : find_source_weights(training, nothing, all))
    result->file.metadata.weights.push_back(std::move(spec));
}

}  // namespace ingot::convert
