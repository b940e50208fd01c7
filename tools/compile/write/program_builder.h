// SPDX-License-Identifier: Apache-2.0
// tools/compile/write/program_builder.h - a file while it is being made: the growing twin of
// ProgramDef and of what lies around it. Lowering fills a FileSpec, write_file() (file_writer.h)
// encodes it. Numbers, orders and meanings are those of schema/ingot.fbs and runtime/op/<stem>.h;
// nothing here is checked until the file is written and opened again.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "runtime/format/program.h"
#include "runtime/op/all_operators.h"

namespace ingot::convert {

/// The alternative's index is the OpCode, so an instruction cannot contradict itself.
using Attributes = std::variant<std::monostate
#define INGOT_OPERATOR(name, number, text, family) , name##Attributes
#include "runtime/op/operators.def"
                                >;
static_assert(std::variant_size_v<Attributes> == kOpCodeCount);

/// The bytes of a constant in its packing, exactly storage_bytes() of its type. `make` is called
/// once, while the file is written, and its result dropped at once, so that a model larger than
/// memory can be converted.
struct ConstantBytes {
  std::shared_ptr<const std::vector<uint8_t>> held;
  std::function<std::vector<uint8_t>()> make;  // used when nothing is held
};

struct ValueSpec {
  std::string name;
  DType dtype = DType::kF32;
  Packing packing = Packing::kDense;
  ValueKind kind = ValueKind::kActivation;
  AliasKind alias = AliasKind::kNone;
  int32_t alias_of = -1;
  Dim alias_offset = 0;  // elements
  std::vector<Dim> dims;
  Dim row_stride = 0;    // 0: dense
  ConstantBytes bytes;   // of a constant
  uint32_t segment = 0;  // of a constant: weight part that it goes to
  // of a constant: inside the program (it steers control or shapes)
  bool inline_data = false;
  DType source_dtype = DType::kInvalid;  // when it differs
  // of an f32 constant: kF16 or kBF16, what the file has; see storage.h
  DType stored = DType::kInvalid;
  int32_t graph_value = -1;  // id in the graph that was converted, -1: none. Not written
  // Of what a loop carries: the subprogram that has the loop, its body, and the ids in the graph of
  // what is written before the loop, of what an iteration begins with and of what it ends with. Not
  // written
  int32_t carried_in = -1, body = -1, first_value = -1, body_value = -1, next_value = -1;
};

struct InstructionSpec {
  Attributes attributes;
  std::vector<int32_t> inputs;  // value indices; -1: absent
  std::vector<int32_t> outputs;
  std::vector<uint32_t> sources;  // indices into MetadataSpec::source_nodes
  uint8_t version = 1;
  OpCode op() const { return OpCode(attributes.index()); }
};

struct SubprogramSpec {
  std::string name;
  std::vector<InstructionSpec> instructions;
};
struct SymbolSpec {
  std::string name;
  int64_t low = 1, high = 0;
  int32_t resolved_by = -1;  // value; such symbols follow the others
  Dim bound = 0;
};
struct PortSpec {
  std::string name;
  int32_t value = -1;
  std::string layout;  // "NCHW", "NHWC" or ""
  std::vector<std::string> source_dims;
};
struct StateSpec {
  std::string name;
  int32_t value = -1, init = -1, input = -1, output = -1;
  std::string output_name{};  // of the source's output that it replaced
};
struct PlanSpec {
  std::vector<uint64_t> offsets;  // by value; kNoOffset where it has none
  uint64_t bytes = 0, lower_bound = 0;
};

struct ProgramSpec {
  std::vector<std::string> required_features;
  uint8_t precision = 0;  // fb::Precision
  std::vector<SymbolSpec> symbols;
  std::vector<DimExpr> dim_exprs;
  std::vector<ValueSpec> values;
  std::vector<SubprogramSpec> subprograms = {{"main", {}}};  // 0 is the main program
  std::vector<PortSpec> inputs, outputs;
  std::vector<StateSpec> states;
  std::optional<PlanSpec> plan;
  uint32_t alignment = 64;

  int32_t add_value(ValueSpec value);
  Dim add_symbol(const std::string& name, int64_t low = 1,
                 int64_t high = 0);  // the Dim that refers to it; once per name
  // folded when both are numbers; an expression already there is used again
  Dim add_dim_expr(DimOp op, Dim a, Dim b);
  InstructionSpec& add_instruction(Attributes attributes, std::vector<int32_t> inputs,
                                   std::vector<int32_t> outputs, uint32_t subprogram = 0);

  // Where the first expressions and symbols are, by what they are; the rest is added when the next
  // one is asked for.
  std::map<std::tuple<DimOp, Dim, Dim>, size_t> expr_places = {};
  std::map<std::string, size_t> symbol_places = {};
  size_t placed_exprs = 0, placed_symbols = 0;
};

struct PassSpec {
  std::string name, note;
  uint32_t changed = 0;
};
struct SourceNodeSpec {
  std::string name, op, output;
};
struct SourceTensorSpec {
  std::string name, dtype, device;
  int32_t value = -1;
  std::vector<int64_t> dims;
};
/// As SourceWeight of schema/metadata.fbs.
struct SourceWeightSpec {
  std::vector<std::string> path;
  std::string dtype, device, lost;
  std::vector<int64_t> dims, view, strides;
  bool parameter = false;
  int32_t value = -1;
  int64_t offset = 0;
  std::vector<uint8_t> data;
};
struct MetadataSpec {
  std::string name, version, licence, producer, source_file, source_sha256, source_format,
      source_producer;
  std::vector<SourceNodeSpec> source_nodes;
  std::vector<SourceTensorSpec> source_tensors;
  std::vector<SourceWeightSpec> weights;
  std::vector<PassSpec> passes;
  std::vector<std::pair<std::string, std::string>> entries;
  std::vector<std::string> labels, notes;
};

struct GoldenTensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> data;
};
struct GoldenCaseSpec {
  std::vector<GoldenTensorSpec> inputs, outputs;
  double rtol = 0, atol = 0;
};

struct FileSpec {
  ProgramSpec program;
  MetadataSpec metadata;
  std::vector<GoldenCaseSpec> goldens;
  std::vector<uint8_t> text;           // schema/text.fbs: a tokenizer's tables; empty: none
  uint32_t segment_alignment = 65536;  // 16 for a file that stays in flash
};

}  // namespace ingot::convert
