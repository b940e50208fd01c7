// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/operators.h - the operators that the importer translates, as a list for people.
#pragma once
#include <string>
#include <vector>

namespace ingot::onnx {

struct OperatorForm {
  std::string name;
  std::vector<std::string> attributes;  // read in any supported opset, sorted
  std::string limits;                   // what is refused beyond wrong types; empty: nothing
};

/// Every operator of the default domain, by name. Attributes are found by translating empty nodes.
std::vector<OperatorForm> operator_forms();

/// The page docs/operators.md.
std::string operators_page();

}  // namespace ingot::onnx
