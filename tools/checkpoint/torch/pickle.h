// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/pickle.h - Python's pickle, protocols 0 to 5, read into an inert tree: no
// import, no call.
// Errors   host::Failure kUnsafe for what only executing could give (a call of anything not known
//          to be data, INST, OBJ, EXT), kCorrupt for a stream that is not sound.
// Memory   charged as metadata (tools/files/work_budget.h), before it is taken.
#pragma once
#include <string>
#include <string_view>

#include "tools/checkpoint/torch/value_tree.h"

namespace ingot::checkpoint {

/// Reads one pickle from the start of `bytes` and sets *used to what it took. `where` begins every
/// error.
ValueTree read_pickle(std::string_view bytes, const std::string& where, size_t* used = nullptr);

}  // namespace ingot::checkpoint
