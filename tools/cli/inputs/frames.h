// SPDX-License-Identifier: Apache-2.0
// tools/cli/inputs/frames.h - frames of a camera as files: the bytes alone, without a header, or a
// image.
#pragma once
#include <string>
#include <vector>

#include "tools/files/npz/npz.h"
#include "tools/session/engine.h"

namespace ingot::cli {

/// The arrays of an .npz or .npy; of any other file, for a model whose inputs are frames alone, the
/// frames that its bytes are, one behind the other, with pitch. A PNG or JPEG is one frame, for a
/// model that takes R, G and B (or gray) of that size. @throws Failure kMismatch where it has not
/// the bytes of whole frames; and as read_npz() does.
std::vector<host::Array> read_inputs(const Engine& engine, const std::string& path);
/// Whether it begins as an .npz or .npy does.
bool holds_arrays(const std::string& path);

}  // namespace ingot::cli
