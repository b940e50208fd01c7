// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/recurrences.h - layers that keep a state of each head in place of keys and
// values: Mamba, Mamba-2, and the gated delta net. All convolve what they read along the tokens,
// and multiply what they read from the state by a gate.
//
//   Mamba      a head is a column of x: S = exp(dt * A) * S + B * (dt * x), A and S of each column
//              [keys]; y = (C^T S + D * x) * silu(z); dt, B and C are products of x
//   Mamba-2    S = exp(dt * A) * S + B (x) (dt * x); y = C^T S + D * x; rms(y * silu(z)), of some
//              models rms(y) * silu(z)
//   delta net  S = exp(A * softplus(a)) * S; S = S + k (x) (sigmoid(b) * (v - k^T S)); y = q^T S;
//              rms(y) * silu(z); q and k of length 1, and q divided by the root of its width
#pragma once
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "tools/files/work_budget.h"
#include "tools/import/decoder/convolutions.h"

namespace ingot::decoder {

class Recurrences : protected Convolutions {
 public:
  using Convolutions::Convolutions;

 protected:
  /// [T, heads * value width], in front of the last product.
  ValueId recurrence(ValueId x, int64_t i) {
    if (row_.mixer == Mixer::kMamba) return mamba(x, i);
    return row_.mixer == Mixer::kMamba2 ? mamba2(x, i) : delta_net(x, i);
  }
  ValueId recurrence_out(ValueId x, int64_t i) {
    return product(x, weights_.matrix(Role::kRecurrenceOut, i, n_.width, r().values()),
                   weights_.bias(Role::kRecurrenceOut, i, n_.width, r().has_bias));
  }

  ValueId of_heads(ValueId x, int64_t heads, int64_t width) {
    return b_.reshape(x, {b_.dims(x)[0], Dim(heads), Dim(width)});
  }
  ValueId in_rows(ValueId x, int64_t width) { return b_.reshape(x, {b_.dims(x)[0], Dim(width)}); }
  ValueId silu(ValueId x) { return b_.emit(op::Swish, {x}, {{attr::alpha, 1.0}}); }
  ValueId rms(ValueId x, ValueId scale, double epsilon) {
    return b_.emit(op::RMSNormalization, {x, scale},
                   {{attr::axis, int64_t(-1)}, {attr::epsilon, epsilon}});
  }

 private:
  const RecurrenceNumbers& r() const { return n_.recurrence; }
  ValueId columns(ValueId x, int64_t begin, int64_t count) {
    return b_.slice(x, 1, Dim(begin), Dim(begin + count));
  }
  struct Read {
    ValueId q, k, v, decay, beta = kAbsent;
  };
  /// What the state gives, which is kept: [T, heads * value width].
  ValueId recur(const Read& in, int64_t i) {
    const Places& at = places();
    const ValueId before = rows_of("states." + std::to_string(i), r().state());
    std::vector<ValueId> operands = {in.q, in.k, in.v, before, at.from, at.to, in.decay};
    if (in.beta != kAbsent) operands.push_back(in.beta);
    const std::vector<ValueId> made = b_.emit_many(op::LinearRecurrence, std::move(operands),
                                                   {{attr::heads, r().heads},
                                                    {attr::key_heads, r().key_heads},
                                                    {attr::query_heads, r().key_heads}},
                                                   2);
    keep(before, made[0]);
    return made[1];
  }

  ValueId mamba(ValueId x, int64_t i) {
    const int64_t inner = r().heads, keys = r().key_width, rank = r().step_rank;
    const ValueId in = product(x, weights_.matrix(Role::kRecurrenceIn, i, 2 * inner, n_.width),
                               weights_.bias(Role::kRecurrenceIn, i, 2 * inner, r().has_bias)),
                  gate = silu(columns(in, inner, inner)),
                  read = silu(convolved(columns(in, 0, inner), Role::kRecurrenceTaps, i, inner));
    const ValueId parts =
        product(read, weights_.matrix(Role::kStepIn, i, rank + 2 * keys, inner), kAbsent);
    const auto part = [&](Role of_norm, int64_t begin, int64_t width) {
      const ValueId own = columns(parts, begin, width);
      const double epsilon = r().part_epsilon != 0 ? r().part_epsilon : n_.epsilon;
      if (!r().norms_parts) return own;
      return rms(
          own,
          r().weighs_parts ? weights_.vector(of_norm, Part::kWeight, i, width) : same(width, 1),
          epsilon);
    };
    const ValueId step = b_.emit(
        op::Softplus,
        {product(part(Role::kStepNorm, 0, rank), weights_.matrix(Role::kStep, i, inner, rank),
                 weights_.vector(Role::kStep, Part::kBias, i, inner))});
    const ValueId a = weights_.decays(i, {inner, keys}, r().is_logarithm, {}),
                  decay = b_.emit(op::Exp, {b_.emit(op::Mul, {of_heads(step, inner, 1), a})});
    const ValueId y =
        recur({part(Role::kQueryNorm, rank + keys, keys), part(Role::kKeyNorm, rank, keys),
               b_.emit(op::Mul, {read, step}), in_rows(decay, inner * keys)},
              i);
    const ValueId skip = weights_.vector(Role::kSkip, Part::kWeight, i, inner),
                  sum = b_.emit(op::Add, {y, b_.emit(op::Mul, {read, skip})});
    return b_.emit(op::Mul, {sum, gate});
  }

  ValueId mamba2(ValueId x, int64_t i) {
    const int64_t inner = r().values(), keys = r().keys(), heads = r().heads,
                  width = r().value_width, all = inner + r().channels() + heads;
    ValueId in =
        product(scaled(x, n_.scales.in), weights_.matrix(Role::kRecurrenceIn, i, all, n_.width),
                weights_.bias(Role::kRecurrenceIn, i, all, r().has_bias));
    if (!n_.scales.parts.empty()) in = b_.emit(op::Mul, {in, part_scales()});
    const ValueId z = columns(in, 0, inner),
                  read = silu(convolved(columns(in, inner, r().channels()), Role::kRecurrenceTaps,
                                        i, r().channels()));
    const ValueId step_bias = weights_.vector(Role::kStep, Part::kBias, i, heads);
    ValueId step = b_.emit(
        op::Softplus, {b_.emit(op::Add, {columns(in, inner + r().channels(), heads), step_bias})});
    if (r().most_step != 0)
      step = b_.emit(op::Clip, {step}, {{attr::min, r().least_step}, {attr::max, r().most_step}});
    const ValueId a = weights_.decays(i, {heads}, r().is_logarithm, {}),
                  v = of_heads(columns(read, 0, inner), heads, width);
    const ValueId y = recur({columns(read, inner + keys, keys), columns(read, inner, keys),
                             in_rows(b_.emit(op::Mul, {v, of_heads(step, heads, 1)}), inner),
                             b_.emit(op::Exp, {b_.emit(op::Mul, {step, a})})},
                            i);
    const ValueId skip =
        b_.reshape(weights_.vector(Role::kSkip, Part::kWeight, i, heads), {Dim(heads), Dim(1)});
    const ValueId sum = b_.emit(op::Add, {of_heads(y, heads, width), b_.emit(op::Mul, {v, skip})});
    const ValueId whole = in_rows(sum, inner), gate = silu(z);
    if (r().gates_norm) return b_.emit(op::Mul, {grouped_norm(whole, i), gate});
    return grouped_norm(b_.emit(op::Mul, {whole, gate}), i);
  }
  /// Of the columns of each group by themselves; x where there is none.
  ValueId grouped_norm(ValueId x, int64_t i) {
    if (!r().has_norm && !weights_.has(Role::kRecurrenceNorm, Part::kWeight, i)) return x;
    const int64_t groups = r().key_heads, width = r().values() / groups;
    const ValueId scale = weights_.groups(Role::kRecurrenceNorm, i, groups, width);
    if (groups == 1) return rms(x, b_.reshape(scale, {Dim(width)}), n_.epsilon);
    const ValueId normed = rms(of_heads(x, groups, width), same(width, 1), n_.epsilon);
    return in_rows(b_.emit(op::Mul, {normed, scale}), r().values());
  }
  ValueId part_scales() {
    const int64_t counts[] = {r().values(), r().values(), r().keys(), r().keys(), r().heads};
    host::charge_memory(sizeof(float) * uint64_t(r().values() + r().channels() + r().heads));
    std::vector<float> all;
    for (size_t k = 0; k < std::size(counts); k++)
      all.insert(all.end(), size_t(counts[k]), float(n_.scales.parts[k]));
    return net_.constant(all, {int64_t(all.size())});
  }

  ValueId delta_net(ValueId x, int64_t i) {
    const int64_t heads = r().heads, keys = r().keys(), values = r().values();
    const DeltaIn in = delta_in(x, i);
    const ValueId read = silu(
        convolved(in.qkv, Role::kRecurrenceTaps, i, r().channels(), behind_keys(r().value_width)));
    const double root = std::sqrt(double(r().key_width));
    const ValueId a = weights_.decays(i, {heads}, r().is_logarithm, in_groups(0, 1)),
                  step_bias = weights_.vector(Role::kStep, Part::kBias, i, heads, in_groups(0, 1)),
                  step = b_.emit(op::Softplus, {b_.emit(op::Add, {in.alpha, step_bias})});
    const ValueId y =
        recur({unit(columns(read, 0, keys), 1 / root), unit(columns(read, keys, keys), 1),
               columns(read, 2 * keys, values), b_.emit(op::Exp, {b_.emit(op::Mul, {step, a})}),
               b_.emit(op::Sigmoid, {in.beta})},
              i);
    const ValueId scale = weights_.vector(Role::kRecurrenceNorm, Part::kWeight, i, r().value_width);
    const ValueId normed = rms(of_heads(y, heads, r().value_width), scale, n_.epsilon);
    return as_tiled(b_.emit(op::Mul, {in_rows(normed, values), silu(in.z)}));
  }
  struct DeltaIn {
    ValueId qkv, z, beta, alpha;
  };
  DeltaIn delta_in(ValueId x, int64_t i) {
    const int64_t heads = r().heads, values = r().values();
    const auto rows_of_x = [&](Role role, int64_t rows, const Order& order) {
      return product(x, weights_.matrix(role, i, rows, n_.width, order), kAbsent);
    };
    DeltaIn in;
    if (weights_.has(Role::kRecurrenceIn, Part::kWeight, i)) {
      const int64_t of_v = heads / r().key_heads * r().value_width;
      const ValueId all =
          rows_of_x(Role::kRecurrenceIn, r().channels() + values,
                    apart(r().key_heads, {r().key_width, r().key_width, of_v, of_v}));
      in.qkv = columns(all, 0, r().channels()), in.z = columns(all, r().channels(), values);
    } else {
      in.qkv = rows_of_x(Role::kRecurrenceQkv, r().channels(), behind_keys(r().value_width));
      in.z = rows_of_x(Role::kRecurrenceGate, values, in_groups(0, r().value_width));
    }
    if (weights_.has(Role::kBetaAlpha, Part::kWeight, i)) {
      const int64_t each = heads / r().key_heads;
      const ValueId all =
          rows_of_x(Role::kBetaAlpha, 2 * heads, apart(r().key_heads, {each, each}));
      in.beta = columns(all, 0, heads), in.alpha = columns(all, heads, heads);
    } else {
      in.beta = rows_of_x(Role::kBeta, heads, in_groups(0, 1));
      in.alpha = rows_of_x(Role::kAlpha, heads, in_groups(0, 1));
    }
    return in;
  }
  /// Each head of x [T, key heads * width] with the length `length`.
  ValueId unit(ValueId x, double length) {
    const int64_t width = r().key_width;
    const ValueId scale = same(width, length / std::sqrt(double(width)));
    return in_rows(rms(of_heads(x, r().key_heads, width), scale, 1e-6 / double(width)), r().keys());
  }
  /// Rows of heads `width` each from `begin` on, those of one key head together; empty: they are.
  Order in_groups(int64_t begin, int64_t width) const {
    const int64_t each = r().heads / r().key_heads;
    if (!r().is_tiled || each == 1 || r().key_heads == 1) return {};
    Order order = empty_order(r().heads * width);
    for (int64_t head = 0; head < r().heads; head++)
      for (int64_t c = 0; c < width; c++)
        order.push_back(begin + (head % each * r().key_heads + head / each) * width + c);
    return order;
  }
  /// The same behind rows of q and k.
  Order behind_keys(int64_t width) const {
    const Order heads = in_groups(2 * r().keys(), width);
    if (heads.empty()) return {};
    Order order = empty_order(r().channels());
    for (int64_t c = 0; c < 2 * r().keys(); c++) order.push_back(c);
    order.insert(order.end(), heads.begin(), heads.end());
    return order;
  }
  /// Columns of heads as the last product has its inputs.
  ValueId as_tiled(ValueId x) {
    if (in_groups(0, 1).empty()) return x;
    const int64_t each = r().heads / r().key_heads;
    const ValueId apart =
        b_.reshape(x, {b_.dims(x)[0], Dim(r().key_heads), Dim(each), Dim(r().value_width)});
    return in_rows(b_.transpose(apart, {0, 2, 1, 3}), r().values());
  }
};

}  // namespace ingot::decoder
