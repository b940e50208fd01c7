// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_float8.h - matrices of float8 (E4M3) in folders of Hugging
// Face, as quant_method fp8 and compressed-tensors write them. Beside NAME.weight is
// NAME.weight_scale_inv or NAME.weight_scale: a number for all of it, for each row, or for each
// block, by which its codes are multiplied. Scales of activations are left out: what is multiplied
// is not rounded to float8.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

constexpr const char* kFloatQuantized = "float-quantized";  // a format of compressed-tensors

/// What config.json says of scales.
struct Float8 {
  enum class Scales : uint8_t { kOfMatrix, kOfRows, kOfBlocks };
  Scales scales = Scales::kOfMatrix;
  int64_t rows = 0, columns = 0;  // of blocks
};
/// None where weights are something else. @throws graph::ConversionError kUnsupported
std::optional<Float8> read_float8(const nlohmann::json& config, const std::string& file);

class Float8Matrices {
 public:
  using Tensors = std::map<std::string, const checkpoint::Tensor*>;
  /// `file`: what errors call the source.
  Float8Matrices(const std::string& file, std::optional<Float8> how) : file_(file), how_(how) {}

  /// Takes matrices of float8 and all scales out of a folder's tensors, which must live as long.
  /// @throws graph::ConversionError where scales are missing or do not fit.
  void take(Tensors* tensors);
  bool has(const std::string& name) const { return matrices_.count(name) != 0; }
  std::vector<std::string> names() const;
  /// @pre has(name) @throws graph::ConversionError where a scale is no number.
  SourceTensor load(const std::string& name) const;
  /// What was taken, in a sentence; empty: nothing.
  std::string note() const;

 private:
  struct Scaled {
    const checkpoint::Tensor *matrix, *scales;
    std::string scales_name;
  };
  void check(const std::string& name, const Scaled& own) const;
  BlockScales block_of(const checkpoint::Tensor& matrix) const;

  const std::string& file_;
  const std::optional<Float8> how_;
  std::map<std::string, Scaled> matrices_;
  int64_t left_out_ = 0;  // scales of activations
};

}  // namespace ingot::decoder
