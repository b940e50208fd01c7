// SPDX-License-Identifier: Apache-2.0
// tools/compile/write/program_encoder.h - specs to FlatBuffers; the twin of
// runtime/format/decode_*.cpp.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/compile/write/program_builder.h"

namespace ingot::convert {

/// Where the writer put a constant: bytes from the start of its weight part.
struct ConstantPlace {
  uint64_t segment_offset = 0;
};

/// The program part. `places` has one entry a value, or is empty: then all are zero. The size of
/// the result does not depend on them, so that the parts behind can be laid out before the
/// constants were written. @throws graph::ConversionError(kInternal) when inline data has another
/// size than its type.
std::vector<uint8_t> encode_program(const ProgramSpec& spec,
                                    const std::vector<ConstantPlace>& places);
std::vector<uint8_t> encode_metadata(const MetadataSpec& spec);
std::vector<uint8_t> encode_golden(const std::vector<GoldenCaseSpec>& cases);

/// Bytes of a constant as its type says. @throws graph::ConversionError(kInternal)
uint64_t constant_bytes(const ValueSpec& value);
/// Its bytes as the kernels see them, made now if nothing is held; rounded where it is stored
/// smaller. @throws graph::ConversionError(kInternal) when there are not constant_bytes() of them.
std::shared_ptr<const std::vector<uint8_t>> produce_constant(const ValueSpec& value);
/// Its bytes as the file has them.
std::shared_ptr<const std::vector<uint8_t>> store_constant(const ValueSpec& value);

}  // namespace ingot::convert
