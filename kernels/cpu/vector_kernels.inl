// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/vector_kernels.inl - elementwise, reductions, softmax, norms, recurrent cells and
// data movement: the list of kernels for one instruction set. The last row is empty. What has no
// use for vectors is in scalar_kernels.inl.
#include "kernels/cpu/block_linear/block_rows.inl"
#include "kernels/cpu/concat/concat.inl"
#include "kernels/cpu/copy/copy.inl"
#include "kernels/cpu/elementwise/elementwise.inl"
#include "kernels/cpu/fft/fft.inl"
#include "kernels/cpu/gather/gather.inl"
#include "kernels/cpu/image/image.inl"
#include "kernels/cpu/normalize/normalize.inl"
#include "kernels/cpu/pad/pad.inl"
#include "kernels/cpu/quantized/vector_kernels.inl"
#include "kernels/cpu/random/random.inl"
#include "kernels/cpu/recurrent/linear_recurrence.inl"
#include "kernels/cpu/recurrent/recurrent.inl"
#include "kernels/cpu/reduce/reduce_wide.inl"
#include "kernels/cpu/resize/grid_sample.inl"
#include "kernels/cpu/resize/resize.inl"
#include "kernels/cpu/resize/roi_align.inl"
#include "kernels/cpu/slice/slice.inl"
#include "kernels/cpu/softmax/softmax.inl"
#include "kernels/cpu/transpose/transpose.inl"
#include "runtime/op/contract.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kTensorKernels[] = {
    INGOT_FLIP_BYTES,
    {OpCode::kElementwise, "elementwise", &kElementwiseContract, nullptr, tensors::elementwise<V>},
    {OpCode::kReduce, "reduce", &kReduceContract, nullptr, tensors::reduce<V>},
    {OpCode::kArgReduce, "arg_reduce", &kArgReduceContract, nullptr, tensors::arg_reduce<V>},
    {OpCode::kSoftmax, "softmax", &kSoftmaxContract, nullptr, tensors::softmax<V>},
    {OpCode::kNormalize, "normalize", &kNormalizeContract, nullptr, tensors::normalize<V>},
    {OpCode::kRecurrent, "recurrent", &kRecurrentContract, tensors::recurrent_is_packed,
     tensors::recurrent<V>},
    {OpCode::kLinearRecurrence, "linear_recurrence", &kLinearRecurrenceContract, nullptr,
     tensors::linear_recurrence<V>},
    {OpCode::kTranspose, "transpose", &kTransposeContract, nullptr, tensors::transpose<V>},
    {OpCode::kConcat, "concat", &kConcatContract, nullptr, tensors::concat<V>},
    {OpCode::kSlice, "slice", &kSliceContract, nullptr, tensors::slice<V>},
    {OpCode::kPad, "pad", &kPadContract, nullptr, tensors::pad<V>},
    {OpCode::kResize, "resize", &kResizeContract, nullptr, tensors::resize<V>},
    {OpCode::kGridSample, "grid_sample", &kGridSampleContract, nullptr, tensors::grid_sample<V>},
    {OpCode::kRoiAlign, "roi_align", &kRoiAlignContract, nullptr, tensors::roi_align<V>},
    {OpCode::kImageInput, "image_input", &kImageInputContract, nullptr, tensors::image_input<V>},
    {OpCode::kCopy, "copy", &kCopyContract, nullptr, tensors::copy<V>},
    {OpCode::kTile, "tile", &kTileContract, nullptr, tensors::tile<V>},
    {OpCode::kGather, "gather", &kGatherContract, nullptr, tensors::gather<V>},
    {OpCode::kRandom, "random", &kRandomContract, nullptr, random::random<V>},
    {OpCode::kFft, "fft", &kFftContract, nullptr, fft::fft<V>},
    {OpCode::kBlockQuantize, "block_quantize", &kBlockQuantizeContract, nullptr,
     blocks::quantize<V>},
    {OpCode::kBlockGather, "block_gather", &kBlockGatherContract, nullptr, blocks::gather_rows<V>},
    INGOT_QUANTIZED_TENSORS,
    {},
};

}  // namespace
}  // namespace ingot::cpu
