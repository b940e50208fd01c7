// SPDX-License-Identifier: Apache-2.0
// tools/text/grammar_automaton.h - one rule's automaton over bytes and calls: with any number of
// ways (Thompson's), then with one for each byte (the subset construction).
#pragma once
#include <cstdint>
#include <vector>

#include "tools/text/grammar.h"

namespace ingot::grammar {

/// Takes a byte of [low, high], or is a call of rule `called`.
struct ByteEdge {
  uint8_t low = 0, high = 0;
  bool calls = false;
  uint32_t called = 0, target = 0;
};

struct Automaton {  // begins at state 0
  struct State {
    std::vector<ByteEdge> edges;
    bool is_final = false;
  };
  std::vector<State> states;
};

/// What a compilation may take, all of its rules together: a hostile grammar costs so much.
struct GrammarBudget {
  uint64_t states = uint64_t{1} << 21, work = uint64_t{1} << 27;
};

class Nfa {
 public:
  Nfa(const std::string& where, GrammarBudget* budget) : where_(where), budget_(*budget) {}
  uint32_t add_state();
  void add_empty(uint32_t from, uint32_t to) { add({0, 0, kEmpty, 0, to}, from); }
  uint32_t add_call(uint32_t from, uint32_t rule);
  uint32_t add_bytes(uint32_t from, const std::string& bytes);
  /// A code point of the set, as UTF-8.
  void add_set(uint32_t from, const CodeSet& set, uint32_t to);
  /// Equal bytes lead to one state. `end` is the final one, state 0 the first.
  Automaton determine(uint32_t end);

 private:
  enum Kind : uint8_t { kBytes, kCall, kEmpty };
  struct Edge {
    uint8_t low, high;
    Kind kind;
    uint32_t called, target;
    uint32_t next = 0;
  };
  void add(Edge edge, uint32_t from);
  void add_range(uint32_t from, uint32_t low, uint32_t high, uint32_t to);
  void spend(uint64_t work);
  void close(std::vector<uint32_t>* states);
  std::vector<ByteEdge> edges_of(const std::vector<uint32_t>& states,
                                 std::vector<std::vector<uint32_t>>* targets);

  const std::string& where_;
  GrammarBudget& budget_;
  std::vector<uint32_t> heads_;  // first edge + 1 of a state
  std::vector<Edge> edges_;
  std::vector<uint32_t> seen_;  // the closing that saw a state last
  uint32_t closings_ = 0;
};

}  // namespace ingot::grammar
