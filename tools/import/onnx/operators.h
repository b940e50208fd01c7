// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/operators.h - the operators that the importer translates, as a list for people.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::onnx {

struct OperatorForm {
  std::string name;
  int64_t fewest_inputs = 0, most_inputs = 0;  // most_inputs INT64_MAX: a list
  std::vector<std::string> attributes;         // read in any supported opset, sorted
  std::string limits;                          // what is refused beyond wrong types; empty: nothing
};

/// Every operator of the default domain, by name. Inputs and attributes are found by translating
/// empty nodes.
std::vector<OperatorForm> operator_forms();

/// The page docs/operators.md.
std::string operators_page();

}  // namespace ingot::onnx
