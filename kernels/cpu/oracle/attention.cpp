// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/attention.cpp - y = softmax(scale q k' + mask) v, one row of scores at a time.
#include "runtime/op/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "runtime/op/attention_blocks.h"

namespace ingot::cpu::oracle {
namespace {

using attention::Heads;

/// What is added to the score of one key; `hidden` where it is not seen.
double mask_at(const TensorView* mask, double hidden, int64_t b, int64_t h, int64_t i, int64_t j) {
  if (!mask) return 0;
  const int64_t full[4] = {b, h, i, j};
  int64_t at[4] = {};
  for (int d = 0; d < mask->rank; d++) at[d] = mask->dims[d] == 1 ? 0 : full[4 - mask->rank + d];
  const double x = read(*mask, offset_of(*mask, at));
  if (mask->dtype == DType::kBool) return x != 0 ? 0.0 : hidden;
  return x;
}

/// Element d of the head of `dim` that begins at `at`.
double element(const TensorView& t, int64_t dim, int64_t at, int64_t d) {
  if (t.dtype != DType::kU8) return read(t, at + d);
  const uint8_t* const row = t.as<const uint8_t>() + at;
  float scale;
  std::memcpy(&scale, row + dim + d / attention::kScaledUnit * 4, 4);
  return double(float(int8_t(row[d])) * scale);
}

struct Row {
  const OpArguments& g;
  Heads q, k, v, y;
  int64_t b, h, i, keys;  // keys that this query sees
  int64_t kb;             // batch of k and v

  double score(int64_t j) const {
    const AttentionAttributes& t = g.as<AttentionAttributes>();
    const double hidden =
        t.empty_rows == EmptyRows::kMean ? -double(std::numeric_limits<float>::max()) : -INFINITY;
    const double bias = mask_at(g.optional(3), hidden, b, h, i, j);
    if (bias == hidden) return bias;
    const float* pq = g.inputs[0].as<const float>() + q.at(b, h, i);
    const int64_t key = k.at(kb, h / (t.heads / t.kv_heads), j);
    double sum = 0;
    for (int64_t d = 0; d < q.dim; d++) sum += double(pq[d]) * element(g.inputs[1], k.dim, key, d);
    sum *= double(t.scale);
    if (t.softcap > 0) sum = double(t.softcap) * std::tanh(sum / double(t.softcap));
    // As an f32, which the masks of networks count on: where -1e9 hides every key of a row, all
    // scores are the same.
    return double(float(sum + bias));
  }

  void run() const {
    const AttentionAttributes& t = g.as<AttentionAttributes>();
    float* to = g.outputs[0].as<float>() + y.at(b, h, i);
    double top = -double(std::numeric_limits<float>::max()), sum = 0;
    for (int64_t j = 0; j < keys; j++) top = std::fmax(top, score(j));
    if (const TensorView* sinks = g.optional(attention::kSinks)) {
      const double sink = std::min(read(*sinks, h), double(std::numeric_limits<float>::max()));
      top = std::fmax(top, sink), sum = std::exp(sink - top);
    }
    for (int64_t j = 0; j < keys; j++) sum += std::exp(score(j) - top);
    const bool is_nan = t.empty_rows == EmptyRows::kNan && k.length > 0;
    constexpr int64_t kColumns = 64;  // as many at once, or each repeated all scores
    for (int64_t first = 0; first < v.dim; first += kColumns) {
      const int64_t columns = std::min(kColumns, v.dim - first);
      double all[kColumns] = {};
      for (int64_t j = 0; j < keys; j++) {
        const double weight = std::exp(score(j) - top);
        const int64_t value = v.at(kb, h / (t.heads / t.kv_heads), j);
        for (int64_t d = 0; d < columns; d++)
          all[d] += weight * element(g.inputs[2], v.dim, value, first + d);
      }
      for (int64_t d = 0; d < columns; d++)
        to[first + d] = sum != 0 ? float(all[d] / sum) : is_nan ? NAN : 0.0f;
    }
  }
};

}  // namespace

Status attention(const OpArguments& g, const Team& team) {
  if (team.id != 0) return {};
  const AttentionAttributes& t = g.as<AttentionAttributes>();
  Row row{g,
          attention::heads_of(g.inputs[0], t.heads),
          attention::heads_of(g.inputs[1], t.kv_heads),
          attention::heads_of(g.inputs[2], t.kv_heads),
          attention::heads_of(g.outputs[0], t.heads),
          0,
          0,
          0,
          0,
          0};
  for (row.b = 0; row.b < row.q.batch; row.b++) {
    int64_t count = row.k.length;
    if (const TensorView* counts = g.optional(4)) {
      count = read_integer(*counts, counts->elements() > 1 ? row.b : 0);
      if (count < 0 || count > row.k.length) return Code::kBadIndexValue;
    }
    row.kb = row.b;
    if (const TensorView* batches = g.optional(5)) {
      row.kb = read_integer(*batches, row.b);
      if (row.kb < 0 || row.kb >= row.k.batch) return Code::kBadIndexValue;
    }
    for (row.h = 0; row.h < int64_t(t.heads); row.h++)
      for (row.i = 0; row.i < row.q.length; row.i++) {
        row.keys = count;
        if (t.causal == CausalMask::kTopLeft) row.keys = row.i + 1;
        if (t.causal == CausalMask::kBottomRight) row.keys = row.i + 1 + count - row.q.length;
        row.keys = row.keys < 0 ? 0 : row.keys > count ? count : row.keys;
        row.run();
      }
  }
  return {};
}

}  // namespace ingot::cpu::oracle
