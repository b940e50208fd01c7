// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/rows.h - kernels as a microcontroller's core takes them.
// Owns     constant data.
// Threads  any.
#pragma once
#include <string>
#include <vector>

#include "runtime/micro/model.h"

namespace ingot::firmware {

/// "QuantizedConv2d"; null where the core has no reader for the operator's attributes.
const char* reader_name(OpCode op);
/// The host's scalar kernels whose attributes the core reads, in the order of their table; for
/// models with state too.
const micro::MicroKernelTable& scalar_rows();

/// Source of a table with these rows of scalar_rows(), in the same order, for ingot/micro.h:
/// ingot_micro_table(). What is compiled for a processor with its own kernels takes those.
/// `keeps_state`: for models with state too.
std::string micro_table_source(const std::vector<std::string>& kernels, bool keeps_state);

}  // namespace ingot::firmware
