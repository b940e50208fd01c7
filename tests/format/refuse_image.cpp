// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/image_input.h"
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

/// A 4:2:0 frame of 8 x 6, cropped and letterboxed to 5 x 4.
ImageInputAttributes nv12() {
  ImageInputAttributes a;
  a.format = PixelFormat::kNv12;
  a.width = 8, a.height = 6;
  a.source = {1, 2, 6, 4};
  a.target = {0, 1, 5, 3};
  a.channels = 3;
  for (int c = 0; c < 3; c++) a.scale[c] = 1;
  return a;
}

convert::FileSpec one_image(const ImageInputAttributes& a) {
  convert::FileSpec f =
      one_instruction(a, {input("frame", {1, 9, 8}, DType::kU8)}, {output("y", {1, 4, 5, 3})});
  f.program.required_features = {"picture"};
  return f;
}

}  // namespace

void add_image_cases(RefuseTable* t) {
  using P = ImageInputAttributes;
  t->base("image", [] { return one_image(nv12()); });
  t->spec("without_the_feature", [](ProgramSpec& p) { p.required_features.clear(); });
  t->spec(
      "unknown_feature", [](ProgramSpec& p) { p.required_features.push_back("pictures"); },
      Code::kUnsupportedFeature);
  t->attributes<P>("format_unknown", [](P& a) { a.format = PixelFormat(10); });
  t->attributes<P>("interpolation_unknown", [](P& a) { a.interpolation = PixelInterpolation(3); });
  t->attributes<P>("matrix_unknown", [](P& a) { a.matrix = ColorMatrix(2); });
  t->attributes<P>("siting_unknown", [](P& a) { a.siting = ChromaSiting(2); });
  t->attributes<P>("no_columns", [](P& a) { a.width = 0; });
  t->attributes<P>("odd_width", [](P& a) { a.width = 7; });
  t->attributes<P>("odd_height", [](P& a) { a.height = 5; });
  t->attributes<P>("rows_of_another_format", [](P& a) { a.format = PixelFormat::kGray; });
  t->attributes<P>("row_longer_than_pitch", [](P& a) { a.width = 10; });
  t->attributes<P>("huge", [](P& a) { a.width = a.height = 0xfffffffe; });
  t->attributes<P>("source_outside", [](P& a) { a.source.left = 3; });
  t->attributes<P>("source_wraps", [](P& a) { a.source.left = 0xffffffff; });
  t->attributes<P>("source_empty", [](P& a) { a.source.height = 0; });
  t->attributes<P>("target_outside", [](P& a) { a.target.top = 2; });
  t->attributes<P>("target_empty", [](P& a) { a.target.width = 0; });
  t->attributes<P>("no_channel", [](P& a) { a.channels = 0; });
  t->attributes<P>("one_channel", [](P& a) { a.channels = 1; });
  t->attributes<P>("pad_negative", [](P& a) { a.pad[1] = -1; });
  t->attributes<P>("scale_infinite", [](P& a) { a.scale[2] = 1e38f * 10; });
  t->attributes<P>("planar_of_that_order", [](P& a) { a.planar = true; });
  t->dims("frames", 0, {2, 9, 8});
  t->dims("rank", 0, {9, 8});
  t->dtype("bytes_signed", 0, DType::kI8);
  t->dtype("half", 1, DType::kF16);
  t->dims("four_channels", 1, {1, 4, 5, 4});

  t->base("planes", [] {
    P a = nv12();
    a.format = PixelFormat::kI420;
    convert::FileSpec f =
        one_instruction(a,
                        {input("y", {1, 6, 8}, DType::kU8), input("u", {1, 3, 4}, DType::kU8),
                         input("v", {1, 3, 5}, DType::kU8)},
                        {output("image", {1, 4, 5, 3})});
    f.program.required_features = {"picture"};
    return f;
  });
  t->attributes<P>("two_planes", [](P& a) { a.format = PixelFormat::kNv12; });
  t->dims("chroma_rows", 1, {1, 6, 4});
  t->dims("chroma_pitch", 2, {1, 3, 3});
}

}  // namespace ingot::test
