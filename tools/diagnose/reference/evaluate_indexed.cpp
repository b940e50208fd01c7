// SPDX-License-Identifier: Apache-2.0
// GatherND, ScatterND, ScatterElements: positions that come from a tensor of indices. Both names,
// of ONNX and of core form. NonZero, which makes such positions.
#include <algorithm>
#include <stdexcept>

#include "tools/diagnose/reference/evaluator.h"

namespace ingot::reference {
namespace {

using graph::Node;

int64_t within(double index, int64_t extent) {
  const int64_t i = int64_t(index) < 0 ? int64_t(index) + extent : int64_t(index);
  if (i < 0 || i >= extent) throw std::runtime_error("evaluator: an index is out of range");
  return i;
}

double combined(const std::string& reduction, double old, double update) {
  if (reduction == "add") return old + update;
  if (reduction == "mul") return old * update;
  if (reduction == "max") return std::max(old, update);
  if (reduction == "min") return std::min(old, update);
  return update;
}

/// Position `row` of the index tuples, behind `batch` (its leading coordinates).
Dimensions tuple(const Tensor& indices, int64_t row, const Dimensions& batch,
                 const Dimensions& data) {
  const int64_t length = indices.dims.back();
  Dimensions at = batch;
  for (int64_t k = 0; k < length; k++)
    at.push_back(within(indices.at[size_t(row * length + k)], data.at(at.size())));
  return at;
}

int64_t product(const Dimensions& dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; i++) n *= dims[i];
  return n;
}

/// Where the slice that a tuple names begins: its missing coordinates are zero.
int64_t slice_at(const Dimensions& data, Dimensions at) {
  at.resize(data.size(), 0);
  return offset_of(data, at);
}

Tensor gather_nd(Evaluator& e, const Node& node) {
  const Tensor &x = e.in(node, 0), &indices = e.in(node, 1);
  const size_t batch = size_t(node.integer(attr::batch_dims, 0)),
               length = size_t(indices.dims.back());
  Tensor y{{indices.dims.begin(), indices.dims.end() - 1}, {}};
  y.dims.insert(y.dims.end(), x.dims.begin() + long(batch + length), x.dims.end());
  const int64_t slice = product(x.dims, batch + length, x.dims.size());
  int64_t row = 0;
  for_each_index(
      Dimensions(indices.dims.begin(), indices.dims.end() - 1), [&](const Dimensions& at) {
        const int64_t from = slice_at(
            x.dims,
            tuple(indices, row++, Dimensions(at.begin(), at.begin() + long(batch)), x.dims));
        for (int64_t i = 0; i < slice; i++) y.at.push_back(x.at[size_t(from + i)]);
      });
  return y;
}

Tensor scatter_nd(Evaluator& e, const Node& node) {
  Tensor y = e.in(node, 0);
  const Tensor &indices = e.in(node, 1), &updates = e.in(node, 2);
  const int64_t slice = product(y.dims, size_t(indices.dims.back()), y.dims.size());
  const int64_t rows = product(indices.dims, 0, indices.dims.size() - 1);
  const std::string reduction = node.text(attr::reduction, "none");
  for (int64_t row = 0; row < rows; row++) {
    const int64_t to = slice_at(y.dims, tuple(indices, row, {}, y.dims));
    for (int64_t i = 0; i < slice; i++)
      y.at[size_t(to + i)] =
          combined(reduction, y.at[size_t(to + i)], updates.at.at(size_t(row * slice + i)));
  }
  return y;
}

Tensor scatter_elements(Evaluator& e, const Node& node) {
  Tensor y = e.in(node, 0);
  const Tensor &indices = e.in(node, 1), &updates = e.in(node, 2);
  const int64_t given = node.integer(attr::axis, 0);
  const size_t axis = size_t(given < 0 ? given + int64_t(y.dims.size()) : given);
  const std::string reduction = node.text(attr::reduction, "none");
  size_t i = 0;
  for_each_index(indices.dims, [&](Dimensions at) {
    at[axis] = within(indices.at[i], y.dims[axis]);
    double& to = y.at.at(size_t(offset_of(y.dims, at)));
    to = combined(reduction, to, updates.at.at(i++));
  });
  return y;
}

/// Coordinates [rank, n] of what is not zero, and n where that is wanted.
std::vector<Tensor> non_zero(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  std::vector<Dimensions> found;
  size_t i = 0;
  for_each_index(x.dims, [&](const Dimensions& at) {
    if (x.at[i++] != 0) found.push_back(at);
  });
  Tensor y{{int64_t(x.dims.size()), int64_t(found.size())}, {}};
  for (size_t k = 0; k < x.dims.size(); k++)
    for (const Dimensions& at : found) y.at.push_back(double(at[k]));
  return {y, Tensor{{}, {double(found.size())}}};
}

}  // namespace

std::vector<Tensor> evaluate_indexed(Evaluator& e, const Node& node) {
  if (node.op == op::NonZero) return non_zero(e, node);
  if (node.op == op::ResolveDim) return {Tensor{{}, e.in(node, 0).at}};
  const bool has_rows = node.inputs.size() > 1 && !e.in(node, 1).dims.empty();
  if ((node.op == op::GatherND || node.op == op::GatherNd) && has_rows) return {gather_nd(e, node)};
  if ((node.op == op::ScatterND || node.op == op::ScatterNd) && has_rows)
    return {scatter_nd(e, node)};
  if (node.op == op::ScatterElements) return {scatter_elements(e, node)};
  return {};
}

}  // namespace ingot::reference
