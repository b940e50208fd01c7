// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/translator.h - walks a subgraph in order and hands each operator to the
// function of its kind. Inside tools/import/tflite only.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/import/layers/network.h"
#include "tools/import/tflite/import.h"
#include "tools/import/tflite/model_file.h"
#include "tools/import/tflite/quantization.h"

namespace ingot::tflite {

using graph::kAbsent;
using graph::ValueId;
using layers::Network;

/// What a tensor of a subgraph stands for while it is translated. Of int8 and uint8 with one scale
/// it is the bytes, as u8 (quantization.h).
struct Slot {
  ValueId id = kAbsent;  // kAbsent: not made, or refused
  bool refused = false;
  std::string variable;  // of a handle: which
};

/// What a program keeps from run to run: a resource variable, or a tensor that operators change.
struct Variable {
  std::string name;        // of its input; what it is after a run is "NAME.next"
  ValueId now = kAbsent;   // what it holds at this place of the program
  ValueId init = kAbsent;  // what it holds before the first run, where the program says so
  double first = 0;        // of every element
  bool is_read = false;    // before it was written
};

/// One subgraph while it is walked.
struct Scope {
  const fb::SubGraph* graph = nullptr;
  uint32_t index = 0;
  std::vector<Slot> slots;
};

struct OperatorRow;

class Translator {
 public:
  Translator(std::shared_ptr<const ModelFile> file, const importer::ImportOptions& options);
  Program run();

  const ModelFile& file() const { return *file_; }
  /// Whose integers: kLitert, kBuiltin or kTflm.
  importer::ExactTo exact_to() const {
    return options_.exact_to == importer::ExactTo::kDefault ? importer::ExactTo::kLitert
                                                            : options_.exact_to;
  }
  Network net;

  Slot& slot(Scope& scope, int64_t tensor);
  /// The value of a tensor; a constant is made when it is first read. kAbsent where what makes it
  /// was refused.
  ValueId read(Scope& scope, int64_t tensor);
  /// The same as numbers in f32, where it is quantized: a constant, or behind a Dequantize.
  ValueId read_floats(Scope& scope, int64_t tensor);
  /// The same as the integers of the file, where it has one scale.
  ValueId read_integers(Scope& scope, int64_t tensor);
  ValueId quantized(ValueId x, const QuantParams& params);
  ValueId dequantized(ValueId x, const QuantParams& params);
  /// Translates a subgraph with `inputs`; its outputs. @throws layers::Refused where it has another
  /// number of them, calls itself, or could not be translated.
  std::vector<Slot> call(int64_t subgraph, const std::vector<Slot>& inputs);
  /// What a subgraph says of itself, for branches and bodies. @throws ConversionError(kCorrupt).
  const fb::SubGraph& subgraph(int64_t index) const;

  // Variables. What is written inside of a branch or a loop is refused.
  Variable& variable(const std::string& key);
  ValueId read_variable(const std::string& key, DType dtype, const std::vector<int64_t>& dims);
  void write_variable(const std::string& key, ValueId value);
  /// Of a tensor that operators change.
  std::string variable_of(Scope& scope, int64_t tensor) const;
  void enter_branch() { branches_++; }
  void leave_branch() { branches_--; }
  void begin_initialization() { initializing_++; }
  void end_initialization() { initializing_--; }
  bool was_initialized(int64_t subgraph);  // marks it so

 private:
  struct Ports;
  /// What an operator's quantized tensors ask for.
  enum class Arithmetic { kPlain, kBytes, kInt16, kFloatsOfWeights };
  Ports choose_ports() const;
  void declare_inputs(const Ports& ports, Scope& scope);
  void translate(Scope& scope);
  void translate_operator(Scope& scope, size_t index);
  std::vector<Slot> translate_call(Scope& scope, const fb::Operator& op, const OperatorRow& row,
                                   const graph::SourceNode& source);
  bool reads_int16(const Scope& scope, const fb::Operator& op) const;
  bool computes_on_integers(const Scope& scope, const fb::Operator& op,
                            const OperatorRow& row) const;
  Arithmetic arithmetic_of(const Scope& scope, const fb::Operator& op) const;
  bool refuse_kind(const Scope& scope, const fb::Operator& op, const std::string& name);
  bool refuse_tensors(const Scope& scope, const fb::Operator& op, const std::string& name,
                      const std::string& node);
  void check_exact_to() const;
  void note_arithmetic();
  void refused(const std::string& op, const std::string& attribute, const std::string& node,
               const std::string& why, const std::string& hint);
  void finish_variables(std::vector<std::pair<std::string, ValueId>>* outputs,
                        std::vector<State>* states);

  std::shared_ptr<const ModelFile> file_;
  std::string path_;
  const importer::ImportOptions& options_;
  std::map<std::pair<uint32_t, int64_t>, ValueId> constants_, floats_;
  std::map<std::string, int> in_floats_, with_float_weights_;  // operators, by name
  size_t on_bytes_ = 0;                                        // operators
  std::map<std::string, Variable> variables_;
  std::vector<std::string> variable_order_;
  std::map<int64_t, bool> initialized_;
  std::map<std::string, size_t> said_;  // what was refused, to an index of the list
  size_t operators_ = 0;
  int depth_ = 0, branches_ = 0, initializing_ = 0;
};

}  // namespace ingot::tflite
