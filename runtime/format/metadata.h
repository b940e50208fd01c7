// SPDX-License-Identifier: Apache-2.0
// runtime/format/metadata.h - looks one text up in the metadata part. Nothing here can change a
// result.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace ingot {

/// The text stored under `key`: "name", "version", "licence", "producer", "source_file",
/// "source_format", "source_sha256", "source_producer", else an entry of --metadata or of the
/// source (the first of that key). *text leads into `part` and ends in 0. `part` is 8-byte aligned.
/// Errors: kNotFound; kStructureInvalid when the part is not sound.
Status find_metadata(Span<const uint8_t> part, const char* key, const char** text, size_t* length,
                     ErrorDetail* detail);

}  // namespace ingot
