// SPDX-License-Identifier: Apache-2.0
// runtime/format/golden.cpp - reads the golden part.
#include "runtime/format/golden.h"

#include "ingot_schema/golden_generated.h"
#include "runtime/base/checked_math.h"
#include "runtime/format/validate.h"

namespace ingot {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<fb::GoldenTensor>>;

uint32_t count(const Tensors* tensors) { return tensors ? tensors->size() : 0; }

TensorType type_of(const fb::GoldenTensor& tensor) {
  TensorType type;
  type.dtype = DType(tensor.dtype());
  type.rank = tensor.dims() ? uint8_t(tensor.dims()->size()) : 0;
  for (int i = 0; i < type.rank; i++) type.dims[i] = tensor.dims()->Get(uint32_t(i));
  type.row_stride = type.row_length();
  return type;
}

/// Dims lie where an int64_t may lie, data where any element may, and no product of dims can
/// overflow.
bool is_readable(Span<const uint8_t> part, const fb::GoldenTensor& tensor) {
  const auto at = [&](const uint8_t* bytes) { return size_t(bytes - part.data); };
  if (tensor.data() && tensor.data()->size() && at(tensor.data()->Data()) % 16 != 0) return false;
  if (!tensor.dims() || tensor.dims()->size() == 0) return true;
  if (at(tensor.dims()->Data()) % 8 != 0 || tensor.dims()->size() > uint32_t(kMaxRank))
    return false;
  int64_t elements = 1;
  for (const int64_t dim : *tensor.dims())
    if (dim < 0 || !checked_mul(elements, dim ? dim : int64_t{1}, &elements) ||
        elements > kMaxElements)
      return false;
  return true;
}

Status validate_tensors(Span<const uint8_t> part, const Tensors* tensors, ErrorDetail* detail) {
  for (uint32_t i = 0; i < count(tensors); i++) {
    const fb::GoldenTensor& tensor = *tensors->Get(i);
    const uint64_t rank = tensor.dims() ? tensor.dims()->size() : 0;
    const uint64_t found = tensor.data() ? tensor.data()->size() : 0;
    uint64_t expected = 0;
    const bool has_type = tensor.dtype() >= uint8_t(DType::kF32) &&
                          tensor.dtype() <= uint8_t(DType::kBool) && rank <= kMaxRank;
    const bool sound = has_type && is_readable(part, tensor) &&
                       storage_bytes(type_of(tensor), &expected) && expected == found;
    if (sound) continue;
    const Status status =
        fail(detail, Code::kMeaningInvalid, "golden: bytes of a tensor", expected, found);
    if (detail) detail->operand = int32_t(i);
    return status;
  }
  return {};
}

}  // namespace

Status validate_golden(Span<const uint8_t> part, uint32_t* out_case_count, ErrorDetail* detail) {
  constexpr unsigned kDepth = 8, kTables = 1u << 16;
  if (part.size > kMaxProgramBytes)
    return fail(detail, Code::kLimitExceeded, "golden", kMaxProgramBytes, part.size);
  flatbuffers::Verifier verifier(part.data, part.size, kDepth, kTables);
  if (!fb::VerifyGoldenBuffer(verifier)) return fail(detail, Code::kStructureInvalid, "golden");
  const auto* cases = fb::GetGolden(part.data)->cases();
  *out_case_count = cases ? cases->size() : 0;
  for (uint32_t i = 0; i < *out_case_count; i++) {
    INGOT_TRY(validate_tensors(part, cases->Get(i)->inputs(), detail));
    INGOT_TRY(validate_tensors(part, cases->Get(i)->outputs(), detail));
  }
  return {};
}

GoldenCounts golden_case(Span<const uint8_t> part, uint32_t case_index) {
  const fb::GoldenCase& found = *fb::GetGolden(part.data)->cases()->Get(case_index);
  return {count(found.inputs()), count(found.outputs()), found.rtol(), found.atol()};
}

TensorView golden_tensor(Span<const uint8_t> part, uint32_t case_index, bool is_input,
                         uint32_t index, const char** out_name) {
  const fb::GoldenCase& found = *fb::GetGolden(part.data)->cases()->Get(case_index);
  const fb::GoldenTensor& tensor = *(is_input ? found.inputs() : found.outputs())->Get(index);
  TensorView view;
  static_cast<TensorType&>(view) = type_of(tensor);
  view.data = tensor.data() ? const_cast<uint8_t*>(tensor.data()->Data()) : nullptr;
  *out_name = tensor.name()->c_str();
  return view;
}

}  // namespace ingot
