// SPDX-License-Identifier: Apache-2.0
// tests/conformance/no_gpu.cpp - on processors that the emulator of GPUs does not know: none is
// compared.
#include "tests/conformance/conformance_gpu.h"

namespace ingot::conformance {

bool run_on_gpu(OpCode, const OpArguments&, uint32_t, Status*, int) { return false; }
int gpu_variants(OpCode, const OpArguments&) { return 0; }

}  // namespace ingot::conformance
