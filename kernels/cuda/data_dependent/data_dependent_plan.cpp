// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/data_dependent_plan.cpp - NonZero, Unique, NonMaxSuppression: the
// number found lies on the device until the run ends.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/data_dependent/data_dependent_params.h"
#include "runtime/op/data_dependent.h"

namespace ingot::cuda {
namespace {

int64_t at_most(int64_t n, int64_t most) { return n < most ? n : most; }

// What is counted, then written: both launches have the same blocks, each with its share.
constexpr int64_t kCountTile = 1024;

uint32_t count_blocks(int64_t elements, const GpuTraits& traits) {
  return blocks_for(elements, kCountTile, traits);
}
uint64_t count_scratch(int64_t elements, const GpuTraits& traits) {
  return align256(uint64_t(count_blocks(elements, traits)) * sizeof(int64_t));
}
/// Where the elements lie that are not zero; `type` is that of x.
Status plan_count(const GpuWork& work, const TensorType& type, const void* x, uint8_t* scratch,
                  int64_t* y, int64_t* n) {
  const bool is_float = type.dtype == DType::kF64 || type.dtype == DType::kF32 ||
                        type.dtype == DType::kF16 || type.dtype == DType::kBF16;
  NonZeroParams p = {};
  p.x = static_cast<const char*>(x);
  p.y = y;
  p.n = n;
  p.counts = reinterpret_cast<int64_t*>(scratch);
  p.elements = type.elements();
  p.rank = type.rank;
  p.bytes = int(dtype_bytes(type.dtype));
  p.mask = ~uint64_t{0} >> (64 - 8 * p.bytes) >> (is_float ? 1 : 0);
  for (int d = 0; d < type.rank && p.elements > 0; d++) p.dims[d] = fast_divisor(type.dims[d]);
  const uint32_t blocks = count_blocks(p.elements, work.traits);
  p.share = (p.elements + blocks - 1) / blocks;
  const Status status = launch(work, KernelId::nonzero_count, blocks, p);
  return status.ok() ? launch(work, KernelId::nonzero_write, blocks, p) : status;
}

uint64_t nonzero_scratch(const OpArguments& a, const GpuTraits& traits, GpuPrecision) {
  return count_scratch(a.inputs[0].elements(), traits);
}
Status plan_nonzero(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  return plan_count(work, a.inputs[0], a.inputs[0].data, work.scratch, a.outputs[0].as<int64_t>(),
                    a.outputs[1].as<int64_t>());
}

int64_t items_of(const OpArguments& a) {
  const UniqueAttributes& t = a.as<UniqueAttributes>();
  return t.flat ? a.inputs[0].elements() : int64_t{a.inputs[0].dims[t.axis]};
}
/// Three lists of items, two of marks, and room to count.
uint64_t unique_scratch(const OpArguments& a, const GpuTraits& traits, GpuPrecision) {
  const int64_t m = items_of(a);
  return 3 * align256(uint64_t(m) * sizeof(int64_t)) + 2 * align256(uint64_t(m)) +
         count_scratch(m, traits);
}
void set_type(DType t, UniqueParams* p) {
  p->bytes = int(dtype_bytes(t));
  p->kind = UniqueKind::kSigned;
  switch (t) {
    case DType::kF64: p->kind = UniqueKind::kFloat, p->infinity = uint64_t{0x7ff} << 52; break;
    case DType::kF32: p->kind = UniqueKind::kFloat, p->infinity = uint64_t{0x7f800000} << 32; break;
    case DType::kF16: p->kind = UniqueKind::kFloat, p->infinity = uint64_t{0x7c00} << 48; break;
    case DType::kBF16: p->kind = UniqueKind::kFloat, p->infinity = uint64_t{0x7f80} << 48; break;
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kBool: p->kind = UniqueKind::kUnsigned; break;
    default: break;
  }
}
/// p.order is then one run; p.merged is the other list, which is free.
Status plan_unique_sort(const GpuWork& work, int64_t* const lists[2], UniqueParams* p) {
  int to = 0;
  p->merged = lists[0];
  for (p->run = 1; p->run < p->m || !p->order; p->run *= 2) {
    const Status merged =
        launch(work, KernelId::unique_merge, blocks_for(p->m, 256, work.traits), *p);
    if (!merged.ok()) return merged;
    p->order = lists[to];
    to = 1 - to;
    p->merged = lists[to];
  }
  return {};
}
Status plan_unique(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView& x = a.inputs[0];
  const UniqueAttributes& t = a.as<UniqueAttributes>();
  UniqueParams p = {};
  p.x = x.as<const char>();
  p.m = items_of(a);
  p.outer = p.inner = 1;
  for (int i = 0; !t.flat && i < x.rank; i++)
    if (i != int(t.axis)) (i < int(t.axis) ? p.outer : p.inner) *= x.dims[i];
  set_type(x.dtype, &p);
  const uint64_t list = align256(uint64_t(p.m) * sizeof(int64_t)), marks = align256(uint64_t(p.m));
  int64_t* const room[3] = {reinterpret_cast<int64_t*>(work.scratch),
                            reinterpret_cast<int64_t*>(work.scratch + list),
                            reinterpret_cast<int64_t*>(work.scratch + 2 * list)};
  uint8_t* const counts = work.scratch + 3 * list + 2 * marks;
  int64_t* const n = a.outputs[4].as<int64_t>();
  uint8_t* const begins = work.scratch + 3 * list;
  TensorType mark;
  mark.dtype = DType::kU8;
  mark.rank = 1;
  mark.dims[0] = p.m;
  if (p.m == 0) return plan_count(work, mark, begins, counts, nullptr, n);
  Status status = plan_unique_sort(work, room, &p);
  p.begins = begins;
  if (!t.sorted) p.firsts = begins + marks;
  if (status.ok())
    status = launch(work, KernelId::unique_merge, blocks_for(p.m, 256, work.traits), p);
  if (status.ok()) status = plan_count(work, mark, p.begins, counts, p.merged, n);
  if (status.ok() && p.firsts) status = plan_count(work, mark, p.firsts, counts, room[2], n);
  if (!status.ok()) return status;
  p.kinds = p.merged;
  p.arrivals = t.sorted ? nullptr : room[2];
  p.n = n;
  p.y = a.outputs[0].as<char>();
  p.first = a.outputs[1].as<int64_t>();
  p.inverse = a.outputs[2].as<int64_t>();
  p.count = a.outputs[3].as<int64_t>();
  return launch(work, KernelId::unique_write, blocks_for(p.m, 256, work.traits), p);
}

struct NmsShape {
  int64_t lists, classes, count, room;
  int64_t blocks(const GpuTraits& traits) const {
    return at_most(lists, int64_t(traits.multiprocessors) * 2);
  }
  uint64_t keys_bytes(const GpuTraits& traits) const {
    return align256(uint64_t(blocks(traits) * count) * 8);
  }
  uint64_t picked_bytes() const { return align256(uint64_t(lists * room) * 4); }
};
NmsShape nms_shape(const OpArguments& a) {
  const TensorType &scores = a.inputs[1], &y = a.outputs[0];
  NmsShape s = {0, scores.dims[1], scores.dims[2], 0};
  if (s.count == 0 || scores.dims[0] == 0 || s.classes == 0) return s;
  s.lists = scores.dims[0] * s.classes;
  s.room = y.dims[0] / s.lists;
  if (s.room > s.count) s.room = s.count;  // no class gives more
  return s;
}
uint64_t nms_scratch(const OpArguments& a, const GpuTraits& traits, GpuPrecision) {
  const NmsShape s = nms_shape(a);
  return s.keys_bytes(traits) + s.picked_bytes() + align256(uint64_t(s.lists) * sizeof(int64_t));
}

template <class T>
const T* setting(const OpArguments& a, int at) {
  const TensorView* x = a.optional(at);
  return x ? x->as<const T>() : nullptr;
}

Status plan_nms(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const NmsShape s = nms_shape(a);
  // boxes of 64 GiB: a key has 32 bits for which one
  if (s.count > INT64_C(0xffffffff)) return Code::kLimitExceeded;
  NmsParams p = {};
  p.boxes = a.inputs[0].as<const float>();
  p.scores = a.inputs[1].as<const float>();
  p.most = setting<int64_t>(a, 2);
  p.threshold = setting<float>(a, 3);
  p.lowest = setting<float>(a, 4);
  p.keys = reinterpret_cast<uint64_t*>(work.scratch);
  p.picked = reinterpret_cast<uint32_t*>(work.scratch + s.keys_bytes(work.traits));
  p.counts =
      reinterpret_cast<int64_t*>(work.scratch + s.keys_bytes(work.traits) + s.picked_bytes());
  p.lists = s.lists;
  p.classes = s.classes;
  p.count = s.count;
  p.room = s.room;
  p.is_center = a.as<NonMaxSuppressionAttributes>().center_point_box;
  if (s.lists > 0) {
    const Status status = launch(work, KernelId::nms_select, uint32_t(s.blocks(work.traits)), p);
    if (!status.ok()) return status;
  }
  const int64_t batches = s.lists > 0 ? s.lists / s.classes : 0;
  const NmsWriteParams w = {
      p.picked,  p.counts, a.outputs[0].as<int64_t>(), a.outputs[1].as<int64_t>(), batches,
      s.classes, s.room};
  return launch(work, KernelId::nms_write, blocks_for(batches, 1, work.traits), w);
}

constexpr GpuKernelEntry kDataDependentTable[] = {
    {OpCode::kNonZero, "nonzero", nullptr, nonzero_scratch, plan_nonzero},
    {OpCode::kUnique, "unique", nullptr, unique_scratch, plan_unique},
    {OpCode::kNonMaxSuppression, "non_max_suppression", nullptr, nms_scratch, plan_nms},
};

}  // namespace

const Span<const GpuKernelEntry> kDataDependentRows =
    Span<const GpuKernelEntry>(kDataDependentTable);

}  // namespace ingot::cuda
