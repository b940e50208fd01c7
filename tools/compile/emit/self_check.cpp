// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/self_check.cpp - see self_check.h.
#include "tools/compile/emit/self_check.h"

#include <cstring>
#include <set>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/format/format.h"
#include "runtime/op/decoders.h"
#include "tools/compile/write/file_writer.h"
#include "tools/files/spill_file.h"
#include "tools/plugins/plugins.h"

namespace ingot::convert {
namespace {

/// The rules of every operator and of plugins, without kernels.
KernelTable all_contracts() {
  static const std::vector<KernelEntry> rows = [] {
    std::vector<KernelEntry> all;
    for (int op = 1; op < kOpCodeCount; op++)
      all.push_back({OpCode(op), "contract", contract_of(OpCode(op)), nullptr, nullptr,
                     decoder_of(OpCode(op))});
    return all;
  }();
  KernelTable table{"contracts", rows.data(), uint32_t(rows.size()), nullptr};
  table.custom = plugins::handed_in();
  return table;
}

/// A limit is the model's size against the format's, not a fault; anything else is one of ours.
[[noreturn]] void refused(const char* stage, const Status& status, const ErrorDetail& detail,
                          const LoweredProgram& lowered) {
  if (status.code() == Code::kLimitExceeded) {
    const std::string numbers = detail.need || detail.have
                                    ? ", expected at most " + std::to_string(detail.need) +
                                          ", found " + std::to_string(detail.have)
                                    : "";
    graph::fail_unsupported(std::string("the model is beyond a limit of the format: ") +
                            detail.field + numbers + "; cut it into smaller models");
  }
  std::string where;
  if (status.instruction() != kNoInstruction) {
    uint32_t left = status.instruction();
    for (const LoweredSubprogram& subprogram : lowered.subprograms) {
      if (left < subprogram.instructions.size()) {
        const LoweredInstruction& i = subprogram.instructions[left];
        where = " at instruction " + std::to_string(status.instruction()) + " " + op_name(i.op()) +
                " '" + i.node + "'";
        break;
      }
      left -= uint32_t(subprogram.instructions.size());
    }
  }
  graph::fail_internal(std::string("the converted program would be refused when it is ") + stage +
                       where + ": " + code_name(status.code()) + ", " + detail.field +
                       (detail.name[0] ? " '" + std::string(detail.name) + "'" : "") +
                       ", expected " + std::to_string(detail.need) + ", found " +
                       std::to_string(detail.have) +
                       "; a fault of ingot's converter, please report it with the model");
}

/// 16-byte aligned memory.
struct Block {
  std::vector<uint64_t> words;
  explicit Block(uint64_t bytes) : words(bytes / 8 + 4) {}
  Span<uint8_t> span(uint64_t bytes) {
    auto* start = reinterpret_cast<uint8_t*>(words.data());
    return {start + (16 - reinterpret_cast<uintptr_t>(start) % 16) % 16, size_t(bytes)};
  }
};

void list_missing_kernels(const ProgramDef& program, const BoundProgram& bound,
                          const LoweredProgram& lowered) {
  std::vector<const LoweredInstruction*> instructions;
  for (const LoweredSubprogram& subprogram : lowered.subprograms)
    for (const LoweredInstruction& instruction : subprogram.instructions)
      instructions.push_back(&instruction);
  graph::ConversionError error;
  error.exit_code = host::Exit::kUnsupported;
  for (size_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    if (is_control(instruction.op)) continue;
    std::vector<TensorView> inputs(instruction.input_count), outputs(instruction.output_count);
    for (size_t k = 0; k < inputs.size(); k++)
      static_cast<TensorType&>(inputs[k]) = value_type(program, bound, instruction.inputs[k]);
    for (size_t k = 0; k < outputs.size(); k++)
      static_cast<TensorType&>(outputs[k]) = value_type(program, bound, instruction.outputs[k]);
    const OpArguments arguments{bound.attributes[i], inputs.data(), outputs.data(),
                                instruction.input_count, instruction.output_count};
    if (find_kernel(*cpu_kernels("scalar"), instruction.op, arguments)) continue;
    std::string types;
    for (const TensorView& view : inputs)
      if (view.present())
        types += (types.empty() ? "" : ", ") + std::string(dtype_name(view.dtype));
    const std::string output = instruction.output_count && instruction.outputs[0] >= 0
                                   ? program.values[size_t(instruction.outputs[0])].name
                                   : "";
    error.unsupported.push_back({op_name(instruction.op), "", instructions[i]->node, output,
                                 "no kernel takes " + types, ""});
  }
  if (error.unsupported.empty()) return;
  error.message = error.unsupported.size() == 1
                      ? "1 instruction has no kernel"
                      : std::to_string(error.unsupported.size()) + " instructions have no kernel";
  throw error;
}

void check_name(const char* what, const std::string& name) {
  constexpr size_t kMaxNameBytes = 1024;  // as runtime/format has it
  if (!name.empty() && name.size() <= kMaxNameBytes && name.find('\0') == std::string::npos) return;
  graph::fail_unsupported(std::string(what) + " '" + name.substr(0, 40) +
                          (name.size() > 40 ? "...'" : "'") +
                          ": names have 1 to 1024 bytes, none of them 0, found " +
                          std::to_string(name.size()) + "; rename it in the source");
}

}  // namespace

void check_file(const FileSpec& file, const LoweredProgram& lowered,
                const std::vector<Bindings>& trials, bool require_kernels) {
  for (const PortSpec& port : file.program.inputs) check_name("input", port.name);
  for (const PortSpec& port : file.program.outputs) check_name("output", port.name);
  for (const SymbolSpec& symbol : file.program.symbols) check_name("dimension", symbol.name);
  FileSpec hollow = file;
  hollow.goldens.clear();
  std::set<uint64_t> sizes;  // equal constants are in the file once
  for (ValueSpec& value : hollow.program.values) {
    if (value.kind != ValueKind::kConstant) continue;
    TensorType type;
    type.dtype = value.dtype;
    type.packing = value.packing;
    type.rank = uint8_t(value.dims.size());
    for (size_t i = 0; i < value.dims.size(); i++) type.dims[i] = value.dims[i];
    type.row_stride = type.row_length();
    uint64_t bytes = 0;
    if (!storage_bytes(type, &bytes))
      graph::fail_unsupported("constant '" + value.name + "' is too large");
    value.bytes.held = nullptr;
    value.bytes.make = [bytes] { return host::zero_bytes(bytes); };
    sizes.insert(bytes);
  }
  uint64_t weights = 0;
  for (const uint64_t size : sizes) weights += size;
  std::vector<uint8_t> encoded = write_memory(hollow, weights);
  Block copy(encoded.size());
  const Span<uint8_t> bytes = copy.span(encoded.size());
  host::copy_weights(bytes.data, encoded.data(), encoded.size());
  encoded = {};
  ErrorDetail detail;
  const auto expect = [&](const char* stage, const Status& status) {
    if (!status.ok()) refused(stage, status, detail, lowered);
  };
  ingot::Source source;
  expect("opened", source_from_memory(bytes.data, bytes.size, &source, &detail));
  uint64_t head_bytes = 0, program_bytes = 0;
  expect("opened", measure_head(source, &head_bytes, &detail));
  Block head(head_bytes);
  FileView view;
  expect("opened", read_head(source, head.span(head_bytes), &view, &detail));
  expect("measured", measure_program(view, all_contracts(), &program_bytes, &detail));
  Block block(program_bytes);
  ProgramDef program;
  expect("decoded",
         open_program(view, all_contracts(), block.span(program_bytes), &program, &detail));
  for (const Bindings& bindings : trials) {
    std::vector<int64_t> values;
    for (const SymbolDef& symbol :
         Span<const SymbolDef>(program.symbols.data, program.free_symbols))
      values.push_back(bindings.count(symbol.name) ? bindings.at(symbol.name) : symbol.low);
    Block memory(binding_bytes(program));
    BoundProgram bound;
    expect("bound", bind_program(program, {values.data(), values.size()},
                                 memory.span(binding_bytes(program)), &bound, &detail));
    if (require_kernels && &bindings == &trials[0]) list_missing_kernels(program, bound, lowered);
  }
}

}  // namespace ingot::convert
