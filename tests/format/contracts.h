// SPDX-License-Identifier: Apache-2.0
// tests/format/contracts.h - a table of every contract, without kernels.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::test {

const KernelTable& contract_table();

}  // namespace ingot::test
