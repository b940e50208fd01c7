// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_int4.h - matrices of 4 bits in folders of Hugging Face, as
// GPTQ, AWQ and compressed-tensors write them: int32 words of eight codes, a scale and a zero for
// each group of inputs. They become blocks of GGUF: Q4_0 where every zero is 8, else Q4_1, whose
// minimum -scale * zero is rounded to f16. Where groups are not of neighbors (desc_act, actorder),
// columns are sorted by their groups, and SourceTensor::inputs has their order.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// What config.json says of how codes are packed.
struct PackedInt4 {
  enum class Kind : uint8_t {
    kGptq,   // qweight [in / 8, out], qzeros [groups, out / 8], scales [groups, out]
    kAwq,    // qweight [in, out / 8], the others alike; outputs of a word are interleaved
    kMxfp4,  // experts alone: hugging_face_experts.h
    // weight_packed [out, in / 8], weight_scale [out, groups], weight_zero_point [out / 8, groups]
    kCompressed,
  };
  Kind kind;
  int64_t group = 0;       // inputs with one scale; 0: all
  int added_zero = 0;      // to the zeros that are stored
  bool has_order = false;  // inputs are in groups by activation, as g_idx says
  bool has_zeros = true;   // of kCompressed: else all are 8
};
/// None where weights are plain. @throws graph::ConversionError kUnsupported
std::optional<PackedInt4> read_packed_int4(const nlohmann::json& config, const std::string& file);

/// The tensors of one matrix by the last part of their names.
using PackedParts = std::map<std::string, const checkpoint::Tensor*>;
/// The name of the matrix, "NAME.weight", and that part; none where it is no part of one.
std::optional<std::pair<std::string, std::string>> packed_part(const PackedInt4& how,
                                                               const std::string& tensor);
/// Whether it holds codes, by its name.
bool is_packed_word(const std::string& tensor);
/// The matrix as blocks. @throws graph::ConversionError where the parts do not fit each other.
SourceTensor unpack_int4(const PackedInt4& how, const std::string& name, const PackedParts& parts,
                         const std::string& file);

}  // namespace ingot::decoder
