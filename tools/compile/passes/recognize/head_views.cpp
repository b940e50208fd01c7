// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/recognize/head_views.h"

#include <algorithm>

#include "tools/compile/passes/common/transposes.h"

namespace ingot::passes {
namespace {

using Part = StridedView::Part;
using Parts = std::vector<Part>;

Dim product_of(const Dims& dims, size_t begin, size_t end) {
  Dim all = 1;
  for (size_t i = begin; i < end; i++) all = all * dims[i];
  return all;
}

void append(Parts& parts, const Part& part) {
  if (part.extent == Dim(1)) return;
  if (!parts.empty() && parts.back().stride == part.extent * part.stride) {  // one run
    parts.back() = {parts.back().extent * part.extent, part.stride};
    return;
  }
  parts.push_back(part);
}

/// One part over several dims.
void split(const Part& part, const Dims& to, size_t begin, size_t end, std::vector<Parts>& out) {
  for (size_t i = begin; i < end; i++) {
    Parts one;
    append(one, {to[i], part.stride * product_of(to, i + 1, end)});
    out.push_back(one);
  }
}

/// Dims `to` over the same elements in the same order; false where a boundary falls inside a part
/// that cannot be cut.
bool reshape(std::vector<Parts>& dims, const Dims& to) {
  std::vector<Part> flat;
  for (const Parts& parts : dims) flat.insert(flat.end(), parts.begin(), parts.end());
  std::vector<Parts> result;
  size_t a = 0, o = 0;
  while (o < to.size()) {
    if (to[o] == Dim(1)) {
      result.emplace_back();
      o++;
      continue;
    }
    if (a == flat.size()) return false;
    bool found = false;
    for (size_t n = 1; o + n <= to.size() && !found; n++)  // one part, n dims
      if (product_of(to, o, o + n) == flat[a].extent) {
        split(flat[a], to, o, o + n, result);
        a++, o += n;
        found = true;
      }
    Dim all = flat[a < flat.size() ? a : 0].extent;
    for (size_t m = 1; !found && a + m < flat.size(); m++) {  // several parts, one dim
      all = all * flat[a + m].extent;
      if (all != to[o]) continue;
      Parts one;
      for (size_t k = a; k <= a + m; k++) append(one, flat[k]);
      result.push_back(one);
      a += m + 1, o++;
      found = true;
    }
    if (!found) return false;
  }
  if (a != flat.size()) return false;
  dims = std::move(result);
  return true;
}

bool slice(StridedView& view, const Node& node, const Dims& to) {
  const Dims starts = node.dims(attr::starts);
  const Integers steps = node.integers(attr::steps);
  for (size_t i = 0; i < to.size(); i++) {
    if (i < steps.size() && steps[i] != 1) return false;
    Parts& parts = view.dims[i];
    if (parts.empty()) continue;
    if (parts.size() > 1) {
      Dim all = 1;
      for (const Part& p : parts) all = all * p.extent;
      if (all != to[i]) return false;
      continue;
    }
    view.offset = view.offset + starts[i] * parts[0].stride;
    parts[0].extent = to[i];
    if (to[i] == Dim(1)) parts.clear();
  }
  return true;
}

/// Rows of `view`, which is [B, heads, T, D].
struct Rows {
  Dim batch, length, pitch, width;
};
std::optional<Rows> rows_of(const Editor& e, const StridedView& view, const Dims& dims) {
  const Dim heads = dims[1], dim = dims[3], width = heads * dim;
  if (!width.is_static() ||
      std::any_of(view.dims.begin(), view.dims.end(), [](const Parts& p) { return p.size() > 1; }))
    return std::nullopt;
  const Parts &b = view.dims[0], &h = view.dims[1], &t = view.dims[2], &d = view.dims[3];
  if (!d.empty() && d[0].stride != Dim(1)) return std::nullopt;
  if (!h.empty() && h[0].stride != dim) return std::nullopt;
  const Dims& base = e.dims(view.base);
  if (base.empty()) return std::nullopt;
  Rows rows{dims[0], dims[2], t.empty() ? base.back() : t[0].stride, width};
  if (!b.empty() && b[0].stride != dims[2] * rows.pitch) return std::nullopt;
  const auto pitch = rows.pitch.value(), offset = view.offset.value();
  if (!pitch || !offset || *offset < 0 || *offset + *width.value() > *pitch) return std::nullopt;
  if (product_of(base, 0, base.size()) != rows.batch * rows.length * rows.pitch)
    return std::nullopt;
  return rows;
}

}  // namespace

std::optional<StridedView> view_through(const Editor& e, ValueId id, size_t steps) {
  std::vector<const Node*> way;
  ValueId at = id;
  for (size_t i = 0; i < steps; i++) {
    const Node* node = e.producer(at);
    if (!is_view(node)) return std::nullopt;
    way.push_back(node);
    at = node->inputs[0];
  }
  if (e.constant(at)) return std::nullopt;
  StridedView view;
  view.base = at;
  const Dims& base = e.dims(at);
  for (size_t i = 0; i < base.size(); i++) {
    Parts one;
    append(one, {base[i], product_of(base, i + 1, base.size())});
    view.dims.push_back(one);
  }
  for (auto node = way.rbegin(); node != way.rend(); ++node) {
    const Dims& to = e.dims((*node)->outputs[0]);
    if ((*node)->op == op::Transpose) {
      std::vector<Parts> turned;
      for (const int64_t axis : (*node)->integers(attr::perm))
        turned.push_back(view.dims[size_t(axis)]);
      view.dims = std::move(turned);
    } else if ((*node)->op == op::Slice ? !slice(view, **node, to) : !reshape(view.dims, to)) {
      return std::nullopt;
    }
  }
  return view;
}

ValueId rows_of_heads(Editor& e, ValueId id, const Node& from) {
  constexpr size_t kFarthest = 8;
  const Dims dims = e.dims(id);
  for (size_t steps = 1; steps <= kFarthest; steps++) {
    const std::optional<StridedView> view = view_through(e, id, steps);
    if (!view) {
      if (steps == 1 || !is_view(e.producer(id))) break;
      continue;
    }
    const std::optional<Rows> rows = rows_of(e, *view, dims);
    if (!rows) continue;
    ValueId x = view->base;
    const Dims whole = {rows->batch, rows->length, rows->pitch};
    if (!same(e.dims(x), whole)) x = e.reshape(x, whole, from);
    if (rows->pitch == rows->width) return x;
    return e.emit(
        op::Slice, {x}, e.value(id).dtype, {rows->batch, rows->length, rows->width}, from,
        {{attr::starts, Dims{Dim(0), Dim(0), view->offset}}, {attr::steps, Integers(3, 1)}});
  }
  return id;
}

}  // namespace ingot::passes
