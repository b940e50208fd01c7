// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/dependencies.cpp - see dependencies.h.
#include "tools/compile/plan/dependencies.h"

#include <algorithm>
#include <set>

#include "runtime/op/tensor.h"
#include "tools/compile/plan/states.h"

namespace ingot::convert {
namespace {

/// Elements [offset + i * stride, offset + i * stride + length) of a root, i in [0, rows).
struct Rows {
  int64_t offset = 0, rows = 0, length = 0, stride = 1;
  int64_t end() const {
    return rows == 0 || length == 0 ? offset : offset + (rows - 1) * stride + length;
  }
};

/// False only when they certainly share nothing.
bool may_meet(const Rows& a, const Rows& b) {
  if (a.end() == a.offset || b.end() == b.offset) return true;  // nothing, but it has its writer
  if (a.end() <= b.offset || b.end() <= a.offset) return false;
  if (a.stride != b.stride || a.rows <= 1 || b.rows <= 1) return true;
  // of b, counted from a's
  const int64_t column = ((b.offset - a.offset) % a.stride + a.stride) % a.stride;
  return column < a.length || column + b.length > a.stride;
}

class Finder {
 public:
  Finder(const LoweredProgram& lowered, const Bindings& bindings)
      : lowered_(lowered), bindings_(bindings) {
    written_.resize(lowered.values.size());
    read_.resize(lowered.values.size());
    result_.root_bytes.assign(lowered.values.size(), 0);
    for (int32_t id = 0; id < int32_t(lowered.values.size()); id++) {
      const LoweredValue& value = lowered.at(id);
      if (value.kind == ValueKind::kConstant || value.alias != AliasKind::kNone) continue;
      uint64_t bytes = 0;
      if (storage_bytes(evaluate_type(value, bindings), &bytes))
        result_.root_bytes[size_t(id)] = int64_t(bytes);
    }
  }

  Dependencies run() {
    const auto& instructions = lowered_.subprograms[0].instructions;
    for (uint32_t i = 0; i < instructions.size(); i++) {
      std::set<int32_t> reads, writes;
      gather(instructions[i], &reads, &writes);
      std::set<uint32_t> before;
      for (const int32_t id : reads)
        for (const auto& [writer, value] : written_[size_t(lowered_.root(id))])
          if (may_meet(rows_of(id), rows_of(value))) before.insert(writer);
      // A state variable is read as the run before left it: whatever reads it goes before what
      // writes it.
      for (const int32_t id : writes)
        if (const int32_t root = lowered_.root(id); lowered_.at(root).kind == ValueKind::kState)
          before.insert(read_[size_t(root)].begin(), read_[size_t(root)].end());
      for (const int32_t id : reads) read_[size_t(lowered_.root(id))].push_back(i);
      std::set<int32_t> roots;
      for (const int32_t id : reads) roots.insert(lowered_.root(id));
      for (const int32_t id : writes) roots.insert(lowered_.root(id));
      for (const int32_t id : writes) written_[size_t(lowered_.root(id))].emplace_back(i, id);
      before.erase(i);
      result_.before.emplace_back(before.begin(), before.end());
      result_.touches.emplace_back(roots.begin(), roots.end());
    }
    order_updates(lowered_, &result_);
    return std::move(result_);
  }

 private:
  void gather(const LoweredInstruction& instruction, std::set<int32_t>* reads,
              std::set<int32_t>* writes) const {
    for (const int32_t id : instruction.inputs)
      if (id >= 0 && lowered_.at(id).kind != ValueKind::kConstant) reads->insert(id);
    for (const int32_t id : instruction.outputs)
      if (id >= 0) writes->insert(id);
    for (const int32_t id : resolvers_of(lowered_, instruction)) reads->insert(id);
    for (const uint32_t s : callees_of(instruction))
      for (const LoweredInstruction& inner : lowered_.subprograms[s].instructions)
        gather(inner, reads, writes);
  }

  Rows rows_of(int32_t id) const {
    const TensorType type = evaluate_type(lowered_.at(id), bindings_);
    Rows rows{0, type.rows(), type.row_length(), std::max<int64_t>(type.row_stride, 1)};
    if (type.is_dense()) rows = {0, 1, type.elements(), std::max<int64_t>(type.elements(), 1)};
    for (; lowered_.at(id).alias != AliasKind::kNone; id = lowered_.at(id).alias_of)
      rows.offset += lowered_.at(id).alias_offset.evaluate(bindings_);
    return rows;
  }

  const LoweredProgram& lowered_;
  const Bindings& bindings_;
  // by root: instruction and value it wrote
  std::vector<std::vector<std::pair<uint32_t, int32_t>>> written_;
  std::vector<std::vector<uint32_t>> read_;  // by root: instructions that read it
  Dependencies result_;
};

}  // namespace

Dependencies find_dependencies(const LoweredProgram& lowered, const Bindings& bindings) {
  return Finder(lowered, bindings).run();
}

}  // namespace ingot::convert
