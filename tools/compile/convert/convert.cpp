// SPDX-License-Identifier: Apache-2.0
// tools/compile/convert/convert.cpp - the stages in their order.
#include "tools/compile/convert/convert.h"

#include <algorithm>

#include "tools/compile/convert/bf16_weights.h"
#include "tools/compile/emit/emit.h"
#include "tools/compile/emit/metadata.h"
#include "tools/compile/emit/self_check.h"
#include "tools/compile/lower/lower.h"
#include "tools/compile/lower/state_pairs.h"
#include "tools/compile/patches/patches.h"
#include "tools/compile/plan/carry.h"
#include "tools/compile/plan/chains.h"
#include "tools/compile/plan/quantized_chains.h"
#include "tools/compile/plan/schedule.h"
#include "tools/compile/plan/states.h"
#include "tools/compile/plan/views.h"
#include "tools/compile/program/data_bounds.h"

namespace ingot::convert {
namespace {

bool targets(const ConvertOptions& options, const char* name) {
  return std::find(options.targets.begin(), options.targets.end(), name) != options.targets.end();
}

void tell(const ConvertOptions& options, const char* stage, double done) {
  if (options.progress) options.progress(stage, done);
}

/// Small caches and small memories: chains pay much earlier, and their rings have to be small as
/// well.
ChainRule chain_rule(const ConvertOptions& options) {
  ChainRule rule;
  if (targets(options, "mcu")) rule.least_bytes = 16 << 10, rule.ring_bytes = 16 << 10;
  return rule;
}

double products_of(const LoweredProgram& lowered, const LoweredInstruction& instruction,
                   const Bindings& typical) {
  const auto elements = [&](int32_t id) {
    return double(evaluate_type(lowered.at(id), typical).elements());
  };
  const auto convolution = [&](const Conv2dAttributes& a, int32_t weights, double pixels) {
    const double all = elements(weights);
    return a.method == ConvMethod::kWinogradF43 ? pixels / 16 * all / 9 * kWinogradPlanes
                                                : pixels * all;
  };
  switch (instruction.op()) {
    case OpCode::kConv2d: {
      const TensorType y = evaluate_type(lowered.at(instruction.outputs[0]), typical);
      return convolution(std::get<Conv2dAttributes>(instruction.attributes), instruction.inputs[1],
                         double(y.dims[0] * y.dims[1] * y.dims[2]));
    }
    case OpCode::kLinear: {
      const TensorType y = evaluate_type(lowered.at(instruction.outputs[0]), typical);
      const TensorType x = evaluate_type(lowered.at(instruction.inputs[0]), typical);
      return double(y.elements()) * double(x.row_length());
    }
    case OpCode::kAttention: {  // scores and sums
      const TensorType q = evaluate_type(lowered.at(instruction.inputs[0]), typical),
                       k = evaluate_type(lowered.at(instruction.inputs[1]), typical);
      const int64_t keys = k.rank == 4 ? k.dims[2] : k.dims[1];
      return double(keys) * double(q.elements() + elements(instruction.outputs[0]));
    }
    case OpCode::kMatMul: {
      const TensorType a = evaluate_type(lowered.at(instruction.inputs[0]), typical);
      const bool transposed = std::get<MatMulAttributes>(instruction.attributes).trans_a;
      return elements(instruction.outputs[0]) * double(a.rank == 0 ? 1
                                                       : a.rank >= 2 && transposed
                                                           ? int64_t{a.dims[a.rank - 2]}
                                                           : a.row_length());
    }
    default: return 0;
  }
}

void report_instructions(const LoweredProgram& lowered, ConversionReport* report) {
  const Bindings typical = typical_binding(lowered);
  for (const LoweredSubprogram& subprogram : lowered.subprograms) {
    for (const LoweredInstruction& instruction : subprogram.instructions) {
      InstructionReport line;
      line.op = op_name(instruction.op());
      line.node = instruction.node;
      line.note = instruction.note;
      if (!instruction.outputs.empty() && instruction.outputs[0] >= 0)
        line.dims = dims_text(lowered.at(instruction.outputs[0]).dims);
      line.macs = products_of(lowered, instruction, typical);
      for (const int32_t id : instruction.inputs) {
        uint64_t bytes = 0;
        if (id >= 0 && lowered.at(id).kind == ValueKind::kConstant &&
            storage_bytes(evaluate_type(lowered.at(id), typical), &bytes))
          line.weight_bytes += bytes;
      }
      const OpCode op = instruction.op();
      if (op == OpCode::kCopy || op == OpCode::kConcat || op == OpCode::kSlice ||
          op == OpCode::kTranspose)
        report->copies.push_back(line.op + (line.node.empty() ? "" : " '" + line.node + "'") + " " +
                                 line.dims + (line.note.empty() ? "" : ": " + line.note));
      report->weight_bytes += line.weight_bytes;
      report->instructions.push_back(std::move(line));
    }
  }
}

}  // namespace

ConversionResult convert_model(graph::Model&& model, const ConvertOptions& options,
                               std::vector<passes::PassRecord> passes) {
  ConversionResult result;
  result.report.passes = std::move(passes);
  result.report.notes = model.notes;
  result.report.hints = hint_states(model, options);
  if (const std::string said = say_not_finite(model);
      !said.empty() && options.weights.checkpoint.empty())
    result.report.hints.push_back(said);
  tell(options, "lower", 0.5);
  LoweredProgram lowered = lower(model, options, &result.report);
  check_lowered(lowered, true);
  if (const std::string said = large_by_bounds(lowered); !said.empty())
    result.report.notes.push_back(said);
  lowered.is_for_core = options.for_core || options.min_ram.is_wanted;
  if (options.fuse_chains && !lowered.is_for_core)
    fuse_chains(&lowered, chain_rule(options), &result.report);
  // rings would lie in memory that a microcontroller does not have
  if (options.fuse_chains && !targets(options, "mcu"))
    fuse_quantized_chains(&lowered, QuantizedChainRule(), &result.report);
  if (options.min_ram.is_wanted) {
    tell(options, "patches", 0.55);
    reduce_arena(&lowered, options.min_ram, &result.report);
  }
  tell(options, "views", 0.6);
  eliminate_views(&lowered, &result.report);
  result.report.states = uint32_t(lowered.states.size());
  part_state_reads(&lowered);
  write_carried_in_place(&lowered);
  tell(options, "schedule", 0.7);
  schedule(&lowered, &result.report);
  check_lowered(lowered, false);
  report_instructions(lowered, &result.report);
  tell(options, "emit", 0.9);
  result.file.program = emit_program(lowered);
  finish_min_ram(lowered, result.file.program.values.size(), &result.report);
  result.file.program.precision = options.precision;
  if (options.targets == std::vector<std::string>{"mcu"}) result.file.segment_alignment = 16;
  tell(options, "storage", 0.95);
  ConversionReport& report = result.report;
  StorageOptions storage = options.storage;
  if (options.bf16_weights && storage.dtype == DType::kF32) {
    storage.dtype = DType::kBF16;
    storage.constants = find_bf16_weights(result.file.program);
  }
  report.storage = store_constants(storage, result.file.segment_alignment, options.name_weights,
                                   &result.file.program);
  report.weight_bytes -= report.storage.bytes_before - report.storage.bytes_after;
  if (const std::string said = report.storage.summary(); !said.empty())
    report.notes.push_back(said);
  result.file.metadata = make_metadata(model, result.file.program, options, result.report);
  result.file.goldens = options.goldens;
  check_file(result.file, lowered, trial_bindings(lowered), options.require_kernels);
  tell(options, "convert", 1);
  return result;
}

}  // namespace ingot::convert
