// SPDX-License-Identifier: Apache-2.0
#include "tests/diagnose/faulty.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/compile/write/program_encoder.h"

namespace ingot::test {
namespace {

Kernel g_original = nullptr;  // behind the wrapped row

Status broken(const OpArguments& arguments, const Team& team) {
  const Status status = g_original(arguments, team);
  const TensorView& y = arguments.outputs[0];
  if (team.id != 0 || !status.ok() || y.elements() == 0) return status;
  const int64_t at = (y.rows() - 1) * y.row_stride + y.row_length() - 1;
  if (y.dtype == DType::kU8) y.as<uint8_t>()[at] ^= 1;  // one step
  if (y.dtype != DType::kF32) return status;
  float& last = y.as<float>()[at];
  last += 0.25f + std::fabs(last);
  return status;
}

}  // namespace

passes::Observer Planted::observer() {
  done_ = false;
  return [this](const std::string& pass, graph::Model& model) {
    if (pass == "import") done_ = false;  // a conversion begins
    if (done_ || pass != stage_) return;
    done_ = change_(model);
    planted_ |= done_;
  };
}

graph::Node* find_node(graph::Model& model, const std::string& op, const std::string& source) {
  return find_node(model, model.graph, op, source);
}

graph::Node* find_node(graph::Model& model, graph::Graph& graph, const std::string& op,
                       const std::string& source) {
  for (graph::Node& node : graph.nodes) {
    if (node.dead) continue;
    for (const auto& inner : node.subgraphs())
      if (graph::Node* found = find_node(model, *inner, op, source)) return found;
    if (!op.empty() && text(node.op) != op) continue;
    for (const uint32_t s : node.sources)
      if (model.source_nodes[s].output == source) return &node;
  }
  return nullptr;
}

bool change_floats(graph::Model& model, graph::Node* node, size_t i,
                   const std::function<void(std::vector<float>&)>& change) {
  const graph::Constant* constant =
      node && node->inputs.size() > i ? model.constant(node->inputs[i]) : nullptr;
  if (!constant || constant->dtype != DType::kF32) return false;
  const auto given = constant->as<float>().part(0, constant->elements());
  std::vector<float> all(given.begin(), given.end());
  const std::vector<int64_t> dims = constant->dims;
  change(all);
  const graph::ValueId id =
      model.add_constant("wrong", graph::make_constant(DType::kF32, dims, all.data()));
  graph::Value& value = model.values[size_t(id)];
  value.dtype = DType::kF32, value.shape_known = true;
  value.dims = graph::Dims(dims.begin(), dims.end());
  node->inputs[i] = id;
  return true;
}

const KernelTable* broken_table(const std::string& kernel) {
  static std::deque<std::vector<KernelEntry>> rows;  // tables live as long as the test
  static std::deque<KernelTable> tables;
  std::vector<KernelEntry> all;
  for (const KernelTable* table = cpu_kernels(nullptr); table; table = table->fallback)
    all.insert(all.end(), table->entries, table->entries + table->entry_count);
  bool found = false;
  for (KernelEntry& entry : all) {
    if (kernel != entry.name) continue;
    // of the best instruction set; the rows behind it are never reached
    if (!found) g_original = entry.run;
    if (entry.run == g_original) entry.run = broken;
    found = true;
  }
  if (!found) return nullptr;
  rows.push_back(std::move(all));
  tables.push_back(
      {cpu_kernels(nullptr)->isa, rows.back().data(), uint32_t(rows.back().size()), nullptr});
  return &tables.back();
}

bool write_with_wrong_weights(const std::string& source, const std::string& name, size_t index,
                              float by, const std::string& path) {
  convert::FileSpec file = convert::convert_source(source, {}).file;
  for (convert::ValueSpec& value : file.program.values) {
    if (value.name != name || value.kind != ValueKind::kConstant ||
        value.packing == Packing::kDense)
      continue;
    auto bytes = std::make_shared<std::vector<uint8_t>>(*convert::produce_constant(value));
    float element;
    memcpy(&element, bytes->data() + 4 * index, 4);
    element += by;
    memcpy(bytes->data() + 4 * index, &element, 4);
    value.bytes = {bytes, nullptr};
    convert::write_file(file, path);
    return true;
  }
  return false;
}

}  // namespace ingot::test
