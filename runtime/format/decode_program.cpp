// SPDX-License-Identifier: Apache-2.0
// runtime/format/decode_program.cpp - counts, then walks the tables once and fills the plain
// structs. Ranges of single fields are checked here, relations between them in validate_*.cpp.
#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/format/decode.h"
#include "runtime/format/validate.h"
#include "runtime/op/custom.h"

namespace ingot {
namespace {

/// Vectors of eight-byte entries: the library validates that they lie inside, not that they are
/// aligned.
template <class T>
bool aligned(const FileView& file, const flatbuffers::Vector<T>* vector) {
  return !vector || vector->size() == 0 ||
         (reinterpret_cast<const uint8_t*>(vector->Data()) - file.program) % 8 == 0;
}

Status misaligned(const FileView& file, const char* field, const void* at, ErrorDetail* d) {
  return fail(d, Code::kStructureInvalid, field, 8, 0, file_offset_of(file, at));
}

Status count_instruction(const FileView& file, const fb::Instruction* instruction,
                         const KernelTable& table, ProgramCounts* counts, ErrorDetail* d) {
  const uint64_t at = file_offset_of(file, instruction);
  const OpCode op = OpCode(uint8_t(instruction->attributes_type()));
  const uint32_t bytes = attribute_bytes(op);
  const uint32_t operands =
      vector_size(instruction->inputs()) + vector_size(instruction->outputs());
  if (bytes == 0)
    return fail(d, Code::kUnsupportedOperator, "instructions[].attributes", kOpCodeCount - 1,
                uint64_t(op), at);
  if (vector_size(instruction->inputs()) > kMaxInstructionOperands ||
      operands > kMaxInstructionOperands)
    return fail(d, Code::kLimitExceeded, "instructions[]: operands", kMaxInstructionOperands,
                operands, at);
  if (const fb::Slice* slice = instruction->attributes_as_Slice())
    if (!aligned(file, slice->starts()) || !aligned(file, slice->steps()))
      return misaligned(file, "Slice", slice, d);
  if (const fb::Pad* pad = instruction->attributes_as_Pad())
    if (!aligned(file, pad->before())) return misaligned(file, "Pad.before", pad, d);
  // the one operator that has it: no table is searched for the others here
  const OpContract* const contract = op == OpCode::kCustom ? find_contract(table, op) : nullptr;
  if (contract && contract->custom) {
    // what instructions share would cost more than its size
    counts->custom_words += contract->custom->words(*instruction);
    if (counts->custom_words > file.program_bytes)
      return fail(d, Code::kLimitExceeded, "Custom.attributes", file.program_bytes,
                  counts->custom_words, at);
  }
  counts->instructions++;
  // see lay_out_steps()
  counts->extra_steps += op == OpCode::kIf ? 2 : op == OpCode::kLoop ? 1 : 0;
  counts->attribute_bytes += bytes;
  counts->operands += operands;
  // A program that shares one list of operands between instructions would cost more than its size.
  if (counts->operands > file.program_bytes / 4)
    return fail(d, Code::kLimitExceeded, "instructions[]: operands", file.program_bytes / 4,
                counts->operands, at);
  return {};
}

/// Points into the file on a little-endian host, else copies to *spare and moves it on.
template <class T, class S>
const T* integers(const flatbuffers::Vector<S>* from, T** spare) {
  static_assert(sizeof(T) == sizeof(S));
  if (!from) return nullptr;
  if constexpr (kLittleEndianHost) return reinterpret_cast<const T*>(from->Data());
  T* first = *spare;
  for (uint32_t i = 0; i < from->size(); i++) first[i] = T(from->Get(i));
  *spare += from->size();
  return first;
}

Status decode_value(const FileView& file, const fb::Value* from, int32_t index, ValueDef* to,
                    ErrorDetail* d) {
  const uint64_t at = file_offset_of(file, from);
  const uint32_t rank = vector_size(from->dims());
  const struct {
    const char* field;
    uint64_t most, found;
  } ranges[] = {{"values[].dtype", uint64_t(DType::kBool), uint64_t(from->dtype())},
                {"values[].packing", uint64_t(Packing::kBlocks32), uint64_t(from->packing())},
                {"values[].kind", uint64_t(ValueKind::kState), uint64_t(from->kind())},
                {"values[].alias", uint64_t(AliasKind::kInPlace), uint64_t(from->alias())},
                {"values[].dims: rank", kMaxRank, rank},
                {"values[].source_dtype", uint64_t(DType::kBool), uint64_t(from->source_dtype())},
                {"values[].stored", uint64_t(DType::kBF16), uint64_t(from->stored())}};
  for (const auto& range : ranges)
    if (range.found > range.most)
      return fail_entry(d, Code::kMeaningInvalid, range.field, index, range.most, range.found, at);
  if (from->dtype() == fb::DType::invalid)
    return fail_entry(d, Code::kMeaningInvalid, "values[].dtype", index, 1, 0, at);
  to->name = text_or_empty(from->name());
  to->dtype = DType(from->dtype());
  to->packing = Packing(from->packing());
  to->kind = ValueKind(from->kind());
  to->alias = AliasKind(from->alias());
  to->rank = uint8_t(rank);
  to->is_data_dependent = to->shows_in_whole = false;
  to->stored = DType(from->stored());
  to->alias_of = from->alias_of();
  to->root = index;
  to->alias_offset = from->alias_offset();
  for (uint32_t i = 0; i < rank; i++) to->dims[i] = from->dims()->Get(i);
  to->row_stride = from->row_stride();
  to->segment = from->segment();
  to->widened_block = 0, to->may_stay_bf16 = false;
  to->segment_offset = from->segment_offset();
  to->inline_data = from->inline_data() ? from->inline_data()->Data() : nullptr;
  // replaced by what the type says once that was compared
  to->constant_bytes = vector_size(from->inline_data());
  to->table_offset = uint32_t(at - file.program_offset);
  return {};
}

template <class Table>
Status decode_ports(const FileView& file, const Table* from, PortDef* to, const char* field,
                    ErrorDetail* d) {
  for (uint32_t i = 0; i < vector_size(from); i++) {
    const fb::Port* port = from->Get(i);
    const flatbuffers::String* name = port->name();
    if (name->size() == 0 || name->size() > kMaxNameBytes || memchr(name->c_str(), 0, name->size()))
      return fail_entry(d, Code::kMeaningInvalid, field, int32_t(i), kMaxNameBytes, name->size(),
                        file_offset_of(file, port));
    to[i] = {name->c_str(), text_or_empty(port->layout()), port->value()};
  }
  return {};
}

struct InstructionWalk {
  const FileView& file;
  const KernelTable& table;
  ErrorDetail* detail;
  InstructionDef* next;
  uint8_t* attributes;
  int32_t* operands;  // big-endian hosts only
  uint64_t* custom;
  ReducedPrecision precision;  // of the program
  uint32_t index = 0;
  uint32_t max_operands = 0;
};

ReducedPrecision reduced_precision_of(fb::Precision precision) {
  return precision == fb::Precision::Fp16   ? ReducedPrecision::kF16
         : precision == fb::Precision::Bf16 ? ReducedPrecision::kBf16
                                            : ReducedPrecision::kNone;
}

/// @pre its attributes stand at walk->attributes
Status decode_custom_operator(InstructionWalk* walk, const fb::Instruction& from,
                              const CustomSupport& support, uint64_t at) {
  auto* const to = reinterpret_cast<CustomAttributes*>(walk->attributes);
  if (const char* rule = support.decode(from, &walk->custom, to))
    return fail_instruction(walk->detail, Code::kMeaningInvalid, rule, walk->index, 0, 0, at);
  if (support.find(walk->table, to)) return {};
  const Status bad = fail_instruction(walk->detail, Code::kUnsupportedOperator,
                                      "nobody handed in this operator", walk->index, 0, 0, at);
  if (!walk->detail) return bad;
  support.name(*to, walk->detail);
  walk->detail->hint =
      "hand it in with ingot_open_options.operators; the command line takes --plugin LIBRARY";
  return bad;
}

Status decode_instruction(InstructionWalk* walk, const fb::Instruction* from) {
  InstructionDef* to = walk->next++;
  const uint64_t at = file_offset_of(walk->file, from);
  to->op = OpCode(uint8_t(from->attributes_type()));
  to->version = from->version();
  to->table_offset = uint32_t(at - walk->file.program_offset);
  const KernelEntry* const row = find_row(walk->table, to->op);
  to->attributes = walk->attributes;
  if (!row || !row->decode) {
    const Status bad = fail_instruction(walk->detail, Code::kUnsupportedOperator, op_name(to->op),
                                        walk->index, 0, 0, at);
    if (walk->detail)
      walk->detail->hint =
          "the kernel table handed in has no such operator; regenerate it: ingot kernels FILE";
    return bad;
  }
  to->contract = row->contract;
  if (const char* rule = row->decode(*from, walk->attributes))
    return fail_instruction(walk->detail, Code::kMeaningInvalid, rule, walk->index, 0, 0, at);
  if (const CustomSupport* const custom = row->contract->custom)
    INGOT_TRY(decode_custom_operator(walk, *from, *custom, at));
  allow_half_products(walk->precision, *from, walk->attributes);
  walk->attributes += attribute_bytes(to->op);
  to->input_count = uint16_t(vector_size(from->inputs()));
  to->output_count = uint16_t(vector_size(from->outputs()));
  to->inputs = integers(from->inputs(), &walk->operands);
  to->outputs = integers(from->outputs(), &walk->operands);
  to->source_count =
      // for people; a big-endian device has none to tell
      kLittleEndianHost ? vector_size(from->source()) : 0;
  to->sources =
      to->source_count ? reinterpret_cast<const uint32_t*>(from->source()->Data()) : nullptr;
  to->symbolic_slot = -1;
  to->resolves = to->is_data_dependent = to->reads_data_dependent = to->may_exceed_bound = false;
  const uint32_t operands = uint32_t(to->input_count) + to->output_count;
  if (operands > walk->max_operands) walk->max_operands = operands;
  walk->index++;
  return {};
}

Status decode_subprograms(const FileView& file, const fb::Program& program,
                          const KernelTable& table, const ProgramArrays& a, ProgramDef* out,
                          ErrorDetail* d) {
  InstructionWalk walk{
      file,         table,      d,        a.instructions,
      a.attributes, a.operands, a.custom, reduced_precision_of(program.precision())};
  for (uint32_t s = 0; s < program.subprograms()->size(); s++) {
    const fb::Subprogram* from = program.subprograms()->Get(s);
    const uint32_t count = vector_size(from->instructions());
    a.subprograms[s] = {text_or_empty(from->name()), walk.index, count};
    for (uint32_t i = 0; i < count; i++)
      INGOT_TRY(decode_instruction(&walk, from->instructions()->Get(i)));
  }
  out->max_operands = walk.max_operands;
  return {};
}

Status decode_symbols(const FileView& file, const fb::Program& program, const ProgramArrays& a,
                      ErrorDetail* d) {
  for (uint32_t i = 0; i < vector_size(program.symbols()); i++) {
    const fb::Symbol* symbol = program.symbols()->Get(i);
    const flatbuffers::String* name = symbol->name();
    if (name->size() == 0 || name->size() > kMaxNameBytes || memchr(name->c_str(), 0, name->size()))
      return fail_entry(d, Code::kMeaningInvalid, "symbols[].name", int32_t(i), kMaxNameBytes,
                        name->size(), file_offset_of(file, symbol));
    a.symbols[i] = {name->c_str(), symbol->low(), symbol->high(), symbol->resolved_by(),
                    symbol->bound()};
  }
  for (uint32_t i = 0; i < vector_size(program.dim_exprs()); i++) {
    const fb::DimExpr* e = program.dim_exprs()->Get(i);
    if (uint8_t(e->op()) > uint8_t(DimOp::kMax))
      return fail_entry(d, Code::kMeaningInvalid, "dim_exprs[].op", int32_t(i),
                        uint64_t(DimOp::kMax), uint64_t(e->op()), file_offset_of(file, e));
    a.dim_exprs[i] = {DimOp(e->op()), e->a(), e->b()};
  }
  return {};
}

}  // namespace

Status count_program(const FileView& file, const fb::Program& program, const KernelTable& table,
                     ProgramCounts* out, ErrorDetail* detail) {
  *out = ProgramCounts{};
  if (program.plan() && !aligned(file, program.plan()->offsets()))
    return misaligned(file, "plan.offsets", program.plan(), detail);
  if (!aligned(file, program.dim_exprs()))
    return misaligned(file, "dim_exprs", program.dim_exprs(), detail);
  for (uint32_t i = 0; i < vector_size(program.values()); i++)
    if (!aligned(file, program.values()->Get(i)->dims()))
      return misaligned(file, "values[].dims", program.values()->Get(i), detail);
  if (vector_size(program.subprograms()) == 0)
    return fail(detail, Code::kMeaningInvalid, "program.subprograms is empty", 1, 0,
                file.program_offset);
  for (uint32_t s = 0; s < program.subprograms()->size(); s++) {
    const auto* instructions = program.subprograms()->Get(s)->instructions();
    for (uint32_t i = 0; i < vector_size(instructions); i++)
      INGOT_TRY(count_instruction(file, instructions->Get(i), table, out, detail));
  }
  return {};
}

ProgramArrays take_arrays(Block* block, const fb::Program& program, const ProgramCounts& counts) {
  ProgramArrays a;
  const uint64_t plan =
      program.plan() && !kLittleEndianHost ? vector_size(program.plan()->offsets()) : 0;
  a.symbols = block->take<SymbolDef>(vector_size(program.symbols()));
  a.dim_exprs = block->take<DimExpr>(vector_size(program.dim_exprs()));
  a.values = block->take<ValueDef>(vector_size(program.values()));
  a.instructions = block->take<InstructionDef>(counts.instructions);
  a.subprograms = block->take<SubprogramDef>(program.subprograms()->size());
  a.steps = block->take<StepDef>(counts.instructions + counts.extra_steps);
  a.inputs = block->take<PortDef>(vector_size(program.inputs()));
  a.outputs = block->take<PortDef>(vector_size(program.outputs()));
  a.states = block->take<StateDef>(vector_size(program.states()));
  a.plan_offsets = block->take<uint64_t>(plan);
  a.operands = block->take<int32_t>(kLittleEndianHost ? 0 : counts.operands);
  a.custom = block->take<uint64_t>(counts.custom_words);
  a.attributes = reinterpret_cast<uint8_t*>(block->take<uint64_t>(counts.attribute_bytes / 8));
  return a;
}

Status decode_program(const FileView& file, const fb::Program& program, const KernelTable& table,
                      const ProgramCounts& counts, const ProgramArrays& a, ProgramDef* out,
                      ErrorDetail* d) {
  *out = ProgramDef{};
  out->program_bytes = file.program;
  out->program_offset = file.program_offset;
  for (uint32_t i = 0; i < vector_size(program.required_features()); i++) {
    const flatbuffers::String* feature = program.required_features()->Get(i);
    if (out->features.add(feature->c_str())) continue;
    const Status bad = fail(d, Code::kUnsupportedFeature, "program.required_features", 0, i,
                            file_offset_of(file, feature));
    name_detail(d, feature->c_str());
    return bad;
  }
  INGOT_TRY(decode_symbols(file, program, a, d));
  for (uint32_t i = 0; i < vector_size(program.values()); i++)
    INGOT_TRY(decode_value(file, program.values()->Get(i), int32_t(i), &a.values[i], d));
  INGOT_TRY(decode_subprograms(file, program, table, a, out, d));
  INGOT_TRY(decode_ports(file, program.inputs(), a.inputs, "inputs[].name", d));
  INGOT_TRY(decode_ports(file, program.outputs(), a.outputs, "outputs[].name", d));
  for (uint32_t i = 0; i < vector_size(program.states()); i++) {
    const fb::StateVariable* s = program.states()->Get(i);
    a.states[i] = {text_or_empty(s->name()),       s->value(), s->init(), s->input(), s->output(),
                   text_or_empty(s->output_name())};
  }
  if (const fb::Plan* plan = program.plan()) {
    uint64_t* spare = a.plan_offsets;
    out->plan_offsets = {integers<uint64_t>(plan->offsets(), &spare), vector_size(plan->offsets())};
    out->plan_bytes = plan->bytes();
    out->plan_lower_bound = plan->lower_bound();
  }
  out->alignment = program.alignment();
  out->precision = uint8_t(program.precision());
  if (out->precision > uint8_t(fb::Precision::MAX))
    return fail(d, Code::kMeaningInvalid, "program.precision is known", uint8_t(fb::Precision::MAX),
                out->precision);
  out->symbols = {a.symbols, vector_size(program.symbols())};
  while (out->free_symbols < out->symbols.size && out->symbols[out->free_symbols].resolved_by < 0)
    out->free_symbols++;
  out->dim_exprs = {a.dim_exprs, vector_size(program.dim_exprs())};
  out->values = {a.values, vector_size(program.values())};
  out->instructions = {a.instructions, size_t(counts.instructions)};
  out->subprograms = {a.subprograms, program.subprograms()->size()};
  out->inputs = {a.inputs, vector_size(program.inputs())};
  out->outputs = {a.outputs, vector_size(program.outputs())};
  out->states = {a.states, vector_size(program.states())};
  return {};
}

}  // namespace ingot
