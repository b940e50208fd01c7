// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/state_pairs.h - pairs of ports that become state variables (decisions D28):
// which they are, and what they hold at first.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

/// @throws ConversionError(kMismatch) when a pair names what is not there, names it twice, or its
/// types or shapes differ.
void check_state_pairs(const graph::Model& model, const ConvertOptions& options);
/// Null when the port is in no pair.
const StatePair* state_of_input(const ConvertOptions& options, const std::string& name);
const StateSpec* state_of_output(const LoweredProgram& lowered, const std::string& name);
/// A constant of the value's type, every element pair.init. @throws ConversionError(kMismatch) when
/// its dims are open.
std::shared_ptr<const std::vector<uint8_t>> initial_bytes(const StatePair& pair,
                                                          const graph::Value& value);

/// "state" and "stateN", "h_in" and "h_out", "h" and "h_out".
bool are_named_as_state(const std::string& input, const std::string& output);
/// Sentences about ports in no pair that are named as state and of one type and shape.
std::vector<std::string> hint_states(const graph::Model& model, const ConvertOptions& options);

}  // namespace ingot::convert
