// SPDX-License-Identifier: Apache-2.0
// tools/session/feed.h - from the arrays of an .npz to the inputs of a session.
#pragma once
#include <string>
#include <vector>

#include "tools/session/engine.h"

namespace ingot::cli {

/// The array for each input of the model, in the model's order: NAME or in:NAME. A lone .npy is the
/// only input. Arrays named out:..., mid:... and meta are left aside. @throws Failure kMismatch for
/// a missing input and for an array that no input has, with the nearest name.
std::vector<const host::Array*> match_inputs(const Engine& engine,
                                             const std::vector<host::Array>& arrays,
                                             const std::string& where);

/// Binds the dimensions that the arrays' shapes determine, then those of --dim.
void bind_from_inputs(Engine* engine, const std::vector<const host::Array*>& inputs,
                      const std::map<std::string, int64_t>& dims, const std::string& where);

/// "FILE: input 'x'".
std::string input_place(const std::string& where, const std::string& name);

}  // namespace ingot::cli
