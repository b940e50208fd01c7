// tests/conformance/conv2d_cases.h - a new back end adds no test code, a new bug adds one row.
#pragma once
#include "runtime/op/conv2d.h"

namespace ingot::conformance {

enum class Residual { kNone, kAfter, kFirst };

struct Conv2dCase {
  const char* name;
  const char* guards_against;
  int64_t n = 1, h = 8, w = 8, cin = 16, cout = 16;
  uint32_t kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1, top = 0, left = 0, bottom = 0, right = 0, groups = 1;
  ConvMethod method = ConvMethod::kDirect;
  bool nchw = false;
  ActivationSpec act = {};
  Residual residual = Residual::kNone;
  bool bias = true;
  int64_t x_padding = 0, y_padding = 0;  // of the pixel stride
};

constexpr ConvMethod kDw = ConvMethod::kDepthwise, kWino = ConvMethod::kWinogradF43, kGrp = ConvMethod::kGrouped;
constexpr ActivationSpec kReluSpec = {Activation::kRelu, 0, 0}, kSiluSpec = {Activation::kSilu, 0, 0},
                         kRelu6Spec = {Activation::kRelu6, 0, 0}, kClipSpec = {Activation::kClip, -0.25f, 0.5f},
                         kHardSwishSpec = {Activation::kHardSwish, 0, 0},
                         kLeakySpec = {Activation::kLeakyRelu, 0.1f, 0};

// clang-format off: one case is a few lines
inline constexpr Conv2dCase kConv2dCases[] = {
    // pointwise
    {.name = "pointwise", .guards_against = "rows that are no multiple of a tile", .h = 7, .w = 7, .cin = 16,
     .cout = 24, .act = kReluSpec},
    {.name = "pointwise, odd channels", .guards_against = "stores past the last output", .h = 3, .w = 5, .cin = 3,
     .cout = 5},
    {.name = "pointwise, one output", .guards_against = "a panel of one lane", .h = 5, .w = 5, .cin = 7, .cout = 1,
     .act = kSiluSpec},
    {.name = "pointwise, batch", .guards_against = "pixels of all pictures as one matrix", .n = 3, .h = 5, .w = 3,
     .cin = 8, .cout = 40},
    {.name = "pointwise, strided views", .guards_against = "reading or writing between pixels", .h = 6, .w = 5,
     .cin = 12, .cout = 20, .act = kRelu6Spec, .residual = Residual::kAfter, .x_padding = 3, .y_padding = 7},
    {.name = "pointwise, one pixel", .guards_against = "the single row path", .h = 1, .w = 1, .cin = 33, .cout = 150,
     .act = kHardSwishSpec},
    {.name = "pointwise, one pixel, residual", .guards_against = "residual of a single row", .h = 1, .w = 1, .cin = 20,
     .cout = 130, .act = kReluSpec, .residual = Residual::kFirst},
    {.name = "pointwise, long rows", .guards_against = "two blocks of rows", .h = 40, .w = 9, .cin = 600, .cout = 17,
     .bias = false},
    {.name = "pointwise, stride 2", .guards_against = "skipped pixels", .h = 9, .w = 11, .cin = 16, .cout = 32,
     .sh = 2, .sw = 2},
    {.name = "pointwise, residual first, whole panels", .guards_against = "residual added in registers", .h = 5,
     .w = 7, .cin = 8, .cout = 32, .act = kReluSpec, .residual = Residual::kFirst},
    {.name = "pointwise, residual after silu", .guards_against = "residual read before it is overwritten", .h = 5,
     .w = 7, .cin = 8, .cout = 35, .act = kSiluSpec, .residual = Residual::kAfter},
    {.name = "no channels at all", .guards_against = "an empty sum is the bias", .h = 3, .w = 3, .cin = 0, .cout = 9,
     .act = kReluSpec},
    {.name = "empty batch", .guards_against = "division by zero pictures", .n = 0, .h = 3, .w = 3, .cin = 4,
     .cout = 9},
    {.name = "no outputs", .guards_against = "an empty output", .h = 3, .w = 3, .cin = 4, .cout = 0},
    // windows
    {.name = "3x3", .guards_against = "borders", .h = 9, .w = 10, .cin = 5, .cout = 18, .kh = 3, .kw = 3, .top = 1,
     .left = 1, .bottom = 1, .right = 1, .act = kReluSpec},
    {.name = "3x3, stride 2, uneven pads", .guards_against = "pads of one side", .h = 10, .w = 13, .cin = 6,
     .cout = 16, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .bottom = 1, .right = 1, .act = kLeakySpec},
    {.name = "5x3, strides 1 and 3", .guards_against = "height and width exchanged", .h = 8, .w = 17, .cin = 4,
     .cout = 33, .kh = 5, .kw = 3, .sw = 3, .top = 2, .left = 1, .bottom = 2, .right = 1},
    {.name = "3x3 without pads", .guards_against = "reading the picture in place", .h = 7, .w = 9, .cin = 8,
     .cout = 16, .kh = 3, .kw = 3},
    {.name = "3x3 without pads, strided pixels", .guards_against = "a run over the gap between pixels", .h = 7, .w = 9,
     .cin = 5, .cout = 16, .kh = 3, .kw = 3, .x_padding = 2, .y_padding = 1},
    {.name = "3x3, dilation 2", .guards_against = "taps apart", .h = 9, .w = 11, .cin = 7, .cout = 12, .kh = 3,
     .kw = 3, .dh = 2, .dw = 2, .top = 2, .left = 2, .bottom = 2, .right = 2},
    {.name = "2x4, dilation 3 and 1, no pads", .guards_against = "one dilation only", .h = 9, .w = 11, .cin = 3,
     .cout = 20, .kh = 2, .kw = 4, .dh = 3},
    {.name = "7x7, stride 2, nchw", .guards_against = "the stem: planes to pixels", .h = 21, .w = 23, .cin = 3,
     .cout = 16, .kh = 7, .kw = 7, .sh = 2, .sw = 2, .top = 3, .left = 3, .bottom = 3, .right = 3, .nchw = true,
     .act = kReluSpec},
    {.name = "3x3, nchw, one plane", .guards_against = "grey pictures", .n = 2, .h = 6, .w = 31, .cin = 1, .cout = 8,
     .kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .nchw = true, .x_padding = 5},
    {.name = "1x1, nchw, five planes", .guards_against = "a band without pads", .h = 4, .w = 6, .cin = 5, .cout = 8,
     .nchw = true},
    {.name = "narrow picture", .guards_against = "tiles over two rows", .h = 9, .w = 3, .cin = 8, .cout = 32, .kh = 3,
     .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .residual = Residual::kFirst},
    {.name = "one column", .guards_against = "tiles of two pixels", .h = 11, .w = 1, .cin = 9, .cout = 7, .kh = 3,
     .kw = 1, .top = 1, .bottom = 1},
    {.name = "one dimension", .guards_against = "splitting columns between threads", .h = 1, .w = 333, .cin = 6,
     .cout = 20, .kw = 5, .left = 2, .right = 2, .act = kClipSpec},
    {.name = "one dimension, causal", .guards_against = "all padding before", .h = 1, .w = 100, .cin = 4, .cout = 4,
     .kw = 3, .dw = 4, .left = 8},
    {.name = "one dimension, long", .guards_against = "bands of columns", .h = 1, .w = 4001, .cin = 64, .cout = 3,
     .kw = 3, .left = 1, .right = 1},
    {.name = "several bands", .guards_against = "seams of bands", .h = 70, .w = 40, .cin = 80, .cout = 5, .kh = 3,
     .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1},
    {.name = "window within the padding", .guards_against = "outputs that see no pixel", .h = 2, .w = 2, .cin = 3,
     .cout = 4, .kh = 2, .kw = 2, .top = 3, .left = 4, .bottom = 3, .right = 3},
    {.name = "window of the whole picture", .guards_against = "one output pixel", .n = 2, .h = 6, .w = 5, .cin = 9,
     .cout = 37, .kh = 6, .kw = 5},
    {.name = "more outputs than pixels", .guards_against = "panels split between threads", .h = 3, .w = 3, .cin = 8,
     .cout = 200, .kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .residual = Residual::kAfter},
    // tiles of a GPU
    {.name = "tiles across pictures", .guards_against = "tails of pixels, channels and k in one tile", .n = 3, .h = 20, .w = 19,
     .cin = 20, .cout = 100, .kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kReluSpec,
     .residual = Residual::kFirst},
    {.name = "tiles, odd channels", .guards_against = "elements instead of quads", .n = 2, .h = 21, .w = 20, .cin = 19, .cout = 70,
     .kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .residual = Residual::kAfter, .y_padding = 1},
    {.name = "tiles, one panel", .guards_against = "many pixels of few channels", .n = 2, .h = 30, .w = 27, .cin = 12, .cout = 12,
     .kh = 3, .kw = 3, .sh = 2, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kSiluSpec},
    {.name = "tiles, pointwise", .guards_against = "k that ends within a tile", .n = 2, .h = 17, .w = 18, .cin = 68, .cout = 132,
     .act = kLeakySpec},
    // grouped
    {.name = "two groups", .guards_against = "the second group's channels", .h = 6, .w = 7, .cin = 10, .cout = 14,
     .kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .groups = 2, .method = kGrp, .act = kReluSpec,
     .residual = Residual::kFirst},
    {.name = "eight groups, 1x1", .guards_against = "groups without a band", .n = 2, .h = 5, .w = 4, .cin = 24,
     .cout = 32, .groups = 8, .method = kGrp, .y_padding = 3},
    {.name = "groups of many outputs", .guards_against = "more panels than one bias copy", .h = 3, .w = 4, .cin = 4,
     .cout = 300, .kh = 3, .kw = 3, .groups = 2, .method = kGrp, .act = kSiluSpec},
    {.name = "groups of panels", .guards_against = "tiles of a later group", .n = 2, .h = 12, .w = 11, .cin = 24, .cout = 60, .kh = 3,
     .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .groups = 3, .method = kGrp, .residual = Residual::kAfter},
    {.name = "channel multiplier", .guards_against = "one input channel a group", .h = 7, .w = 6, .cin = 6, .cout = 12,
     .kh = 3, .kw = 3, .sh = 2, .sw = 2, .top = 1, .left = 1, .bottom = 1, .right = 1, .groups = 6, .method = kGrp},
    {.name = "groups, nchw", .guards_against = "planes of a later group", .h = 7, .w = 6, .cin = 6, .cout = 9, .kh = 2,
     .kw = 2, .groups = 3, .method = kGrp, .nchw = true},
    {.name = "groups, strided pixels, no pads", .guards_against = "runs into the next group", .h = 7, .w = 6, .cin = 6,
     .cout = 9, .kh = 3, .kw = 3, .groups = 3, .method = kGrp, .x_padding = 1},
};

/// Depthwise; groups and cout follow from cin.
inline constexpr Conv2dCase kDepthwiseCases[] = {
    {.name = "depthwise, odd width", .guards_against = "a border store past the row", .h = 5, .w = 9, .cin = 8,
     .kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kReluSpec},
    {.name = "depthwise, channel tails", .guards_against = "lanes past the last channel", .h = 6, .w = 31, .cin = 27,
     .kh = 3, .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kHardSwishSpec},
    {.name = "depthwise, stride 2", .guards_against = "columns of a strided window", .n = 2, .h = 15, .w = 29,
     .cin = 24, .kh = 3, .kw = 3, .sh = 2, .sw = 2, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kRelu6Spec,
     .x_padding = 2, .y_padding = 5},
    {.name = "depthwise, stride 2, pads after", .guards_against = "pads of one side", .h = 14, .w = 30, .cin = 16,
     .kh = 3, .kw = 3, .sh = 2, .sw = 2, .bottom = 1, .right = 1},
    {.name = "depthwise 5x5", .guards_against = "two border columns", .h = 7, .w = 7, .cin = 40, .kh = 5, .kw = 5,
     .top = 2, .left = 2, .bottom = 2, .right = 2, .residual = Residual::kAfter},
    {.name = "depthwise 5x5, stride 2", .guards_against = "two border columns of a strided window", .h = 13, .w = 17,
     .cin = 20, .kh = 5, .kw = 5, .sh = 2, .sw = 2, .top = 2, .left = 1, .bottom = 2, .right = 2, .act = kReluSpec,
     .residual = Residual::kFirst},
    {.name = "depthwise 5x5 on 2x2", .guards_against = "both borders in one pixel", .h = 2, .w = 2, .cin = 18, .kh = 5,
     .kw = 5, .top = 2, .left = 2, .bottom = 2, .right = 2},
    {.name = "depthwise 3x3 on 1x1", .guards_against = "a picture of one pixel", .h = 1, .w = 1, .cin = 5, .kh = 3,
     .kw = 3, .top = 1, .left = 1, .bottom = 1, .right = 1},
    {.name = "depthwise without pads", .guards_against = "no border at all", .h = 8, .w = 20, .cin = 32, .kh = 3,
     .kw = 3},
    {.name = "depthwise, wide pads", .guards_against = "more than half a window outside", .h = 4, .w = 5, .cin = 17,
     .kh = 3, .kw = 3, .top = 2, .left = 2, .bottom = 3, .right = 3},
    {.name = "depthwise 1x7", .guards_against = "windows without a fast line", .h = 3, .w = 23, .cin = 19, .kh = 1,
     .kw = 7, .left = 3, .right = 3, .act = kLeakySpec},
    {.name = "depthwise, dilation", .guards_against = "taps apart", .h = 9, .w = 13, .cin = 9, .kh = 3, .kw = 3,
     .dh = 2, .dw = 3, .top = 2, .left = 3, .bottom = 2, .right = 3, .residual = Residual::kFirst},
    {.name = "depthwise, strides 1 and 2", .guards_against = "height and width exchanged", .h = 6, .w = 9, .cin = 16,
     .kh = 3, .kw = 3, .sw = 2, .top = 1, .left = 1, .bottom = 1, .right = 1, .bias = false},
    {.name = "depthwise 5x5, stride 2 down only", .guards_against = "rows that the line does not know of", .h = 12,
     .w = 41, .cin = 24, .kh = 5, .kw = 5, .sh = 2, .top = 2, .left = 2, .bottom = 2, .right = 2,
     .act = kHardSwishSpec},
    {.name = "depthwise 5x5, dilation 2", .guards_against = "columns of one remainder", .h = 10, .w = 33, .cin = 21,
     .kh = 5, .kw = 5, .dh = 2, .dw = 2, .top = 4, .left = 4, .bottom = 4, .right = 4, .act = kReluSpec},
    {.name = "depthwise 3x3, dilation 3, odd pads", .guards_against = "a first column of another remainder", .h = 9,
     .w = 22, .cin = 16, .kh = 3, .kw = 3, .dh = 3, .dw = 3, .top = 2, .left = 1, .bottom = 3, .right = 2,
     .y_padding = 3},
    {.name = "depthwise 3x3, dilation 4 on 3x2", .guards_against = "fewer columns than remainders", .h = 3, .w = 2,
     .cin = 18, .kh = 3, .kw = 3, .dh = 4, .dw = 4, .top = 4, .left = 4, .bottom = 4, .right = 4},
    {.name = "depthwise beyond L2", .guards_against = "rows outermost", .h = 66, .w = 64, .cin = 52, .kh = 3, .kw = 3,
     .top = 1, .left = 1, .bottom = 1, .right = 1},
};

inline constexpr Conv2dCase kWinogradCases[] = {
    {.name = "winograd", .guards_against = "tiles over the border", .h = 14, .w = 15, .cin = 16, .cout = 32, .top = 1,
     .left = 1, .bottom = 1, .right = 1, .act = kReluSpec},
    {.name = "winograd, odd channels", .guards_against = "lanes past the last channel", .h = 9, .w = 10, .cin = 13,
     .cout = 21, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kSiluSpec},
    {.name = "winograd, residual, whole panels", .guards_against = "residual in registers", .n = 2, .h = 7, .w = 5,
     .cin = 8, .cout = 16, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kReluSpec,
     .residual = Residual::kFirst},
    {.name = "winograd, residual, tails, views", .guards_against = "residual of partial vectors", .h = 6, .w = 6,
     .cin = 5, .cout = 19, .top = 1, .left = 1, .bottom = 1, .right = 1, .residual = Residual::kAfter, .x_padding = 3,
     .y_padding = 2},
    {.name = "winograd without pads", .guards_against = "no border", .h = 10, .w = 11, .cin = 6, .cout = 17},
    {.name = "winograd, uneven pads", .guards_against = "pads of one side", .h = 8, .w = 7, .cin = 4, .cout = 16,
     .top = 2, .right = 2},
    {.name = "winograd, one output pixel", .guards_against = "a tile of one pixel", .h = 3, .w = 3, .cin = 3,
     .cout = 3},
    {.name = "winograd, many tiles", .guards_against = "blocks, threads on their own", .h = 46, .w = 45, .cin = 70,
     .cout = 7, .top = 1, .left = 1, .bottom = 1, .right = 1, .bias = false},
    {.name = "winograd, batch of many", .guards_against = "blocks across pictures", .n = 3, .h = 31, .w = 17,
     .cin = 40, .cout = 34, .top = 1, .left = 1, .bottom = 1, .right = 1, .act = kReluSpec},
    {.name = "winograd, empty batch", .guards_against = "no tile at all", .n = 0, .h = 8, .w = 8, .cin = 4,
     .cout = 4},
};

// clang-format on

}  // namespace ingot::conformance
