// SPDX-License-Identifier: Apache-2.0
#include "tools/session/program_view.h"

#include <set>

#include "runtime/include/ingot/ingot.hpp"
#include "runtime/op/multiply_adds.h"
#include "runtime/plan/greedy_planner.h"
#include "tools/files/input_file.h"
#include "tools/plugins/plugins.h"
#include "tools/session/engine.h"

namespace ingot::cli {
namespace {

/// 16-byte aligned memory of at least `bytes`.
Span<uint8_t> aligned(std::vector<uint64_t>* memory, uint64_t bytes) {
  memory->assign(size_t(bytes / 8 + 3), 0);
  auto* start = reinterpret_cast<uint8_t*>(memory->data());
  start += (16 - reinterpret_cast<uintptr_t>(start) % 16) % 16;
  return {start, size_t(bytes)};
}

void require(Status status, const ErrorDetail& detail, const std::string& path) {
  if (status.ok()) return;
  host::fail(exit_of(int32_t(status.code())),
             path + ": " + code_name(status.code()) + ": " + detail.field + ", expected " +
                 std::to_string(detail.need) + ", found " + std::to_string(detail.have) +
                 " at offset " + std::to_string(detail.offset) + "; see: ingot verify " + path);
}

}  // namespace

ProgramView::ProgramView(const std::string& path, const std::map<std::string, int64_t>& bindings) {
  ErrorDetail detail;
  KernelTable table = {};
  table.fallback = reinterpret_cast<const KernelTable*>(chosen_kernels());
  table.custom = plugins::handed_in();
  host::remember_input(path);
  require(source_from_path(path.c_str(), &source_, &detail), detail, path);
  uint64_t bytes = 0;
  require(measure_head(source_, &bytes, &detail), detail, path);
  require(read_head(source_, aligned(&image_, bytes), &file_, &detail), detail, path);
  require(measure_program(file_, table, &bytes, &detail), detail, path);
  require(open_program(file_, table, aligned(&block_, bytes), &program_, &detail), detail, path);
  bind(path, bindings);
  if (bound_) plan(path);
}

ProgramView::~ProgramView() { close_source(&source_); }

void ProgramView::bind(const std::string& path, const std::map<std::string, int64_t>& bindings) {
  std::vector<int64_t> values;
  for (const SymbolDef& symbol :
       Span<const SymbolDef>(program_.symbols.data, program_.free_symbols)) {
    const auto at = bindings.find(symbol.name);
    values.push_back(at == bindings.end() ? -1 : at->second);
    if (at == bindings.end()) open_dims_.push_back(symbol.name);
  }
  if (!open_dims_.empty()) return;
  ErrorDetail detail;
  const Span<uint8_t> memory = aligned(&binding_, binding_bytes(program_));
  require(bind_program(program_, {values.data(), values.size()}, memory, &bound_program_, &detail),
          detail, path);
  bound_ = true;
}

void ProgramView::plan(const std::string& path) {
  const size_t count = program_.values.size;
  lifetimes_.resize(count);
  find_lifetimes(program_, bound_program_, {}, {lifetimes_.data(), count});
  std::vector<uint64_t> steps(program_.steps.size + 1);
  lower_bound_ = live_peak({lifetimes_.data(), count}, program_.alignment,
                           {steps.data(), steps.size()}, &peak_step_);
  if (planned_in_file()) {
    offsets_.assign(program_.plan_offsets.begin(), program_.plan_offsets.end());
    plan_bytes_ = program_.plan_bytes;
    return;
  }
  ErrorDetail detail;
  std::vector<uint64_t> workspace;
  const Span<uint8_t> memory =
      aligned(&workspace, planner_workspace_bytes(uint32_t(count), uint32_t(program_.steps.size)));
  offsets_.assign(count, kNoOffset);
  PlanSummary summary;
  require(plan_greedy({lifetimes_.data(), count}, uint32_t(program_.steps.size), program_.alignment,
                      memory, {offsets_.data(), count}, &summary, &detail),
          detail, path);
  plan_bytes_ = summary.bytes;
}

DType stored_type(const std::string& path) {
  const ProgramView view(path, {});
  for (const ValueDef& value : view.program().values)
    if (is_widened(value)) return value.stored;
  return DType::kInvalid;
}

std::string ProgramView::value_name(int32_t value) const {
  const ValueDef& v = program_.values[size_t(value)];
  return v.name && *v.name ? v.name : "#" + std::to_string(value);
}

uint64_t ProgramView::multiply_adds(const InstructionDef& instruction) const {
  if (!bound_) return 0;
  std::vector<TensorView> operands;
  const auto add = [&](int32_t value) {
    TensorView view;
    if (value >= 0) static_cast<TensorType&>(view) = type(value);
    operands.push_back(view);
  };
  for (uint32_t i = 0; i < instruction.input_count; i++) add(instruction.inputs[i]);
  for (uint32_t i = 0; i < instruction.output_count; i++) add(instruction.outputs[i]);
  OpArguments arguments;
  arguments.attributes = instruction.attributes;
  arguments.inputs = operands.data();
  arguments.outputs = operands.data() + instruction.input_count;
  arguments.input_count = instruction.input_count;
  arguments.output_count = instruction.output_count;
  return ingot::multiply_adds(instruction.op, arguments);
}

uint64_t ProgramView::bytes_moved(const InstructionDef& instruction) const {
  std::set<int32_t> values(instruction.inputs, instruction.inputs + instruction.input_count);
  values.insert(instruction.outputs, instruction.outputs + instruction.output_count);
  uint64_t sum = 0;
  for (const int32_t value : values) {
    if (value < 0) continue;
    const ValueDef& def = program_.values[size_t(value)];
    sum += def.kind == ValueKind::kConstant
               ? def.constant_bytes
               : uint64_t(type(value).elements()) * uint64_t(dtype_bytes(def.dtype));
  }
  return sum;
}

}  // namespace ingot::cli
