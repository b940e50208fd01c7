// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_experts.h - experts in one tensor of all. Numbers are [experts,
// inputs, outputs] and become [experts, outputs, inputs]. In folders of gpt-oss the columns of
// gate_up_proj are those of gate and up in turn. In those of Qwen3-VL gate is the first half, and
// what transformers 5 saved has outputs in front, as its dims tell. In MXFP4 NAME_blocks are u8
// [experts, outputs, inputs / 32, 16], neighbors in a byte, and NAME_scales [experts, outputs,
// inputs / 32]; they become blocks of GGUF.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/import/decoder/hugging_face_config.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// Of kExpertGate .. kExpertDown. Gate and up have names of their own, which no folder has.
std::string experts_in_one_name(Role role, Part part, int64_t layer);

class ExpertsInOne {
 public:
  using Tensors = std::map<std::string, const checkpoint::Tensor*>;
  /// Numbers that an expert reads and gives, and what is between its products.
  struct Widths {
    int64_t outer, inner;
  };
  /// `file`: what errors call the source.
  ExpertsInOne(const std::string& file, ExpertsInOneKind kind, Widths widths)
      : file_(file), kind_(kind), widths_(widths) {}

  /// Takes the experts out of a folder's tensors. `is_packed`: its configuration says MXFP4.
  /// @throws graph::ConversionError, as load() does.
  void take(Tensors* tensors, bool is_packed);
  bool has(const std::string& name) const { return views_.count(name) != 0; }
  /// @pre has(name)
  SourceTensor load(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  /// One of `parts` of the outputs of a matrix, or of its biases.
  struct View {
    std::string matrix;
    bool is_bias;
    int64_t part, parts;
  };
  void add_views(const std::string& matrix, const Tensors& parts);
  bool has_outputs_in_front(const checkpoint::Tensor& tensor, const View& view) const;
  SourceTensor load_numbers(const std::string& name, const View& view) const;
  SourceTensor load_blocks(const std::string& name, const View& view) const;
  const checkpoint::Tensor& packed_part(const std::string& name) const;
  [[noreturn]] void refuse(const std::string& name, const std::string& found,
                           const std::string& expected) const;

  const std::string& file_;
  const ExpertsInOneKind kind_;
  const Widths widths_;
  Tensors tensors_;  // as the folder calls them
  std::map<std::string, View> views_;
};

}  // namespace ingot::decoder
