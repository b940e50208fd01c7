// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_experts.h - experts in one tensor of all, as folders of gpt-oss
// have them. Numbers are [experts, inputs, outputs] and become [experts, outputs, inputs]; the
// columns of gate_up_proj are those of gate and up in turn. In MXFP4 NAME_blocks are u8 [experts,
// outputs, inputs / 32, 16], neighbors in a byte, and NAME_scales [experts, outputs, inputs / 32];
// they become blocks of GGUF.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// Of kExpertGate .. kExpertDown. Gate and up have names of their own, which no folder has.
std::string experts_in_one_name(Role role, Part part, int64_t layer);

class ExpertsInOne {
 public:
  using Tensors = std::map<std::string, const checkpoint::Tensor*>;
  /// `file`: what errors call the source.
  explicit ExpertsInOne(const std::string& file) : file_(file) {}

  /// Takes the experts out of a folder's tensors. `is_packed`: its configuration says MXFP4.
  /// @throws graph::ConversionError, as load() does.
  void take(Tensors* tensors, bool is_packed);
  bool has(const std::string& name) const { return views_.count(name) != 0; }
  /// @pre has(name)
  SourceTensor load(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  /// Every `step`-th output of a matrix, or of its biases.
  struct View {
    std::string matrix;
    bool is_bias;
    int64_t first, step;
  };
  void add_views(const std::string& matrix, const Tensors& parts);
  SourceTensor load_numbers(const std::string& name, const View& view) const;
  SourceTensor load_blocks(const std::string& name, const View& view) const;
  const checkpoint::Tensor& packed_part(const std::string& name) const;
  [[noreturn]] void refuse(const std::string& name, const std::string& found,
                           const std::string& expected) const;

  const std::string& file_;
  Tensors tensors_;  // as the folder calls them
  std::map<std::string, View> views_;
};

}  // namespace ingot::decoder
