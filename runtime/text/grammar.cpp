// SPDX-License-Identifier: Apache-2.0
#include "runtime/text/grammar.h"

namespace ingot::text {
namespace {

Status refuse(ErrorDetail* detail, const char* field, uint64_t word) {
  return fail(detail, Code::kStructureInvalid, field, 0, 0, word);
}

Status check_states(const GrammarView& g, ErrorDetail* detail) {
  uint32_t e = 0;
  for (uint32_t s = 0; s < g.states; s++) {
    const uint32_t end = g.first_edge(s + 1);
    uint32_t flags = g.state(s) & kStateFinal, next_byte = 0;
    if (g.first_edge(s) != e || end < e || end > g.edges)
      return refuse(detail, "a grammar's edges are those of its states, in order", s);
    for (; e < end; e++) {
      const GrammarEdge edge = g.edge(e);
      if (edge.target >= g.states || (edge.calls() && edge.called() >= g.states))
        return refuse(detail, "a grammar's edge leads to a state", e);
      if (!edge.calls() && (edge.what >> 16 || (edge.what & 255) > edge.what >> 8))
        return refuse(detail, "a grammar's edge takes a range of bytes", e);
      flags |= edge.calls() ? kStateCalls : kStateTakes;
      if (!edge.calls() && (edge.what & 255) < next_byte)
        return refuse(detail, "a grammar's state takes a byte by one edge, and calls behind it", e);
      next_byte = edge.calls() ? 256 : (edge.what >> 8) + 1;
    }
    if ((g.state(s) & ~kFirstEdgeMask) != flags)
      return refuse(detail, "a grammar's state has the flags of its edges", s);
  }
  return e == g.edges ? Status() : refuse(detail, "a grammar's edges are of its states", e);
}

Status check_runs(const GrammarView& g, ErrorDetail* detail) {
  uint64_t end = 0;
  for (uint32_t r = 0; r < g.runs; r++) {
    const GrammarRun run = g.run(r);
    const uint64_t last = run.first + uint64_t{run.period} * run.copies;
    if (run.first < end || run.period == 0 || run.copies == 0 || run.least > run.copies ||
        last > g.states)
      return refuse(detail, "a grammar's runs are states, in order", r);
    end = last;
  }
  return {};
}

}  // namespace

Status open_grammar(Span<const uint8_t> form, GrammarView* out, ErrorDetail* detail) {
  GrammarView g;
  g.bytes = form.data;
  if (form.size < 4 * kGrammarHead)
    return fail(detail, Code::kTruncated, "grammar", 4 * kGrammarHead, form.size);
  if (g.word(0) != kGrammarMagic) return fail(detail, Code::kNotIngot, "a compiled grammar");
  if (g.word(1) != kGrammarVersion)
    return fail(detail, Code::kUnsupportedVersion, "grammar", kGrammarVersion, g.word(1));
  g.states = g.word(2), g.edges = g.word(3), g.runs = g.word(4), g.start = g.word(5);
  if (g.states > kMaxGrammarStates)
    return fail(detail, Code::kLimitExceeded, "states of a grammar", kMaxGrammarStates, g.states);
  if (g.edges > kMaxGrammarEdges)
    return fail(detail, Code::kLimitExceeded, "edges of a grammar", kMaxGrammarEdges, g.edges);
  if (g.runs > kMaxGrammarRuns)
    return fail(detail, Code::kLimitExceeded, "runs of a grammar", kMaxGrammarRuns, g.runs);
  const uint64_t words =
      uint64_t{kGrammarHead} + g.states + 1 + 2 * uint64_t{g.edges} + 4 * uint64_t{g.runs};
  if (form.size != 4 * words)
    return fail(detail, Code::kTruncated, "bytes of a grammar", 4 * words, form.size);
  if (g.start >= g.states) return refuse(detail, "a grammar begins with a state", g.start);
  INGOT_TRY(check_states(g, detail));
  INGOT_TRY(check_runs(g, detail));
  *out = g;
  return {};
}

uint32_t GrammarView::like(uint32_t s, uint32_t length) const {
  uint32_t low = 0, high = runs;  // the first run behind s
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (run(middle).first <= s)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return s;
  const GrammarRun r = run(low - 1);
  const uint32_t copy = (s - r.first) / r.period;
  if (copy >= r.copies) return s;
  uint32_t other = copy;
  if (uint64_t{copy} + length < r.least)
    other = 0;
  else if (copy >= r.least && uint64_t{copy} + length < r.copies)
    other = r.least;
  return s - (copy - other) * r.period;
}

}  // namespace ingot::text
