// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu/launch_order.h"

#include <string.h>

namespace ingot {
namespace {

/// Not biases of whole numbers, which are packed.
bool may_be_indices(const TensorView& view) {
  return view.packing == Packing::kDense &&
         (view.dtype == DType::kI32 || view.dtype == DType::kU32 || view.dtype == DType::kI64 ||
          view.dtype == DType::kU64);
}

}  // namespace

void LaunchAccess::add(const void* at, uint64_t bytes, bool writes) {
  if (is_all_ || !bytes) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
  if (count_ == kMaxRanges || bytes > UINTPTR_MAX - begin) {
    is_all_ = true;
    return;
  }
  ranges_[count_++] = {begin, begin + uintptr_t(bytes), writes};
}

LaunchAccess access_of(const InstructionDef& instruction, Span<const ValueDef> values,
                       const OpArguments& a, const uint32_t* fault) {
  LaunchAccess touched = LaunchAccess::nothing();
  bool has_indices = false;
  for (uint32_t k = 0; k < uint32_t(a.input_count) + uint32_t(a.output_count); k++) {
    const bool writes = k >= uint32_t(a.input_count);
    const uint32_t i = writes ? k - uint32_t(a.input_count) : k;
    const TensorView& view = writes ? a.outputs[i] : a.inputs[i];
    const int32_t value = writes ? instruction.outputs[i] : instruction.inputs[i];
    if (!view.present() || value < 0) continue;
    has_indices = has_indices || (!writes && may_be_indices(view));
    if (values[size_t(value)].kind == ValueKind::kConstant) continue;
    uint64_t bytes;
    if (!storage_bytes(view, &bytes)) return {};
    touched.add(view.data, bytes, writes);
  }
  if (has_indices) touched.add(fault, sizeof *fault, true);
  return touched;
}

GpuConstants constants_of(const InstructionDef& instruction, Span<const ValueDef> values,
                          const OpArguments& a) {
  GpuConstants constants;
  for (uint32_t i = 0; i < a.input_count; i++) {
    const int32_t value = instruction.inputs[i];
    if (a.inputs[i].present() && value >= 0 && values[size_t(value)].kind == ValueKind::kConstant)
      constants.add(a.inputs[i].data);
  }
  return constants;
}

LaunchAccess access_of(const LaunchAccess& operands, const GpuLaunch& launch,
                       const uint8_t* scratch, uint64_t scratch_bytes) {
  LaunchAccess touched = operands;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(scratch);
  for (uint32_t at = 0; at + sizeof begin <= launch.params_bytes; at += sizeof begin) {
    uintptr_t word;
    memcpy(&word, static_cast<const uint8_t*>(launch.params) + at, sizeof word);
    if (!begin || word - begin > scratch_bytes) continue;
    touched.add(scratch, scratch_bytes, true);
    break;
  }
  return touched;
}

bool LaunchOrder::meets(const LaunchAccess& touched, uint32_t item) const {
  const uint32_t end = item + 1 < count_ ? items_[item + 1].first_range : range_count_;
  for (uint32_t r = items_[item].first_range; r < end; r++)
    for (uint32_t i = 0; i < touched.count(); i++)
      if ((ranges_[r].writes || touched[i].writes) && ranges_[r].begin < touched[i].end &&
          touched[i].begin < ranges_[r].end)
        return true;
  return false;
}

void LaunchOrder::wait(const LaunchAccess& touched, Waits* out) {
  out->count = 0;
  joins_ =
      touched.is_all() || count_ == kMaxLaunches || touched.count() > kMaxRanges - range_count_;
  uint32_t waits = 0;
  for (uint32_t i = count_; i-- > 0;) {
    if (waits >> i & 1 || !(joins_ || meets(touched, i))) continue;
    out->launches[out->count++] = items_[i].launch;
    waits |= items_[i].waits | uint32_t{1} << i;
  }
  if (!out->count && has_root_) out->launches[out->count++] = root_;
  if (joins_) return;
  items_[count_] = {{}, waits, range_count_};
  for (uint32_t i = 0; i < touched.count(); i++) ranges_[range_count_++] = touched[i];
}

void LaunchOrder::add(Launch launch) {
  if (!joins_) {
    items_[count_++].launch = launch;
    return;
  }
  root_ = launch, has_root_ = true;
  count_ = range_count_ = 0;
}

}  // namespace ingot
