// SPDX-License-Identifier: Apache-2.0
// runtime/api/model_api.cpp - models: opening, questions, parts.
#include "runtime/api/text_line.h"
#include "runtime/api/translate.h"
#include "runtime/base/os/file.h"
#include "runtime/base/os/memory.h"
#include "runtime/op/custom.h"

using namespace ingot;
using namespace ingot::api;

namespace {

ingot_code open_from(const ModelOrigin& origin, const ingot_open_options* given,
                     ingot_model** out_model, ingot_error* error) {
  if (!out_model) return refuse_argument("out_model is null", error);
  *out_model = nullptr;
  if (!given) return refuse_argument("options is null", error);
  ingot_open_options options;
  if (!read_sized(given, &options))
    return refuse_argument(
        "options.size: not set, or a field that this library does not know is not 0", error);
  if (!options.kernels)
    return refuse_argument("options.kernels is null: this processor or build may lack that set",
                           error);
  if (options.trust < INGOT_TRUST_NONE || options.trust > INGOT_TRUST_HASHES)
    return refuse_number("options.trust: at most", INGOT_TRUST_HASHES, uint64_t(options.trust),
                         error);
  if (options.map < INGOT_MAP_SHARE || options.map > INGOT_MAP_COPY)
    return refuse_number("options.map: at most", INGOT_MAP_COPY, uint64_t(options.map), error);
  const ingot_allocator* allocator = options.allocator;
  if (allocator && (!allocator->allocate || !allocator->release))
    return refuse_argument("options.allocator: without allocate or release", error);
  OpenRequest request;
  request.kernels = reinterpret_cast<const KernelTable*>(options.kernels);
  // a table of one model, which has no such operator, has no use for them either
  const OpContract* const contract = find_contract(*request.kernels, OpCode::kCustom);
  if (contract && contract->custom && options.operator_count) {
    request.custom = {&contract->custom->handed_in, options.operators, options.operator_count};
    if (const char* why = request.custom.rules->why_not(request.custom))
      return refuse_argument(why, error);
  }
  request.check_hashes = options.trust == INGOT_TRUST_HASHES;
  request.copy_weights = options.map == INGOT_MAP_COPY;
  request.allocator = allocator
                          ? Allocator{allocator->user, allocator->allocate, allocator->release}
                          : heap_allocator();
  request.block = options.memory;
  request.block_bytes = options.memory_bytes;
  ErrorDetail detail;
  OpenModel* model = nullptr;
  const Status status = open_model(origin, request, &model, &detail);
  if (status.ok()) *out_model = reinterpret_cast<ingot_model*>(model);
  return report(status, detail, error);
}

/// The end of a path, as much as an error has room for.
void name_path(const char* path, ingot_error* error) {
  const size_t length = std::strlen(path), room = sizeof error->name - 1;
  if (length <= room) return (void)std::memcpy(error->name, path, length + 1);
  const char* from = path + length - (room - 3);
  while ((uint8_t(*from) & 0xc0) == 0x80) from++;  // begins with a whole character
  std::memcpy(error->name, "...", 3);
  std::memcpy(error->name + 3, from, std::strlen(from) + 1);
}

ingot_value_type type_of(const OpenModel& model, int32_t value, const char* name,
                         const char* layout) {
  const ValueDef& def = model.program.values[size_t(value)];
  ingot_value_type type = {};
  type.name = name;
  type.layout = layout;
  type.dtype = ingot_dtype(def.dtype);
  type.rank = def.rank;
  type.value = value;
  type.kind = int32_t(def.kind);
  for (int i = 0; i < def.rank; i++) {
    const Dim dim = def.dims[i];
    type.dims[i] = dim >= 0 ? dim : -1;
    type.dim_symbol[i] = INGOT_DIM_NUMBER;
    if (dim >= 0) continue;
    const DimExpr& expr = model.program.dim_exprs[size_t(-1 - dim)];
    type.dim_symbol[i] =
        expr.op == DimOp::kSymbol ? int32_t(expr.a) : int32_t{INGOT_DIM_EXPRESSION};
  }
  return type;
}

ingot_code port_type(const ingot_model* model, bool is_input, uint32_t index,
                     ingot_value_type* out_type) {
  if (!model || !out_type) return INGOT_INVALID_ARGUMENT;
  const ProgramDef& program = unwrap(model)->program;
  const Span<const PortDef> ports = is_input ? program.inputs : program.outputs;
  if (index >= ports.size) return INGOT_NOT_FOUND;
  *out_type = type_of(*unwrap(model), ports[index].value, ports[index].name, ports[index].layout);
  return INGOT_OK;
}

int32_t find_port(const ingot_model* model, bool is_input, const char* name) {
  if (!model || !name) return -1;
  const ProgramDef& program = unwrap(model)->program;
  const Span<const PortDef> ports = is_input ? program.inputs : program.outputs;
  for (size_t i = 0; i < ports.size; i++)
    if (std::strcmp(ports[i].name, name) == 0) return int32_t(i);
  return -1;
}

/// Writes a dimension with the fewest parentheses that keep its meaning. Depth is bounded: a
/// hostile expression ends in "...".
void write_dim(const ProgramDef& program, Dim dim, int depth, bool nested, TextLine* text) {
  if (dim >= 0) return (void)text->add(uint64_t(dim));
  const DimExpr& expr = program.dim_exprs[size_t(-1 - dim)];
  if (expr.op == DimOp::kSymbol) return (void)text->add(program.symbols[size_t(expr.a)].name);
  if (depth == 0) return (void)text->add("...");
  static const char* const kInfix[] = {"", " + ", " - ", " * ", " / ", " ceil/ ", ", ", ", "};
  const bool is_call = expr.op == DimOp::kMin || expr.op == DimOp::kMax;
  if (is_call)
    text->add(expr.op == DimOp::kMin ? "min(" : "max(");
  else if (nested)
    text->add('(');
  write_dim(program, expr.a, depth - 1, !is_call, text);
  text->add(kInfix[int(expr.op)]);
  write_dim(program, expr.b, depth - 1, !is_call, text);
  if (is_call || nested) text->add(')');
}

uint64_t part_bytes(const OpenModel& model, int32_t index) {
  return index < 0 ? 0 : file_part(model.file, uint32_t(index)).bytes;
}

}  // namespace

extern "C" {

const char* ingot_version(void) { return "0.1.0"; }
uint64_t ingot_clock_ns(void) { return os::monotonic_ns(); }

ingot_code ingot_model_open(const char* path, const ingot_open_options* options,
                            ingot_model** out_model, ingot_error* error) {
  ModelOrigin origin;
  origin.path = path;
  if (out_model) *out_model = nullptr;
  if (!path) return refuse_argument("path is null", error);
  const ingot_code code = open_from(origin, options, out_model, error);
  if (code >= INGOT_NOT_INGOT && error && !error->name[0]) name_path(path, error);
  return code;
}

ingot_code ingot_model_open_memory(const void* bytes, uint64_t size,
                                   const ingot_open_options* options, ingot_model** out_model,
                                   ingot_error* error) {
  ModelOrigin origin;
  origin.memory = bytes;
  origin.memory_bytes = size;
  if (out_model) *out_model = nullptr;
  if (!bytes) return refuse_argument("bytes is null", error);
  return open_from(origin, options, out_model, error);
}

ingot_code ingot_model_open_reader(const ingot_reader* reader, const ingot_open_options* options,
                                   ingot_model** out_model, ingot_error* error) {
  ModelOrigin origin;
  if (out_model) *out_model = nullptr;
  if (!reader || !reader->read) return refuse_argument("reader is null", error);
  origin.reader = {reader->user, reader->read};
  origin.reader_bytes = reader->bytes;
  return open_from(origin, options, out_model, error);
}

void ingot_model_destroy(ingot_model* model) {
  if (model) close_model(reinterpret_cast<OpenModel*>(model));
}

ingot_code ingot_model_verify_hashes(const ingot_model* model, ingot_error* error) {
  if (!model) return refuse_argument("model is null", error);
  ErrorDetail detail;
  return report(check_all_hashes(unwrap(model)->source, unwrap(model)->file, &detail), detail,
                error);
}

ingot_code ingot_model_summarize(const ingot_model* model, ingot_model_summary* out_summary) {
  if (!model || !out_summary) return INGOT_INVALID_ARGUMENT;
  const OpenModel& m = *unwrap(model);
  ingot_model_summary s = {};
  s.file_bytes = m.file.header.file_bytes;
  s.program_bytes = m.file.program_bytes;
  s.metadata_bytes = part_bytes(m, m.file.metadata_part);
  s.golden_bytes = part_bytes(m, m.file.golden_part);
  s.weights_bytes = m.weights_bytes;
  s.model_bytes = m.held_bytes;
  s.plan_bytes = m.program.plan_bytes;
  s.plan_lower_bound = m.program.plan_lower_bound;
  s.input_count = uint32_t(m.program.inputs.size);
  s.output_count = uint32_t(m.program.outputs.size);
  s.state_count = uint32_t(m.program.states.size);
  s.symbol_count = uint32_t(m.program.free_symbols);
  s.value_count = uint32_t(m.program.values.size);
  s.instruction_count = uint32_t(m.program.instructions.size);
  s.step_count = uint32_t(m.program.steps.size);
  s.weight_part_count = m.file.weight_part_count;
  s.format_major = m.file.header.major;
  s.format_minor = m.file.header.minor;
  s.segment_alignment = m.file.header.segment_alignment;
  s.alignment = m.program.alignment;
  return wrote(write_sized(s, out_summary));
}

ingot_code ingot_model_symbol(const ingot_model* model, uint32_t index, ingot_symbol* out_symbol) {
  if (!model || !out_symbol) return INGOT_INVALID_ARGUMENT;
  const Span<const SymbolDef> symbols = unwrap(model)->program.symbols;
  if (index >= symbols.size) return INGOT_NOT_FOUND;
  *out_symbol = {symbols[index].name, symbols[index].low, symbols[index].high};
  return INGOT_OK;
}

ingot_code ingot_model_input(const ingot_model* model, uint32_t index, ingot_value_type* out_type) {
  return port_type(model, true, index, out_type);
}
ingot_code ingot_model_output(const ingot_model* model, uint32_t index,
                              ingot_value_type* out_type) {
  return port_type(model, false, index, out_type);
}
ingot_code ingot_model_value(const ingot_model* model, uint32_t index, ingot_value_type* out_type) {
  if (!model || !out_type) return INGOT_INVALID_ARGUMENT;
  const ProgramDef& program = unwrap(model)->program;
  if (index >= program.values.size) return INGOT_NOT_FOUND;
  *out_type = type_of(*unwrap(model), int32_t(index), program.values[index].name, "");
  return INGOT_OK;
}

int32_t ingot_model_find_input(const ingot_model* model, const char* name) {
  return find_port(model, true, name);
}
int32_t ingot_model_find_output(const ingot_model* model, const char* name) {
  return find_port(model, false, name);
}
int32_t ingot_model_find_value(const ingot_model* model, const char* name) {
  if (!model || !name || !*name) return -1;
  const Span<const ValueDef> values = unwrap(model)->program.values;
  for (size_t i = 0; i < values.size; i++)
    if (std::strcmp(values[i].name, name) == 0) return int32_t(i);
  return -1;
}

size_t ingot_model_dim_text(const ingot_model* model, uint32_t value, uint32_t dim, char* out,
                            size_t size) {
  TextLine text(out, out ? size : 0);
  constexpr int kDepth = 12;
  if (model && value < unwrap(model)->program.values.size &&
      dim < unwrap(model)->program.values[value].rank)
    write_dim(unwrap(model)->program, unwrap(model)->program.values[value].dims[dim], kDepth, false,
              &text);
  return text.end();
}

ingot_code ingot_model_instruction(const ingot_model* model, uint32_t index,
                                   ingot_instruction* out_instruction) {
  if (!model || !out_instruction) return INGOT_INVALID_ARGUMENT;
  if (index >= unwrap(model)->program.instructions.size) return INGOT_NOT_FOUND;
  *out_instruction = instruction_of(*unwrap(model), index);
  return INGOT_OK;
}

ingot_code ingot_model_part(const ingot_model* model, ingot_part kind, uint32_t index, void* out,
                            uint64_t capacity, uint64_t* out_bytes, ingot_error* error) {
  if (out_bytes) *out_bytes = 0;
  if (!model || !out_bytes || (!out && capacity))
    return refuse_argument("model, out or out_bytes is null", error);
  const OpenModel& m = *unwrap(model);
  for (uint32_t i = 0, seen = 0; i < m.file.header.part_count; i++) {
    const PartEntry part = file_part(m.file, i);
    if (ingot_part(part.kind) != kind || seen++ != index) continue;
    *out_bytes = part.bytes;
    if (!capacity) return INGOT_OK;
    ErrorDetail detail;
    if (capacity < part.bytes)
      return report(
          fail(&detail, Code::kInvalidArgument, "capacity: at least", part.bytes, capacity), detail,
          error);
    return report(read_source(m.source, part.offset, out, part.bytes, &detail), detail, error);
  }
  return refuse_argument("file part", error, INGOT_NOT_FOUND);
}

}  // extern "C"
