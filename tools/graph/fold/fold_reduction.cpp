// SPDX-License-Identifier: Apache-2.0
// tools/graph/fold/fold_reduction.cpp - reductions, running sums, arg-reductions and products of
// constant matrices.
#include <cmath>

#include "tools/graph/fold/fold_arithmetic.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Ints = std::vector<int64_t>;

/// For each input element the output element that it adds to.
Ints targets(const Ints& in, const Ints& axes) {
  Ints kept = in;
  for (const int64_t a : axes) kept[size_t(a)] = 1;
  const Ints strides = strides_of(kept);
  Ints out(static_cast<size_t>(count_of(in)));
  Ints index(in.size(), 0);
  for (int64_t& target : out) {
    target = 0;
    for (size_t d = 0; d < in.size(); d++) target += (kept[d] == 1 ? 0 : index[d]) * strides[d];
    for (size_t d = in.size(); d-- > 0;) {
      if (++index[d] < in[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

std::optional<Constant> reduce(const Node& node, const Constant& x, DType dtype, const Ints& dims) {
  const Operator kind = node.op;
  const bool extreme = kind == op::ReduceMax || kind == op::ReduceMin;
  if (kind == op::ReduceLogSum || kind == op::ReduceLogSumExp || x.dtype == DType::kU64)
    return std::nullopt;
  const Ints to = targets(x.dims, node.integers(attr::axes));
  const size_t count = size_t(count_of(dims));
  if (extreme && to.size() < count) return std::nullopt;
  const double per_output = count ? double(to.size()) / double(count) : 0;
  if (!is_floating(x.dtype) && kind != op::ReduceSum && kind != op::ReduceProd && !extreme)
    return std::nullopt;
  if (!is_floating(x.dtype)) {
    const Ints values = read_integers(x);
    Ints out(count, kind == op::ReduceProd  ? 1
                    : kind == op::ReduceMax ? INT64_MIN
                    : kind == op::ReduceMin ? INT64_MAX
                                            : 0);
    for (size_t i = 0; i < values.size(); i++) {
      int64_t& y = out[size_t(to[i])];
      const int64_t v = values[i];
      if (kind == op::ReduceSum)
        y = int64_t(uint64_t(y) + uint64_t(v));
      else if (kind == op::ReduceProd)
        y = int64_t(uint64_t(y) * uint64_t(v));
      else
        y = kind == op::ReduceMax ? std::max(y, v) : std::min(y, v);
    }
    return make_integer(dtype, dims, out);
  }
  const std::vector<double> values = read_numbers(x);
  std::vector<double> out(count, kind == op::ReduceProd  ? 1.0
                                 : kind == op::ReduceMax ? -INFINITY
                                 : kind == op::ReduceMin ? INFINITY
                                                         : 0.0);
  for (size_t i = 0; i < values.size(); i++) {
    double& y = out[size_t(to[i])];
    const double v = values[i];
    if (kind == op::ReduceSum || kind == op::ReduceMean)
      y += v;
    else if (kind == op::ReduceProd)
      y *= v;
    else if (kind == op::ReduceMax)
      y = v > y || std::isnan(v) ? v : y;
    else if (kind == op::ReduceMin)
      y = v < y || std::isnan(v) ? v : y;
    else if (kind == op::ReduceL1)
      y += std::abs(v);
    else
      y += v * v;  // L2, SumSquare
  }
  for (double& y : out) {
    if (kind == op::ReduceMean) y /= per_output;
    if (kind == op::ReduceL2) y = std::sqrt(y);
  }
  return make_floating(dtype, dims, out);
}

std::optional<Constant> cum_sum(const Node& node, const Constant& x, DType dtype,
                                const Ints& dims) {
  const size_t axis = size_t(node.integer(attr::axis, 0));
  const bool exclusive = node.integer(attr::exclusive, 0) != 0,
             reverse = node.integer(attr::reverse, 0) != 0;
  const int64_t extent = dims[axis], stride = strides_of(dims)[axis];
  const bool real = is_floating(dtype);
  std::vector<double> numbers = real ? read_numbers(x) : std::vector<double>();
  Ints integers = real ? Ints() : read_integers(x);
  for (int64_t start = 0; start < count_of(dims); start++) {
    if (start / stride % extent != 0) continue;
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < extent; k++) {
      const size_t at = size_t(start + (reverse ? extent - 1 - k : k) * stride);
      const double v = real ? numbers[at] : 0;
      const uint64_t w = real ? 0 : uint64_t(integers[at]);
      if (real)
        numbers[at] = exclusive ? sum : sum + v;
      else
        integers[at] = int64_t(exclusive ? whole : whole + w);
      sum += v;
      whole += w;
    }
  }
  return real ? make_floating(dtype, dims, numbers) : make_integer(dtype, dims, integers);
}

std::optional<Constant> mat_mul(const Constant& a, const Constant& b, DType dtype,
                                const Ints& dims) {
  if (!is_floating(dtype) || a.dims.size() < 2 || b.dims.size() != 2) return std::nullopt;
  const int64_t k = b.dims[0], n = b.dims[1], rows = count_of(dims) / std::max<int64_t>(n, 1);
  if (n == 0 || a.elements() != rows * k || rows * n * std::max<int64_t>(k, 1) > (int64_t(1) << 28))
    return std::nullopt;
  const std::vector<double> x = read_numbers(a), y = read_numbers(b);
  std::vector<double> out(static_cast<size_t>(rows * n));
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t p = 0; p < k; p++) {
      const double left = x[size_t(i * k + p)];
      for (int64_t j = 0; j < n; j++) out[size_t(i * n + j)] += left * y[size_t(p * n + j)];
    }
  }
  return make_floating(dtype, dims, out);
}

}  // namespace

std::optional<Constant> fold_reduction(const Node& node, const std::vector<const Constant*>& inputs,
                                       DType dtype, const Ints& dims) {
  if (kReductions.has(node.op) && inputs.size() == 1 && inputs[0])
    return reduce(node, *inputs[0], dtype, dims);
  if (node.op == op::CumSum && inputs[0]) return cum_sum(node, *inputs[0], dtype, dims);
  if (node.op == op::MatMul && inputs.size() == 2 && inputs[0] && inputs[1])
    return mat_mul(*inputs[0], *inputs[1], dtype, dims);
  return std::nullopt;
}

std::optional<Constant> fold_arithmetic(const Node& node,
                                        const std::vector<const Constant*>& inputs, DType dtype,
                                        const Ints& dims) {
  if (!inputs[0]) return std::nullopt;
  if (auto reduced = fold_reduction(node, inputs, dtype, dims)) return reduced;
  return fold_elementwise(node, inputs, dtype, dims);
}

}  // namespace ingot::graph
