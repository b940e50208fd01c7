// SPDX-License-Identifier: Apache-2.0
// tools/compile/image/image_input.h - what a camera gives and how the network wants it: --image,
// as written on the command line.
//   image=nv12:1920x1080,letterbox,pad=114,bt709,mean=0.485/0.456/0.406,std=0.229/0.224/0.225
// docs/images.md says what each word means.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/op/image_input.h"
#include "tools/graph/graph.h"

namespace ingot::convert {

enum class ImageFit { kUnsaid, kStretch, kLetterbox, kCrop };

struct ImageInput {
  // all but target, channels, pad, scale and bias; source.width 0: the whole frame
  ImageInputAttributes attributes;
  ImageFit fit = ImageFit::kUnsaid;
  std::string layout;                                 // "nchw", "nhwc", or "" where the dims tell
  std::vector<double> pad{0}, mean{0}, deviation{1};  // one for all channels, or one for each
  double scale = 1.0 / 255;
  int64_t pitch = 0;    // bytes; 0: those of a row's pixels
  bool planes = false;  // each plane is an input of its own
};

/// By input. In a map, so that the order of the file's inputs stays the source's.
using ImageInputs = std::map<std::string, ImageInput>;

/// "NAME=FORMAT:WIDTHxHEIGHT[,WORD...]". @throws ConversionError(kUsage),
/// ConversionError(kUnsupported) for a pixel format that is not known.
void add_image_input(ImageInputs& images, const std::string& argument);

/// Puts an ImageInput in front of each input that `images` names: the frame becomes the model's
/// input, under the input's name. @throws ConversionError(kMismatch) where there is no such input
/// or it is no image.
void insert_images(graph::Model& model, const ImageInputs& images);

}  // namespace ingot::convert
