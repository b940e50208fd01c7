// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_stacked.h - matrices that a folder has in one tensor: those of
// gate and up, the first and the second half of its rows, and those of all experts. Each becomes
// a tensor of its own, where it lies.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// The last parts of names: of gate and up in one, and of each.
struct StackedNames {
  std::string both, gate, up, down;
};

class StackedMatrices {
 public:
  using Tensors = std::map<std::string, const checkpoint::Tensor*>;

  /// Takes "STEM.both" [2 * rows, columns] out of `tensors`, with ".weight" or without, as
  /// "STEM.gate.weight" and "STEM.up.weight"; with a number of experts in front, and then down too,
  /// as "STEM.E.gate.weight". Those of other dims stay. The tensors must live as long.
  void take(Tensors* tensors, const StackedNames& names);
  bool has(const std::string& name) const { return views_.count(name) != 0; }
  std::vector<std::string> names() const;
  /// @pre has(name)
  SourceTensor load(const std::string& name) const;

 private:
  struct View {
    const checkpoint::Tensor* whole = nullptr;
    int64_t first = 0, rows = 0;
  };
  std::map<std::string, View> views_;
};

}  // namespace ingot::decoder
