// SPDX-License-Identifier: Apache-2.0
// runtime/text/constraint_step.cpp - the automaton: threads, their stacks, and a byte.
#include <cstring>

#include "runtime/text/constraint_limits.h"

namespace ingot::text {
namespace {

uint32_t head_of(uint32_t target, uint32_t parent) {
  return ((target * 0x9e3779b1u) ^ (parent * 0x85ebca6bu)) >> 20;
}
static_assert(kStackHeads == 1u << 12, "head_of() has twelve bits");

}  // namespace

bool TokenConstraint::refuse(const char* what) {
  limit_ = what;
  return false;
}

/// The stack `parent` with where a call comes back to; kNoStack: there is no room.
uint32_t TokenConstraint::push(uint32_t target, uint32_t parent) {
  uint32_t& head = heads_[head_of(target, parent)];
  for (uint32_t n = head; n != kNoStack; n = nodes_[n].next) {
    if (nodes_[n].target == target && nodes_[n].parent == parent) return n;
    spend(1);
  }
  if (node_count_ == kStackNodes) return kNoStack;
  nodes_[node_count_] = {target, parent, head};
  return head = node_count_++;
}

/// The last ones that were pushed stand first in their lists.
void TokenConstraint::pop_nodes(uint32_t count) {
  while (node_count_ > count) {
    const Node& node = nodes_[--node_count_];
    heads_[head_of(node.target, node.parent)] = node.next;
  }
}

bool TokenConstraint::add(Level* level, uint32_t state, uint32_t stack) {
  for (uint32_t i = level->first; i < level->end; i++)
    if (threads_[i].state == state && threads_[i].stack == stack) return true;
  if (level->end - level->first == kMaxGrammarThreads || level->end == kWalkThreads)
    return refuse("ways to read a text by the grammar");
  spend(1 + (level->end - level->first) / 8);
  if (steps_left_ == 0) return refuse("steps of the grammar for a token");
  work_.steps++;
  threads_[level->end++] = {state, stack};
  level->takes = level->takes || (grammar_.state(state) & kStateTakes);
  return true;
}

/// Adds what the threads lead to without a byte.
bool TokenConstraint::close(Level* level) {
  for (uint32_t i = level->first; i < level->end; i++) {
    const Thread t = threads_[i];
    const uint32_t flags = grammar_.state(t.state);
    if (flags & kStateFinal) {
      if (t.stack == kUnknownStack)
        level->escaped = level->escapes = true;
      else if (t.stack == kRootStack)
        level->completes = true;
      else if (!add(level, nodes_[t.stack].target, nodes_[t.stack].parent))
        return false;
    }
    if (!(flags & kStateCalls)) continue;
    const uint32_t end = grammar_.first_edge(t.state + 1);
    spend((end - grammar_.first_edge(t.state)) / 16);
    for (uint32_t e = grammar_.first_edge(t.state); e < end; e++) {
      const GrammarEdge edge = grammar_.edge(e);
      if (!edge.calls()) continue;
      // A call that is the last thing comes back to where this one does.
      const bool is_last = (grammar_.state(edge.target) & ~kFirstEdgeMask) == kStateFinal;
      const uint32_t stack = is_last ? t.stack : push(edge.target, t.stack);
      if (stack == kNoStack) return refuse("nested calls of the grammar");
      if (!add(level, edge.called(), stack)) return false;
    }
  }
  return true;
}

/// Where the state goes with that byte; kNoStack: nowhere.
uint32_t TokenConstraint::target_of(uint32_t state, uint32_t flags, uint8_t byte) {
  const uint32_t end = grammar_.first_edge(state + 1);
  for (uint32_t e = flags & kFirstEdgeMask; e < end; e++) {
    const GrammarEdge edge = grammar_.edge(e);
    if (edge.calls() || (edge.what & 255) > byte) break;  // in order, calls behind them
    if (edge.takes(byte)) return edge.target;
    if ((e & 15) == 15) spend(1);
  }
  return kNoState;
}

bool TokenConstraint::step(const Level& from, uint8_t byte, Level* to) {
  Level made;
  made.first = made.end = from.end;
  made.escapes = from.escapes;
  bool is_closed = true;
  for (uint32_t i = from.first; i < from.end; i++) {
    const Thread t = threads_[i];
    const uint32_t flags = grammar_.state(t.state);
    if (!(flags & kStateTakes)) continue;
    const uint32_t target = target_of(t.state, flags, byte);
    if (target == kNoState) continue;
    if (!add(&made, target, t.stack)) return false;
    is_closed = is_closed && !(grammar_.state(target) & (kStateFinal | kStateCalls));
  }
  if (!is_closed && !close(&made)) return false;
  made.nodes = node_count_;
  *to = made;
  return true;
}

/// Drops stacks that no thread has.
void TokenConstraint::compact() {
  std::memset(moved_, 0, node_count_ * sizeof *moved_);
  for (uint32_t i = 0; i < base_.end; i++)
    for (uint32_t n = threads_[i].stack; n >= kFirstStack && !moved_[n]; n = nodes_[n].parent)
      moved_[n] = 1;
  moved_[kRootStack] = kRootStack;
  for (uint32_t i = 0; i < kStackHeads; i++) heads_[i] = kNoStack;
  uint32_t kept = kFirstStack;
  for (uint32_t n = kFirstStack; n < node_count_; n++) {
    if (!moved_[n]) continue;
    const uint32_t target = nodes_[n].target, parent = moved_[nodes_[n].parent];
    uint32_t& head = heads_[head_of(target, parent)];
    nodes_[kept] = {target, parent, head};
    head = kept;
    moved_[n] = kept++;
  }
  node_count_ = kept;
  for (uint32_t i = 0; i < base_.end; i++) threads_[i].stack = moved_[threads_[i].stack];
  has_last_ = false;
}

}  // namespace ingot::text
