// SPDX-License-Identifier: Apache-2.0
// runtime/format/structure.cpp - is the program a sound FlatBuffer. Every table costs at least
// eight bytes (itself and the offset that leads to it), so a budget of bytes / 8 keeps a file of
// shared tables from costing more than its size.
#include "runtime/format/decode.h"

namespace ingot {

Status verify_structure(const FileView& file, const fb::Program** out, ErrorDetail* detail) {
  constexpr uint32_t kMaxDepth = 8;  // Program, Subprogram, Instruction, attributes, stages
  if (file.program_bytes > kMaxProgramBytes)
    return fail(detail, Code::kLimitExceeded, "program", kMaxProgramBytes, file.program_bytes,
                file.program_offset);
  const uint32_t max_tables = uint32_t(file.program_bytes / 8 + 1);
  flatbuffers::Verifier verifier(file.program, size_t(file.program_bytes), kMaxDepth, max_tables,
                                 true);
  if (!fb::VerifyProgramBuffer(verifier))
    return fail(detail, Code::kStructureInvalid, "program: not a sound FlatBuffer of type Program",
                0, 0, file.program_offset);
  *out = fb::GetProgram(file.program);
  return {};
}

}  // namespace ingot
