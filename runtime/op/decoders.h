// SPDX-License-Identifier: Apache-2.0
// runtime/op/decoders.h - the decoder of each operator's attributes, for the rows of a kernel
// table: a program links those of the kernels that it has.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

// runtime/format/decode_attributes*.cpp has them
#define INGOT_OPERATOR(name, number, text, family) \
  const char* decode_##name(const fb::Instruction& instruction, void* to);
#include "runtime/op/operators.def"

constexpr AttributeDecoder decoder_of(OpCode op) {
  constexpr AttributeDecoder all[kOpCodeCount] = {
      nullptr,
#define INGOT_OPERATOR(name, number, text, family) decode_##name,
#include "runtime/op/operators.def"
  };
  return uint32_t(op) < uint32_t(kOpCodeCount) ? all[uint32_t(op)] : nullptr;
}

constexpr KernelEntry with_decoder(KernelEntry row) {
  row.decode = decoder_of(row.op);
  return row;
}

}  // namespace ingot
