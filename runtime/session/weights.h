// SPDX-License-Identifier: Apache-2.0
// runtime/session/weights.h - brings weights to where a layout wants them.
#pragma once
#include "runtime/memory/arena.h"
#include "runtime/session/preparation.h"

namespace ingot {

/// Maps or reads every part into the arena; nothing for weights in place.
Status load_weights(const OpenModel& model, const Layout& layout, const Arena& arena,
                    ErrorDetail* detail);
/// Huge pages, locking and touching for a reserved arena: its mapped parts, then what is private.
Status apply_arena_options(const OpenModel& model, const Layout& layout, const Arena& arena,
                           const ArenaOptions& arena_options, ErrorDetail* detail);
/// Constants that the file stores in 16 bits, as f32 to where the kernels find them: in the arena
/// at `base`, or, where `device` is given, in its memory at `base`.
/// Errors   kFileRead kHashMismatch and those of the device.
Status widen_weights(const OpenModel& model, const Layout& layout, uint8_t* base, Device* device,
                     ErrorDetail* detail);
/// Reads every part into the memory of a device, in chunks.
Status upload_weights(const OpenModel& model, const Layout& layout, Device& device, uint8_t* base,
                      ErrorDetail* detail);

// For whoever brings constants one by one.
// large enough that the copies, not their beginnings, take the time
constexpr uint64_t kStagingBytes = 2 << 20;
/// Elements [first, first + bytes / 4) of a constant that the file stores in 16 bits, as f32 to
/// `to`, through the upper half of that.
Status widen_elements(const OpenModel& model, const ValueDef& value, uint64_t first, uint8_t* to,
                      uint64_t bytes, ErrorDetail* detail);
/// Of parts that were not read as a whole (kNoOffset) and are no longer there to be compared: that
/// the file still has them.
Status check_read_parts(const OpenModel& model, const Layout& layout, ErrorDetail* detail);

}  // namespace ingot
