// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/kernel_set.cpp - the families and kernels of this build. Constant data.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/embed/image.h"

namespace ingot::cuda {
namespace {

const Span<const GpuKernelEntry>* const kFamilies[] = {&kTensorcoreRows,
                                                       &kTensorAttentionRows,
                                                       &kAttentionRows,
                                                       &kConv2dRows,
                                                       &kChainRows,
                                                       &kMatMulRows,
                                                       &kConvTransposeRows,
                                                       &kElementwiseRows,
                                                       &kMovementRows,
                                                       &kGatherRows,
                                                       &kScatterRows,
                                                       &kReduceRows,
                                                       &kNormalizeRows,
                                                       &kSortRows,
                                                       &kPool2dRows,
                                                       &kResizeRows,
                                                       &kRecurrentRows,
                                                       &kImageRows,
                                                       &kDataDependentRows,
                                                       &kQuantizedMapRows,
                                                       &kQuantizedProductRows,
                                                       &kDynamicQuantizeRows,
                                                       &kWeightsRows,
                                                       &kBlockLinearRows};

enum Unit : uint16_t {
  kTensors,
  kProducts,
  kTensorcore,
  kSequence,
  kConditional,
  kQuantized,
  kWeights,
  kBlocks
};
constexpr const char* kUnits[] = {"tensors",     "products",  "tensorcore", "sequence",
                                  "conditional", "quantized", "weights",    "blocks"};

constexpr GpuKernel kKernels[] = {
#define INGOT_CUDA_ROW(unit, name, Params, threads) \
  {"ingot_" #name, unit, threads, uint32_t(sizeof(Params))},
#define X(name, Params, threads) INGOT_CUDA_ROW(kTensors, name, Params, threads)
    INGOT_CUDA_UNIT_TENSORS(X)
#undef X
#define X(name, Params, threads) INGOT_CUDA_ROW(kProducts, name, Params, threads)
        INGOT_CUDA_UNIT_PRODUCTS(X)
#undef X
#define X(name, Params, threads) INGOT_CUDA_ROW(kTensorcore, name, Params, threads)
            INGOT_CUDA_UNIT_TENSORCORE(X)
#undef X
#define X(name, Params, threads) INGOT_CUDA_ROW(kSequence, name, Params, threads)
                INGOT_CUDA_UNIT_SEQUENCE(X)
#undef X
#define X(name, Params, threads) INGOT_CUDA_ROW(kConditional, name, Params, threads)
                    INGOT_CUDA_UNIT_CONDITIONAL(X)
#undef X
#define X(name, Params, threads) INGOT_CUDA_ROW(kQuantized, name, Params, threads)
                        INGOT_CUDA_UNIT_QUANTIZED(X)
#undef X
#define X(name, Params, threads) INGOT_CUDA_ROW(kWeights, name, Params, threads)
                            INGOT_CUDA_UNIT_WEIGHTS(X)
#undef X
#define X(name, Params, threads) INGOT_CUDA_ROW(kBlocks, name, Params, threads)
                                INGOT_CUDA_UNIT_BLOCKS(X)
#undef X
};
static_assert(sizeof kKernels / sizeof *kKernels == size_t(KernelId::kCount), "");

bool takes_f16_weights_of(const GpuTraits& traits, GpuPrecision precision) {
  return precision != GpuPrecision::kExact && traits.has_tensor_cores() &&
         is_in_f16(precision, traits);
}

}  // namespace
}  // namespace ingot::cuda

using namespace ingot;
using namespace ingot::cuda;

const GpuKernelSet ingot_cuda_kernel_set = {
    Span<const Span<const GpuKernelEntry>* const>(kFamilies),
    Span<const GpuKernel>(kKernels),
    Span<const char* const>(kUnits),
    device_images,
    uint16_t(KernelId::copy_in),
    uint16_t(KernelId::copy_out),
    uint16_t(KernelId::publish_condition),
    uint16_t(KernelId::decide),
    takes_f16_weights_of};
