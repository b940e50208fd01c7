// SPDX-License-Identifier: Apache-2.0
// text_boxes.h - from the detector's map of probabilities to the corners of text lines, in reading
// order.
// Method  differentiable binarisation's post-processing (Liao et al., arXiv:1911.08947, 3.5):
//         threshold, connected regions, the smallest turned rectangle around each, mean probability
//         inside as its score, grown by area * ratio / perimeter.
#pragma once
#include <vector>

#include "image.h"

struct TextBox {
  Quad quad;
  float score;
};
struct BoxOptions {
  float threshold = 0.3f, box_threshold = 0.5f, grow_ratio = 1.6f;
  int smallest_side = 3;
};
std::vector<TextBox> find_text_boxes(const float* probability, int width, int height,
                                     const BoxOptions& options = {});
