// runtime/format/decode_attributes_maps.cpp - elementwise chains, reductions, normalisation,
// sorting.
#include <new>

#include "runtime/format/decode.h"
#include "runtime/op/elementwise.h"
#include "runtime/op/measured.h"
#include "runtime/op/normalize.h"
#include "runtime/op/reduce.h"
#include "runtime/op/softmax.h"
#include "runtime/op/sort.h"

namespace ingot {
namespace {

const char* decode(const fb::Elementwise& from, ElementwiseAttributes* to) {
  const uint32_t count = vector_size(from.steps());
  if (count > uint32_t(kMaxElementwiseSteps)) return "Elementwise.steps: at most 16";
  if (uint8_t(from.compute()) > uint8_t(ComputeType::kU64)) return "Elementwise.compute";
  to->step_count = count;
  to->compute = ComputeType(from.compute());
  for (uint32_t i = 0; i < count; i++) {
    const fb::ElementwiseStep* step = from.steps()->Get(i);
    to->steps[i] = {
        ElementwiseOp(step->op()), step->a(), step->b(), step->c(), step->alpha(), step->beta()};
  }
  return nullptr;
}

const char* decode(const fb::Reduce& from, ReduceAttributes* to) {
  if (uint8_t(from.kind()) > uint8_t(ReduceKind::kLogSumExp)) return "Reduce.kind";
  *to = {ReduceKind(from.kind()), from.axes()};
  return nullptr;
}

const char* decode(const fb::Normalize& from, NormalizeAttributes* to) {
  if (uint8_t(from.kind()) > uint8_t(NormKind::kGroup)) return "Normalize.kind";
  *to = {NormKind(from.kind()), from.axis(), from.epsilon(), from.groups()};
  return nullptr;
}

}  // namespace

const char* decode_map_attributes(const fb::Instruction& i, void* to) {
  switch (i.attributes_type()) {
    case fb::Attributes::Elementwise:
      return decode(*i.attributes_as_Elementwise(), new (to) ElementwiseAttributes());
    case fb::Attributes::Reduce:
      return decode(*i.attributes_as_Reduce(), new (to) ReduceAttributes());
    case fb::Attributes::Normalize:
      return decode(*i.attributes_as_Normalize(), new (to) NormalizeAttributes());
    case fb::Attributes::ArgReduce: {
      const fb::ArgReduce& from = *i.attributes_as_ArgReduce();
      new (to) ArgReduceAttributes{from.largest(), from.axis(), from.select_last()};
      return nullptr;
    }
    case fb::Attributes::Softmax: {
      const fb::Softmax& from = *i.attributes_as_Softmax();
      new (to) SoftmaxAttributes{from.axis(), from.log()};
      return nullptr;
    }
    case fb::Attributes::TopK: {
      const fb::TopK& from = *i.attributes_as_TopK();
      new (to) TopKAttributes{from.axis(), from.largest(), from.sorted()};
      return nullptr;
    }
    case fb::Attributes::CumSum: {
      const fb::CumSum& from = *i.attributes_as_CumSum();
      new (to) CumSumAttributes{from.axis(), from.exclusive(), from.reverse()};
      return nullptr;
    }
    case fb::Attributes::NonZero: new (to) NonZeroAttributes(); return nullptr;
    case fb::Attributes::NonMaxSuppression:
      new (to) NonMaxSuppressionAttributes{i.attributes_as_NonMaxSuppression()->center_point_box()};
      return nullptr;
    case fb::Attributes::Unique: {
      const fb::Unique& from = *i.attributes_as_Unique();
      new (to) UniqueAttributes{from.axis(), from.flat(), from.sorted()};
      return nullptr;
    }
    default: return "instructions[].attributes";
  }
}

}  // namespace ingot
