// SPDX-License-Identifier: Apache-2.0
#include "tools/import/pt2/import.h"

#include "tools/files/failure.h"

#ifndef INGOT_HAVE_JSON
namespace ingot::pt2 {
namespace {
[[noreturn]] void without_json(const std::string& path) {
  host::fail(host::Exit::kUnsupported, path +
                                           ": needs a JSON reader, and this program was built "
                                           "without; build it with nlohmann-json3-dev installed");
}
}  // namespace
graph::Model import_pt2(const importer::OpenedFile& file, const importer::ImportOptions&) {
  without_json(file.path);
}
graph::Model import_program(const std::vector<uint8_t>&, const std::string& path,
                            const importer::ImportOptions&) {
  without_json(path);
}
importer::SourceDescription describe_pt2(const importer::OpenedFile& file) {
  without_json(file.path);
}
}  // namespace ingot::pt2
#else

#include "tools/graph/dim_limit.h"
#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/infer/infer_shapes.h"
#include "tools/import/aten/operands.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/pt2/archive.h"
#include "tools/import/pt2/expression.h"
#include "tools/import/pt2/translator.h"

namespace ingot::pt2 {
namespace {

constexpr int64_t kOldestSchema = 4,
                  // torch 2.2 to 2.15; since 5 the fields that are read here have not changed
    kNewestSchema = 8;

/// The major version says what an old reader would get wrong.
void check_version(const Json& program) {
  const Json& version = field(program, "schema_version");
  const Json& major = version.is_object() ? field(version, "major") : version;
  if (!major.is_number_integer()) corrupt("its program states no schema version");
  const int64_t found = integer(major, "schema_version");
  if (found < kOldestSchema || found > kNewestSchema)
    graph::fail_unsupported("its program has schema version " + std::to_string(found) +
                            ", supported are " + std::to_string(kOldestSchema) + " to " +
                            std::to_string(kNewestSchema) +
                            "; export it again with a torch of that time");
}

std::string producer_of(const Json& program) {
  const Json& version = field(program, "torch_version");
  return version.is_string() ? "torch " + version.get<std::string>() : "torch";
}

graph::Model import(const std::vector<uint8_t>& text, const std::string& path,
                    const importer::ImportOptions& options) {
  const Json program = parse(text);
  check_version(program);
  Translator translator(path, program, options);
  translator.run();
  std::vector<graph::Unsupported>& unsupported = translator.builder().unsupported;
  if (!unsupported.empty()) throw graph::refusal(path, unsupported);
  graph::Model model = std::move(translator.model);
  model.name = path.substr(path.rfind('/') + 1);
  model.graph.name = model.name;
  model.source_format = "pt2";
  model.source_producer = producer_of(program);
  graph::fold_constants(model);
  graph::lower_runtime_shapes(model);
  return model;
}

std::string dim_text(const Json& size) {
  const auto [kind, value] = tagged(size);
  if (kind == "as_int") return std::to_string(integer(*value, "a size"));
  const auto parsed = parse_expression(text(*value, "expr_str"));
  return parsed ? parsed->text() : "?";
}
importer::PortDescription port_of(const Json& graph, const std::string& name) {
  importer::PortDescription port;
  port.name = name;
  const Json& values = object(graph, "tensor_values");
  const auto meta = values.find(name);
  if (meta == values.end()) return port;
  const int64_t serialized = integer(field(*meta, "dtype"), "dtype");
  const DType dtype = aten::dtype_of_c10(c10_type_of(serialized));
  port.dtype = dtype != DType::kInvalid ? dtype_name(dtype) : "type " + std::to_string(serialized);
  port.has_shape = true;
  for (const Json& size : array(*meta, "sizes")) port.dims.push_back(dim_text(size));
  return port;
}

importer::SourceDescription describe(const importer::OpenedFile& file) {
  const Json program = parse(read_program(file));
  importer::SourceDescription out;
  out.producer = producer_of(program);
  const Json& module = object(program, "graph_module");
  const Json& graph = object(module, "graph");
  const Json& signature = object(module, "signature");
  const auto ports = [&](const char* specs, const char* wanted,
                         std::vector<importer::PortDescription>* to) {
    for (const Json& spec : array(signature, specs)) {
      const auto [kind, held] = tagged(spec);
      if (kind != wanted) continue;
      const auto [tag, value] = tagged(field(*held, "arg"));
      if (tag == "as_tensor") to->push_back(port_of(graph, text(*value, "name")));
    }
  };
  ports("input_specs", "user_input", &out.inputs);
  ports("output_specs", "user_output", &out.outputs);
  const std::string prefix = "torch.ops.";
  for (const Json& node : array(graph, "nodes")) {
    const std::string target = importer::clean_line(text(node, "target"));
    out.op_counts[target.rfind(prefix, 0) == 0 ? target.substr(prefix.size()) : target]++;
  }
  return out;
}

}  // namespace

graph::Model import_pt2(const importer::OpenedFile& file, const importer::ImportOptions& options) {
  return importer::with_errors_of(file.path,
                                  [&] { return import(read_program(file), file.path, options); });
}
graph::Model import_program(const std::vector<uint8_t>& program, const std::string& path,
                            const importer::ImportOptions& options) {
  return importer::with_errors_of(path, [&] { return import(program, path, options); });
}
importer::SourceDescription describe_pt2(const importer::OpenedFile& file) {
  return importer::with_errors_of(file.path, [&] { return describe(file); });
}

}  // namespace ingot::pt2
#endif
