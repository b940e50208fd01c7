// SPDX-License-Identifier: Apache-2.0
// tools/compile/emit/emit.h - a finished program to the FileSpec that is written: values in the
// order of their first use (so that weights lie in the order in which a run reads them), symbolic
// dims as expressions, the plan where shapes are static.
#pragma once
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

ProgramSpec emit_program(const LoweredProgram& lowered);

}  // namespace ingot::convert
