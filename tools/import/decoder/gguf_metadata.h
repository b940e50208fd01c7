// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/gguf_metadata.h - the numbers of a decoder out of the metadata of a GGUF
// file. A key of the architecture that nothing reads is refused: it may change what is computed.
#pragma once
#include "tools/checkpoint/flat/gguf.h"
#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {

/// The bound of a cache where nobody gives one.
constexpr int64_t kUsualContext = 2048;

/// `context`: as --context says; 0: not given.
DecoderNumbers read_numbers(const checkpoint::GgufFile& file, int64_t context);

}  // namespace ingot::decoder
