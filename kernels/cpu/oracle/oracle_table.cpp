// kernels/cpu/oracle/oracle_table.cpp - the list of oracle kernels: naive, in double, in the order a reader expects.
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/oracle/oracle.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/conv_transpose2d.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "runtime/op/pool2d.h"

namespace ingot::cpu {
namespace {

constexpr KernelEntry kEntries[] = {
    {OpCode::kConv2d, "oracle_conv2d", &kConv2dContract, nullptr, oracle::conv2d},
    {OpCode::kChain, "oracle_chain", &kChainContract, nullptr, oracle::chain},
    {OpCode::kLinear, "oracle_linear", &kLinearContract, nullptr, oracle::linear},
    {OpCode::kMatMul, "oracle_matmul", &kMatMulContract, nullptr, oracle::matmul},
    {OpCode::kPool2d, "oracle_pool2d", &kPool2dContract, nullptr, oracle::pool2d},
    {OpCode::kConvTranspose2d, "oracle_conv_transpose2d", &kConvTranspose2dContract, nullptr, oracle::conv_transpose2d},
    {},  // the last row is empty and not counted
};

}  // namespace

const KernelTable kOracleKernels = {"oracle", kEntries, sizeof(kEntries) / sizeof(KernelEntry) - 1, nullptr};

}  // namespace ingot::cpu
