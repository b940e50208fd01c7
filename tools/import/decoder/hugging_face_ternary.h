// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_ternary.h - matrices of -1, 0 and 1 in folders of Hugging Face,
// as quant_method bitnet has them: NAME.weight u8 [out / 4, in], whose crumbs are rows a quarter of
// them apart, and a number NAME.weight_scale; or weights that are rounded when they are used. What
// is multiplied is not rounded here to 8 bits a row, as transformers does, but as kernels do.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// What config.json says of them.
struct Ternary {
  bool is_online = false;         // all matrices of layers are rounded, by the mean of their sizes
  bool divides = false;           // by the scale; else it multiplies
  std::vector<std::string> kept;  // parts of names of matrices that are not
};
/// None where weights are something else. @throws graph::ConversionError kUnsupported
std::optional<Ternary> read_ternary(const nlohmann::json& config, const std::string& file);

class TernaryMatrices {
 public:
  using Tensors = std::map<std::string, const checkpoint::Tensor*>;
  /// `file`: what errors call the source.
  TernaryMatrices(const std::string& file, std::optional<Ternary> how) : file_(file), how_(how) {}

  /// Takes them and their scales out of a folder's tensors, which must live as long. `layers`: what
  /// names in layers begin with. @throws graph::ConversionError where scales do not fit.
  void take(Tensors* tensors, const std::string& layers);
  bool has(const std::string& name) const { return matrices_.count(name) != 0; }
  std::vector<std::string> names() const;
  /// In Q2_K where rows are a multiple of 256, else in f32.
  /// @pre has(name) @throws graph::ConversionError where a scale is no number that blocks have.
  SourceTensor load(const std::string& name) const;
  /// What was taken, in a sentence; empty: nothing.
  std::string note() const;

 private:
  struct Scaled {
    const checkpoint::Tensor *matrix, *scale;  // scale null: online
  };
  bool is_kept(const std::string& name) const;
  float scale_of(const std::string& name, const Scaled& own) const;

  const std::string& file_;
  const std::optional<Ternary> how_;
  std::map<std::string, Scaled> matrices_;
};

}  // namespace ingot::decoder
