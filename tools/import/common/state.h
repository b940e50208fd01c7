// tools/import/common/state.h - what a source keeps from run to run: an input and an output of the
// graph that are one variable.
#pragma once
#include <string>

namespace ingot::importer {

struct State {
  std::string input, output;
  double init = 0;  // of every element at first
};

}  // namespace ingot::importer
