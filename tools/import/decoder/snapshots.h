// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/snapshots.h - what layers without keys and values need of the tokens before
// a run: rows of a state, one for each of the last positions.
//
// A row of `snapshots.L` is what layer L needs behind p tokens, in row p % rows: a conversation
// goes back by rows - 1 tokens, or begins anew. `snapshots.positions` has p of each row. A run that
// begins at another position fails: its indices are out of bounds. runtime/generate knows such
// states.
//
// The caches of a layer with a window are rings, `windows.keys.L` and `windows.values.L`: token p
// is in row p % rows. What a conversation may go back by is in front of the window, and
// `snapshots.positions` has a row for each of these positions.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/checked_math.h"
#include "tools/import/decoder/feed_forward.h"

namespace ingot::decoder {

class Snapshots : protected FeedForwardParts {
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

  int64_t snapshot_bytes() const { return snapshot_bytes_; }

  /// Rows of a ring for that window; 0: the caches have the whole context. In whole blocks of
  /// attention (runtime/op/attention.h), so that these do not depend on the tokens of a run.
  int64_t ring_of(int64_t window) const {
    if (window <= 0 || window >= n_.context || tokens_.is_whole || options_.full_windows ||
        kept() > 0 || recurs())
      return 0;
    constexpr int64_t kBlock = 256;
    const int64_t rows = round_up(window - 1 + std::max(tokens_.most, kSnapshots), kBlock);
    return rows < n_.context ? rows : 0;
  }
  /// Tokens that a conversation may go back by: a run's own never overwrite what it sees.
  int64_t going_back() const { return snapshots() - 1; }
  /// Where the tokens go in a cache of so many rows: indices of ScatterND.
  ValueId ring_places(int64_t rows) {
    if (is_known_ == kAbsent) in_slots() ? find_predecessors() : find_places();
    const ValueId row = column(where(is_known_, modulo(tokens_.rows, rows), nowhere()));
    return in_slots() ? joined({column(tokens_.slots), row}, 1) : row;
  }
  /// What a query at each of `positions` [T] sees of a ring [T, rows]: a row is as far behind it as
  /// their numbers are apart, or has a token from before the text.
  ValueId ring_mask(ValueId positions, int64_t window, int64_t rows) {
    const Dim count = b_.dims(positions)[0];
    const auto as_column = [&](ValueId x) { return b_.reshape(x, {count, Dim(1)}); };
    const ValueId all = b_.reshape(b_.counting(Dim(rows)), {Dim(1), Dim(rows)}),
                  behind = modulo(b_.emit(op::Sub, {as_column(positions), all}), rows),
                  seen = b_.emit(op::Min, {as_column(plus(positions, 1)), i64(window)});
    return b_.emit(op::Less, {behind, seen});
  }

  /// x [T, width] of each token's predecessors, the farthest first, and its own.
  std::vector<ValueId> behind(ValueId x, int64_t i, int64_t width) {
    if (kept() == 0) return {x};
    if (!tokens_.is_whole && tokens_.slots != kAbsent) return behind_in_slots(x, i, width);
    return behind_in_sequence(x, i, width);
  }

  /// i64 [T]: the row of a state [rows, ..] or [slots, rows, ..] that holds what is behind the
  /// tokens before each, -1 where there are none; and the row that takes what is behind it.
  struct Places {
    ValueId from = kAbsent, to = kAbsent;
  };
  /// @pre behind() was asked for: it knows which rows are of use
  const Places& places() {
    if (places_.from != kAbsent) return places_;
    const ValueId at = tokens_.rows;
    const auto row = [&](ValueId position) {
      const ValueId own = in_slots() ? place(position, snapshots()) : modulo(position, snapshots());
      return is_known_ == kAbsent ? own : where(is_known_, own, nowhere());
    };
    places_.from = where(b_.emit(op::Equal, {at, i64(0)}), i64(-1), row(at));
    places_.to = row(plus(at, 1));
    return places_;
  }
  /// Rows of what one layer keeps; `after` is what becomes of them.
  ValueId rows_of(const std::string& name, int64_t row) {
    if (tokens_.is_whole) return b_.expand(net_.scalar(0), {Dim(1), Dim(row)});
    return state(name, row, DType::kF32);
  }
  void keep(ValueId before, ValueId after) {
    if (!tokens_.is_whole) net_.keep(before, after);
  }

 private:
  static constexpr int64_t kSnapshots = 16;
  static constexpr int64_t kFewSnapshots = 2;  // of states as large as those of recurrences

  int64_t kept() const { return n_.convolution - 1; }
  /// So many that a run whose proposed tokens are refused can go on. Of rings what the narrowest
  /// has in front of its window.
  int64_t snapshots() const {
    if (tokens_.is_whole) return 1;
    int64_t spare = 0;
    for (const LayerNumbers& at : n_.layers)
      if (const int64_t rows = ring_of(at.window))
        spare = spare ? std::min(spare, rows - at.window + 2) : rows - at.window + 2;
    if (spare) return spare;
    return std::max<int64_t>(recurs() ? kFewSnapshots : kSnapshots, options_.lookup + 2);
  }
  bool recurs() const { return n_.recurrence.heads != 0; }
  bool in_slots() const { return !tokens_.is_whole && tokens_.slots != kAbsent; }
  ValueId nowhere() { return i64(INT64_MAX); }  // which fails
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
  ValueId state(const std::string& name, int64_t row, DType dtype) {
    Dims dims = {Dim(snapshots()), Dim(row)};
    if (options_.slots) dims.insert(dims.begin(), Dim(options_.slots));
    snapshot_bytes_ +=
        std::max<int64_t>(options_.slots, 1) * snapshots() * row * dtype_bytes(dtype);
    return net_.state("snapshots." + name, dims, dtype);
  }
  void scatter(ValueId before, ValueId places, ValueId rows) {
    net_.keep(before, b_.emit(op::ScatterND, {before, places, rows},
                              {{attr::reduction, std::string("none")}}));
  }

  // One sequence: the row of the run's first token, and where its last snapshots go.

  std::vector<ValueId> behind_in_sequence(ValueId x, int64_t i, int64_t width) {
    const Dims dims = {Dim(kept()), Dim(width)};
    ValueId first = b_.expand(net_.scalar(0), dims), before = kAbsent;
    if (!tokens_.is_whole) {
      before = state(std::to_string(i), kept() * width, DType::kF32);
      if (is_first_ == kAbsent) find_places();
      first = where(is_first_, first, b_.reshape(taken(before, from_), dims));
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
    scatter(before, to_, joined(snapshot, 1));
    return shifted;
  }
  Dim written() const { return min(tokens_.count, Dim(snapshots())); }
  void find_places() {
    const ValueId start = b_.slice(tokens_.rows, 0, Dim(0), Dim(1)),
                  row = modulo(start, snapshots());
    is_first_ = b_.emit(op::Equal, {start, i64(0)});
    const ValueId before = state("positions", 1, DType::kI64);
    const ValueId own = b_.reshape(taken(before, row), {Dim(1)});
    is_known_ = b_.emit(op::Or, {is_first_, b_.emit(op::Equal, {own, start})});
    from_ = where(is_known_, row, nowhere());
    const ValueId last =
        plus(b_.slice(tokens_.rows, 0, tokens_.count - written(), tokens_.count), 1);
    const auto column = [&](ValueId of) { return b_.reshape(of, {written(), Dim(1)}); };
    to_ = column(where(is_known_, modulo(last, snapshots()), nowhere()));
    scatter(before, to_, column(last));
  }

  // Slots: tokens of a sequence stand anywhere in a run. A table has the token of each slot and
  // position, of as many positions as a run has tokens.

  struct Predecessor {
    ValueId is_here = kAbsent;   // bool [T, 1]: it is a token of this run
    ValueId token = kAbsent;     // which; any where it is none
    ValueId exists = kAbsent;    // bool [T, 1]: there is one at all
    ValueId snapshot = kAbsent;  // which row of all snapshots has it otherwise
  };
  std::vector<ValueId> behind_in_slots(ValueId x, int64_t i, int64_t width) {
    if (predecessors_.empty()) find_predecessors();
    const ValueId before = state(std::to_string(i), kept() * width, DType::kF32);
    const ValueId flat =
        b_.reshape(before, {Dim(options_.slots * snapshots() * kept()), Dim(width)});
    std::vector<ValueId> shifted;
    for (const Predecessor& p : predecessors_) {
      const ValueId kept_row = where(p.exists, taken(flat, p.snapshot), net_.scalar(0));
      shifted.push_back(where(p.is_here, taken(x, p.token), kept_row));
    }
    shifted.push_back(x);
    const std::vector<ValueId> newest(shifted.begin() + 1, shifted.end());
    scatter(before, to_, taken(joined(newest, 1), from_));
    return shifted;
  }
  /// Of a position, in a table of `of` for each slot.
  ValueId place(ValueId position, int64_t of) {
    return b_.emit(op::Add, {b_.emit(op::Mul, {slot_, i64(of)}), modulo(position, of)});
  }
  /// The farthest first.
  void find_predecessors() {
    const int64_t slots = options_.slots, depth = std::max<int64_t>(kept(), 1),
                  turn = tokens_.most + depth, rows = snapshots();
    // for tables; one that is none fails where the snapshot goes
    slot_ = b_.emit(op::Min, {tokens_.slots, i64(slots - 1)});
    const ValueId at = tokens_.rows, tokens_in_order = b_.counting(tokens_.count);
    const auto table = [&](int64_t of, int64_t value, ValueId places, ValueId values) {
      return b_.emit(op::ScatterElements,
                     {b_.expand(i64(value), {Dim(slots * of)}), places, values},
                     {{attr::axis, int64_t(0)}, {attr::reduction, std::string("max")}});
    };
    const ValueId tokens = table(turn, -1, place(at, turn), tokens_in_order);
    std::vector<ValueId> has, token;  // the nearest first
    ValueId near = kAbsent;           // how many before it are in the run, without a gap
    for (int64_t d = 1; d <= depth; d++) {
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
    is_known_ =
        b_.emit(op::Or, {b_.emit(op::Equal, {start, i64(0)}), b_.emit(op::Equal, {known, start})});
    is_known_ = b_.emit(op::Or, {is_known_, has.back()});
    if (recurs()) {  // whose tokens must come in their order
      const ValueId is_behind = b_.emit(
          op::Or, {b_.emit(op::Not, {has[0]}), b_.emit(op::Less, {token[0], tokens_in_order})});
      is_known_ = b_.emit(op::And, {is_known_, is_behind});
    }
    for (int64_t d = kept(); d >= 1; d--) {
      // the snapshot holds positions start - kept .. start - 1
      const ValueId row =
          plus(b_.emit(op::Add, {b_.emit(op::Mul, {own, i64(kept())}), near}), kept() - d);
      const ValueId fits = b_.emit(op::Min, {row, i64(slots * rows * kept() - 1)});
      predecessors_.push_back({column(has[size_t(d - 1)]), token[size_t(d - 1)],
                               column(b_.emit(op::GreaterOrEqual, {at, i64(d)})),
                               where(is_known_, fits, nowhere())});
    }
    // Of the tokens that share a row the last one's snapshot is written, by all of them.
    const ValueId next = plus(at, 1), key = place(next, rows);
    const ValueId highest = taken(table(rows, 0, key, next), key);
    from_ = taken(tokens, place(plus(highest, turn - 1), turn));
    const ValueId to = where(is_known_, modulo(next, rows), nowhere());
    to_ = joined({column(tokens_.slots), column(to)}, 1);
    scatter(positions, to_, column(highest));
  }

  RunTokens tokens_;
  Places places_;
  ValueId is_known_ = kAbsent;  // bool [1], of slots [T]: what is behind it is kept
  ValueId slot_ = kAbsent;      // of each token, within bounds
  // Of one sequence: whether the run begins with it, the row that it begins from (bool, i64 [1]).
  // Of slots: whose snapshot each token writes [T]. And where they go: indices of ScatterND.
  ValueId is_first_ = kAbsent, from_ = kAbsent, to_ = kAbsent;
  std::vector<Predecessor> predecessors_;
  int64_t snapshot_bytes_ = 0;
};

}  // namespace ingot::decoder
