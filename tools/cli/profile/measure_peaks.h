// SPDX-License-Identifier: Apache-2.0
// tools/cli/profile/measure_peaks.h - what this machine reaches at best, for a roofline: the
// library's own product on operands that stay in the cache, and copying what does not. One thread;
// some tens of milliseconds.
#pragma once
#include "runtime/include/ingot/ingot.h"

namespace ingot::cli {

struct Peaks {
  double gflops = 0;  // of one thread; 0 where the table has no product for f32
  double gbytes = 0;  // read and written, per second
};
Peaks measure_peaks(const ingot_kernel_table* kernels);

}  // namespace ingot::cli
