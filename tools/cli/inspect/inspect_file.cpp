// SPDX-License-Identifier: Apache-2.0
// The report on an .ingot file.
#include <charconv>
#include <cstdio>

#include "tools/cli/inspect/inspect.h"
#include "tools/compile/write/tunings.h"
#include "tools/session/file_parts.h"
#include "tools/session/metadata.h"
#include "tools/session/precision_record.h"
#include "tools/session/program_view.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKinds[] = {"activation", "constant", "input", "output", "state"};
constexpr const char* kPackings[] = {"dense",    "panels16",   "winograd_f43", "depthwise16",
                                     "vector16", "panels16x4", "blocks32"};
constexpr const char* kTextModels[] = {"byte pairs", "SentencePiece pairs", "unigram", "WordPiece"};
constexpr const char* kAliases[] = {"none", "view", "in_place"};

constexpr std::string_view kSamplingKeys = "ingot.sampling.";

/// Numbers, and names or expressions where a dimension is symbolic.
std::vector<std::string> dims_of(const Engine& engine, const ingot_value_type& type) {
  std::vector<std::string> dims;
  for (int32_t d = 0; d < type.rank; d++) {
    if (type.dim_symbol[d] == INGOT_DIM_NUMBER) {
      dims.push_back(std::to_string(type.dims[d]));
      continue;
    }
    char text[256];
    ingot_model_dim_text(engine.model().get(), uint32_t(type.value), uint32_t(d), text,
                         sizeof text);
    dims.push_back(text);
  }
  return dims;
}

Json port_of(const Engine& engine, const ingot_value_type& type) {
  Json port = {{"name", type.name}, {"dtype", ingot_dtype_name(type.dtype)}};
  put_dims(&port, dims_of(engine, type));
  port["layout"] = type.layout;
  return port;
}

}  // namespace

void put_quantization(Json* ports,
                      const std::vector<std::pair<std::string, std::string>>& entries) {
  for (Json& port : *ports)
    for (const auto& [key, text] : entries) {
      if (key != "ingot.quantization." + port["name"].get<std::string>()) continue;
      double scale;
      long long zero_point;
      if (sscanf(text.c_str(), "scale %lf zero_point %lld", &scale, &zero_point) != 2) continue;
      port["scale"] = scale, port["zero_point"] = zero_point;
      break;
    }
}

namespace {

Json symbols_of(const Engine& engine) {
  Json symbols = Json::array();
  for (uint32_t i = 0; i < engine.summary().symbol_count; i++) {
    ingot_symbol symbol{};
    ingot_model_symbol(engine.model().get(), i, &symbol);
    symbols.push_back({{"name", symbol.name},
                       {"low", symbol.low},
                       {"high", symbol.high ? Json(symbol.high) : Json()}});
  }
  return symbols;
}

Json metadata_of(const Metadata& m) {
  Json entries = Json::object(), passes = Json::array();
  for (const auto& [key, value] : m.entries) entries[key] = value;
  for (const Metadata::Pass& pass : m.passes)
    passes.push_back({{"name", pass.name}, {"changed", pass.changed}, {"note", pass.remark}});
  return {{"name", m.name},
          {"version", m.version},
          {"licence", m.licence},
          {"producer", m.producer},
          {"source_file", m.source_file},
          {"source_sha256", m.source_sha256},
          {"source_format", m.source_format},
          {"source_producer", m.source_producer},
          {"source_nodes", m.nodes.size()},
          {"entries", entries},
          {"labels", m.labels},
          {"notes", m.notes},
          {"passes", passes}};
}

Json ops_of(const Engine& engine, const ProgramView& view, const Metadata& metadata) {
  Json ops = Json::array();
  for (uint32_t i = 0; i < engine.summary().instruction_count; i++) {
    ingot_instruction instruction{};
    ingot_model_instruction(engine.model().get(), i, &instruction);
    Json sources = Json::array(), inputs = Json::array(), outputs = Json::array();
    for (uint32_t s = 0; s < instruction.source_count; s++) {
      const uint32_t node = instruction.source_nodes[s];
      if (node >= metadata.nodes.size()) continue;
      const Metadata::Node& n = metadata.nodes[node];
      sources.push_back(n.name.empty() ? n.op + " -> " + n.output : n.op + " " + n.name);
    }
    for (uint32_t k = 0; k < instruction.input_count; k++) inputs.push_back(instruction.inputs[k]);
    for (uint32_t k = 0; k < instruction.output_count; k++)
      outputs.push_back(instruction.outputs[k]);
    Json op = {{"index", i},       {"op", instruction.op}, {"name", instruction.name},
               {"inputs", inputs}, {"outputs", outputs},   {"subprogram", instruction.subprogram},
               {"source", sources}};
    if (instruction.output_count > 0 && instruction.outputs[0] >= 0) {
      ingot_value_type type{};
      ingot_model_value(engine.model().get(), uint32_t(instruction.outputs[0]), &type);
      op["output"] = engine.type_text(type);
    }
    if (view.bound()) op["macs"] = view.multiply_adds(view.program().instructions[i]);
    ops.push_back(op);
  }
  return ops;
}

Json tensors_of(const Engine& engine, const ProgramView& view) {
  Json tensors = Json::array();
  for (uint32_t v = 0; v < engine.summary().value_count; v++) {
    ingot_value_type type{};
    ingot_model_value(engine.model().get(), v, &type);
    const ValueDef& value = view.program().values[v];
    Json tensor = {{"index", v},
                   {"name", type.name},
                   {"kind", kKinds[size_t(value.kind)]},
                   {"dtype", ingot_dtype_name(type.dtype)}};
    put_dims(&tensor, dims_of(engine, type));
    tensor["packing"] = kPackings[size_t(value.packing)];
    tensor["alias"] = kAliases[size_t(value.alias)];
    if (value.alias != AliasKind::kNone) tensor["alias_of"] = value.alias_of;
    if (value.kind == ValueKind::kConstant) {
      tensor["bytes"] = stored_bytes(value);
      if (is_widened(value)) {
        tensor["stored"] = dtype_name(value.stored);
        tensor["widened_bytes"] = value.constant_bytes;
        tensor["widened_at"] = kWidenedBlock * value.widened_block;
      }
      tensor["inline"] = value.inline_data != nullptr;
      if (!value.inline_data) {
        tensor["segment"] = value.segment;
        tensor["segment_offset"] = value.segment_offset;
      }
    } else if (view.bound()) {
      tensor["bytes"] = view.bytes(int32_t(v));
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

/// What is stored smaller than the kernels want it, and what conversion said that it costs; null
/// where nothing is.
Json storage_of(const ProgramView& view, const Metadata& metadata) {
  Json tensors = Json::array();
  uint64_t bytes = 0;
  for (size_t v = 0; v < view.program().values.size; v++) {
    const ValueDef& value = view.program().values[v];
    if (!is_widened(value)) continue;
    bytes += stored_bytes(value);
    Json tensor = {{"value", v},
                   {"name", view.value_name(int32_t(v))},
                   {"source", ""},
                   {"stored", dtype_name(value.stored)},
                   {"bytes", stored_bytes(value)}};
    for (const auto& [key, text] : metadata.entries) {
      char type[8];
      double largest, mean;
      unsigned long long zero, subnormal, infinite;
      if (key == "ingot.stored." + std::to_string(v) &&
          sscanf(text.c_str(), "%7s largest %lf mean %lf zero %llu subnormal %llu infinite %llu",
                 type, &largest, &mean, &zero, &subnormal, &infinite) == 6) {
        if (const size_t at = text.find(" of "); at != std::string::npos)
          tensor["source"] = text.substr(at + 4);
        tensor["largest_error"] = largest;
        tensor["mean_error"] = mean;
        tensor["to_zero"] = zero;
        tensor["subnormal"] = subnormal;
        tensor["infinite"] = infinite;
      }
    }
    tensors.push_back(tensor);
  }
  if (tensors.empty()) return Json();
  return {{"stored_bytes", bytes},
          {"widened_bytes", view.program().widened_bytes},
          {"tensors", tensors}};
}

/// What conversion found out about `--precision`; null where it did not look.
Json precision_check_of(const Metadata& metadata) {
  const std::optional<PrecisionRecord> record = precision_record(metadata.entries);
  if (!record) return Json();
  Json losses = Json::array();
  for (const PrecisionRecord::Loss& loss : record->losses)
    losses.push_back({{"precision", loss.precision},
                      {"error", loss.error},
                      {"allowed", loss.allowed},
                      {"output", loss.output}});
  return {{"asked", record->asked},
          {"written", record->written},
          {"inputs", record->inputs},
          {"runs", record->runs},
          {"losses", losses},
          {"products", record->products},
          {"exact_products", record->exact_products},
          {"why_unknown", record->why},
          {"text", losses.empty() ? "" : text_of(*record)}};
}

Json plan_of(const ProgramView& view) {
  if (!view.bound()) return {{"open_dims", view.open_dims()}};
  Json values = Json::array();
  for (size_t v = 0; v < view.lifetimes().size(); v++) {
    const Lifetime& life = view.lifetimes()[v];
    if (life.bytes == 0) continue;
    values.push_back({{"value", v},
                      {"name", view.value_name(int32_t(v))},
                      {"offset", view.offsets()[v]},
                      {"bytes", life.bytes},
                      {"first_step", life.first_step},
                      {"last_step", life.last_step}});
  }
  return {{"widened_bytes", view.program().widened_bytes},
          {"in_file", view.planned_in_file()},
          {"bytes", view.plan_bytes()},
          {"lower_bound", view.lower_bound()},
          {"peak_step", view.peak_step()},
          {"values", values}};
}

/// What `ingot tune` recorded, by GPU; null where there is nothing.
Json tunings_of(const std::string& path) {
  Json rows = Json::array();
  for (const convert::TuningSpec& t :
       convert::decode_tunings(FileParts(path).read(PartKind::kTunings), path)) {
    Json instructions = Json::array();
    for (const convert::TunedInstructionSpec& i : t.instructions)
      instructions.push_back({{"instruction", i.instruction},
                              {"variant", i.variant},
                              {"parts", i.parts},
                              {"nanoseconds", i.nanoseconds},
                              {"model_nanoseconds", i.model_nanoseconds}});
    rows.push_back({{"gpu", t.gpu},
                    {"compute_capability", t.compute_capability},
                    {"multiprocessors", t.multiprocessors},
                    {"precision", precision_name(t.precision)},
                    {"dims", t.dims},
                    {"driver", t.driver},
                    {"producer", t.producer},
                    {"instructions", instructions}});
  }
  return rows.empty() ? Json() : rows;
}

/// The tokenizer and the chat template of a language model; null where there is none.
Json text_part_of(const std::string& path) {
  FileParts parts(path);
  if (!parts.has(PartKind::kText)) return {};
  const vocabulary::LoadedTokenizer tokenizer(parts.read(PartKind::kText), path);
  const TokenizerView& t = tokenizer.tables();
  Json text = {{"pieces", t.count},
               {"kind", kTextModels[size_t(t.model)]},
               {"before", Json(std::vector<uint32_t>(t.prefix.begin(), t.prefix.end()))},
               {"behind", Json(std::vector<uint32_t>(t.suffix.begin(), t.suffix.end()))},
               {"control_tokens", Json::object()},
               {"chat_template", Json()}};
  for (uint32_t id = 0; id < t.count; id++)
    if (t.kind(id) == PieceKind::kControl) {
      const Span<const uint8_t> piece = t.piece(id);
      text["control_tokens"][std::to_string(id)] =
          std::string(reinterpret_cast<const char*>(piece.data), piece.size);
    }
  if (!tokenizer.has_chat()) return text;
  const TemplateView& chat = tokenizer.chat();
  text["chat_template"] = {
      {"refused", std::string(reinterpret_cast<const char*>(chat.refused.data), chat.refused.size)},
      {"instructions", chat.code.size}};
  return text;
}

}  // namespace

void put_dims(Json* object, const std::vector<std::string>& texts) {
  Json dims = Json::array(), names = Json::array();
  for (const std::string& text : texts) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    const bool number = error == std::errc() && end == text.data() + text.size();
    dims.push_back(number ? extent : -1);
    names.push_back(number ? "" : text);
  }
  (*object)["dims"] = dims;
  (*object)["dim_names"] = names;
}

Json inspect_file(const InspectArguments& a) {
  Engine engine(a.file);
  const auto dims = parse_dims(a.dims);
  engine.bind_dims(dims);
  const ProgramView view(a.file, dims);
  const Metadata metadata = read_metadata(engine);
  const ingot_model_summary& s = engine.summary();
  Json report = {{"file", a.file},
                 {"kind", "ingot"},
                 {"format", std::to_string(s.format_major) + "." + std::to_string(s.format_minor)},
                 {"file_bytes", s.file_bytes},
                 {"program_bytes", s.program_bytes},
                 {"metadata_bytes", s.metadata_bytes},
                 {"weights_bytes", s.weights_bytes},
                 {"weight_parts", s.weight_part_count},
                 {"golden_bytes", s.golden_bytes},
                 {"model_bytes", s.model_bytes},
                 {"segment_alignment", s.segment_alignment},
                 {"alignment", s.alignment},
                 {"precision", precision_name(view.program().precision)},
                 {"precision_check", precision_check_of(metadata)}};
  report["text"] = text_part_of(a.file);
  report["sampling"] = Json::object();  // what the source asks for
  for (const auto& [key, text] : metadata.entries)
    if (key.rfind(kSamplingKeys, 0) == 0)
      report["sampling"][key.substr(kSamplingKeys.size())] = text;
  report["inputs"] = Json::array();
  report["outputs"] = Json::array();
  for (uint32_t i = 0; i < s.input_count; i++)
    report["inputs"].push_back(port_of(engine, engine.input(i)));
  for (uint32_t i = 0; i < s.output_count; i++)
    report["outputs"].push_back(port_of(engine, engine.output(i)));
  for (const char* ports : {"inputs", "outputs"})
    put_quantization(&report[ports], metadata.entries);
  report["dims"] = symbols_of(engine);
  report["states"] = s.state_count;
  report["state_variables"] = Json::array();
  for (uint32_t i = 0; i < s.state_count; i++) {
    const ingot_state state = engine.state(i);
    Json variable = port_of(engine, state.type);
    variable["output"] = state.output_name;
    variable["starts_at_zero"] = state.has_initial_value == 0;
    report["state_variables"].push_back(variable);
  }
  report["instructions"] = s.instruction_count;
  report["values"] = s.value_count;
  Json histogram = Json::object();
  uint64_t macs = 0;
  for (const InstructionDef& instruction : view.program().instructions) {
    const char* op = op_name(instruction.op);
    histogram[op] = histogram.value(op, 0) + 1;
    macs += view.multiply_adds(instruction);
  }
  report["op_counts"] = histogram;
  report["macs"] = view.bound() ? Json(macs) : Json();
  report["steps"] = view.bound() ? Json(count_steps(view.program(), view.bound_program())) : Json();
  report["activation_bytes"] = view.bound() ? Json(view.plan_bytes()) : Json();
  report["activation_lower_bound"] = view.bound() ? Json(view.lower_bound()) : Json();
  report["storage"] = storage_of(view, metadata);
  report["tunings"] = tunings_of(a.file);
  report["metadata"] = metadata.present ? metadata_of(metadata) : Json();
  if (a.ops) report["ops"] = ops_of(engine, view, metadata);
  if (a.tensors) report["tensors"] = tensors_of(engine, view);
  if (a.plan) report["plan"] = plan_of(view);
  return report;
}

}  // namespace ingot::cli
