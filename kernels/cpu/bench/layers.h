// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/bench/layers.h - layer shapes of ResNet-50, MobileNetV2 and YOLOv8n, as whole
// networks run them.
#pragma once
#include "runtime/op/chain.h"

namespace ingot::bench {

constexpr ConvMethod kDirect = ConvMethod::kDirect, kWinograd = ConvMethod::kWinogradF43,
                     kDepthwise = ConvMethod::kDepthwise;
constexpr Activation kNone = Activation::kNone, kRelu = Activation::kRelu,
                     kRelu6 = Activation::kRelu6, kSilu = Activation::kSilu;

struct ConvLayer {
  const char* name;
  int64_t h, w, cin, cout;
  uint32_t k, stride;
  ConvMethod method;
  Activation activation;
  bool residual, nchw;
};

inline constexpr ConvLayer kLayers[] = {
    {"stem 7x7/2, resnet50", 224, 224, 3, 64, 7, 2, kDirect, kRelu, false, true},
    {"1x1 56x56x64 -> 256 + residual", 56, 56, 64, 256, 1, 1, kDirect, kRelu, true, false},
    {"1x1 56x56x256 -> 64", 56, 56, 256, 64, 1, 1, kDirect, kRelu, false, false},
    {"1x1 28x28x512 -> 128", 28, 28, 512, 128, 1, 1, kDirect, kRelu, false, false},
    {"1x1 14x14x256 -> 1024", 14, 14, 256, 1024, 1, 1, kDirect, kRelu, false, false},
    {"1x1 7x7x2048 -> 512", 7, 7, 2048, 512, 1, 1, kDirect, kRelu, false, false},
    {"1x1/2 56x56x256 -> 512", 56, 56, 256, 512, 1, 2, kDirect, kNone, false, false},
    {"3x3 56x56x64 winograd", 56, 56, 64, 64, 3, 1, kWinograd, kRelu, false, false},
    {"3x3 28x28x128 winograd", 28, 28, 128, 128, 3, 1, kWinograd, kRelu, false, false},
    {"3x3 14x14x256 winograd", 14, 14, 256, 256, 3, 1, kWinograd, kRelu, false, false},
    {"3x3/2 28x28x256", 28, 28, 256, 256, 3, 2, kDirect, kRelu, false, false},
    {"3x3 7x7x512", 7, 7, 512, 512, 3, 1, kDirect, kRelu, false, false},
    {"linear 2048 -> 1000", 1, 1, 2048, 1000, 1, 1, kDirect, kNone, false, false},
    {"stem 3x3/2, mobilenet", 224, 224, 3, 32, 3, 2, kDirect, kRelu6, false, true},
    {"1x1 112x112x16 -> 96", 112, 112, 16, 96, 1, 1, kDirect, kRelu6, false, false},
    {"1x1 56x56x24 -> 144", 56, 56, 24, 144, 1, 1, kDirect, kRelu6, false, false},
    {"1x1 56x56x144 -> 24 + residual", 56, 56, 144, 24, 1, 1, kDirect, kNone, true, false},
    {"1x1 14x14x576 -> 96", 14, 14, 576, 96, 1, 1, kDirect, kNone, false, false},
    {"1x1 7x7x960 -> 160", 7, 7, 960, 160, 1, 1, kDirect, kNone, false, false},
    {"depthwise 112x112x96 /2", 112, 112, 96, 96, 3, 2, kDepthwise, kRelu6, false, false},
    {"depthwise 56x56x144", 56, 56, 144, 144, 3, 1, kDepthwise, kRelu6, false, false},
    {"depthwise 28x28x72 5x5 tail", 28, 28, 72, 72, 5, 1, kDepthwise, Activation::kHardSwish, false,
     false},
    {"depthwise 14x14x576", 14, 14, 576, 576, 3, 1, kDepthwise, kRelu6, false, false},
    {"depthwise 7x7x960", 7, 7, 960, 960, 3, 1, kDepthwise, kRelu6, false, false},
    {"stem 3x3/2, yolo", 640, 640, 3, 16, 3, 2, kDirect, kSilu, false, true},
    {"3x3/2 160x160x32 -> 64", 160, 160, 32, 64, 3, 2, kDirect, kSilu, false, false},
    {"3x3 160x160x16 winograd", 160, 160, 16, 16, 3, 1, kWinograd, kSilu, true, false},
    {"3x3 80x80x32 winograd", 80, 80, 32, 32, 3, 1, kWinograd, kSilu, true, false},
    {"3x3 80x80x64 winograd", 80, 80, 64, 64, 3, 1, kWinograd, kSilu, false, false},
    {"3x3 20x20x128 winograd", 20, 20, 128, 128, 3, 1, kWinograd, kSilu, false, false},
    {"1x1 80x80x128 -> 64", 80, 80, 128, 64, 1, 1, kDirect, kSilu, false, false},
    {"1x1 80x80x64 -> 80", 80, 80, 64, 80, 1, 1, kDirect, kNone, false, false},
};

struct ChainLayer {
  const char* name;
  int64_t h, w;
  bool nchw;
  uint32_t band_rows;
  ConvLayer stages[3];
};

/// cin, cout, k, stride, method and activation of a stage; the rest is unused.
inline constexpr ChainLayer kChains[] = {
    {"stem, depthwise, project",
     224,
     224,
     true,
     4,
     {{"", 0, 0, 3, 32, 3, 2, kDirect, kRelu6, false, false},
      {"", 0, 0, 32, 32, 3, 1, kDepthwise, kRelu6, false, false},
      {"", 0, 0, 32, 16, 1, 1, kDirect, kNone, false, false}}},
    {"expand, depthwise/2, project",
     112,
     112,
     false,
     2,
     {{"", 0, 0, 16, 96, 1, 1, kDirect, kRelu6, false, false},
      {"", 0, 0, 96, 96, 3, 2, kDepthwise, kRelu6, false, false},
      {"", 0, 0, 96, 24, 1, 1, kDirect, kNone, false, false}}},
    {"expand, depthwise, project",
     56,
     56,
     false,
     2,
     {{"", 0, 0, 24, 144, 1, 1, kDirect, kRelu6, false, false},
      {"", 0, 0, 144, 144, 3, 1, kDepthwise, kRelu6, false, false},
      {"", 0, 0, 144, 24, 1, 1, kDirect, kNone, false, false}}},
};

}  // namespace ingot::bench
