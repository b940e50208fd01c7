// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/quantize/tables.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "tools/compile/passes/common/editor.h"
#include "tools/compile/quantize/insert.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::quantize {
namespace {

using graph::Dim;
using passes::Editor;

constexpr int64_t kWorthIt = 16384;  // numbers; below that scales and nodes eat what is saved
constexpr int kZero = 128;           // i8 as u8, which every instruction set widens fast

const Constant* table_of(const Model& model, const Node& node) {
  if (node.op != op::Gather || node.inputs.size() < 2 || node.integer(attr::axis, 0) != 0)
    return nullptr;
  const Constant* const table = model.constant(node.inputs[0]);
  if (!table || table->dtype != DType::kF32 || table->dims.size() != 2 ||
      table->elements() < kWorthIt || model.constant(node.inputs[1]))
    return nullptr;
  return table;
}

class Tables {
 public:
  Tables(const Keep& keep, std::set<std::string>* matched) : keep_(keep), matched_(*matched) {}

  /// Also counts it.
  bool takes(const Model& model, const Node& node) {
    if (!table_of(model, node)) return false;
    bool kept = false;
    report_.names.push_back(node.name);
    for (const std::string& pattern : keep_.patterns)
      for (const ValueId id : {kAbsent, node.inputs[0], node.outputs[0]}) {
        const std::string& name = id < 0 ? node.name : model.values[size_t(id)].name;
        if (!name.empty() && matches(pattern, name)) kept = true, matched_.insert(pattern);
      }
    report_.kept += kept;
    return !kept;
  }

  void quantize(Editor& e, Node& node) {
    const Bytes& table = bytes_of(e, node);
    const graph::Dims dims = e.dims(node.outputs[0]);
    graph::Dims each = dims;
    each.back() = Dim(1);
    const auto chosen = [&](ValueId from, DType dtype, const graph::Dims& to) {
      return e.emit(op::Gather, {from, node.inputs[1]}, dtype, to, node,
                    {{attr::axis, int64_t(0)}});
    };
    const ValueId rows = e.emit(op::Cast, {chosen(table.numbers, DType::kU8, dims)}, DType::kF32,
                                dims, node, {{attr::to, int64_t(DType::kF32)}});
    const ValueId centred = e.emit(op::Sub, {rows, table.zero}, DType::kF32, dims, node);
    const ValueId scales = chosen(table.scales, DType::kF32, each), y = node.outputs[0];
    e.kill(node);
    e.add(op::Mul, {centred, scales}, {y}, node);
  }

  TableReport finished() {
    report_.signal_to_noise =
        noise_ == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal_ / noise_);
    return report_;
  }

 private:
  struct Bytes {
    ValueId numbers = kAbsent, scales = kAbsent, zero = kAbsent;
  };

  /// A table that several nodes read is made once.
  const Bytes& bytes_of(Editor& e, const Node& node) {
    const auto [place, is_new] = made_.try_emplace(node.inputs[0]);
    if (!is_new) return place->second;
    const Constant table = *e.constant(node.inputs[0]);
    const std::string name = e.value(node.inputs[0]).name;
    require_finite(table, text(node.op), node.name, "table");
    host::charge_work(uint64_t(table.elements()));
    const ByteWeights rounded = quantize_weights(table, 0, true, {});
    std::vector<uint8_t> numbers;
    numbers.reserve(rounded.bytes.size());
    for (const int8_t byte : rounded.bytes) numbers.push_back(uint8_t(byte + kZero));
    const int64_t width = table.dims[1];
    for (int64_t i = 0; i < table.elements(); i++) {
      const double w = double(table.as<float>()[i]);
      const double error = rounded.bytes[size_t(i)] * double(rounded.scales[size_t(i / width)]) - w;
      signal_ += w * w, noise_ += error * error;
    }
    const float zero = kZero;
    place->second = {
        e.new_constant(name, graph::make_constant(DType::kU8, table.dims, numbers.data())),
        e.new_constant(name + "/scales", graph::make_constant(DType::kF32, {table.dims[0], 1},
                                                              rounded.scales.data())),
        e.new_constant(name + "/zero", graph::make_constant(DType::kF32, {}, &zero))};
    report_.tables++;
    report_.bytes_before += uint64_t(table.elements()) * 4;
    report_.bytes_after += uint64_t(table.elements()) + rounded.scales.size() * 4;
    return place->second;
  }

  const Keep& keep_;
  std::set<std::string>& matched_;
  TableReport report_;
  std::map<ValueId, Bytes> made_;
  double signal_ = 0, noise_ = 0;
};

}  // namespace

TableReport find_tables(Model& model, const Keep& keep, std::set<std::string>* matched) {
  Tables tables(keep, matched);
  for (const graph::Graph* graph : passes::graphs_inside_out(model.graph))
    for (const Node& node : graph->nodes) (void)tables.takes(model, node);
  return tables.finished();
}

TableReport quantize_tables(Model& model, const Keep& keep, std::set<std::string>* matched) {
  Tables tables(keep, matched);
  for (graph::Graph* graph : passes::graphs_inside_out(model.graph)) {
    Editor e(model, *graph);
    for (Node* node : e.nodes())
      if (tables.takes(model, *node)) tables.quantize(e, *node);
    e.drop_unread_constants();
    e.commit();
  }
  const TableReport made = tables.finished();
  if (made.tables) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "weights: %u table%s of embeddings as bytes, %.3g MB instead of %.3g MB, %.1f dB",
                  made.tables, made.tables == 1 ? "" : "s", double(made.bytes_after) / 1e6,
                  double(made.bytes_before) / 1e6, made.signal_to_noise);
    model.notes.push_back(text);
  }
  return made;
}

}  // namespace ingot::quantize
