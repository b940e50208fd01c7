// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/self_check.h - what was converted is opened as a device would open it, before
// anything is written.
#pragma once
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/write/program_builder.h"

namespace ingot::convert {

/// Encodes the file with empty weights, opens it and binds it under each of `trials` with the rules
/// of every operator. @throws ConversionError(kInternal) with the verifier's words when it refuses,
/// ConversionError(kUnsupported) listing the instructions that no kernel of this build can run.
void check_file(const FileSpec& file, const LoweredProgram& lowered,
                const std::vector<Bindings>& trials, bool require_kernels);

}  // namespace ingot::convert
