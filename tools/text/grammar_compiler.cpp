// SPDX-License-Identifier: Apache-2.0
// tools/text/grammar_compiler.cpp - automata of all rules as one; what can never end is dropped,
// and left recursion refused.
#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/byte_order.h"
#include "runtime/text/grammar.h"
#include "tools/files/failure.h"
#include "tools/text/grammar.h"
#include "tools/text/grammar_automaton.h"

namespace ingot::grammar {
namespace {

constexpr uint32_t kMaxInlined = 64;   // expressions
constexpr uint32_t kLeastCopies = 24;  // of a repetition that becomes a run
constexpr uint32_t kMaxDepth = 512;    // of expressions in one another, rules that are copied too

class Compiler {
 public:
  explicit Compiler(const Grammar& grammar) : grammar_(grammar) {}

  std::vector<uint8_t> compile(uint32_t root) {
    sizes_.assign(grammar_.rules(), kUnknownSize);
    (void)unit_of(root);
    for (size_t i = 0; i < units_.size(); i++)
      if (units_[i].is_rule) build_rule(uint32_t(i));
    find_ends();
    if (!is_live_[units_[0].first])
      host::fail(host::Exit::kMismatch, grammar_.where() + ": no text satisfies it");
    refuse_left_recursion();
    return encode();
  }

 private:
  /// A rule that is called, or a run.
  struct Unit {
    uint32_t rule = 0;
    bool is_rule = true;
    uint32_t first = 0;  // state
  };
  static constexpr uint32_t kUnknownSize = ~uint32_t{0}, kInSize = kUnknownSize - 1;

  uint32_t unit_of(uint32_t rule) {
    const auto [at, is_new] = units_of_rules_.try_emplace(rule, uint32_t(units_.size()));
    if (is_new) units_.push_back({rule, true, 0});
    return at->second;
  }

  /// Expressions that a copy of the rule takes; kMaxInlined + 1: too many, or it calls itself.
  uint32_t size_of(uint32_t rule, uint32_t depth) {
    uint32_t& size = sizes_[rule];
    if (size != kUnknownSize) return size == kInSize ? kMaxInlined + 1 : size;
    if (grammar_.rule(rule).is_shared || depth > kMaxInlined) return kMaxInlined + 1;
    size = kInSize;
    uint32_t count = 0;
    count_exprs(grammar_.rule(rule).body, depth + 1, &count);
    return sizes_[rule] = std::min(count, kMaxInlined + 1);
  }
  void count_exprs(ExprId id, uint32_t depth, uint32_t* count) {
    const Expr& e = grammar_.expr(id);
    if (++*count > kMaxInlined) return;
    if (e.kind == ExprKind::kMembers || depth > kMaxInlined) *count = kMaxInlined + 1;
    if (e.kind == ExprKind::kRule) *count += size_of(e.rule, depth + 1);
    const uint32_t times =
        e.kind == ExprKind::kRepeat && e.most < kLeastCopies ? std::max(e.most, 1u) : 1;
    for (const ExprId part : e.parts) {
      const uint32_t before = *count;
      count_exprs(part, depth + 1, count);
      if (*count > kMaxInlined) return;
      *count += (*count - before) * (times - 1);
    }
  }

  void build_rule(uint32_t unit) {
    Nfa nfa(grammar_.where(), &budget_);
    const uint32_t start = nfa.add_state();
    const uint32_t end = build(grammar_.rule(units_[unit].rule).body, start, &nfa, 0);
    append(nfa.determine(end), unit);
  }

  /// @return the state behind the expression
  uint32_t build(ExprId id, uint32_t from, Nfa* nfa, uint32_t depth) {
    const Expr& e = grammar_.expr(id);
    if (depth > kMaxDepth)
      host::fail(host::Exit::kUnsupported,
                 grammar_.where() + ": nests deeper than " + std::to_string(kMaxDepth));
    switch (e.kind) {
      case ExprKind::kBytes: return nfa->add_bytes(from, e.bytes);
      case ExprKind::kSet: {
        const uint32_t to = nfa->add_state();
        nfa->add_set(from, e.set, to);
        return to;
      }
      case ExprKind::kSequence:
        for (const ExprId part : e.parts) from = build(part, from, nfa, depth + 1);
        return from;
      case ExprKind::kChoice: {
        const uint32_t to = nfa->add_state();
        for (const ExprId part : e.parts) {
          const uint32_t begin = nfa->add_state();
          nfa->add_empty(from, begin);
          nfa->add_empty(build(part, begin, nfa, depth + 1), to);
        }
        return to;
      }
      case ExprKind::kRepeat: return build_repeat(e, from, nfa, depth);
      case ExprKind::kMembers: return build_members(e, from, nfa, depth);
      case ExprKind::kRule: break;
    }
    if (size_of(e.rule, 0) <= kMaxInlined)
      return build(grammar_.rule(e.rule).body, from, nfa, depth + 1);
    return nfa->add_call(from, unit_of(e.rule));
  }

  uint32_t build_repeat(const Expr& e, uint32_t from, Nfa* nfa, uint32_t depth) {
    const ExprId part = e.parts[0];
    if (std::max(e.least, e.most == kUnbounded ? 0 : e.most) >= kLeastCopies)
      if (const uint32_t unit = run_of(part, e.least, e.most, depth))
        return nfa->add_call(from, unit);
    for (uint32_t i = 0; i < e.least; i++) from = build(part, from, nfa, depth + 1);
    const uint32_t end = nfa->add_state();
    if (e.most == kUnbounded) {
      const uint32_t loop = nfa->add_state();
      nfa->add_empty(from, loop);
      nfa->add_empty(build(part, loop, nfa, depth + 1), loop);
      from = loop;
    }
    for (uint32_t i = e.least; i < e.most && e.most != kUnbounded; i++) {
      nfa->add_empty(from, end);
      const uint32_t begin = nfa->add_state();
      nfa->add_empty(from, begin);
      from = build(part, begin, nfa, depth + 1);
    }
    nfa->add_empty(from, end);
    return end;
  }

  /// Two rails of states: before the first member, and behind one.
  uint32_t build_members(const Expr& e, uint32_t from, Nfa* nfa, uint32_t depth) {
    constexpr uint32_t kNone = ~uint32_t{0};
    uint32_t before = from, behind = kNone;
    const uint32_t end = nfa->add_state();
    for (size_t i = 0; i < e.parts.size(); i++) {
      const uint32_t next = nfa->add_state();
      if (before != kNone) {
        const uint32_t begin = nfa->add_state();
        nfa->add_empty(before, begin);
        nfa->add_empty(build(e.parts[i], begin, nfa, depth + 1), next);
      }
      if (behind != kNone) {
        const uint32_t separated = build(e.separator, behind, nfa, depth + 1);
        nfa->add_empty(build(e.parts[i], separated, nfa, depth + 1), next);
        if (!e.required[i]) nfa->add_empty(behind, next);
      }
      if (e.required[i]) before = kNone;
      behind = next;
    }
    if (e.has_extra) {
      const uint32_t next = nfa->add_state();
      if (before != kNone) nfa->add_empty(build(e.extra, before, nfa, depth + 1), next);
      if (behind != kNone) nfa->add_empty(behind, next);
      const uint32_t separated = build(e.separator, next, nfa, depth + 1);
      nfa->add_empty(build(e.extra, separated, nfa, depth + 1), next);
      behind = next;
    }
    if (before != kNone) nfa->add_empty(before, end);
    if (behind != kNone) nfa->add_empty(build(e.behind, behind, nfa, depth + 1), end);
    return end;
  }

  /// The unit of a counted repetition of what ends where it ends, as a character does; 0: it is
  /// none. A copy for each time, so that states are far from where the repetition may end look
  /// alike (GrammarView::like).
  uint32_t run_of(ExprId part, uint32_t least, uint32_t most, uint32_t depth) {
    const auto key = std::make_tuple(part, least, most);
    if (const auto found = runs_.find(key); found != runs_.end()) return found->second;
    Nfa nfa(grammar_.where(), &budget_);
    const uint32_t start = nfa.add_state();
    const Automaton one = nfa.determine(build(part, start, &nfa, depth + 1));
    std::vector<uint32_t> place(one.states.size(), 0);
    uint32_t period = 0;
    bool fits = !one.states[0].is_final;
    for (size_t s = 0; s < one.states.size(); s++) {
      const Automaton::State& state = one.states[s];
      if (!state.is_final) place[s] = period++;
      fits = fits && !(state.is_final && !state.edges.empty());
      for (const ByteEdge& edge : state.edges) fits = fits && !edge.calls;
    }
    if (!fits) return runs_[key] = 0;
    const bool is_bounded = most != kUnbounded;
    const uint32_t copies = is_bounded ? most : least;
    Automaton all;
    for (uint32_t k = 0; k <= copies; k++) {
      const bool is_last = k == copies;
      if (is_last && is_bounded) break;
      for (const Automaton::State& state : one.states) {
        if (state.is_final) continue;
        spend_state();
        Automaton::State& made = all.states.emplace_back(state);
        for (ByteEdge& edge : made.edges)
          edge.target = one.states[edge.target].is_final ? (is_last ? k : k + 1) * period
                                                         : k * period + place[edge.target];
      }
      all.states[size_t(k) * period].is_final = k >= least;
    }
    if (is_bounded) all.states.push_back({{}, true});
    const uint32_t unit = uint32_t(units_.size());
    units_.push_back({0, false, 0});
    append(all, unit);
    form_runs_.push_back({units_[unit].first, period, copies, least});
    return runs_[key] = unit;
  }

  void spend_state() {
    if (budget_.states == 0)
      host::fail(host::Exit::kUnsupported, grammar_.where() + ": larger than a grammar may be");
    budget_.states--;
  }

  void append(const Automaton& automaton, uint32_t unit) {
    const uint32_t first = uint32_t(states_.size());
    units_[unit].first = first;
    for (const Automaton::State& state : automaton.states) {
      states_.push_back(state);
      unit_of_state_.push_back(unit);
      for (ByteEdge& edge : states_.back().edges) edge.target += first;
    }
  }

  /// Which states lead to an end; the edges to others are dropped.
  void find_ends() {
    struct Waiting {
      uint32_t state;
      uint32_t left;
    };
    std::vector<Waiting> edges;
    std::vector<std::vector<uint32_t>> waiting(states_.size());  // for a state, those edges
    std::vector<uint32_t> found;
    is_live_.assign(states_.size(), false);
    const auto reach = [&](uint32_t s) {
      if (!is_live_[s]) is_live_[s] = true, found.push_back(s);
    };
    for (uint32_t s = 0; s < states_.size(); s++) {
      if (states_[s].is_final) reach(s);
      for (const ByteEdge& edge : states_[s].edges) {
        waiting[edge.target].push_back(uint32_t(edges.size()));
        if (edge.calls) waiting[units_[edge.called].first].push_back(uint32_t(edges.size()));
        edges.push_back({s, edge.calls ? 2u : 1u});
      }
    }
    while (!found.empty()) {
      const uint32_t s = found.back();
      found.pop_back();
      for (const uint32_t e : waiting[s])
        if (--edges[e].left == 0) reach(edges[e].state);
    }
    for (Automaton::State& state : states_)
      std::erase_if(state.edges, [&](const ByteEdge& edge) {
        return !is_live_[edge.target] || (edge.calls && !is_live_[units_[edge.called].first]);
      });
  }

  /// A rule calls another before it takes a byte, and so on back to itself.
  void refuse_left_recursion() const {
    std::vector<bool> is_begin(states_.size(), false), is_empty(units_.size(), false);
    std::vector<std::vector<uint32_t>> waiting(units_.size()), calls(units_.size());
    std::vector<uint32_t> found;
    const auto reach = [&](uint32_t s) {
      if (!is_begin[s]) is_begin[s] = true, found.push_back(s);
    };
    for (const Unit& unit : units_) reach(unit.first);
    while (!found.empty()) {
      const uint32_t s = found.back(), unit = unit_of_state_[s];
      found.pop_back();
      if (states_[s].is_final && !is_empty[unit]) {
        is_empty[unit] = true;
        for (const uint32_t target : waiting[unit]) reach(target);
      }
      for (const ByteEdge& edge : states_[s].edges) {
        if (!edge.calls) continue;
        calls[unit].push_back(edge.called);
        waiting[edge.called].push_back(edge.target);
        if (is_empty[edge.called]) reach(edge.target);
      }
    }
    std::vector<uint8_t> color(units_.size(), 0);  // 1: on the path, 2: done
    for (uint32_t root = 0; root < units_.size(); root++) {
      std::vector<std::pair<uint32_t, size_t>> path;
      if (color[root] == 0) path.push_back({root, 0}), color[root] = 1;
      while (!path.empty()) {
        auto& [unit, next] = path.back();
        if (next == calls[unit].size()) {
          color[unit] = 2;
          path.pop_back();
          continue;
        }
        const uint32_t called = calls[unit][next++];
        if (color[called] == 1)
          host::fail(host::Exit::kUnsupported,
                     grammar_.where() + ": rule '" + grammar_.rule(units_[called].rule).name +
                         "' begins with itself (left recursion); expected a character before it");
        if (color[called] == 0) path.push_back({called, 0}), color[called] = 1;
      }
    }
  }

  std::vector<uint8_t> encode() {
    std::sort(
        form_runs_.begin(), form_runs_.end(),
        [](const text::GrammarRun& a, const text::GrammarRun& b) { return a.first < b.first; });
    uint64_t edges = 0;
    for (const Automaton::State& state : states_) edges += state.edges.size();
    if (states_.size() > text::kMaxGrammarStates || edges > text::kMaxGrammarEdges ||
        form_runs_.size() > text::kMaxGrammarRuns)
      host::fail(host::Exit::kUnsupported, grammar_.where() + ": larger than a grammar may be");
    std::vector<uint8_t> form;
    const auto put = [&form](uint32_t word) {
      form.resize(form.size() + 4);
      store_little<uint32_t>(form.data() + form.size() - 4, word);
    };
    for (const uint32_t word :
         {text::kGrammarMagic, text::kGrammarVersion, uint32_t(states_.size()), uint32_t(edges),
          uint32_t(form_runs_.size()), units_[0].first})
      put(word);
    uint32_t first = 0;
    for (const Automaton::State& state : states_) {
      uint32_t flags = state.is_final ? text::kStateFinal : 0;
      for (const ByteEdge& edge : state.edges)
        flags |= edge.calls ? text::kStateCalls : text::kStateTakes;
      put(first | flags);
      first += uint32_t(state.edges.size());
    }
    put(first);
    for (const Automaton::State& state : states_)
      for (const ByteEdge& edge : state.edges) {
        put(edge.calls ? text::kEdgeCalls | units_[edge.called].first
                       : uint32_t{edge.low} | uint32_t{edge.high} << 8);
        put(edge.target);
      }
    for (const text::GrammarRun& run : form_runs_)
      for (const uint32_t word : {run.first, run.period, run.copies, run.least}) put(word);
    return form;
  }

  const Grammar& grammar_;
  GrammarBudget budget_;
  std::vector<uint32_t> sizes_;
  std::vector<Unit> units_;  // the first is the root
  std::map<uint32_t, uint32_t> units_of_rules_;
  std::map<std::tuple<ExprId, uint32_t, uint32_t>, uint32_t> runs_;
  std::vector<text::GrammarRun> form_runs_;
  std::vector<Automaton::State> states_;
  std::vector<uint32_t> unit_of_state_;
  std::vector<bool> is_live_;
};

}  // namespace

std::vector<uint8_t> compile_grammar(const Grammar& grammar, uint32_t root) {
  return Compiler(grammar).compile(root);
}

}  // namespace ingot::grammar
