// SPDX-License-Identifier: Apache-2.0
// runtime/text/normalize.h - what is done to text before it is split (schema/text.fbs,
// TextNormalizer).
#pragma once
#include "runtime/format/text_part.h"

namespace ingot::text {

/// Most bytes that a text of that size becomes by replacements.
uint64_t replaced_bound(const TokenizerView& t, uint64_t bytes);
/// `text` with its replacements into `out`; the bytes that were written. @pre there are some
size_t replace_strings(const TokenizerView& t, Span<const uint8_t> text, uint8_t* out);
/// Most bytes that a text of that size, replaced already, becomes.
uint64_t normalized_bound(const TokenizerView& t, uint64_t bytes);
/// Most code points that it becomes on the way, where the normalizer takes them apart; else 0.
uint64_t code_bound(const TokenizerView& t, uint64_t bytes);
/// `text` into `out`, which has room for normalized_bound(); the bytes that were written.
/// `is_first`: no added token stands before it. `codes` has room for twice code_bound().
/// @pre the model has a normalizer
size_t normalize(const TokenizerView& t, Span<const uint8_t> text, bool is_first, uint32_t* codes,
                 uint8_t* out);
/// Canonical composition (NFC). What is not UTF-8 stays as it is.
size_t compose_text(Span<const uint8_t> text, uint32_t* codes, uint8_t* out);

}  // namespace ingot::text
