// SPDX-License-Identifier: Apache-2.0
#include "tools/import/onnx/describe.h"

#include <filesystem>
#include <set>

#include "tools/import/onnx/source_file.h"
#include "tools/import/onnx/tensor.h"
#include "tools/import/onnx/wire.h"

namespace ingot::onnx {
namespace {

importer::PortDescription port_of(const ValueInfo& info) {
  importer::PortDescription port;
  port.name = info.name;
  const DType dtype = info.is_tensor ? dtype_of(info.element_type) : DType::kInvalid;
  if (dtype != DType::kInvalid)
    port.dtype = dtype_name(dtype);
  else
    port.dtype = info.is_tensor ? element_type_name(info.element_type)
                                : std::string(info.has_type ? info.kind : "untyped");
  port.has_shape = info.has_shape;
  for (const Dimension& dim : info.dims)
    port.dims.push_back(dim.has_value        ? std::to_string(dim.value)
                        : dim.symbol.empty() ? "?"
                                             : std::string(dim.symbol));
  return port;
}

void add_locations(const Tensor& tensor, std::set<std::string>* all) {
  for (const Entry& entry : tensor.external_data)
    if (entry.key == "location") all->insert(std::string(entry.value));
}

void add_locations(const Graph& graph, std::set<std::string>* all) {
  for (const Tensor& tensor : graph.initializers) add_locations(tensor, all);
  for (const Node& node : graph.nodes)
    for (const Attribute& attribute : node.attributes) {
      if (attribute.tensor) add_locations(*attribute.tensor, all);
      if (attribute.graph) add_locations(*attribute.graph, all);
    }
}

}  // namespace

uint64_t external_data_bytes(const std::string& path) {
  std::set<std::string> locations;
  try {
    const auto file = SourceFile::open(path);
    if (!why_no_model(file->bytes()).empty()) return 0;
    add_locations(parse_model(file->bytes(), path).graph, &locations);
  } catch (const graph::ConversionError&) {
    return 0;
  }
  uint64_t bytes = 0;
  for (const std::string& location : locations) {
    std::error_code unknown;
    const uint64_t one =
        std::filesystem::file_size(std::filesystem::path(path).parent_path() / location, unknown);
    if (!unknown) bytes += one;
  }
  return bytes;
}

importer::SourceDescription describe_onnx(const std::string& path) {
  const auto file = SourceFile::open(path);
  if (const std::string problem = why_no_model(file->bytes()); !problem.empty())
    graph::fail_corrupt(path, problem);
  const Model model = parse_model(file->bytes(), path);
  importer::SourceDescription out;
  out.producer = std::string(model.producer_name);
  if (!model.producer_version.empty()) out.producer += " " + std::string(model.producer_version);
  std::set<Text> filled;
  for (const Tensor& tensor : model.graph.initializers) filled.insert(tensor.name);
  for (const SparseTensor& tensor : model.graph.sparse_initializers)
    filled.insert(tensor.values.name);
  for (const ValueInfo& info : model.graph.inputs)
    if (!filled.count(info.name)) out.inputs.push_back(port_of(info));
  for (const ValueInfo& info : model.graph.outputs) out.outputs.push_back(port_of(info));
  for (const Node& node : model.graph.nodes)
    out.op_counts[(node.domain.empty() || node.domain == "ai.onnx"
                       ? ""
                       : std::string(node.domain) + ".") +
                  std::string(node.op)]++;
  return out;
}

}  // namespace ingot::onnx
