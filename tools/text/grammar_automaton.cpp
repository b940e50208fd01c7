// SPDX-License-Identifier: Apache-2.0
#include "tools/text/grammar_automaton.h"

#include <algorithm>
#include <map>

#include "runtime/text/unicode.h"
#include "tools/files/failure.h"

namespace ingot::grammar {
namespace {

/// The last code point of as many bytes in UTF-8.
constexpr uint32_t kLastOfLength[] = {0x7f, 0x7ff, 0xffff, kMaxCode};

constexpr uint64_t kStateWork = 128;  // of one that is made by the subset construction

}  // namespace

uint32_t Nfa::add_state() {
  if (budget_.states == 0)
    host::fail(host::Exit::kUnsupported,
               where_ + ": larger than a grammar may be; are repetitions nested?");
  budget_.states--;
  heads_.push_back(0);
  return uint32_t(heads_.size() - 1);
}

void Nfa::spend(uint64_t work) {
  if (work > budget_.work)
    host::fail(host::Exit::kUnsupported,
               where_ +
                   ": takes more work than a grammar may; its alternatives begin alike too "
                   "often");
  budget_.work -= work;
}

void Nfa::add(Edge edge, uint32_t from) {
  spend(1);
  edge.next = heads_[from];
  edges_.push_back(edge);
  heads_[from] = uint32_t(edges_.size());
}

uint32_t Nfa::add_call(uint32_t from, uint32_t rule) {
  const uint32_t to = add_state();
  add({0, 0, kCall, rule, to}, from);
  return to;
}

uint32_t Nfa::add_bytes(uint32_t from, const std::string& bytes) {
  for (const char c : bytes) {
    const uint32_t to = add_state();
    add({uint8_t(c), uint8_t(c), kBytes, 0, to}, from);
    from = to;
  }
  return from;
}

/// Code points of one length in UTF-8.
void Nfa::add_range(uint32_t from, uint32_t low, uint32_t high, uint32_t to) {
  uint8_t a[4], b[4];
  const size_t length = text::put_code(low, a);
  text::put_code(high, b);
  // The ranges of each byte are independent where all that follow are whole.
  for (size_t i = 1; i < length; i++) {
    const uint32_t block = (1u << (6 * (length - i))) - 1;
    if ((low & ~block) == (high & ~block)) continue;
    if (low & block) {
      add_range(from, low, low | block, to);
      return add_range(from, (low | block) + 1, high, to);
    }
    if ((high & block) != block) {
      add_range(from, low, (high & ~block) - 1, to);
      return add_range(from, high & ~block, high, to);
    }
  }
  for (size_t i = 0; i < length; i++) {
    const uint32_t next = i + 1 < length ? add_state() : to;
    add({a[i], b[i], kBytes, 0, next}, from);
    from = next;
  }
}

void Nfa::add_set(uint32_t from, const CodeSet& set, uint32_t to) {
  for (const CodeRange& range : set) {
    uint32_t low = range.low;
    for (const uint32_t last : kLastOfLength) {
      if (low > last || low > range.high) continue;
      const uint32_t high = std::min(last, range.high);
      add_range(from, low, high, to);
      low = high + 1;
    }
  }
}

/// Adds what is reached without a byte, and sorts them.
void Nfa::close(std::vector<uint32_t>* states) {
  seen_.resize(heads_.size(), 0);
  closings_++;
  std::vector<uint32_t> all;
  for (const uint32_t s : *states)
    if (seen_[s] != closings_) seen_[s] = closings_, all.push_back(s);
  for (size_t i = 0; i < all.size(); i++)
    for (uint32_t e = heads_[all[i]]; e; e = edges_[e - 1].next) {
      const Edge& edge = edges_[e - 1];
      spend(1);
      if (edge.kind != kEmpty || seen_[edge.target] == closings_) continue;
      seen_[edge.target] = closings_;
      all.push_back(edge.target);
    }
  std::sort(all.begin(), all.end());
  spend(all.size());
  states->swap(all);
}

/// Edges of a set of states, each to a set that is not closed yet.
std::vector<ByteEdge> Nfa::edges_of(const std::vector<uint32_t>& states,
                                    std::vector<std::vector<uint32_t>>* targets) {
  std::vector<ByteEdge> made;
  targets->clear();
  const Edge* only = nullptr;
  uint32_t count = 0;
  for (const uint32_t s : states)
    for (uint32_t e = heads_[s]; e; e = edges_[e - 1].next)
      if (edges_[e - 1].kind != kEmpty) only = &edges_[e - 1], count++;
  if (count == 1) {  // as most states are
    spend(1);
    made.push_back({only->low, only->high, only->kind == kCall, only->called, 0});
    targets->push_back({only->target});
    return made;
  }
  std::map<uint32_t, std::vector<uint32_t>> calls;
  std::vector<const Edge*> taking;
  bool begins[257] = {};  // where what is taken changes
  for (const uint32_t s : states)
    for (uint32_t e = heads_[s]; e; e = edges_[e - 1].next) {
      const Edge& edge = edges_[e - 1];
      if (edge.kind == kCall) calls[edge.called].push_back(edge.target);
      if (edge.kind != kBytes) continue;
      begins[edge.low] = begins[edge.high + 1] = true;
      taking.push_back(&edge);
    }
  // Targets of each range of bytes between two changes.
  uint32_t range_of[257], ranges = 0;
  std::vector<uint32_t> firsts;
  for (uint32_t byte = 0; byte < 256; byte++) {
    if (begins[byte] || byte == 0) firsts.push_back(byte), ranges++;
    range_of[byte] = ranges - 1;
  }
  firsts.push_back(256);
  std::vector<std::vector<uint32_t>> of_range(ranges);
  for (const Edge* edge : taking)
    for (uint32_t r = range_of[edge->low]; r <= range_of[edge->high]; r++) {
      of_range[r].push_back(edge->target);
      spend(1);
    }
  for (uint32_t r = 0; r < ranges; r++) {
    if (of_range[r].empty()) continue;
    std::sort(of_range[r].begin(), of_range[r].end());
    const bool is_more =
        !made.empty() && made.back().high + 1u == firsts[r] && targets->back() == of_range[r];
    if (is_more) {
      made.back().high = uint8_t(firsts[r + 1] - 1);
      continue;
    }
    made.push_back({uint8_t(firsts[r]), uint8_t(firsts[r + 1] - 1), false, 0, 0});
    targets->push_back(std::move(of_range[r]));
  }
  for (auto& [rule, to] : calls) {
    made.push_back({0, 0, true, rule, 0});
    targets->push_back(std::move(to));
  }
  return made;
}

Automaton Nfa::determine(uint32_t end) {
  Automaton made;
  std::map<std::vector<uint32_t>, uint32_t> numbers;
  std::vector<const std::vector<uint32_t>*> sets;
  const auto number_of = [&](std::vector<uint32_t> states) {
    close(&states);
    const auto [at, is_new] = numbers.try_emplace(std::move(states), uint32_t(sets.size()));
    if (is_new) {
      spend(kStateWork);
      if (budget_.states == 0) add_state();  // says why not
      budget_.states--;
      sets.push_back(&at->first);
      made.states.push_back({{}, std::binary_search(at->first.begin(), at->first.end(), end)});
    }
    return at->second;
  };
  (void)number_of({0});
  std::vector<std::vector<uint32_t>> targets;
  for (size_t i = 0; i < sets.size(); i++) {
    std::vector<ByteEdge> edges = edges_of(*sets[i], &targets);
    for (size_t e = 0; e < edges.size(); e++) edges[e].target = number_of(std::move(targets[e]));
    made.states[i].edges = std::move(edges);
  }
  return made;
}

}  // namespace ingot::grammar
