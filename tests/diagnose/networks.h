// SPDX-License-Identifier: Apache-2.0
// tests/diagnose/networks.h - small networks with something for every pass and kernel, one of them
// with a loop in a loop, written as .onnx, and goldens with the intermediates of all their nodes.
#pragma once
#include <map>
#include <string>

namespace ingot::test {

/// A folder of its own with image.onnx, rows.onnx, loops.onnx and kept.onnx (a state), gone at
/// the end. Nodes are named after their outputs.
class Networks {
 public:
  Networks();
  ~Networks();
  std::string source(const std::string& name) const { return folder_ + "/" + name + ".onnx"; }
  /// in:, out: and mid: as the source computes them; made at the first call.
  std::string golden(const std::string& name);
  /// The same without mid:.
  std::string outputs_golden(const std::string& name);
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void make_goldens(const std::string& name);
  std::string folder_;
  std::map<std::string, bool> made_;
};

/// Made once for all tests of the program.
inline Networks& networks() {
  static Networks all;
  return all;
}

}  // namespace ingot::test
