// SPDX-License-Identifier: Apache-2.0
// runtime/text/grammar.h - a grammar over bytes as tools/text compiles it: states with edges, which
// take a byte or call another state and come back.
//
// Words of 32 bits, little-endian: magic, version, states, edges, runs, start; for each state and
// one more its first edge and flags; for each edge two words; for each run four. Edges of a state
// take bytes that rise, each by one edge; its calls stand behind them. A run is one
// automaton many times over, for a counted repetition: its copies are alike except for where they
// may end.
//
// Owns     nothing: the bytes, of any alignment, outlive the view.
// Errors   kNotIngot, kUnsupportedVersion, kTruncated{need, have}, kLimitExceeded,
//          kStructureInvalid (`offset`: the word).
#pragma once
#include "runtime/base/byte_order.h"
#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace ingot::text {

constexpr uint32_t kGrammarMagic = 0x52474e49, kGrammarVersion = 1;  // "INGR"
constexpr uint32_t kMaxGrammarStates = 1u << 22, kMaxGrammarEdges = 1u << 24;
constexpr uint32_t kMaxGrammarRuns = 1u << 16;
constexpr uint32_t kGrammarHead = 6;  // words

// Bits of a state beside its first edge.
constexpr uint32_t kStateFinal = 1u << 28, kStateCalls = 1u << 29, kStateTakes = 1u << 30;
constexpr uint32_t kFirstEdgeMask = kStateFinal - 1;
constexpr uint32_t kEdgeCalls = 1u << 31;  // beside the called state; else lowest and highest byte

struct GrammarEdge {
  uint32_t what, target;
  bool calls() const { return (what & kEdgeCalls) != 0; }
  uint32_t called() const { return what & ~kEdgeCalls; }
  bool takes(uint8_t byte) const { return byte >= (what & 255) && byte <= (what >> 8 & 255); }
};

/// States [first, first + period * copies): copy k may end the repetition from `least` on.
struct GrammarRun {
  uint32_t first, period, copies, least;
};

struct GrammarView {
  const uint8_t* bytes = nullptr;
  uint32_t states = 0, edges = 0, runs = 0, start = 0;

  uint32_t word(uint64_t i) const { return load_little<uint32_t>(bytes + 4 * i); }
  uint32_t state(uint32_t s) const { return word(uint64_t{kGrammarHead} + s); }
  uint32_t first_edge(uint32_t s) const { return state(s) & kFirstEdgeMask; }
  GrammarEdge edge(uint32_t e) const {
    const uint64_t at = uint64_t{kGrammarHead} + states + 1 + 2 * uint64_t{e};
    return {word(at), word(at + 1)};
  }
  GrammarRun run(uint32_t r) const {
    const uint64_t at = uint64_t{kGrammarHead} + states + 1 + 2 * uint64_t{edges} + 4 * uint64_t{r};
    return {word(at), word(at + 1), word(at + 2), word(at + 3)};
  }
  /// The first state that no text of up to `length` bytes tells from `s` but by what it leads to.
  uint32_t like(uint32_t s, uint32_t length) const;
};

/// Validates all of it: what is in the view may be followed. Time is linear.
Status open_grammar(Span<const uint8_t> form, GrammarView* out, ErrorDetail* detail);

}  // namespace ingot::text
