// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower.h - core form to a program: one instruction a node, weights packed,
// methods chosen. No views yet: a Reshape is a Copy, a Concat and a Slice are themselves.
#pragma once
#include <functional>
#include <map>
#include <set>

#include "tools/compile/lower/method.h"
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// Makes the program of a model in core form, contracts asked. @throws ConversionError(kInternal)
/// naming the node that cannot be lowered.
LoweredProgram lower(const graph::Model& model, const ConvertOptions& options,
                     ConversionReport* report);

/// The layout a user sees at a port, where the way it is used shows it.
class PortLayouts {
 public:
  explicit PortLayouts(const graph::Model& model);
  std::string of(graph::ValueId port) const;

 private:
  const graph::Model& model_;
  std::map<graph::ValueId, std::string> frames_;
  std::set<graph::ValueId> nchw_;
};

/// What the lowering of one model shares; lower() drives it.
class Lowering {
 public:
  Lowering(const graph::Model& model, const ConvertOptions& options, ConversionReport* report)
      : layouts_(model), model_(model), options_(options), report_(report) {}
  LoweredProgram run();

 private:
  using Block = std::vector<LoweredInstruction>;
  void lower_all();
  void declare_values();
  void declare_inputs();
  void declare_state(const StatePair& pair, graph::ValueId input, int32_t lowered);
  void lower_main();
  void lower_branch(const graph::Graph& graph, const std::vector<int32_t>& results,
                    uint32_t subprogram);
  void lower_nodes(const graph::Graph& graph, Block* block);
  void lower_node(const graph::Node& node, Block* block);
  void lower_if(const graph::Node& node, LoweredInstruction* instruction);
  void lower_loop(const graph::Node& node, LoweredInstruction* instruction, Block* before);
  /// The value that a loop carries, given its first value before the loop.
  int32_t carry(int32_t initial, int32_t carried, uint32_t subprogram, Block* before);
  void lower_body(const graph::Node& node, const std::vector<int32_t>& carried, uint32_t body);
  uint32_t subprogram_ = 0;  // that is being lowered
  void lower_weights(const graph::Node& node, LoweredInstruction* instruction);
  void lower_conv2d(const graph::Node& node, LoweredInstruction* instruction);
  void lower_conv_transpose2d(const graph::Node& node, LoweredInstruction* instruction);
  void lower_blocks(const graph::Node& node, size_t weights, LoweredInstruction* instruction);
  void lower_grouped_linear(const graph::Node& node, LoweredInstruction* instruction);
  void lower_linear(const graph::Node& node, LoweredInstruction* instruction);
  void lower_quantized_conv2d(const graph::Node& node, LoweredInstruction* instruction);
  void lower_quantized_linear(const graph::Node& node, LoweredInstruction* instruction);
  int32_t channels_of(const graph::Node& node, int64_t outputs);
  void add_steps(const graph::Node& node, LoweredInstruction* instruction);
  int32_t quantized_weights(const graph::Node& node);
  int32_t panels_of(const graph::Node& node, size_t operand);
  void lower_recurrent(const graph::Node& node, LoweredInstruction* instruction);

  /// LoweredProgram value of a graph value (-1 for an absent one); a constant is added, dense, at
  /// its first use.
  int32_t value(graph::ValueId id);
  using Pack = std::function<std::vector<uint8_t>()>;
  int32_t packed(graph::ValueId id, Packing packing, const std::vector<int64_t>& dims, Pack pack,
                 DType dtype = DType::kF32);
  const graph::Constant& weight(const graph::Node& node, size_t operand, size_t rank,
                                DType dtype = DType::kF32) const;
  int32_t bias_vector(const graph::Node& node, size_t operand, int64_t outputs);
  static void append_copy(int32_t from, int32_t to, const std::string& why, Block* block);

  const PortLayouts layouts_;
  const graph::Model& model_;
  const ConvertOptions& options_;
  ConversionReport* report_;
  LoweredProgram lowered_;
  MethodChoices methods_;
  std::vector<int32_t> values_;  // by graph value; -1: not made yet
  std::map<std::tuple<graph::ValueId, Packing, std::vector<int64_t>>, int32_t> packed_;
};

}  // namespace ingot::convert
