// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/oracle_table.cpp - the list of oracle kernels: naive, in double, in the order
// a reader expects.
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/oracle/oracle.h"
#include "runtime/op/all_operators.h"
#include "runtime/op/decoders.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kOracleEntries[] = {
#define INGOT_OPERATOR(name, number, text, family) \
  {OpCode::k##name, "oracle_" #text, &k##name##Contract, nullptr, oracle::text, decode_##name},
#define INGOT_CONTROL_OPERATOR(name, number, text, family) \
  {OpCode::k##name, #text,   &k##name##Contract,           \
   nullptr,         nullptr, decode_##name},  // the session runs it
#include "runtime/op/operators.def"
    {},  // the last row is empty and not counted
};

}  // namespace

const KernelTable kOracleKernels = {"oracle", kOracleEntries,
                                    sizeof(kOracleEntries) / sizeof(KernelEntry) - 1, nullptr};

}  // namespace ingot::cpu
