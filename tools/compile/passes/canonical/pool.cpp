// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tools/compile/passes/canonical/rules.h"
#include "tools/graph/window.h"

namespace ingot::passes {
namespace {

using Window = graph::WindowSide;

// The pad at the end that makes the plain formula give `out`, which may come from ceil_mode; -1
// when there is none.
int64_t end_pad(const Dim& in, const Dim& out, const Window& w) {
  int64_t reach = w.dilation * (w.kernel - 1) + 1;
  auto gives = [&](int64_t end) {
    return (in + Dim(w.begin + end - reach)) / Dim(w.stride) + Dim(1) == out;
  };
  if (gives(w.end)) return w.end;
  Dim exact = (out - Dim(1)) * Dim(w.stride) + Dim(reach) - in - Dim(w.begin);
  if (exact.value())
    return gives(std::max<int64_t>(0, *exact.value())) ? std::max<int64_t>(0, *exact.value()) : -1;
  return gives(w.end + w.stride - 1) ? w.end + w.stride - 1 : -1;
}

std::vector<Window> windows(const Node& node) {
  Integers kernel = node.integers(attr::kernel_shape), strides = node.integers(attr::strides),
           dilations = node.integers(attr::dilations), pads = node.integers(attr::pads);
  std::vector<Window> result;
  for (size_t i = 0; i < kernel.size(); i++)
    result.push_back({kernel[i], strides.empty() ? 1 : strides[i],
                      dilations.empty() ? 1 : dilations[i], pads.empty() ? 0 : pads[i],
                      pads.empty() ? 0 : pads[kernel.size() + i]});
  return result;
}

// Averages that count their own zero padding but not what ceil_mode adds: pad first, then average
// what is there.
ValueId padded(Editor& e, const Node& node, ValueId x, std::vector<Window>& all) {
  Dims before = {Dim(0), Dim(0)}, dims = e.dims(x);
  for (size_t i = 0; i < all.size(); i++) {
    before.push_back(Dim(all[i].begin));
    dims[2 + i] = dims[2 + i] + Dim(all[i].begin + all[i].end);
    all[i].begin = all[i].end = 0;
  }
  return e.emit(
      op::Pad, {x}, e.value(x).dtype, dims, node,
      {{attr::mode, std::string("constant")}, {attr::before, before}, {attr::value, 0.0}});
}

void pool(Canonical& c, Node& node) {
  Editor& e = c.editor;
  std::vector<Window> all = windows(node);
  ValueId x = node.inputs[0], out = node.outputs[0];
  if (all.empty() || all.size() > 2)
    return c.refuse(node, "kernel_shape", "pooling over one or two dimensions is built");
  if (node.outputs.size() > 1 && node.outputs[1] >= 0)
    return c.refuse(node, "Indices", "the positions of the maxima are not built");
  std::string kind = node.op == op::MaxPool ? "max" : node.op == op::LpPool ? "lp" : "average";
  bool include = node.op == op::AveragePool && node.integer(attr::count_include_pad, 0) != 0;
  std::vector<int64_t> ends;
  bool extended = false;
  for (size_t i = 0; i < all.size(); i++) {
    ends.push_back(end_pad(e.dims(x)[2 + i], e.dims(out)[2 + i], all[i]));
    if (ends[i] < 0)
      return c.refuse(node, "ceil_mode", "the output's extent follows no padding",
                      "fix the shape with --input-shape");
    extended |= ends[i] > all[i].end;
  }
  e.kill(node);
  if (include && extended) {
    for (size_t i = 0; i < all.size(); i++) ends[i] -= all[i].end;
    x = padded(e, node, x, all);
    include = false;
  }
  Attributes a = {{attr::kind, include ? "average_include_pad" : kind}};
  if (kind == "lp") a[attr::p] = node.integer(attr::p, 2);
  Integers kernel, strides, dilations, pads;
  for (const Window& w : all) {
    kernel.push_back(w.kernel), strides.push_back(w.stride), dilations.push_back(w.dilation);
    pads.push_back(w.begin);
  }
  for (const int64_t end : ends) pads.push_back(std::max<int64_t>(0, end));
  a[attr::kernel_shape] = kernel, a[attr::strides] = strides, a[attr::dilations] = dilations,
  a[attr::pads] = pads;
  Integers perm = to_channels_last(e.rank(x));
  ValueId y = e.emit(op::Pool2d, {e.transpose(x, perm, node)}, e.value(out).dtype,
                     permuted(e.dims(out), perm), node, std::move(a));
  e.value(y).layout = "NHWC";
  e.add(op::Transpose, {y}, {out}, node, {{attr::perm, inverse(perm)}});
}

}  // namespace

void add_pool_rules(Rules& rules) {
  rules[op::MaxPool] = rules[op::AveragePool] = rules[op::LpPool] = pool;
}

}  // namespace ingot::passes
