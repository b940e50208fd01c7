// runtime/session/tunings.cpp - reads the part of tunings when the first session on a GPU wants it.
#include "runtime/session/tunings.h"

#include "runtime/format/tunings.h"

namespace ingot {

Status read_tunings(const OpenModel& model, Span<const uint8_t>* out, ErrorDetail* detail) {
  *out = {model.tunings.data, model.tunings.size};
  if (model.tunings.data) return {};
  const PartEntry part = file_part(model.file, uint32_t(model.file.tunings_part));
  if (part.bytes > kMaxTuningBytes) return fail(detail, Code::kLimitExceeded, "tunings", kMaxTuningBytes, part.bytes);
  const Allocator from = allocator_of(model);
  uint8_t* bytes;
  INGOT_TRY(allocate(from, part.bytes ? part.bytes : 1, 64, "tunings", &bytes, detail));
  Status status =
      read_part(model.source, model.file, uint32_t(model.file.tunings_part), {bytes, size_t(part.bytes)}, detail);
  if (status.ok()) status = prove_tunings({bytes, size_t(part.bytes)}, detail);
  if (!status.ok()) {
    from.release(from.user, bytes, size_t(part.bytes ? part.bytes : 1));
    return status;
  }
  model.tunings = {bytes, size_t(part.bytes)};
  *out = {bytes, size_t(part.bytes)};
  return {};
}

}  // namespace ingot
