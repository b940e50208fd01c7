// SPDX-License-Identifier: Apache-2.0
// tools/cli/output/standard_output.h - another stream in the place of standard output.
#pragma once
#include <cstdio>

namespace ingot::cli {

/// From now on `stdout`, and what printf() and its kin write to, is this stream.
void replace_standard_output(FILE* stream);

}  // namespace ingot::cli
