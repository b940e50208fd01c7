// SPDX-License-Identifier: Apache-2.0
// x[:, 1:] = y as PyTorch exports it: a ScatterNd whose indices are a grid of ranges. It becomes
// what it leaves of x, cut and put together with y; no index is kept.
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes {
namespace {

// below this part of x a scatter in place moves less
constexpr int64_t kLeastPart = 4;

// Whether a constant broadcasts to `grid`, varies along dimension k alone and has all its indices.
bool is_along(const Constant& c, const std::vector<int64_t>& grid, size_t k) {
  if (c.dims.size() > grid.size() || c.elements() != grid[k]) return false;
  const size_t lead = grid.size() - c.dims.size();
  for (size_t i = 0; i < c.dims.size(); i++)
    if (lead + i != k && c.dims[i] != 1) return false;
  return true;
}

// Whether element i is the index `start` + `at`, whatever a stranger's numbers are.
bool has_index(const Constant& c, int64_t i, int64_t start, int64_t at) {
  return uint64_t(graph::read_integer(c, i)) == uint64_t(start) + uint64_t(at);
}

// Where the indices along dimension k begin, if they are `grid[k]` numbers in a row.
std::optional<int64_t> start_of(const Editor& e, ValueId id, const std::vector<int64_t>& grid,
                                size_t k) {
  if (Node* added = e.producer_if(id, op::Reshape)) id = added->inputs[0];
  if (static_dims(e.dims(id)) != std::optional(grid)) return std::nullopt;
  if (Node* expand = e.producer_if(id, op::Elementwise)) {
    const std::optional<graph::Step> step = only_step(*expand);
    if (!step || step->op != Op::kIdentity || expand->inputs.size() != 1) return std::nullopt;
    id = expand->inputs[0];
  }
  const Constant* const constant = e.constant(id);
  const bool is_whole =
      constant && (constant->dtype == DType::kI64 || constant->dtype == DType::kI32);
  if (!is_whole || !is_along(*constant, grid, k)) return std::nullopt;
  const int64_t start = graph::read_integer(*constant, 0);
  for (int64_t i = 0; i < grid[k]; i++) {
    host::charge_work(1);
    if (!has_index(*constant, i, start, i)) return std::nullopt;
  }
  return start;
}

struct Box {
  std::vector<int64_t> starts, extents;  // of the first dimensions
};

// Of indices that are a constant: each its neighbour's, one further.
bool read_starts(const Constant& indices, Box* box) {
  const size_t depth = box->extents.size();
  for (size_t k = 0; k < depth; k++)
    box->starts.push_back(graph::read_integer(indices, int64_t(k)));
  std::vector<int64_t> at(depth, 0);
  for (int64_t i = 0; i < indices.elements(); i += int64_t(depth)) {
    host::charge_work(depth);
    for (size_t k = 0; k < depth; k++)
      if (!has_index(indices, i + int64_t(k), box->starts[k], at[k])) return false;
    for (size_t k = depth; k-- > 0 && ++at[k] == box->extents[k];) at[k] = 0;
  }
  return true;
}

bool read_starts(const Editor& e, const Node& parts, Box* box) {
  const size_t depth = box->extents.size();
  if (parts.integer(attr::axis, 0) != int64_t(depth) || parts.inputs.size() != depth) return false;
  for (size_t k = 0; k < depth; k++) {
    const auto start = start_of(e, parts.inputs[k], box->extents, k);
    if (!start) return false;
    box->starts.push_back(*start);
  }
  return true;
}

std::optional<Box> box_of(const Editor& e, const Node& scatter) {
  const auto data = static_dims(e.dims(scatter.inputs[0]));
  const auto indices = static_dims(e.dims(scatter.inputs[1]));
  if (!data || !indices || scatter.text(attr::reduction, "none") != "none" ||
      indices->back() != int64_t(indices->size()) - 1 || indices->size() - 1 > data->size())
    return std::nullopt;
  Box box{{}, {indices->begin(), indices->end() - 1}};
  std::vector<int64_t> updates = box.extents;
  updates.insert(updates.end(), data->begin() + long(updates.size()), data->end());
  // others are an error of the scatter, which names them
  if (static_dims(e.dims(scatter.inputs[2])) != std::optional(updates)) return std::nullopt;
  double written = 1, all = 1;  // extents are a stranger's
  for (size_t k = 0; k < box.extents.size(); k++)
    written *= double(box.extents[k]), all *= double((*data)[k]);
  if (written == 0 || written < all / kLeastPart) return std::nullopt;
  const Node* const parts = e.producer_if(scatter.inputs[1], op::Concat);
  const Constant* const constant = e.constant(scatter.inputs[1]);
  if (!(parts ? read_starts(e, *parts, &box) : constant && read_starts(*constant, &box)))
    return std::nullopt;
  for (size_t k = 0; k < box.extents.size(); k++)
    if (box.starts[k] < 0 || box.starts[k] > (*data)[k] - box.extents[k]) return std::nullopt;
  return box;
}

// [from, to) of dimension k of x; of dimensions before it what the box has, of others all.
ValueId cut(Editor& e, const Node& scatter, const Box& box, size_t k, int64_t from, int64_t to) {
  const ValueId x = scatter.inputs[0];
  Dims dims = e.dims(x), starts(dims.size(), Dim(0));
  for (size_t i = 0; i < k; i++) starts[i] = Dim(box.starts[i]), dims[i] = Dim(box.extents[i]);
  starts[k] = Dim(from), dims[k] = Dim(to - from);
  return e.emit(op::Slice, {x}, e.value(x).dtype, dims, scatter,
                {{attr::starts, starts}, {attr::steps, Integers(dims.size(), 1)}});
}

void rewrite(Editor& e, Node& scatter, const Box& box) {
  const std::vector<int64_t> data = *static_dims(e.dims(scatter.inputs[0]));
  const ValueId out = scatter.outputs[0];
  ValueId y = scatter.inputs[2];
  e.kill(scatter);
  for (size_t k = box.extents.size(); k-- > 0;) {
    const int64_t begin = box.starts[k], end = begin + box.extents[k];
    if (begin == 0 && end == data[k]) continue;
    std::vector<ValueId> parts;
    if (begin > 0) parts.push_back(cut(e, scatter, box, k, 0, begin));
    parts.push_back(y);
    if (end < data[k]) parts.push_back(cut(e, scatter, box, k, end, data[k]));
    Dims dims = e.dims(y);
    dims[k] = Dim(data[k]);
    y = e.emit(op::Concat, parts, e.value(y).dtype, dims, scatter, {{attr::axis, int64_t(k)}});
  }
  e.add(op::Reshape, {y}, {out}, scatter);
}

}  // namespace

uint32_t recognize_box_writes(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::ScatterNd) continue;
    const std::optional<Box> box = box_of(e, *node);
    if (!box) continue;
    rewrite(e, *node, *box);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
