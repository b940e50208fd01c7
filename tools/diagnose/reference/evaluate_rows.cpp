// SPDX-License-Identifier: Apache-2.0
// Products, reductions, softmax and norms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/diagnose/reference/evaluator.h"

namespace ingot::reference {
namespace {

using graph::Node;

Tensor turned(const Tensor& x) {  // last two dimensions swapped
  size_t r = x.dims.size();
  Tensor y = x;
  std::swap(y.dims[r - 1], y.dims[r - 2]);
  int64_t m = x.dims[r - 2], n = x.dims[r - 1], batch = x.elements() / (m * n);
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++)
        y.at[size_t((b * n + j) * m + i)] = x.at[size_t((b * m + i) * n + j)];
  return y;
}

Tensor product(Tensor a, Tensor b) {
  bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  if (row) a.dims.insert(a.dims.begin(), 1);
  if (column) b.dims.push_back(1);
  int64_t m = a.dims[a.dims.size() - 2], k = a.dims.back(), n = b.dims.back();
  Dimensions batch_a(a.dims.begin(), a.dims.end() - 2), batch_b(b.dims.begin(), b.dims.end() - 2);
  Dimensions batch(std::max(batch_a.size(), batch_b.size()), 1);
  for (size_t i = 0; i < batch.size(); i++) {
    if (i >= batch.size() - batch_a.size())
      batch[i] = std::max(batch[i], batch_a[i - (batch.size() - batch_a.size())]);
    if (i >= batch.size() - batch_b.size())
      batch[i] = std::max(batch[i], batch_b[i - (batch.size() - batch_b.size())]);
  }
  auto start = [](const Dimensions& own, const Dimensions& at) {
    int64_t offset = 0;
    for (size_t i = 0; i < own.size(); i++)
      offset = offset * own[i] + (own[i] == 1 ? 0 : at[at.size() - own.size() + i]);
    return offset;
  };
  Tensor y{batch, {}};
  if (!row) y.dims.push_back(m);
  if (!column) y.dims.push_back(n);
  for_each_index(batch, [&](const Dimensions& at) {
    int64_t pa = start(batch_a, at) * m * k, pb = start(batch_b, at) * k * n;
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t c = 0; c < k; c++)
          sum += a.at[size_t(pa + i * k + c)] * b.at[size_t(pb + c * n + j)];
        y.at.push_back(sum);
      }
  });
  return y;
}

/// Of Linear, [O, K]; scales and zeros are [O, blocks].
Tensor weights_of(Evaluator& e, const Node& node) {
  Tensor w = e.in(node, 1);
  if (!e.has(node, 4)) return w;
  const Tensor& scales = e.in(node, 4);
  const int64_t k = w.dims[1], blocks = scales.dims[1], block = node.integer(attr::block, 0);
  for (size_t i = 0; i < w.at.size(); i++) {
    const int64_t o = int64_t(i) / k, column = int64_t(i) % k;
    const size_t at = size_t(o * blocks + (block ? column / block : 0));
    const double zero = e.has(node, 5) ? e.in(node, 5).at[at] : 0;
    w.at[i] = double(float((w.at[i] - zero) * scales.at[at]));
  }
  return w;
}

Tensor linear(Evaluator& e, const Node& node) {
  const Tensor &x = e.in(node, 0), w = weights_of(e, node);
  const Tensor *bias = e.has(node, 2) ? &e.in(node, 2) : nullptr,
               *residual = e.has(node, 3) ? &e.in(node, 3) : nullptr;
  const std::function<double(double)> f = activation_of(node);
  bool first = node.integer(attr::residual_first, 0) != 0;
  size_t k = size_t(w.dims[1]), outputs = size_t(w.dims[0]);
  Tensor y{x.dims, {}};
  y.dims.back() = int64_t(outputs);
  // w turned, so that all outputs of a row are summed side by side
  std::vector<double> columns(w.at.size());
  for (size_t o = 0; o < outputs; o++)
    for (size_t c = 0; c < k; c++) columns[c * outputs + o] = w.at[o * k + c];
  std::vector<double> sums(outputs, 0.0);
  for (size_t row = 0; k && row < x.at.size() / k; row++) {
    for (size_t o = 0; o < outputs; o++) sums[o] = bias ? bias->at[o] : 0;
    for (size_t c = 0; c < k; c++) {
      const double factor = x.at[row * k + c], *column = columns.data() + c * outputs;
      for (size_t o = 0; o < outputs; o++) sums[o] += factor * column[o];
    }
    for (double sum : sums) {
      double r = residual ? residual->at[y.at.size()] : 0, before = first ? sum + r : sum;
      y.at.push_back((f ? f(before) : before) + (first ? 0 : r));
    }
  }
  return y;
}

double reduced(const std::string& kind, const std::vector<double>& all) {
  double sum = 0, most = -INFINITY, least = INFINITY, prod = 1, absolute = 0, squares = 0, exps = 0;
  for (double x : all) {
    sum += x, prod *= x, absolute += std::fabs(x), squares += x * x, exps += std::exp(x);
    most = std::max(most, x), least = std::min(least, x);
  }
  if (kind == "sum") return sum;
  if (kind == "mean") return sum / double(all.size());
  if (kind == "max") return most;
  if (kind == "min") return least;
  if (kind == "prod") return prod;
  if (kind == "l1") return absolute;
  if (kind == "l2") return std::sqrt(squares);
  if (kind == "sum_square") return squares;
  if (kind == "log_sum") return std::log(sum);
  return std::log(exps);
}

// Elements of x gathered by what is left after dropping the dimensions in `mask`, in row-major
// order of what is left.
std::vector<std::vector<double>> grouped(const Tensor& x, int64_t mask, Dimensions& kept) {
  kept = x.dims;
  for (size_t i = 0; i < kept.size(); i++)
    if (mask >> i & 1) kept[i] = 1;
  std::vector<std::vector<double>> groups(size_t(Tensor{kept, {}}.elements()));
  size_t i = 0;
  for_each_index(x.dims, [&](Dimensions at) {
    for (size_t k = 0; k < at.size(); k++)
      if (mask >> k & 1) at[k] = 0;
    groups[size_t(offset_of(kept, at))].push_back(x.at[i++]);
  });
  return groups;
}

std::vector<Tensor> reduce(Evaluator& e, const Node& node) {
  static const std::map<graph::Operator, const char*> kinds = {
      {op::ReduceSum, "sum"},        {op::ReduceMean, "mean"},
      {op::ReduceMax, "max"},        {op::ReduceMin, "min"},
      {op::ReduceProd, "prod"},      {op::ReduceL1, "l1"},
      {op::ReduceL2, "l2"},          {op::ReduceSumSquare, "sum_square"},
      {op::ReduceLogSum, "log_sum"}, {op::ReduceLogSumExp, "log_sum_exp"}};
  int64_t mask = node.integer(attr::axes, 0);
  std::string kind = node.text(attr::kind, "sum");
  if (node.op != op::Reduce) {
    kind = kinds.at(node.op);
    for (int64_t axis : node.integers(attr::axes)) mask |= int64_t(1) << axis;
  }
  Tensor y;
  auto groups = grouped(e.in(node, 0), mask, y.dims);
  for (auto& group : groups) y.at.push_back(reduced(kind, group));
  if (node.op != op::Reduce && !node.integer(attr::keepdims, 1)) {
    Dimensions left;
    for (size_t i = 0; i < y.dims.size(); i++)
      if (!(mask >> i & 1)) left.push_back(y.dims[i]);
    y.dims = left;
  }
  return {y};
}

std::vector<Tensor> arg_reduce(Evaluator& e, const Node& node) {
  bool largest =
      node.op == op::ArgReduce ? node.integer(attr::largest, 1) != 0 : node.op == op::ArgMax;
  int64_t axis = node.integer(attr::axis, 0);
  bool last =
      node.integer(node.op == op::ArgReduce ? attr::select_last : attr::select_last_index, 0) != 0;
  Tensor y;
  auto groups = grouped(e.in(node, 0), int64_t(1) << axis, y.dims);
  for (auto& group : groups) {
    size_t best = 0;
    for (size_t i = 1; i < group.size(); i++) {
      double gain = largest ? group[i] - group[best] : group[best] - group[i];
      if (gain > 0 || (gain == 0 && last)) best = i;
    }
    y.at.push_back(double(best));
  }
  if (node.op != op::ArgReduce && !node.integer(attr::keepdims, 1))
    y.dims.erase(y.dims.begin() + axis);
  return {y};
}

std::vector<Tensor> softmax(Evaluator& e, const Node& node) {
  int64_t mask = int64_t(1) << node.integer(attr::axis, 0);
  Tensor y = e.in(node, 0);
  bool log = node.op == op::LogSoftmax || node.integer(attr::log, 0);
  Dimensions kept;
  auto groups = grouped(y, mask, kept);
  size_t i = 0;
  for_each_index(y.dims, [&](Dimensions at) {
    at[size_t(node.integer(attr::axis, 0))] = 0;
    const std::vector<double>& group = groups[size_t(offset_of(kept, at))];
    // Of a large finite number, as masks have it, every exponential would be zero.
    double sum = 0, top = group.empty() ? 0 : *std::max_element(group.begin(), group.end());
    if (!std::isfinite(top)) top = 0;
    for (double x : group) sum += std::exp(x - top);
    y.at[i] = log ? y.at[i] - top - std::log(sum) : std::exp(y.at[i] - top) / sum;
    i++;
  });
  return {y};
}

// Over the dimensions in `mask` (or those plus channels in groups): (x - mean) / sqrt(var +
// epsilon).
Tensor standardised(const Tensor& x, int64_t mask, double epsilon, bool centred) {
  Tensor y = x;
  Dimensions kept;
  auto groups = grouped(x, mask, kept);
  size_t i = 0;
  for_each_index(x.dims, [&](Dimensions at) {
    for (size_t k = 0; k < at.size(); k++)
      if (mask >> k & 1) at[k] = 0;
    const std::vector<double>& group = groups[size_t(offset_of(kept, at))];
    double mean = centred ? reduced("mean", group) : 0, variance = 0;
    for (double v : group) variance += (v - mean) * (v - mean) / double(group.size());
    y.at[i] = (y.at[i] - mean) / std::sqrt(variance + epsilon);
    i++;
  });
  return y;
}

// scale and bias: broadcast from the tail when `channel` is negative, else one number for each
// index of that dimension.
void scaled(Evaluator& e, const Node& node, Tensor& y, int64_t channel) {
  size_t i = 0;
  for_each_index(y.dims, [&](const Dimensions& at) {
    auto parameter = [&](size_t operand, double otherwise) {
      if (!e.has(node, operand)) return otherwise;
      const Tensor& p = e.in(node, operand);
      return channel < 0 ? broadcast_at(p, at) : p.at[size_t(at[size_t(channel)])];
    };
    y.at[i] = y.at[i] * parameter(1, 1) + parameter(2, 0);
    i++;
  });
}

std::vector<Tensor> norm(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  size_t r = x.dims.size();
  double epsilon = node.number(attr::epsilon, 1e-5);
  std::string kind = node.op == op::Normalize            ? node.text(attr::kind, "layer")
                     : node.op == op::LayerNormalization ? "layer"
                     : node.op == op::RMSNormalization   ? "rms"
                     : node.op == op::GroupNormalization ? "group"
                                                         : "instance";
  int64_t channel = node.op == op::Normalize ? int64_t(r) - 1 : 1, mask = 0;
  if (kind == "layer" || kind == "rms") {
    for (size_t i = size_t(node.integer(attr::axis, 0)); i < r; i++) mask |= int64_t(1) << i;
    Tensor y = standardised(x, mask, epsilon, kind == "layer");
    scaled(e, node, y, -1);
    return {y};
  }
  int64_t groups =
      kind == "instance"
          ? x.dims[size_t(channel)]
          : node.integer(node.op == op::Normalize ? attr::groups : attr::num_groups, 1);
  Tensor split = x;  // channels as [groups, channels / groups]
  split.dims[size_t(channel)] = groups;
  split.dims.insert(split.dims.begin() + channel + 1, x.dims[size_t(channel)] / groups);
  for (size_t i = 1; i < split.dims.size(); i++)
    if (int64_t(i) != channel) mask |= int64_t(1) << i;
  Tensor y = standardised(split, mask, epsilon, true);
  y.dims = x.dims;
  scaled(e, node, y, channel);
  return {y};
}

/// As runtime/op/fft.h has it, by the definition: the table is not read.
Tensor transform(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  const std::string kind = node.text(attr::kind, "forward");
  const int64_t n = node.integer(attr::length, 1), step = node.integer(attr::step, 0);
  const bool from_real = kind == "from_real", to_real = kind == "to_real";
  const bool inverse = to_real || kind == "inverse";
  Tensor y;
  e.declared(node, 0, y.dims);
  const int64_t m = x.dims.back(), b = y.dims.back(), rows = y.elements() / std::max<int64_t>(b, 1);
  const int64_t frames = step > 0 ? y.dims[y.dims.size() - 2] : 1, own = step > 0 ? n : m;
  const auto number = [&](int64_t row, int64_t j, int part) -> double {
    const int64_t start = row / frames * m + row % frames * step;
    if (from_real) {
      if (part == 1 || j >= own) return 0;
      return x.at[size_t(start + j)] * (e.has(node, 2) ? e.in(node, 2).at[size_t(j)] : 1);
    }
    const bool mirrored = to_real && j > n / 2;
    const int64_t at = mirrored ? n - j : j;
    if (2 * at + 1 >= own || (part == 1 && to_real && 2 * at % n == 0)) return 0;
    return x.at[size_t(start + 2 * at + part)] * (mirrored && part == 1 ? -1 : 1);
  };
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = 0; i < b; i++) {
      const int64_t k = to_real ? i : i / 2;
      double sum = 0;
      for (int64_t j = 0; j < n; j++) {
        const double angle = 6.283185307179586477 * double(j * k % n) / double(n);
        const double c = std::cos(angle), s = inverse ? std::sin(angle) : -std::sin(angle);
        sum += to_real || i % 2 == 0 ? number(row, j, 0) * c - number(row, j, 1) * s
                                     : number(row, j, 0) * s + number(row, j, 1) * c;
      }
      y.at.push_back(inverse ? sum / double(n) : sum);
    }
  return y;
}

}  // namespace

std::vector<Tensor> evaluate_rows(Evaluator& e, const Node& node) {
  if (node.op == op::Linear) return {linear(e, node)};
  if (node.op == op::Fft) return {transform(e, node)};
  if (node.op == op::MatMul || node.op == op::Gemm) {
    bool gemm = node.op == op::Gemm;
    Tensor a = e.in(node, 0), b = e.in(node, 1);
    if (node.integer(gemm ? attr::transA : attr::trans_a, 0)) a = turned(a);
    if (node.integer(gemm ? attr::transB : attr::trans_b, 0)) b = turned(b);
    Tensor y = product(a, b);
    for (double& v : y.at) v *= node.number(attr::alpha, 1);
    size_t i = 0;
    if (gemm && e.has(node, 2))
      for_each_index(y.dims, [&](const Dimensions& at) {
        y.at[i++] += node.number(attr::beta, 1) * broadcast_at(e.in(node, 2), at);
      });
    return {y};
  }
  if (node.op == op::Reduce || graph::kReductions.has(node.op)) return reduce(e, node);
  if (node.op == op::ArgReduce || node.op == op::ArgMax || node.op == op::ArgMin)
    return arg_reduce(e, node);
  if (node.op == op::Softmax || node.op == op::LogSoftmax) return softmax(e, node);
  if (node.op == op::BatchNormalization) {
    Tensor y = e.in(node, 0);
    size_t i = 0;
    for_each_index(y.dims, [&](const Dimensions& at) {
      size_t c = size_t(at.size() > 1 ? at[1] : 0);
      y.at[i] = (y.at[i] - e.in(node, 3).at[c]) /
                    std::sqrt(e.in(node, 4).at[c] + node.number(attr::epsilon, 1e-5)) *
                    e.in(node, 1).at[c] +
                e.in(node, 2).at[c];
      i++;
    });
    return {y};
  }
  bool is_norm = node.op == op::Normalize || node.op == op::LayerNormalization ||
                 node.op == op::RMSNormalization || node.op == op::GroupNormalization ||
                 node.op == op::InstanceNormalization;
  return is_norm ? norm(e, node) : std::vector<Tensor>{};
}

}  // namespace ingot::reference
