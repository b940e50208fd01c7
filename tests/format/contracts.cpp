// SPDX-License-Identifier: Apache-2.0
#include "tests/format/contracts.h"

#include "runtime/op/all_operators.h"
#include "runtime/op/decoders.h"

namespace ingot::test {

const KernelTable& contract_table() {
  static const KernelEntry entries[] = {
#define INGOT_OPERATOR(name, number, text, family) \
  {OpCode::k##name, "", &k##name##Contract, nullptr, nullptr, decode_##name},
#include "runtime/op/operators.def"
  };
  static const KernelTable table = {"none", entries, sizeof entries / sizeof entries[0], nullptr};
  return table;
}

}  // namespace ingot::test
