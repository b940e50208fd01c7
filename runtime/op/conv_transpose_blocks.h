// SPDX-License-Identifier: Apache-2.0
// runtime/op/conv_transpose_blocks.h - the band of a transposed convolution; contract and kernels
// read the same functions.
#pragma once
#include "runtime/op/conv_blocks.h"
#include "runtime/op/conv_transpose2d.h"

namespace ingot::conv {

/// Input columns beside the image that some tap asks for, and the output rows worked on at a
/// time.
struct TransposeBand {
  int64_t left = 0, right = 0;  // zero columns
  int64_t rows = 1, in_rows = 0, in_cols = 0, elements = 0;
};

/// Input rows that `rows` output rows read at most.
int64_t transpose_in_rows(const ConvTranspose2dAttributes& t, int64_t rows);

/// False on overflow. @pre the output is not empty and agrees with the attributes.
bool transpose_band(const ConvTranspose2dAttributes& t, int64_t w, int64_t oh, int64_t ow,
                    int64_t channels, TransposeBand* out);

/// Scratch of one thread: segment table, band, and the panels of one group. False on overflow.
bool transpose_scratch(const ConvTranspose2dAttributes& t, int64_t w, int64_t c, int64_t oh,
                       int64_t ow, int64_t o, uint64_t* bytes);
/// At least transpose_scratch() of these extents and of all smaller ones.
bool transpose_scratch_bound(const ConvTranspose2dAttributes& t, int64_t w, int64_t c, int64_t oh,
                             int64_t ow, int64_t o, uint64_t* bytes);

}  // namespace ingot::conv
