// SPDX-License-Identifier: Apache-2.0
// runtime/session/tunings.cpp - reads the part of tunings when the first session on a GPU wants it.
#include "runtime/session/tunings.h"

#include "runtime/format/tunings.h"

namespace ingot {
namespace {

void drop_tunings_of(const OpenModel& model) {
  const Allocator from = allocator_of(model);
  from.release(from.user, model.tunings.data, model.tunings.size);
}

Status read(const OpenModel& model, ErrorDetail* detail) {
  const uint32_t index = uint32_t(model.file.tunings_part);
  const PartEntry part = file_part(model.file, index);
  if (part.bytes > kMaxTuningBytes || !part.bytes)
    return fail(detail, part.bytes ? Code::kLimitExceeded : Code::kStructureInvalid, "tunings",
                kMaxTuningBytes, part.bytes);
  const Allocator from = allocator_of(model);
  uint8_t* bytes;
  INGOT_TRY(allocate(from, part.bytes, 64, "tunings", &bytes, detail));
  Status status = read_part(model.source, model.file, index, {bytes, size_t(part.bytes)}, detail);
  if (status.ok()) status = validate_tunings({bytes, size_t(part.bytes)}, detail);
  if (!status.ok()) {
    from.release(from.user, bytes, size_t(part.bytes));
    return status;
  }
  model.tunings = {bytes, size_t(part.bytes)};
  model.drop_tunings = drop_tunings_of;
  return {};
}

}  // namespace

Status read_tunings(const OpenModel& model, Preparation* p, ErrorDetail* detail) {
  if (model.file.tunings_part < 0 || p->ignores_tunings) return {};
  if (!model.tunings.data) INGOT_TRY(read(model, detail));
  const int64_t* symbols =
      p->planned.symbol_highs.size ? p->planned.symbol_highs.data : model.workspace.symbol_values;
  p->tunings.part = {model.tunings.data, model.tunings.size};
  p->tunings.dims = tuning_dims({symbols, model.program.free_symbols});
  return {};
}

}  // namespace ingot
