// SPDX-License-Identifier: Apache-2.0
// tools/compile/write/encode_attributes.h - one attribute table; the twin of
// runtime/format/decode_attributes_*.cpp.
#pragma once
#include "ingot_schema/ingot_generated.h"
#include "tools/compile/write/program_builder.h"

namespace ingot::convert {

flatbuffers::Offset<void> encode_attributes(flatbuffers::FlatBufferBuilder& builder,
                                            const Attributes& attributes);

}  // namespace ingot::convert
