// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/describe.cpp - what a file says of itself, for models that are looked at.
#include <map>

#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

importer::PortDescription port_of(const ModelFile& file, const fb::SubGraph& graph, int64_t index,
                                  const std::string& name) {
  const fb::Tensor& t = file.tensor(graph, index);
  importer::PortDescription port;
  port.name = name.empty() ? ModelFile::name(t, size_t(index)) : name;
  const DType dtype = ModelFile::dtype(t.type());
  port.dtype = dtype == DType::kInvalid ? ModelFile::type_name(t.type()) : dtype_name(dtype);
  port.has_shape = true;
  const std::vector<int64_t> dims = ModelFile::shape(t);
  for (size_t d = 0; d < dims.size(); d++) {
    const bool open = t.shape_signature() && t.shape_signature()->size() == dims.size() &&
                      t.shape_signature()->Get(uint32_t(d)) < 0;
    port.dims.push_back(open || dims[d] < 0 ? "?" : std::to_string(dims[d]));
  }
  return port;
}

}  // namespace

Description describe_tflite(const std::string& path) {
  const auto file = ModelFile::open(path);
  Description out;
  out.subgraphs = file->subgraph_count();
  const fb::SubGraph& first = file->subgraph(0);
  for (uint32_t i = 0; first.inputs() && i < first.inputs()->size(); i++)
    out.inputs.push_back(port_of(*file, first, first.inputs()->Get(i), ""));
  for (uint32_t i = 0; first.outputs() && i < first.outputs()->size(); i++)
    out.outputs.push_back(port_of(*file, first, first.outputs()->Get(i), ""));
  std::map<std::string, int> counts;
  for (size_t g = 0; g < file->subgraph_count(); g++) {
    const auto* operators = file->subgraph(g).operators();
    for (uint32_t i = 0; operators && i < operators->size(); i++)
      counts[operator_name(file->kind(*operators->Get(i)))]++;
  }
  out.operators.assign(counts.begin(), counts.end());
  const auto* signatures = file->model().signatures();
  for (uint32_t s = 0; signatures && s < signatures->size(); s++) {
    const fb::Signature& from = *signatures->Get(s);
    SignatureDescription one;
    one.name = from.key() ? from.key()->str() : "";
    one.subgraph = from.subgraph_index();
    const fb::SubGraph& graph = file->subgraph(one.subgraph);
    const auto add = [&](const auto* ports, std::vector<importer::PortDescription>* to) {
      for (uint32_t i = 0; ports && i < ports->size(); i++)
        to->push_back(port_of(*file, graph, int64_t(ports->Get(i)->tensor_index()),
                              ports->Get(i)->name() ? ports->Get(i)->name()->str() : ""));
    };
    add(from.inputs(), &one.inputs);
    add(from.outputs(), &one.outputs);
    out.signatures.push_back(std::move(one));
  }
  return out;
}

}  // namespace ingot::tflite
