// runtime/session/weights.h - brings weights to where a layout wants them.
#pragma once
#include "runtime/memory/arena.h"
#include "runtime/session/preparation.h"

namespace ingot {

/// Maps or reads every part into the arena; nothing for weights in place.
Status load_weights(const OpenModel& model, const Layout& layout, const Arena& arena, ErrorDetail* detail);
/// Huge pages, locking and touching for a reserved arena: its mapped parts, then what is private.
Status apply_wishes(const OpenModel& model, const Layout& layout, const Arena& arena, const ArenaWishes& wishes,
                    ErrorDetail* detail);
/// Constants that the file stores in 16 bits, as f32 to where the kernels find them: in the arena at `base`, or, where
/// `device` is given, in its memory at `base`. Errors  kFileRead kHashMismatch and those of the device.
Status widen_weights(const OpenModel& model, const Layout& layout, uint8_t* base, Device* device, ErrorDetail* detail);
/// Reads every part into the memory of a device, in chunks.
Status upload_weights(const OpenModel& model, const Layout& layout, Device& device, uint8_t* base, ErrorDetail* detail);

/// Every constant outside the program part to its place on a device that holds pairs (Layout::pairs).
Status upload_constants(const OpenModel& model, const Layout& layout, Device& device, uint8_t* base, ErrorDetail* detail);
/// A constant that may be pairs, from f32 panels in memory to pairs at `to` on a device.
Status upload_pairs(const ValueDef& value, const uint8_t* panels, Device& device, uint8_t* to, ErrorDetail* detail);

}  // namespace ingot
