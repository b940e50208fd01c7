// SPDX-License-Identifier: Apache-2.0
// runtime/text/penalties.h - what the tokens so far take from the logits of some.
#pragma once
#include "runtime/text/sampler.h"

namespace ingot::text {

/// Both look at history.size tokens at most. `zeros` has a number for each token, 0 before and
/// behind.
void penalize_repeats(const SamplerOptions& options, const TokenHistory& history, double* logits,
                      uint32_t* zeros);
/// DRY, as llama.cpp has it: what stood behind a sequence that also ends the text gets less.
/// @param matches room for options.dry_last numbers
void penalize_sequences(const SamplerOptions& options, const TokenHistory& history, double* logits,
                        uint32_t* zeros, uint32_t* matches);

}  // namespace ingot::text
