// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/precision/draw_inputs.h - inputs of several kinds for a network that nobody gave
// any for: an error that noise hides may show on an image.
#pragma once
#include <cstdint>

#include "tools/session/engine.h"

namespace ingot::precision {

/// The same for every call and machine. Of floats the kinds take turns, drawn anew in each. Where
/// two axes or more are long: pages of letters, noise, surfaces with waves and edges; in [0, 1],
/// about 0, and in [-2, 2], as normalized images are. Else tones and noise. Masks are true at
/// first. Others are make_input()'s.
host::Array draw_input(const cli::Engine& engine, uint32_t i, const ingot_tensor& like,
                       uint64_t draw);

}  // namespace ingot::precision
