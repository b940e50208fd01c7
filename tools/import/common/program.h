// SPDX-License-Identifier: Apache-2.0
// tools/import/common/program.h - what an importer gives: a graph, and the variables that the
// source keeps from run to run, each an input and an output of the graph.
#pragma once
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::importer {

struct State {
  std::string input, output;
  double init = 0;  // of every element at first
};

struct Program {
  graph::Model model;
  std::vector<State> states;
  std::vector<uint8_t> text = {};  // a tokenizer's part of the file; empty: none
};

}  // namespace ingot::importer
