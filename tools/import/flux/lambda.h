// SPDX-License-Identifier: Apache-2.0
// tools/import/flux/lambda.h - the saved code of an anonymous function of one argument, as the few
// steps that it stands for. Read, never run.
#pragma once
#include <string>
#include <vector>

#include "tools/checkpoint/julia/julia_value.h"

namespace ingot::flux {

struct LambdaStep {
  std::string function;  // "tanh", "softmax", "*"
  // 0: the argument; k > 0: the result of step k - 1; -1: the next of `numbers`
  std::vector<int> operands;
  std::vector<double> numbers;
};
struct Lambda {
  std::string name;  // Julia's, "##3#4"
  bool known = false;
  std::string why;                // it is not known
  std::vector<LambdaStep> steps;  // the last one's result is the function's
};

/// `type`: the type of an anonymous function.
Lambda read_lambda(const checkpoint::JuliaTree& tree, checkpoint::JuliaId type);

}  // namespace ingot::flux
