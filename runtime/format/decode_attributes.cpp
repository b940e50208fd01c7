// runtime/format/decode_attributes.cpp - sizes of the plain structs and the way to the family that fills each.
#include "runtime/format/decode.h"
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

namespace ingot {
namespace {

template <class A>
constexpr uint16_t rounded() {
  static_assert(alignof(A) <= 8);
  return uint16_t((sizeof(A) + 7) / 8 * 8);
}

constexpr uint16_t kBytes[kOpCodeCount] = {0,
                                           rounded<Conv2dAttributes>(),
                                           rounded<ConvTranspose2dAttributes>(),
                                           rounded<ChainAttributes>(),
                                           rounded<LinearAttributes>(),
                                           rounded<MatMulAttributes>(),
                                           rounded<Pool2dAttributes>(),
                                           rounded<ElementwiseAttributes>(),
                                           rounded<ReduceAttributes>(),
                                           rounded<ArgReduceAttributes>(),
                                           rounded<SoftmaxAttributes>(),
                                           rounded<NormalizeAttributes>(),
                                           rounded<RecurrentAttributes>(),
                                           rounded<TransposeAttributes>(),
                                           rounded<GatherAttributes>(),
                                           rounded<GatherElementsAttributes>(),
                                           rounded<GatherNdAttributes>(),
                                           rounded<ConcatAttributes>(),
                                           rounded<SliceAttributes>(),
                                           rounded<PadAttributes>(),
                                           rounded<ResizeAttributes>(),
                                           rounded<CopyAttributes>(),
                                           rounded<TileAttributes>(),
                                           rounded<IfAttributes>(),
                                           rounded<TopKAttributes>(),
                                           rounded<CumSumAttributes>(),
                                           rounded<ScatterNdAttributes>(),
                                           rounded<ScatterElementsAttributes>(),
                                           rounded<AttentionAttributes>(),
                                           rounded<NonZeroAttributes>(),
                                           rounded<NonMaxSuppressionAttributes>(),
                                           rounded<UniqueAttributes>(),
                                           rounded<LoopAttributes>(),
                                           rounded<PictureAttributes>()};

}  // namespace

uint32_t attribute_bytes(OpCode op) { return uint32_t(op) < uint32_t(kOpCodeCount) ? kBytes[uint32_t(op)] : 0; }

const char* decode_attributes(const fb::Instruction& instruction, void* to) {
  switch (OpCode(uint8_t(instruction.attributes_type()))) {
    case OpCode::kConv2d:
    case OpCode::kConvTranspose2d:
    case OpCode::kChain:
    case OpCode::kLinear:
    case OpCode::kMatMul:
    case OpCode::kPool2d:
    case OpCode::kAttention:
    case OpCode::kRecurrent: return decode_product_attributes(instruction, to);
    case OpCode::kElementwise:
    case OpCode::kReduce:
    case OpCode::kArgReduce:
    case OpCode::kSoftmax:
    case OpCode::kNormalize:
    case OpCode::kTopK:
    case OpCode::kNonZero:
    case OpCode::kNonMaxSuppression:
    case OpCode::kUnique:
    case OpCode::kCumSum: return decode_map_attributes(instruction, to);
    default: return decode_movement_attributes(instruction, to);
  }
}

const char* decode_activation(const fb::ActivationSpec* from, ActivationSpec* to) {
  if (!from) return nullptr;
  if (uint8_t(from->kind()) >= kActivationCount) return "attributes.activation.kind";
  *to = {Activation(from->kind()), from->alpha(), from->beta()};
  return nullptr;
}

}  // namespace ingot
