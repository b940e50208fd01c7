#include "tests/format/contracts.h"

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

namespace ingot::test {

const KernelTable& contract_table() {
  static const KernelEntry entries[] = {
      {OpCode::kConv2d, "", &kConv2dContract, nullptr, nullptr},
      {OpCode::kConvTranspose2d, "", &kConvTranspose2dContract, nullptr, nullptr},
      {OpCode::kChain, "", &kChainContract, nullptr, nullptr},
      {OpCode::kLinear, "", &kLinearContract, nullptr, nullptr},
      {OpCode::kMatMul, "", &kMatMulContract, nullptr, nullptr},
      {OpCode::kPool2d, "", &kPool2dContract, nullptr, nullptr},
      {OpCode::kElementwise, "", &kElementwiseContract, nullptr, nullptr},
      {OpCode::kReduce, "", &kReduceContract, nullptr, nullptr},
      {OpCode::kArgReduce, "", &kArgReduceContract, nullptr, nullptr},
      {OpCode::kSoftmax, "", &kSoftmaxContract, nullptr, nullptr},
      {OpCode::kNormalize, "", &kNormalizeContract, nullptr, nullptr},
      {OpCode::kRecurrent, "", &kRecurrentContract, nullptr, nullptr},
      {OpCode::kTranspose, "", &kTransposeContract, nullptr, nullptr},
      {OpCode::kGather, "", &kGatherContract, nullptr, nullptr},
      {OpCode::kGatherElements, "", &kGatherElementsContract, nullptr, nullptr},
      {OpCode::kGatherNd, "", &kGatherNdContract, nullptr, nullptr},
      {OpCode::kConcat, "", &kConcatContract, nullptr, nullptr},
      {OpCode::kSlice, "", &kSliceContract, nullptr, nullptr},
      {OpCode::kPad, "", &kPadContract, nullptr, nullptr},
      {OpCode::kResize, "", &kResizeContract, nullptr, nullptr},
      {OpCode::kCopy, "", &kCopyContract, nullptr, nullptr},
      {OpCode::kTile, "", &kTileContract, nullptr, nullptr},
      {OpCode::kIf, "", &kIfContract, nullptr, nullptr},
      {OpCode::kLoop, "", &kLoopContract, nullptr, nullptr},
      {OpCode::kTopK, "", &kTopKContract, nullptr, nullptr},
      {OpCode::kCumSum, "", &kCumSumContract, nullptr, nullptr},
      {OpCode::kScatterNd, "", &kScatterNdContract, nullptr, nullptr},
      {OpCode::kScatterElements, "", &kScatterElementsContract, nullptr, nullptr},
      {OpCode::kAttention, "", &kAttentionContract, nullptr, nullptr},
      {OpCode::kNonZero, "", &kNonZeroContract, nullptr, nullptr},
      {OpCode::kNonMaxSuppression, "", &kNonMaxSuppressionContract, nullptr, nullptr},
      {OpCode::kUnique, "", &kUniqueContract, nullptr, nullptr},
      {OpCode::kPicture, "", &kPictureContract, nullptr, nullptr},
  };
  static const KernelTable table = {"none", entries, sizeof entries / sizeof entries[0], nullptr};
  return table;
}

}  // namespace ingot::test
