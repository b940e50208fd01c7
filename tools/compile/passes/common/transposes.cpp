// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/common/transposes.h"

#include <algorithm>

namespace ingot::passes {
namespace {

bool is_unit(const Dim& d) { return d.value() && *d.value() == 1; }

// y[i0, i1) and z[j0, j1), positions among the dimensions that are not 1, have the same number of
// elements.
struct Group {
  size_t i0, i1, j0, j1;
};

std::optional<std::vector<Group>> matched(const Dims& y, const Dims& z) {
  std::vector<Group> groups;
  size_t i0 = 0, j0 = 0;
  while (i0 < y.size() || j0 < z.size()) {
    std::optional<Group> found;
    for (size_t total = 2; !found && total <= y.size() - i0 + z.size() - j0; total++)
      for (size_t i = 1; !found && i < total && i0 + i <= y.size(); i++) {
        size_t j = total - i;
        if (j0 + j > z.size()) continue;
        Dims left(y.begin() + long(i0), y.begin() + long(i0 + i)),
            right(z.begin() + long(j0), z.begin() + long(j0 + j));
        if (elements(left) == elements(right)) found = Group{i0, i0 + i, j0, j0 + j};
      }
    if (!found) return std::nullopt;
    groups.push_back(*found);
    i0 = found->i1;
    j0 = found->j1;
  }
  return groups;
}

std::vector<size_t> not_units(const Dims& dims) {
  std::vector<size_t> result;
  for (size_t i = 0; i < dims.size(); i++)
    if (!is_unit(dims[i])) result.push_back(i);
  return result;
}

Dims chosen(const Dims& dims, const std::vector<size_t>& at) {
  Dims result;
  for (size_t i : at) result.push_back(dims[i]);
  return result;
}

}  // namespace

Integers compose(const Integers& first, const Integers& second) {
  Integers result;
  for (int64_t p : second) result.push_back(first[size_t(p)]);
  return result;
}

bool is_view(const Node* node) {
  return node && (node->op == op::Reshape || node->op == op::Transpose || node->op == op::Slice);
}

bool moves_only_units(const Dims& dims, const Integers& perm) {
  int64_t last = -1;
  for (int64_t p : perm) {
    if (is_unit(dims[size_t(p)])) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

std::optional<Commuted> reshape_first(const Dims& x, const Integers& perm, const Dims& to) {
  Dims y = permuted(x, perm);
  std::vector<size_t> y_at = not_units(y), z_at = not_units(to), x_at = not_units(x);
  auto groups = matched(chosen(y, y_at), chosen(to, z_at));
  if (!groups || groups->empty()) return std::nullopt;
  // Where each y dimension lies among x's that are not 1; a group must lie there in one run, in
  // order.
  auto place = [&](size_t i) {
    return size_t(std::find(x_at.begin(), x_at.end(), size_t(perm[y_at[i]])) - x_at.begin());
  };
  for (const Group& g : *groups)
    for (size_t i = g.i0 + 1; i < g.i1; i++)
      if (place(i) != place(i - 1) + 1) return std::nullopt;
  std::vector<size_t> order(groups->size());
  for (size_t g = 0; g < order.size(); g++) order[g] = g;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return place((*groups)[a].i0) < place((*groups)[b].i0); });
  // Dimensions of 1 at the front of `to` stay at the front, later ones with the group before them.
  Commuted result;
  result.perm.resize(to.size());
  auto keep = [&](size_t from, size_t until) {
    for (size_t k = from; k < until; k++) {
      result.perm[k] = int64_t(result.dims.size());
      result.dims.push_back(to[k]);
    }
  };
  keep(0, z_at[(*groups)[0].j0]);
  for (size_t g : order)
    keep(z_at[(*groups)[g].j0], g + 1 == groups->size() ? to.size() : z_at[(*groups)[g + 1].j0]);
  return result;
}

uint32_t push_transposes_down(Editor& e) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Reshape) continue;
    Node* moved = e.producer_if(node->inputs[0], op::Transpose);
    if (!moved || !e.read_once(node->inputs[0])) continue;
    ValueId x = moved->inputs[0], out = node->outputs[0];
    auto swapped = reshape_first(e.dims(x), moved->integers(attr::perm), e.dims(out));
    if (!swapped) continue;
    e.kill(*node);
    e.kill(*moved);
    e.merge_sources(*node, *moved);
    ValueId inner = e.reshape(x, swapped->dims, *node);
    e.add(op::Transpose, {inner}, {out}, *node, {{attr::perm, swapped->perm}});
    changed++;
  }
  return changed;
}

uint32_t pull_transposes_up(Editor& e, bool always) {
  uint32_t changed = 0;
  std::vector<Node*> all = e.nodes();
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    Node* node = *at;
    if (node->dead || node->op != op::Transpose) continue;
    Node* shaped = e.producer_if(node->inputs[0], op::Reshape);
    if (!shaped || !e.read_once(node->inputs[0])) continue;
    ValueId x = shaped->inputs[0], out = node->outputs[0];
    if (!always && !(e.producer_if(x, op::Transpose) && e.read_once(x))) continue;
    auto swapped = reshape_first(e.dims(out), inverse(node->integers(attr::perm)), e.dims(x));
    if (!swapped) continue;
    e.kill(*node);
    e.kill(*shaped);
    e.merge_sources(*node, *shaped);
    ValueId turned = e.transpose(x, inverse(swapped->perm), *node);
    e.add(op::Reshape, {turned}, {out}, *node);
    changed++;
  }
  return changed;
}

uint32_t drop_unit_transposes(Editor& e) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->op != op::Transpose ||
        !moves_only_units(e.dims(node->inputs[0]), node->integers(attr::perm)))
      continue;
    node->op = op::Reshape;
    node->attributes.clear();
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
