// SPDX-License-Identifier: Apache-2.0
// tests/compile/interpreter.cpp - see interpreter.h.
#include "tests/compile/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/plan/greedy_planner.h"
#include "runtime/plan/verify_plan.h"
#include "tools/compile/emit/kernel_table_source.h"
#include "tools/compile/program/run_lowered.h"

namespace ingot::convert {
Tensors random_inputs(const LoweredProgram& lowered, const Bindings& bindings, uint32_t seed) {
  std::mt19937 random(seed);
  Tensors inputs;
  for (const PortSpec& port : lowered.inputs) {
    const TensorType type = evaluate_type(lowered.at(port.value), bindings);
    std::vector<uint8_t> bytes(size_t(type.elements()) * size_t(dtype_bytes(type.dtype)));
    std::uniform_real_distribution<float> draw(-1, 1);
    for (size_t i = 0; i < size_t(type.elements()); i++) {
      if (type.dtype == DType::kF32) {
        const float x = draw(random);
        std::memcpy(bytes.data() + 4 * i, &x, 4);
      } else {
        bytes[i * size_t(dtype_bytes(type.dtype))] = uint8_t(random() % 2);
      }
    }
    inputs[port.name] = std::move(bytes);
  }
  return inputs;
}

namespace {

void run_subprogram(const LoweredProgram& lowered, const Bindings& bindings, uint32_t subprogram,
                    LoweredRun* values) {
  for (const LoweredInstruction& i : lowered.subprograms[subprogram].instructions) {
    if (const auto* branch = std::get_if<IfAttributes>(&i.attributes)) {
      const uint32_t taken =
          values->bytes(i.inputs[0])[0] ? branch->then_subprogram : branch->else_subprogram;
      if (taken == 0) throw std::runtime_error("the branch is missing");
      run_subprogram(lowered, bindings, taken, values);
      continue;
    }
    const auto integer = [&](int32_t id) {
      return reinterpret_cast<int64_t*>(values->bytes(id).data);
    };
    if (const auto* loop = std::get_if<LoopAttributes>(&i.attributes)) {
      const int64_t count =
          i.inputs[0] >= 0 ? *integer(i.inputs[0]) : i.extents.at(0).evaluate(bindings);
      int64_t* const iteration = integer(i.outputs[0]);
      for (*iteration = 0; *iteration < count; ++*iteration) {
        if (i.inputs[1] >= 0 && !values->bytes(i.inputs[1])[0]) break;
        run_subprogram(lowered, bindings, loop->body, values);
      }
      continue;
    }
    if (const Status status = values->run(i); !status.ok())
      throw std::runtime_error(std::string(code_name(status.code())) + " from " + op_name(i.op()) +
                               " at " + i.node);
  }
}

}  // namespace

Tensors run_lowered(const LoweredProgram& lowered, const Bindings& bindings,
                    const Tensors& inputs) {
  LoweredRun run(lowered, bindings, *oracle_kernels());
  for (const PortSpec& port : lowered.inputs) {
    const std::vector<uint8_t>& bytes = inputs.at(port.name);
    if (!bytes.empty()) std::memcpy(run.bytes(port.value).data, bytes.data(), bytes.size());
  }
  run_subprogram(lowered, bindings, 0, &run);
  Tensors outputs;
  for (const PortSpec& port : lowered.outputs) {
    const Span<uint8_t> made = run.bytes(port.value);
    outputs[port.name].assign(made.begin(), made.end());
  }
  return outputs;
}

namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::vector<uint8_t>& file, const KernelTable& table)
      : bytes_(file.size()) {
    std::copy(file.begin(), file.end(), bytes_.data());
    uint64_t n = 0;
    expect(source_from_memory(bytes_.data(), file.size(), &source_, &detail_));
    expect(measure_head(source_, &n, &detail_));
    head_ = AlignedBytes(n);
    expect(read_head(source_, head_.span(), &view_, &detail_));
    expect(measure_program(view_, table, &n, &detail_));
    block_ = AlignedBytes(n);
    expect(open_program(view_, table, block_.span(), &program, &detail_));
  }
  void bind(const Bindings& bindings) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < program.free_symbols; i++)
      values.push_back(bindings.at(program.symbols[i].name));
    memory_ = AlignedBytes(binding_bytes(program));
    expect(bind_program(program, {values.data(), values.size()}, memory_.span(), &bound, &detail_));
  }
  void expect(const Status& status) const {
    if (!status.ok())
      throw std::runtime_error(std::string(code_name(status.code())) + " " + detail_.field + " '" +
                               detail_.name + "' need " + std::to_string(detail_.need) + " have " +
                               std::to_string(detail_.have));
  }
  uint8_t* constant(const ValueDef& value) {
    if (value.inline_data)
      return const_cast<uint8_t*>(static_cast<const uint8_t*>(value.inline_data));
    return bytes_.data() + weight_part(view_, value.segment).offset + value.segment_offset;
  }
  ProgramDef program;
  BoundProgram bound;

 private:
  AlignedBytes bytes_, head_, block_, memory_;
  ingot::Source source_;
  FileView view_;
  ErrorDetail detail_;
};

class FileExecution {
 public:
  FileExecution(OpenFile* file, const KernelTable& table)
      : file_(*file), p_(file->program), table_(table) {}

  uint64_t plan() {
    const uint32_t count = uint32_t(p_.values.size), steps = uint32_t(p_.steps.size);
    std::vector<Lifetime> lifetimes(count);
    find_lifetimes(p_, file_.bound, {}, {lifetimes.data(), lifetimes.size()});
    offsets_.resize(count);
    AlignedBytes work(planner_workspace_bytes(count, steps)),
        checking(verify_plan_workspace_bytes(count));
    PlanSummary summary;
    ErrorDetail detail;
    file_.expect(plan_greedy({lifetimes.data(), count}, steps, p_.alignment, work.span(),
                             {offsets_.data(), count}, &summary, &detail));
    uint64_t bytes = summary.bytes;
    if (!p_.plan_offsets.empty()) {
      std::copy(p_.plan_offsets.begin(), p_.plan_offsets.end(), offsets_.begin());
      if (p_.plan_bytes > bytes)
        throw std::runtime_error("the file's plan is larger than the planner's");
      if (p_.plan_lower_bound != summary.lower_bound)
        throw std::runtime_error("the file's lower bound is wrong");
      bytes = p_.plan_bytes;
    }
    file_.expect(verify_plan({lifetimes.data(), count}, {offsets_.data(), count}, bytes,
                             p_.alignment, checking.span(), &detail));
    arena_ = AlignedBytes(bytes, ~uint64_t{0});
    return bytes;
  }
  void run() {
    for (size_t s = 0; s < p_.steps.size;) {
      const StepDef& step = p_.steps[s++];
      const InstructionDef& i = p_.instructions[step.index];
      if (step.kind == StepKind::kJump) {
        s = step.target;
      } else if (step.kind == StepKind::kRefuse) {
        throw std::runtime_error("the branch is missing");
      } else if (step.kind == StepKind::kLoop || step.kind == StepKind::kRepeat) {
        const bool first = step.kind == StepKind::kLoop;
        const auto& loop = *static_cast<const LoopAttributes*>(file_.bound.attributes[step.index]);
        auto* iteration = static_cast<int64_t*>(view(i.outputs[0]).data);
        *iteration = first ? 0 : *iteration + 1;
        const int64_t count =
            i.inputs[0] < 0 ? loop.most : *static_cast<int64_t*>(view(i.inputs[0]).data);
        const bool goes_on = *iteration < count &&
                             (i.inputs[1] < 0 || *static_cast<uint8_t*>(view(i.inputs[1]).data));
        if (goes_on != first) s = step.target;
      } else if (step.kind == StepKind::kIf) {
        if (!*static_cast<uint8_t*>(view(i.inputs[0]).data)) s = step.target;
      } else {
        std::vector<TensorView> inputs, outputs;
        for (uint32_t k = 0; k < i.input_count; k++) inputs.push_back(view(i.inputs[k]));
        for (uint32_t k = 0; k < i.output_count; k++) outputs.push_back(view(i.outputs[k]));
        const OpArguments arguments{file_.bound.attributes[step.index], inputs.data(),
                                    outputs.data(), i.input_count, i.output_count};
        if (const Status status = run_kernel(table_, i.op, arguments); !status.ok())
          throw std::runtime_error(std::string(code_name(status.code())) + " from " +
                                   op_name(i.op));
      }
    }
  }
  TensorView view(int32_t id) {
    TensorView v;
    if (id < 0) return v;
    static_cast<TensorType&>(v) = value_type(p_, file_.bound, id);
    const ValueDef& root = p_.values[size_t(p_.values[size_t(id)].root)];
    uint8_t* storage = root.kind == ValueKind::kConstant
                           ? file_.constant(root)
                           : arena_.data() + offsets_[size_t(p_.values[size_t(id)].root)];
    v.data = storage + file_.bound.root_offset[id];
    return v;
  }

 private:
  OpenFile& file_;
  const ProgramDef& p_;
  const KernelTable& table_;
  std::vector<uint64_t> offsets_;
  AlignedBytes arena_;
};

}  // namespace

FileRun run_file(const std::vector<uint8_t>& file, const Bindings& bindings, const Tensors& inputs,
                 const KernelTable& table) {
  FileRun result;
  try {
    OpenFile open(file, table);
    open.bind(bindings);
    FileExecution execution(&open, table);
    result.arena_bytes = execution.plan();
    for (const PortDef& port : open.program.inputs) {
      const std::vector<uint8_t>& bytes = inputs.at(port.name);
      if (!bytes.empty()) std::memcpy(execution.view(port.value).data, bytes.data(), bytes.size());
    }
    execution.run();
    for (const PortDef& port : open.program.outputs) {
      const TensorView view = execution.view(port.value);
      const auto* data = view.as<uint8_t>();
      result.outputs[port.name].assign(data, data + view.elements() * dtype_bytes(view.dtype));
    }
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

std::vector<std::string> kernels_of_file(const std::vector<uint8_t>& file,
                                         const KernelTable& table) {
  OpenFile open(file, table);
  open.bind({});
  return needed_kernels(open.program, open.bound, table);
}

double difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, DType dtype) {
  if (a.size() != b.size()) return 1e30;
  if (dtype != DType::kF32) return a == b ? 0 : 1;
  double worst = 0, top = 1e-30;
  for (size_t i = 0; i < a.size(); i += 4) {
    float x, y;
    std::memcpy(&x, a.data() + i, 4);
    std::memcpy(&y, b.data() + i, 4);
    if (std::isnan(x) != std::isnan(y)) return 1e30;
    if (std::isnan(x)) continue;
    worst = std::max(worst, double(std::fabs(x - y)));
    top = std::max(top, double(std::fabs(y)));
  }
  return worst / top;
}

}  // namespace ingot::convert
