// SPDX-License-Identifier: Apache-2.0
// runtime/plan/verify_plan.h - checks a layout: no two tensors that live in the same step share a
// byte, nothing leaves the region.
// Owns     nothing; works in the caller's workspace.
// Threads  any.
// Cost     n log n: two sorts and one sweep.
#pragma once
#include "runtime/base/status.h"
#include "runtime/plan/lifetime.h"

namespace ingot {

/// Bytes of workspace for `tensor_count` tensors.
uint64_t verify_plan_workspace_bytes(uint32_t tensor_count);

/// Checks offsets[i] for each lifetime with bytes: a multiple of `alignment` (a power of two),
/// inside [0, plan_bytes), and disjoint from every other in each step. Entries without bytes must
/// be kNoOffset or lie inside the region; they are not read. @pre offsets.size == lifetimes.size;
/// workspace is 8-byte aligned.
/// Errors  kPlanInvalid{operand = tensor; need, have}; kArenaTooSmall{need, have} for the
///         workspace.
Status verify_plan(Span<const Lifetime> lifetimes, Span<const uint64_t> offsets,
                   uint64_t plan_bytes, uint64_t alignment, Span<uint8_t> workspace,
                   ErrorDetail* detail);

}  // namespace ingot
