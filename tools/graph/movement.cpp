// SPDX-License-Identifier: Apache-2.0
// tools/graph/movement.cpp - where each element of an output comes from.
#include "tools/graph/movement.h"

#include <algorithm>

#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Ints = std::vector<int64_t>;
using Sources = std::optional<Ints>;

/// Calls f(index, position) for every element in row-major order.
template <class F>
void for_each_index(const Ints& dims, const F& f) {
  Ints index(dims.size(), 0);
  const int64_t count = count_of(dims);
  for (int64_t position = 0; position < count; position++) {
    f(index, position);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}
Ints iota(int64_t count) {
  Ints out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); i++) out[i] = int64_t(i);
  return out;
}

/// Each output index to an input index by f(axis of the input, output index); kFill where it gives
/// a negative number.
template <class F>
Ints mapped(const Ints& in, const Ints& out, const F& f) {
  const Ints strides = strides_of(in);
  Ints sources;
  sources.reserve(size_t(count_of(out)));
  for_each_index(out, [&](const Ints& index, int64_t) {
    int64_t at = 0;
    for (size_t axis = 0; axis < in.size() && at >= 0; axis++) {
      const int64_t i = f(axis, index);
      at = i < 0 ? kFill : at + i * strides[axis];
    }
    sources.push_back(at);
  });
  return sources;
}

Sources transpose(const Node& node, const Ints& in, const Ints& out) {
  const Ints perm = node.integers(attr::perm);
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); i++) inverse[size_t(perm[i])] = int64_t(i);
  return mapped(in, out,
                [&](size_t axis, const Ints& index) { return index[size_t(inverse[axis])]; });
}
Sources repeat(const Ints& in, const Ints& out) {  // Expand and Tile: from the last dimension
  const size_t lead = out.size() - in.size();
  return mapped(in, out, [&](size_t axis, const Ints& index) {
    return in[axis] == 0 ? int64_t(kFill) : index[axis + lead] % in[axis];
  });
}
Sources concat(const Node& node, const std::vector<Ints>& in, const Ints& out) {
  const size_t axis = size_t(node.integer(attr::axis, 0));
  std::vector<Ints> strides;
  Ints offsets;
  int64_t offset = 0;
  for (const Ints& dims : in) {
    strides.push_back(strides_of(dims));
    offsets.push_back(offset);
    offset += count_of(dims);
  }
  Ints sources;
  for_each_index(out, [&](const Ints& index, int64_t) {
    int64_t at = index[axis];
    size_t part = 0;
    while (at >= in[part][axis]) at -= in[part++][axis];
    int64_t source = offsets[part];
    for (size_t d = 0; d < index.size(); d++)
      source += (d == axis ? at : index[d]) * strides[part][d];
    sources.push_back(source);
  });
  return sources;
}
Sources split(const Node& node, size_t output, const Ints& in, const Ints& out,
              const std::vector<Ints>& all) {
  const size_t axis = size_t(node.integer(attr::axis, 0));
  int64_t start = 0;
  for (size_t i = 0; i < output; i++) {
    if (all[i].size() != in.size()) return std::nullopt;
    start += all[i][axis];
  }
  return mapped(in, out,
                [&](size_t d, const Ints& index) { return index[d] + (d == axis ? start : 0); });
}
Sources slice(const Node& node, const Ints& in, const Ints& out) {
  const Dims starts = node.dims(attr::starts);
  const Ints steps = node.integers(attr::steps);
  if (starts.size() != in.size() || steps.size() != in.size()) return std::nullopt;
  Ints first;
  for (const Dim& d : starts) {
    if (!d.is_static()) return std::nullopt;
    first.push_back(*d.value());
  }
  return mapped(in, out,
                [&](size_t d, const Ints& index) { return first[d] + index[d] * steps[d]; });
}
Sources pad(const Node& node, const Ints& in, const Ints& out) {
  const Dims before = node.dims(attr::before);
  const std::string mode = node.text(attr::mode, "constant");
  Ints shift;
  for (const Dim& d : before) {
    if (!d.is_static()) return std::nullopt;
    shift.push_back(*d.value());
  }
  return mapped(in, out, [&](size_t d, const Ints& index) -> int64_t {
    int64_t i = index[d] - shift[d];
    const int64_t n = in[d];
    if (i >= 0 && i < n) return i;
    if (mode == "constant" || n == 0) return kFill;
    if (mode == "edge") return i < 0 ? 0 : n - 1;
    if (mode == "wrap") return ((i % n) + n) % n;
    const int64_t period = std::max<int64_t>(2 * (n - 1), 1);
    i = ((i % period) + period) % period;
    return i < n ? i : period - i;
  });
}

std::optional<int64_t> wrapped(int64_t index, int64_t extent) {
  if (index < 0) index += extent;
  if (index < 0 || index >= extent) return std::nullopt;
  return index;
}
Sources gather(const Node& node, const Ints& in, const Ints& index_dims, const Ints& out,
               const Ints& indices) {
  const size_t axis = size_t(node.integer(attr::axis, 0));
  for (const int64_t i : indices) {
    if (!wrapped(i, in[axis])) return std::nullopt;
  }
  const Ints strides = strides_of(index_dims);
  return mapped(in, out, [&](size_t d, const Ints& index) {
    if (d < axis) return index[d];
    if (d > axis) return index[d + index_dims.size() - 1];
    int64_t at = 0;
    for (size_t i = 0; i < index_dims.size(); i++) at += index[axis + i] * strides[i];
    return *wrapped(indices[size_t(at)], in[axis]);
  });
}
Sources gather_elements(const Node& node, const Ints& in, const Ints& out, const Ints& indices) {
  const size_t axis = size_t(node.integer(attr::axis, 0));
  const Ints strides = strides_of(in);
  Ints sources;
  bool good = true;
  for_each_index(out, [&](const Ints& index, int64_t position) {
    int64_t at = 0;
    for (size_t d = 0; d < in.size(); d++) {
      int64_t i = index[d];
      if (d == axis) i = wrapped(indices[size_t(position)], in[d]).value_or(in[d]);
      good = good && i < in[d];
      at += i * strides[d];
    }
    sources.push_back(at);
  });
  return good ? Sources(sources) : std::nullopt;
}
Sources gather_nd(const Node& node, const Ints& in, const Ints& index_dims, const Ints& indices) {
  const size_t batch = size_t(node.integer(attr::batch_dims, 0)), depth = size_t(index_dims.back());
  const Ints strides = strides_of(in);
  const int64_t tuples = count_of(index_dims) / std::max<int64_t>(int64_t(depth), 1);
  int64_t batches = 1;
  for (size_t d = 0; d < batch; d++) {
    if (in[d] != index_dims[d]) return std::nullopt;
    batches *= in[d];
  }
  const int64_t slab = count_of(Ints(in.begin() + int64_t(batch + depth), in.end()));
  const int64_t batch_stride = count_of(Ints(in.begin() + int64_t(batch), in.end()));
  Ints sources;
  for (int64_t t = 0; t < tuples; t++) {
    int64_t at = batches > 0 ? t / std::max<int64_t>(tuples / batches, 1) * batch_stride : 0;
    for (size_t k = 0; k < depth; k++) {
      const auto i = wrapped(indices[size_t(t) * depth + k], in[batch + k]);
      if (!i) return std::nullopt;
      at += *i * strides[batch + k];
    }
    for (int64_t s = 0; s < slab; s++) sources.push_back(at + s);
  }
  return sources;
}
Sources scatter_nd(const Node& node, const Ints& in, const Ints& index_dims, const Ints& indices) {
  if (node.text(attr::reduction, "none") != "none") return std::nullopt;
  const size_t depth = size_t(index_dims.back());
  if (depth < 1 || depth > in.size()) return std::nullopt;
  const Ints strides = strides_of(in);
  const int64_t slab = count_of(Ints(in.begin() + int64_t(depth), in.end())),
                tuples = count_of(index_dims) / int64_t(depth);
  Ints sources = iota(count_of(in));
  const int64_t updates = count_of(in);  // position of the first update
  for (int64_t t = 0; t < tuples; t++) {
    int64_t at = 0;
    for (size_t k = 0; k < depth; k++) {
      const auto i = wrapped(indices[size_t(t) * depth + k], in[k]);
      if (!i) return std::nullopt;
      at += *i * strides[k];
    }
    for (int64_t s = 0; s < slab; s++) sources[size_t(at + s)] = updates + t * slab + s;
  }
  return sources;
}
Sources scatter_elements(const Node& node, const Ints& in, const Ints& index_dims,
                         const Ints& indices) {
  if (node.text(attr::reduction, "none") != "none") return std::nullopt;
  const size_t axis = size_t(node.integer(attr::axis, 0));
  const Ints strides = strides_of(in);
  Ints sources = iota(count_of(in));
  bool good = true;
  for_each_index(index_dims, [&](const Ints& index, int64_t position) {
    int64_t at = 0;
    for (size_t d = 0; d < in.size(); d++) {
      const auto i = wrapped(d == axis ? indices[size_t(position)] : index[d], in[d]);
      good = good && i.has_value();
      at += i.value_or(0) * strides[d];
    }
    if (good) sources[size_t(at)] = count_of(in) + position;
  });
  return good ? Sources(sources) : std::nullopt;
}

}  // namespace

bool takes_indices(const Node& node) {
  return node.op == op::Gather || node.op == op::GatherElements || node.op == op::GatherND ||
         node.op == op::ScatterElements || node.op == op::ScatterND;
}

bool moves_numbers(const Node& node, size_t rank) {
  if (node.op == op::Resize) return node.text(attr::mode, "nearest") == "nearest";
  if (node.op == op::MaxPool)
    return (rank == 3 || rank == 4) && (node.outputs.size() == 1 || node.outputs[1] == kAbsent);
  return node.op == op::Gather ||
         (class_of(node.op) == OperatorClass::kMovement && node.op != op::Concat);
}

Sources movement_sources(const Node& node, size_t output, const std::vector<Ints>& dims,
                         const Ints& out, const Ints& indices,
                         const std::vector<Ints>& all_outputs) {
  const Ints& in = dims[0];
  const Operator op = node.op;
  if (op == op::Identity || op == op::Reshape)
    return count_of(in) == count_of(out) ? Sources(iota(count_of(out))) : std::nullopt;
  if (op == op::Transpose) return transpose(node, in, out);
  if (op == op::Expand || op == op::Tile) return repeat(in, out);
  if (op == op::Concat) return concat(node, dims, out);
  if (op == op::Split) return split(node, output, in, out, all_outputs);
  if (op == op::Slice) return slice(node, in, out);
  if (op == op::Pad) return pad(node, in, out);
  if (!takes_indices(node) || dims.size() < 2 || int64_t(indices.size()) != count_of(dims[1]))
    return std::nullopt;
  if (op == op::Gather) return gather(node, in, dims[1], out, indices);
  if (op == op::GatherElements) return gather_elements(node, in, out, indices);
  if (op == op::GatherND) return gather_nd(node, in, dims[1], indices);
  if (dims.size() < 3 || count_of(dims[1]) == 0) return std::nullopt;
  // Updates must be as many as the indices say.
  if (op == op::ScatterND) {
    const int64_t depth = dims[1].back();
    if (depth < 1 || depth > int64_t(in.size())) return std::nullopt;
    if (count_of(dims[2]) !=
        count_of(dims[1]) / depth * count_of(Ints(in.begin() + depth, in.end())))
      return std::nullopt;
    return scatter_nd(node, in, dims[1], indices);
  }
  return dims[2] == dims[1] ? scatter_elements(node, in, dims[1], indices) : std::nullopt;
}

}  // namespace ingot::graph
