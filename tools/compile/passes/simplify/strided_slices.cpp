// SPDX-License-Identifier: Apache-2.0
// Every second channel, written as Reshape, Transpose and one index: whatever chain of views picks
// evenly spaced elements of one dimension becomes the one Slice that it is. (ShuffleNet's split is
// such a chain.)
#include <algorithm>
#include <optional>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/common/transposes.h"

namespace ingot::passes {
namespace {

using Axis = std::pair<int64_t, int64_t>;  // extent, stride in elements
struct View {
  std::vector<Axis> axes;
  int64_t offset = 0;
};

View contiguous(const std::vector<int64_t>& dims) {
  View v;
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i])
    v.axes.insert(v.axes.begin(), {dims[i], stride});
  return v;
}

// Without extents of 1, neighbours joined where they lie behind one another.
View joined(const View& v) {
  View result{{}, v.offset};
  for (const Axis& axis : v.axes) {
    if (axis.first == 1) continue;
    if (!result.axes.empty() && result.axes.back().second == axis.first * axis.second)
      result.axes.back() = {result.axes.back().first * axis.first, axis.second};
    else
      result.axes.push_back(axis);
  }
  return result;
}

// The view under other dims, where no copy is needed for it.
std::optional<View> reshaped(const View& v, const std::vector<int64_t>& dims) {
  View from = joined(v), result{{}, v.offset};
  size_t at = from.axes.size();
  int64_t left = 1, stride = 1;  // of the run that is being split
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) {
      result.axes.insert(result.axes.begin(), {1, 0});
      continue;
    }
    if (left == 1) {
      if (at == 0) return std::nullopt;
      at--;
      left = from.axes[at].first;
      stride = from.axes[at].second;
    }
    if (left % dims[i]) return std::nullopt;
    result.axes.insert(result.axes.begin(), {dims[i], stride});
    left /= dims[i];
    stride *= dims[i];
  }
  return result;
}

std::optional<View> through(const Editor& e, const Node& node, const View& v) {
  auto dims = static_dims(e.dims(node.outputs[0]));
  if (!dims) return std::nullopt;
  if (node.op == op::Reshape) return reshaped(v, *dims);
  View result = v;
  if (node.op == op::Transpose) {
    Integers perm = node.integers(attr::perm);
    for (size_t i = 0; i < perm.size(); i++) result.axes[i] = v.axes[size_t(perm[i])];
    return result;
  }
  Dims starts = node.dims(attr::starts);
  Integers steps = node.integers(attr::steps);
  for (size_t i = 0; i < starts.size(); i++) {
    if (!starts[i].value()) return std::nullopt;
    result.offset += *starts[i].value() * v.axes[i].second;
    result.axes[i] = {(*dims)[i], v.axes[i].second * steps[i]};
  }
  return result;
}

// The Slice of one dimension of a tensor of `dims` that reads the same elements in the same order.
struct Pick {
  size_t axis;
  int64_t start, step, count;
};
std::optional<Pick> as_pick(const View& v, const std::vector<int64_t>& dims) {
  View whole = contiguous(dims), wanted = joined(v);
  for (size_t k = 0; k < dims.size(); k++) {
    int64_t stride = whole.axes[k].second, start = v.offset / stride;
    if (v.offset % stride || start >= dims[k]) continue;
    for (const Axis& axis : wanted.axes) {
      int64_t step = axis.second / stride;
      if (axis.second % stride || step < 2 || step > dims[k]) continue;
      View candidate = whole;
      int64_t count = (dims[k] - start + step - 1) / step;
      candidate.axes[k] = {count, stride * step};
      candidate.offset = v.offset;
      if (joined(candidate).axes == wanted.axes) return Pick{k, start, step, count};
    }
  }
  return std::nullopt;
}

bool replace(Editor& e, Node& node) {
  const auto wanted = static_dims(e.dims(node.outputs[0]));
  // strides of what has no elements are zero
  if (!wanted || std::count(wanted->begin(), wanted->end(), 0)) return false;
  std::vector<Node*> chain = {&node};
  bool turned = false;
  while (is_view(e.producer(chain.back()->inputs[0]))) {
    chain.push_back(e.producer(chain.back()->inputs[0]));
    turned |= chain.back()->op == op::Transpose;
  }
  for (; turned && chain.size() > 1; chain.pop_back()) {  // from as far up as it goes
    ValueId x = chain.back()->inputs[0], out = node.outputs[0];
    auto dims = static_dims(e.dims(x));
    if (!dims) continue;
    std::optional<View> v = contiguous(*dims);
    for (size_t i = chain.size(); v && i-- > 0;) v = through(e, *chain[i], *v);
    std::optional<Pick> pick = v ? as_pick(*v, *dims) : std::nullopt;
    if (!pick) continue;
    e.kill(node);
    Dims starts(dims->size(), Dim(0)), picked = e.dims(x);
    Integers steps(dims->size(), 1);
    starts[pick->axis] = Dim(pick->start);
    steps[pick->axis] = pick->step;
    picked[pick->axis] = Dim(pick->count);
    ValueId y = e.emit(op::Slice, {x}, e.value(x).dtype, picked, node,
                       {{attr::starts, starts}, {attr::steps, steps}});
    for (Node* each : chain) e.merge_sources(*e.producer(y), *each);
    e.add(op::Reshape, {y}, {out}, node);
    return true;
  }
  return false;
}

}  // namespace

uint32_t recognize_strided_slices(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes())
    if (!node->dead && node->op == op::Slice && replace(e, *node)) changed++;
  return changed;
}

}  // namespace ingot::passes
