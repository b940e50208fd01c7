// kernels/cpu/oracle/oracle_table.cpp - the list of oracle kernels: naive, in double, in the order
// a reader expects.
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/oracle/oracle.h"
#include "runtime/op/attention.h"
#include "runtime/op/concat.h"
#include "runtime/op/control.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/conv_transpose2d.h"
#include "runtime/op/copy.h"
#include "runtime/op/elementwise.h"
#include "runtime/op/gather.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "runtime/op/measured.h"
#include "runtime/op/normalize.h"
#include "runtime/op/pad.h"
#include "runtime/op/picture.h"
#include "runtime/op/pool2d.h"
#include "runtime/op/recurrent.h"
#include "runtime/op/reduce.h"
#include "runtime/op/resize.h"
#include "runtime/op/slice.h"
#include "runtime/op/softmax.h"
#include "runtime/op/sort.h"
#include "runtime/op/transpose.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kOracleEntries[] = {
    {OpCode::kConv2d, "oracle_conv2d", &kConv2dContract, nullptr, oracle::conv2d},
    {OpCode::kChain, "oracle_chain", &kChainContract, nullptr, oracle::chain},
    {OpCode::kLinear, "oracle_linear", &kLinearContract, nullptr, oracle::linear},
    {OpCode::kMatMul, "oracle_matmul", &kMatMulContract, nullptr, oracle::matmul},
    {OpCode::kAttention, "oracle_attention", &kAttentionContract, nullptr, oracle::attention},
    {OpCode::kPool2d, "oracle_pool2d", &kPool2dContract, nullptr, oracle::pool2d},
    {OpCode::kConvTranspose2d, "oracle_conv_transpose2d", &kConvTranspose2dContract, nullptr,
     oracle::conv_transpose2d},
    {OpCode::kElementwise, "oracle_elementwise", &kElementwiseContract, nullptr,
     oracle::elementwise},
    {OpCode::kReduce, "oracle_reduce", &kReduceContract, nullptr, oracle::reduce},
    {OpCode::kArgReduce, "oracle_arg_reduce", &kArgReduceContract, nullptr, oracle::arg_reduce},
    {OpCode::kSoftmax, "oracle_softmax", &kSoftmaxContract, nullptr, oracle::softmax},
    {OpCode::kNormalize, "oracle_normalize", &kNormalizeContract, nullptr, oracle::normalize},
    {OpCode::kRecurrent, "oracle_recurrent", &kRecurrentContract, nullptr, oracle::recurrent},
    {OpCode::kTranspose, "oracle_transpose", &kTransposeContract, nullptr, oracle::transpose},
    {OpCode::kGather, "oracle_gather", &kGatherContract, nullptr, oracle::gather},
    {OpCode::kGatherElements, "oracle_gather_elements", &kGatherElementsContract, nullptr,
     oracle::gather_elements},
    {OpCode::kGatherNd, "oracle_gather_nd", &kGatherNdContract, nullptr, oracle::gather_nd},
    {OpCode::kScatterNd, "oracle_scatter_nd", &kScatterNdContract, nullptr, oracle::scatter_nd},
    {OpCode::kScatterElements, "oracle_scatter_elements", &kScatterElementsContract, nullptr,
     oracle::scatter_elements},
    {OpCode::kConcat, "oracle_concat", &kConcatContract, nullptr, oracle::concat},
    {OpCode::kSlice, "oracle_slice", &kSliceContract, nullptr, oracle::slice},
    {OpCode::kPad, "oracle_pad", &kPadContract, nullptr, oracle::pad},
    {OpCode::kResize, "oracle_resize", &kResizeContract, nullptr, oracle::resize},
    {OpCode::kPicture, "oracle_picture", &kPictureContract, nullptr, oracle::picture},
    {OpCode::kCopy, "oracle_copy", &kCopyContract, nullptr, oracle::copy},
    {OpCode::kTile, "oracle_tile", &kTileContract, nullptr, oracle::tile},
    {OpCode::kTopK, "oracle_topk", &kTopKContract, nullptr, oracle::topk},
    {OpCode::kCumSum, "oracle_cumsum", &kCumSumContract, nullptr, oracle::cumsum},
    {OpCode::kNonZero, "oracle_nonzero", &kNonZeroContract, nullptr, oracle::nonzero},
    {OpCode::kUnique, "oracle_unique", &kUniqueContract, nullptr, oracle::unique},
    {OpCode::kNonMaxSuppression, "oracle_non_max_suppression", &kNonMaxSuppressionContract, nullptr,
     oracle::non_max_suppression},
    {OpCode::kIf, "if", &kIfContract, nullptr, nullptr},  // the session runs these two
    {OpCode::kLoop, "loop", &kLoopContract, nullptr, nullptr},
    {},  // the last row is empty and not counted
};

}  // namespace

const KernelTable kOracleKernels = {"oracle", kOracleEntries,
                                    sizeof(kOracleEntries) / sizeof(KernelEntry) - 1, nullptr};

}  // namespace ingot::cpu
