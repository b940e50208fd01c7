// SPDX-License-Identifier: Apache-2.0
// planted.h - bugs on purpose, by name: of the import, of passes, of kernels. They exist in
// graph_runner alone.
#pragma once
#include <string>
#include <vector>

#include "tools/compile/convert/convert.h"
#include "tools/session/engine.h"

namespace ingot::planted {

/// "import: TopK takes the smallest", "pass: bias is lost", "kernel: softmax".
std::vector<std::string> names();
/// What is converted and run from now on has the bug; "": none. False: there is none of that name.
bool plant(const std::string& name);
/// Whether the last conversion had something to be wrong about; always true of a kernel.
bool is_placed();

/// Hooks for a conversion and for a session; they do nothing while nothing is planted.
passes::Observer observer();
const ingot_kernel_table* kernels();

}  // namespace ingot::planted
