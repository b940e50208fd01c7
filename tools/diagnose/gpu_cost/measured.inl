// tools/diagnose/gpu_cost/measured.inl - written by tests/figures/gpu_factors.py: nothing was
// measured yet
