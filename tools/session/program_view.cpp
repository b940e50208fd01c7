#include "tools/session/program_view.h"

#include <set>

#include "runtime/include/ingot/ingot.hpp"
#include "runtime/op/conv2d.h"
#include "runtime/op/matmul.h"
#include "runtime/plan/greedy_planner.h"
#include "tools/files/input_file.h"
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
  const KernelTable& table = *reinterpret_cast<const KernelTable*>(chosen_kernels());
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

namespace {

/// Output positions times weights of every stage.
uint64_t chain_multiply_adds(const ChainAttributes& chain, const TensorType& x,
                             const std::vector<uint64_t>& weights) {
  if (x.rank != 4) return 0;
  int64_t h = x.dims[1], w = x.dims[2];
  uint64_t sum = 0;
  for (uint32_t s = 0; s < chain.stage_count && s < weights.size(); s++) {
    const Conv2dAttributes& stage = chain.stages[s];
    if (s == 0 && stage.input_layout == ChannelLayout::kNchw) {
      h = x.dims[2];
      w = x.dims[3];
    }
    h = conv_extent<int64_t>(h, int64_t(stage.pad_top) + stage.pad_bottom, stage.kernel_h,
                             stage.stride_h, stage.dilation_h);
    w = conv_extent<int64_t>(w, int64_t(stage.pad_left) + stage.pad_right, stage.kernel_w,
                             stage.stride_w, stage.dilation_w);
    sum += uint64_t(x.dims[0]) * uint64_t(h) * uint64_t(w) * weights[s];
  }
  return sum;
}

}  // namespace

uint64_t ProgramView::multiply_adds(const InstructionDef& instruction) const {
  if (!bound_ || instruction.input_count < 2 || instruction.output_count < 1) return 0;
  const auto elements = [&](int i) {
    return i < instruction.input_count && instruction.inputs[i] >= 0
               ? uint64_t(type(instruction.inputs[i]).elements())
               : 0;
  };
  const auto rows = [](const TensorType& t) {
    return t.row_length() > 0 ? uint64_t(t.elements() / t.row_length()) : 0;
  };
  const TensorType x = type(instruction.inputs[0]), y = type(instruction.outputs[0]);
  switch (instruction.op) {
    case OpCode::kConv2d: return rows(y) * elements(1);
    case OpCode::kLinear: return uint64_t(y.elements()) * uint64_t(x.row_length());
    case OpCode::kConvTranspose2d: return rows(x) * elements(1);
    case OpCode::kMatMul: {
      const auto* attributes = static_cast<const MatMulAttributes*>(instruction.attributes);
      if (x.rank < 1 || (attributes->trans_a && x.rank < 2)) return 0;
      return uint64_t(y.elements()) *
             uint64_t(x.dims[attributes->trans_a ? x.rank - 2 : x.rank - 1]);
    }
    case OpCode::kAttention: {  // scores and sums
      const TensorType k = type(instruction.inputs[1]);
      if (k.rank < 3) return 0;
      return uint64_t(k.rank == 4 ? k.dims[2] : k.dims[1]) *
             (uint64_t(x.elements()) + uint64_t(y.elements()));
    }
    case OpCode::kRecurrent: return rows(x) * (elements(1) + elements(2));
    case OpCode::kChain: {
      std::vector<uint64_t> weights;
      const auto* chain = static_cast<const ChainAttributes*>(instruction.attributes);
      for (uint32_t s = 0; s < chain->stage_count; s++) weights.push_back(elements(int(1 + 2 * s)));
      return chain_multiply_adds(*chain, x, weights);
    }
    default: return 0;
  }
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
