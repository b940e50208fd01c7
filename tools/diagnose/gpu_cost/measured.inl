// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/measured.inl - written by tests/figures/gpu_factors.py: nothing was
// measured yet
