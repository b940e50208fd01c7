// SPDX-License-Identifier: Apache-2.0
// runtime/session/packed_f16_weights.h - constants on a device that holds weights as packed f16
// weights (runtime/op/f16_weights.h). Such a device holds every constant by itself, since a weight
// part has both kinds.
// Owns     OpenModel::f16_weights.
// Threads  the holder of the WorkspaceLock.
// Errors   kOutOfMemory kLimitExceeded, those of reading and of the device.
#pragma once
#include "runtime/session/preparation.h"

namespace ingot {

/// Reached through BackendServices alone, so that a program without a back end does not link it.
struct F16WeightPacker {
  /// Which constants may be packed, because nothing but the products that take them reads them, and
  /// the place of each.
  Status (*place)(const OpenModel& model, ErrorDetail* detail);
  void (*drop)(const OpenModel& model);
  /// Every constant outside the program part to its place on a device (Layout::f16_weights).
  Status (*upload_constants)(const OpenModel& model, const Layout& layout, Device& device,
                             uint8_t* base, ErrorDetail* detail);
  /// A constant that may be packed, from f32 panels in memory to packed ones at `to` on a device.
  Status (*upload_f16_weights)(const ValueDef& value, const uint8_t* panels, Device& device,
                               uint8_t* to, ErrorDetail* detail);
};
extern const F16WeightPacker kF16WeightPacker;

/// Which constants may be packed, by value; their places stay 0.
/// @pre places.size == program.values.size
void find_f16_weights(const ProgramDef& program, Span<F16WeightPlace> places);

}  // namespace ingot
