// kernels/cpu/oracle/oracle_table.cpp - the list of oracle kernels: naive, in double, in the order a reader expects.
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kEntries[] = {
    {},  // the last row is empty and not counted
};

}  // namespace

const KernelTable kOracleKernels = {"oracle", kEntries, sizeof(kEntries) / sizeof(KernelEntry) - 1, nullptr};

}  // namespace ingot::cpu
