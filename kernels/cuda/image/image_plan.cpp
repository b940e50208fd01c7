// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/image/image_plan.cpp - ImageInput: one launch, a kernel for each interpolation.
#include "kernels/cuda/cuda_kernels.h"
#include "runtime/op/image_input.h"

namespace ingot::cuda {
namespace {

Status plan_image(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const ImageInputAttributes& t = a.as<ImageInputAttributes>();
  const TensorView& y = a.outputs[0];
  if (y.elements() == 0) return {};
  FrameParams p = {};
  p.attributes = t;
  p.layout = pixel_layout(t.format);
  p.color = image_color(t.matrix, t.full_range);
  image_planes(a, p.planes);
  p.y = y.as<float>();
  p.height = uint32_t(y.dims[t.planar ? 2 : 1]), p.width = uint32_t(y.dims[t.planar ? 3 : 2]);
  p.pixels = y.dims[0] * p.height * p.width;
  const KernelId kernel =
      t.interpolation == PixelInterpolation::kBilinear  ? KernelId::frame_bilinear
      : t.interpolation == PixelInterpolation::kNearest ? KernelId::frame_nearest
                                                        : KernelId::frame_area;
  return launch(work, kernel, blocks_for(p.pixels, 256, work.traits), p);
}

constexpr GpuKernelEntry kImageTable[] = {
    {OpCode::kImageInput, "frame", nullptr, nullptr, plan_image}};

}  // namespace

const Span<const GpuKernelEntry> kImageRows = Span<const GpuKernelEntry>(kImageTable);

}  // namespace ingot::cuda
