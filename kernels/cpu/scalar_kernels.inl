// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/scalar_kernels.inl - what has no use for vectors: searches, sorts, scattered
// elements, trees, and what the session or the application runs. A library has these once, every
// instruction set's table falls back to them. The last row is empty.
#pragma once
#include "kernels/cpu/block_linear/block_linear.inl"
#include "kernels/cpu/data_dependent/nms.inl"
#include "kernels/cpu/data_dependent/nonzero.inl"
#include "kernels/cpu/data_dependent/unique.inl"
#include "kernels/cpu/gather/gather.inl"
#include "kernels/cpu/gather/scatter.inl"
#include "kernels/cpu/sort/sort.inl"
#include "kernels/cpu/trees/tree_ensemble.inl"
#include "runtime/op/contract.h"
#include "runtime/op/control.h"
#include "runtime/op/custom.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kPlainKernels[] = {
    {OpCode::kTopK, "topk", &kTopKContract, nullptr, tensors::topk<V>},
    {OpCode::kCumSum, "cumsum", &kCumSumContract, nullptr, tensors::cumsum<V>},
    {OpCode::kGatherElements, "gather_elements", &kGatherElementsContract, nullptr,
     tensors::gather_elements<V>},
    {OpCode::kGatherNd, "gather_nd", &kGatherNdContract, nullptr, tensors::gather_nd<V>},
    {OpCode::kScatterNd, "scatter_nd", &kScatterNdContract, nullptr, tensors::scatter_nd<V>},
    {OpCode::kScatterElements, "scatter_elements", &kScatterElementsContract, nullptr,
     tensors::scatter_elements<V>},
    {OpCode::kNonZero, "nonzero", &kNonZeroContract, nullptr, tensors::nonzero<V>},
    {OpCode::kUnique, "unique", &kUniqueContract, nullptr, tensors::unique<V>},
    {OpCode::kNonMaxSuppression, "non_max_suppression", &kNonMaxSuppressionContract, nullptr,
     tensors::non_max_suppression<V>},
    {OpCode::kTreeEnsemble, "tree_ensemble", &kTreeEnsembleContract, nullptr,
     tensors::tree_ensemble<V>},
    {OpCode::kBlockLinear, "block_linear_plain", &kBlockLinearContract, blocks::linear_codes,
     block_linear<V>},
    {OpCode::kGroupedLinear, "grouped_blocks_plain", &kGroupedLinearContract, blocks::grouped_codes,
     grouped_blocks<V>},
    {OpCode::kCustom, "custom", &kCustomContract, nullptr, run_custom},
    // the session runs these two; the rows carry the contracts
    {OpCode::kIf, "if", &kIfContract, nullptr, nullptr},
    {OpCode::kLoop, "loop", &kLoopContract, nullptr, nullptr},
    {},
};

}  // namespace
}  // namespace ingot::cpu
