// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/convolutions.h - layers with a gated short convolution in place of
// attention: of x they make B, C and v; each column of B * v is convolved along the tokens, and
// times C.
//
// What a run needs of those before it are its last length - 1 rows of B * v. One row of the state
// `snapshots.L` holds them, as they are behind p tokens, in row p % rows: a conversation goes back
// by rows - 1 tokens, or begins anew. `snapshots.positions` has p of each row. A run that begins at
// another position fails: its indices are out of bounds. runtime/generate knows such states.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "tools/import/decoder/feed_forward.h"

namespace ingot::decoder {

class Convolutions : protected FeedForwardParts {
 public:
  using FeedForwardParts::FeedForwardParts;

 protected:
  /// What the tokens of a run are. `slots` kAbsent: of one sequence.
  struct RunTokens {
    Dim count;
    int64_t most = 1;                         // of `count`
    ValueId rows = kAbsent, slots = kAbsent;  // i64 [count]: the position and slot of each
    bool is_whole = false;                    // texts are whole: nothing is kept
  };
  void set_tokens(const RunTokens& tokens) { tokens_ = tokens; }

  /// [T, width], in front of the last product.
  ValueId convolution(ValueId x, int64_t i) {
    const int64_t width = n_.width;
    const ValueId all = product(x, weights_.matrix(Role::kConvolutionIn, i, 3 * width, width),
                                bias(Role::kConvolutionIn, i, 3 * width));
    const auto third = [&](int64_t k) {
      return b_.slice(all, 1, Dim(k * width), Dim((k + 1) * width));
    };
    const ValueId in = b_.emit(op::Mul, {third(0), third(2)});
    const std::vector<ValueId> shifted = behind(in, i);
    const ValueId taps = weights_.taps(Role::kConvolution, i, width, n_.convolution);
    ValueId sum = kAbsent;
    for (size_t k = 0; k < shifted.size(); k++) {
      const ValueId tap = b_.slice(taps, 0, Dim(int64_t(k)), Dim(int64_t(k) + 1)),
                    term = b_.emit(op::Mul, {shifted[k], tap});
      sum = k ? b_.emit(op::Add, {sum, term}) : term;
    }
    const ValueId added = bias(Role::kConvolution, i, width);
    if (added != kAbsent) sum = b_.emit(op::Add, {sum, added});
    return b_.emit(op::Mul, {third(1), sum});
  }
  ValueId convolution_out(ValueId x, int64_t i) {
    return product(x, weights_.matrix(Role::kConvolutionOut, i, n_.width, n_.width),
                   bias(Role::kConvolutionOut, i, n_.width));
  }
  int64_t snapshot_bytes() const { return snapshot_bytes_; }

 private:
  static constexpr int64_t kSnapshots = 16;

  ValueId bias(Role role, int64_t i, int64_t length) {
    return weights_.bias(role, i, length, n_.has_convolution_bias);
  }
  int64_t kept() const { return n_.convolution - 1; }
  /// So many that a run whose proposed tokens are refused can go on.
  int64_t snapshots() const { return std::max<int64_t>(kSnapshots, options_.lookup + 2); }
  ValueId i64(int64_t value) { return whole(DType::kI64, value); }
  ValueId column(ValueId x) { return b_.reshape(x, {tokens_.count, Dim(1)}); }
  ValueId where(ValueId condition, ValueId yes, ValueId no) {
    return b_.emit(op::Where, {condition, yes, no});
  }
  ValueId modulo(ValueId x, int64_t by) {
    return b_.emit(op::Mod, {x, i64(by)}, {{attr::fmod, int64_t(0)}});
  }
  ValueId plus(ValueId x, int64_t by) { return b_.emit(op::Add, {x, i64(by)}); }
  ValueId joined(const std::vector<ValueId>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : b_.emit(op::Concat, parts, {{attr::axis, axis}});
  }
  ValueId zeros(int64_t rows) { return b_.expand(net_.scalar(0), {Dim(rows), Dim(n_.width)}); }
  ValueId state(const std::string& name, int64_t row, DType dtype) {
    Dims dims = {Dim(snapshots()), Dim(row)};
    if (options_.slots) dims.insert(dims.begin(), Dim(options_.slots));
    snapshot_bytes_ +=
        std::max<int64_t>(options_.slots, 1) * snapshots() * row * dtype_bytes(dtype);
    return net_.state("snapshots." + name, dims, dtype);
  }
  void keep(ValueId before, ValueId places, ValueId rows) {
    net_.keep(before, b_.emit(op::ScatterND, {before, places, rows},
                              {{attr::reduction, std::string("none")}}));
  }

  /// x of each token's predecessors, the farthest first, and its own: [T, width] each.
  std::vector<ValueId> behind(ValueId x, int64_t i) {
    if (kept() == 0) return {x};
    if (!tokens_.is_whole && tokens_.slots != kAbsent) return behind_in_slots(x, i);
    return behind_in_sequence(x, i);
  }

  // One sequence: the row of the run's first token, and where its last snapshots go.

  std::vector<ValueId> behind_in_sequence(ValueId x, int64_t i) {
    ValueId first = zeros(kept()), before = kAbsent;
    if (!tokens_.is_whole) {
      before = state(std::to_string(i), kept() * n_.width, DType::kF32);
      if (is_first_ == kAbsent) find_places();
      first =
          where(is_first_, first, b_.reshape(taken(before, from_), {Dim(kept()), Dim(n_.width)}));
    }
    const ValueId all = joined({first, x}, 0);
    const auto from = [&](const Dim& begin, const Dim& count) {
      return b_.slice(all, 0, begin, begin + count);
    };
    std::vector<ValueId> shifted, snapshot;
    for (int64_t k = 0; k <= kept(); k++) shifted.push_back(from(Dim(k), tokens_.count));
    if (tokens_.is_whole) return shifted;
    for (int64_t k = 1; k <= kept(); k++)
      snapshot.push_back(from(tokens_.count - written() + Dim(k), written()));
    keep(before, to_, joined(snapshot, 1));
    return shifted;
  }
  Dim written() const { return min(tokens_.count, Dim(snapshots())); }
  void find_places() {
    const ValueId start = b_.slice(tokens_.rows, 0, Dim(0), Dim(1)),
                  row = modulo(start, snapshots());
    is_first_ = b_.emit(op::Equal, {start, i64(0)});
    const ValueId before = state("positions", 1, DType::kI64);
    const ValueId own = b_.reshape(taken(before, row), {Dim(1)});
    const ValueId is_known = b_.emit(op::Or, {is_first_, b_.emit(op::Equal, {own, start})});
    const ValueId nowhere = i64(INT64_MAX);  // which fails
    from_ = where(is_known, row, nowhere);
    const ValueId last =
        plus(b_.slice(tokens_.rows, 0, tokens_.count - written(), tokens_.count), 1);
    const auto column = [&](ValueId of) { return b_.reshape(of, {written(), Dim(1)}); };
    to_ = column(where(is_known, modulo(last, snapshots()), nowhere));
    keep(before, to_, column(last));
  }

  // Slots: tokens of a sequence stand anywhere in a run. A table has the token of each slot and
  // position, of as many positions as a run has tokens.

  struct Predecessor {
    ValueId is_here = kAbsent;   // bool [T, 1]: it is a token of this run
    ValueId token = kAbsent;     // which; any where it is none
    ValueId exists = kAbsent;    // bool [T, 1]: there is one at all
    ValueId snapshot = kAbsent;  // which row of all snapshots has it otherwise
  };
  std::vector<ValueId> behind_in_slots(ValueId x, int64_t i) {
    if (predecessors_.empty()) find_predecessors();
    const ValueId before = state(std::to_string(i), kept() * n_.width, DType::kF32);
    const ValueId flat =
        b_.reshape(before, {Dim(options_.slots * snapshots() * kept()), Dim(n_.width)});
    std::vector<ValueId> shifted;
    for (const Predecessor& p : predecessors_) {
      const ValueId kept_row = where(p.exists, taken(flat, p.snapshot), net_.scalar(0));
      shifted.push_back(where(p.is_here, taken(x, p.token), kept_row));
    }
    shifted.push_back(x);
    const std::vector<ValueId> newest(shifted.begin() + 1, shifted.end());
    keep(before, to_, taken(joined(newest, 1), from_));
    return shifted;
  }
  /// The farthest first.
  void find_predecessors() {
    const int64_t slots = options_.slots, turn = tokens_.most + kept(), rows = snapshots();
    // for tables; one that is none fails where the snapshot goes
    const ValueId slot = b_.emit(op::Min, {tokens_.slots, i64(slots - 1)}), at = tokens_.rows;
    const auto place = [&](ValueId position, int64_t of) {  // in a table of `of` for each slot
      return b_.emit(op::Add, {b_.emit(op::Mul, {slot, i64(of)}), modulo(position, of)});
    };
    const auto table = [&](int64_t of, int64_t value, ValueId places, ValueId values) {
      return b_.emit(op::ScatterElements,
                     {b_.expand(i64(value), {Dim(slots * of)}), places, values},
                     {{attr::axis, int64_t(0)}, {attr::reduction, std::string("max")}});
    };
    const ValueId tokens = table(turn, -1, place(at, turn), b_.counting(tokens_.count));
    std::vector<ValueId> has, token;  // the nearest first
    ValueId near = kAbsent;           // how many before it are in the run, without a gap
    for (int64_t d = 1; d <= kept(); d++) {
      const ValueId found = taken(tokens, place(plus(at, turn - d), turn));
      const ValueId safe = b_.emit(op::Max, {found, i64(0)});
      ValueId is_here = b_.emit(op::And, {b_.emit(op::GreaterOrEqual, {found, i64(0)}),
                                          b_.emit(op::Equal, {taken(at, safe), plus(at, -d)})});
      if (d > 1) is_here = b_.emit(op::And, {is_here, has.back()});
      has.push_back(is_here), token.push_back(safe);
      const ValueId one = b_.cast(is_here, DType::kI64);
      near = d > 1 ? b_.emit(op::Add, {near, one}) : one;
    }
    const ValueId start = b_.emit(op::Sub, {at, near}), own = place(start, rows);
    const ValueId positions = state("positions", 1, DType::kI64);
    const ValueId known = taken(b_.reshape(positions, {Dim(slots * rows)}), own);
    ValueId is_known =
        b_.emit(op::Or, {b_.emit(op::Equal, {start, i64(0)}), b_.emit(op::Equal, {known, start})});
    is_known = b_.emit(op::Or, {is_known, has.back()});
    const ValueId nowhere = i64(INT64_MAX);  // which fails
    for (int64_t d = kept(); d >= 1; d--) {
      // the snapshot holds positions start - kept .. start - 1
      const ValueId row =
          plus(b_.emit(op::Add, {b_.emit(op::Mul, {own, i64(kept())}), near}), kept() - d);
      const ValueId fits = b_.emit(op::Min, {row, i64(slots * rows * kept() - 1)});
      predecessors_.push_back({column(has[size_t(d - 1)]), token[size_t(d - 1)],
                               column(b_.emit(op::GreaterOrEqual, {at, i64(d)})),
                               where(is_known, fits, nowhere)});
    }
    // Of the tokens that share a row the last one's snapshot is written, by all of them.
    const ValueId next = plus(at, 1), key = place(next, rows);
    const ValueId highest = taken(table(rows, 0, key, next), key);
    from_ = taken(tokens, place(plus(highest, turn - 1), turn));
    const ValueId to = where(is_known, modulo(next, rows), nowhere);
    to_ = joined({column(tokens_.slots), column(to)}, 1);
    keep(positions, to_, column(highest));
  }

  RunTokens tokens_;
  // Of one sequence: whether the run begins with it, the row that it begins from (bool, i64 [1]).
  // Of slots: whose snapshot each token writes [T]. And where they go: indices of ScatterND.
  ValueId is_first_ = kAbsent, from_ = kAbsent, to_ = kAbsent;
  std::vector<Predecessor> predecessors_;
  int64_t snapshot_bytes_ = 0;
};

}  // namespace ingot::decoder
