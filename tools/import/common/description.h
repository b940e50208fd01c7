// SPDX-License-Identifier: Apache-2.0
// tools/import/common/description.h - what a source says about itself, nothing inferred: for models
// that cannot be imported.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace ingot::importer {

struct PortDescription {
  // dtype as the command line writes it, or ONNX's own word where we have none
  std::string name, dtype;
  std::vector<std::string> dims;  // numbers, names, "?" where nothing is stated
  bool has_shape = false;
};
struct SourceDescription {
  std::string producer;
  std::vector<PortDescription> inputs, outputs;  // inputs without those that initializers fill
  std::map<std::string, int> op_counts;          // of the main graph; other domains as "domain.Op"
};

}  // namespace ingot::importer
