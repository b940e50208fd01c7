// SPDX-License-Identifier: Apache-2.0
// runtime/op/linear_recurrence.h - a matrix S of each head that every token changes and reads:
// linear attention, state space models (Mamba-2), the gated delta rule.
// Operands  0 q f32 [T, Q*K]; 1 k f32 [T, G*K]; 2 v f32 [T, H*V]; 3 states f32 [.., H*K*V]: each
//           row holds S [K, V] of every head; 4 from i64 [T]: the row that a token begins with, -1:
//           zeros; 5 to i64 [T]: the row that it leaves; 6 [decay f32 [T, H] or [T, H*K]]; 7 [beta
//           f32 [T, H] or [T, 1]]. Tokens come in order: one may begin with what another left.
// Results   0 states, rows that no token leaves as they were; 1 y f32 [T, N*V], N = max(H, Q).
// Heads     H of v and S (`heads`), G of k, Q of q. Head h has key h / (H / G); y's head n reads S
//           of head n / (N / H) with query n / (N / Q).
// Order     per column of S: D = decay * S; u = v, or with beta u = beta * (v - c), c a chain of
//           fma from zero of k * D over K ascending; S = fma(k, u, D); y = a chain of fma from zero
//           of q * S over K ascending. So the bits do not depend on how tokens are split into runs.
// Errors    a row outside its states is kBadIndexValue: its token changes nothing and reads zeros.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct LinearRecurrenceAttributes {
  uint32_t heads = 1, key_heads = 1, query_heads = 1;
};
constexpr uint32_t kMaxRecurrenceHeads = 65536;
extern const OpContract kLinearRecurrenceContract;

namespace linear_recurrence {

enum Operand { kQuery, kKey, kValue, kStates, kFrom, kTo, kDecay, kBeta };

/// @pre checked
struct Shape {
  int64_t tokens, rows, heads, key_heads, query_heads, y_heads;
  int64_t keys, values;  // K and V
  bool decay_by_key;     // decay is [T, H*K]
  bool one_beta;         // beta is [T, 1]
};
Shape shape_of(const OpArguments& a);

/// A tensor with a row a token; null: absent.
struct TokenRows {
  const float* data;
  int64_t stride;
};
/// What kernels of every device read and write. @pre checked
struct Plan {
  Shape shape;
  TokenRows q, k, v, decay, beta;
  const int64_t *from, *to;
  const float* states;
  float *after, *y;
  int64_t y_stride;
};
Plan plan_of(const OpArguments& a);

}  // namespace linear_recurrence
}  // namespace ingot
