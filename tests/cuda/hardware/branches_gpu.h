// SPDX-License-Identifier: Apache-2.0
// tests/cuda/hardware/branches_gpu.h - control flow on a GPU compared with the CPU.
#pragma once

namespace ingot::test {

/// All networks of branches_gpu.cpp, one of them `replays` times. 0, 1 where something differs, 77
/// without a GPU; says which.
int run_branches(int replays);

}  // namespace ingot::test
