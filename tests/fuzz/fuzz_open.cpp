// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file: opened, bound and looked at, with hashes brought up to date so that the
// validation is what stands in the way.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <vector>

#include "runtime/base/byte_order.h"
#include "runtime/base/sha256.h"
#include "runtime/format/format.h"
#include "tests/format/contracts.h"
#include "tests/fuzz/mend_hashes.h"

namespace {

using namespace ingot;

struct Aligned {
  explicit Aligned(size_t count)
      : bytes(static_cast<uint8_t*>(::operator new(count, std::align_val_t(16)))) {}
  ~Aligned() { ::operator delete(bytes, std::align_val_t(16)); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  uint8_t* bytes;
};

/// Reads what a session would read, so that a wild pointer shows.
size_t look_at(const FileView& file, const ProgramDef& program, const BoundProgram& bound) {
  size_t sum = 0;
  for (size_t i = 0; i < program.values.size; i++) {
    const ValueDef& v = program.values[i];
    sum += strlen(v.name) + size_t(value_type(program, bound, int32_t(i)).elements());
    if (v.inline_data)
      for (uint64_t k = 0; k < v.constant_bytes; k++)
        sum += static_cast<const uint8_t*>(v.inline_data)[k];
    if (v.kind == ValueKind::kConstant && !v.inline_data) {
      const PartEntry part = weight_part(file, v.segment);
      if (v.segment_offset > part.bytes || stored_bytes(v) > part.bytes - v.segment_offset) abort();
    }
    const uint64_t room = v.may_stay_bf16 ? program.widened_bytes : program.widened_beside_bf16;
    if (is_widened(v) && kWidenedBlock * v.widened_block + v.constant_bytes > room) abort();
    if (v.may_stay_bf16 && (v.stored != DType::kBF16 || v.packing != Packing::kPanels16)) abort();
  }
  for (const PortDef& port : program.inputs) sum += strlen(port.name) + strlen(port.layout);
  for (const StateDef& state : program.states) sum += strlen(state.name);
  for (const SymbolDef& symbol : program.symbols) sum += strlen(symbol.name);
  for (const InstructionDef& i : program.instructions)
    for (uint32_t k = 0; k < i.source_count; k++) sum += i.sources[k];
  for (const StepDef& step : program.steps)
    if (step.target > program.steps.size) abort();
  for (const uint64_t offset : program.plan_offsets) sum += size_t(offset);
  return sum;
}

void open_and_bind(const Source& source) {
  ErrorDetail detail;
  uint64_t bytes = 0;
  FileView file;
  ProgramDef program;
  BoundProgram bound;
  if (!measure_head(source, &bytes, &detail).ok()) return;
  const Aligned image(bytes);
  if (!read_head(source, {image.bytes, size_t(bytes)}, &file, &detail).ok()) return;
  (void)check_all_hashes(source, file, &detail);
  KernelTable table = test::contract_table();
  table.takes_bf16_weights = true;
  if (!measure_program(file, table, &bytes, &detail).ok()) return;
  const Aligned block(bytes);
  if (!open_program(file, table, {block.bytes, size_t(bytes)}, &program, &detail).ok()) return;
  const size_t need = size_t(binding_bytes(program));
  const Aligned memory(need);
  std::vector<int64_t> values;
  for (const int extra : {0, 5}) {
    values.clear();
    for (size_t i = 0; i < program.free_symbols; i++)
      values.push_back(program.symbols[i].low + extra);
    if (bind_program(program, {values.data(), values.size()}, {memory.bytes, need}, &bound, &detail)
            .ok()) {
      volatile size_t sink = look_at(file, program, bound);
      (void)sink;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Aligned copy(size);
  if (size) memcpy(copy.bytes, data, size);
  fuzz::mend(copy.bytes, size);
  ErrorDetail detail;
  Source source;
  if (!source_from_memory(copy.bytes, size, &source, &detail).ok()) return 0;
  open_and_bind(source);
  struct Reader {
    const uint8_t* bytes;
  } reader{copy.bytes};
  const auto read = [](void* context, uint64_t offset, void* to, uint64_t count) {
    memcpy(to, static_cast<Reader*>(context)->bytes + offset, size_t(count));
    return true;
  };
  if (source_from_reader(size, read, &reader, &source, &detail).ok()) open_and_bind(source);
  return 0;
}
