// SPDX-License-Identifier: Apache-2.0
// runtime/text/normalize.h - what is done to text before it is split (schema/text.fbs,
// TextNormalizer).
#pragma once
#include "runtime/format/text_part.h"

namespace ingot::text {

/// Most bytes that a text of that size becomes.
uint64_t normalized_bound(const TokenizerView& t, uint64_t bytes);
/// `text` into `out`, which has room for normalized_bound(); the bytes that were written.
/// `is_first`: no added token stands before it. @pre the model has a normalizer
size_t normalize(const TokenizerView& t, Span<const uint8_t> text, bool is_first, uint8_t* out);

}  // namespace ingot::text
