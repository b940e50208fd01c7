// SPDX-License-Identifier: Apache-2.0
// runtime/session/tunings.h - the tunings of a file for devices that can use them, and what became
// of them for each instruction.
// Owns     nothing: what was read belongs to the model.
// Threads  the holder of the WorkspaceLock; model_variant() takes it.
// Errors   kHashMismatch and those of validate_tunings(); those of prepare(); kNotFound beyond the
//          last instruction.
#pragma once
#include "runtime/session/preparation.h"

namespace ingot {

/// Reads and validates the part, once for a model, where the file has it and the session wants it:
/// preparation->tunings. Called through BackendServices, so that a program without a back end does
/// not link it. @pre dimensions are bound
Status read_tunings(const OpenModel& model, Preparation* preparation, ErrorDetail* detail);

struct NamedVariant : DeviceVariant {
  const char* device = "";
};
/// How an instruction would be computed in a session, and why.
Status model_variant(const OpenModel& model, const SessionRequest& request, uint32_t instruction,
                     NamedVariant* out, ErrorDetail* detail);

}  // namespace ingot
