// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/tensor_source.h - tensors of a decoder by what they are for, whatever a
// source calls them. Bytes are as the source has them: blocks stay blocks.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/flat/gguf_blocks.h"
#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::decoder {

enum class Role : uint8_t {
  kEmbedding,
  kPositions,
  kTypes,  // of the parts of a text: all tokens are of the first
  kEmbeddingNorm,
  kFinalNorm,
  kHead,
  kRopeDivisors,       // of all contexts
  kRopeDivisorsShort,  // of those up to the one trained first
  kRopeDivisorsLong,
  kProjection,  // of a vector
  kLastProjection,
  kLayerTable,  // layer_inputs.h
  kLayerProduct,
  kLayerNorm,
  kStreamIn,  // streams.h; of a row behind the first, in the place of a layer
  kStreamOut,
  // of a layer
  kAttentionNorm,
  kQ,
  kK,
  kV,
  kQkv,  // in one matrix: rows of q, k, v
  kQNorm,
  kKNorm,
  kQueryLatent,  // of latent attention: latent_attention.h
  kQueryLatentNorm,
  kQueriesOfLatent,
  kLatent,  // rows of it, then of the key that all heads share
  kLatentNorm,
  kKeysValuesOfLatent,  // in one matrix: rows of the key and the value of each head
  kKeysOfLatent,
  kValuesOfLatent,
  kSinks,               // of query heads
  kAttentionInnerNorm,  // in front of the product with kAttentionOut
  kAttentionOut,
  kAttentionOutNorm,
  kConvolutionIn,
  kConvolution,
  kConvolutionOut,
  kRecurrenceIn,  // in one matrix: rows of z, x, B, C, steps; or of q, k, v, z of each key head
  kRecurrenceQkv,
  kRecurrenceGate,
  kBetaAlpha,  // in one matrix: rows of both of each key head
  kBeta,
  kAlpha,
  kRecurrenceTaps,
  kStepIn,    // of Mamba, in one matrix: rows of what steps are made of, B, C
  kStep,      // a bias alone, of Mamba a matrix too
  kStepNorm,  // of Mamba: of what steps are made of, of B and of C
  kKeyNorm,
  kQueryNorm,
  kDecay,  // A, or log(-A)
  kSkip,   // D
  kRecurrenceNorm,
  kRecurrenceOut,
  kFeedForwardNorm,
  kGate,
  kUp,
  kFeedForwardInnerNorm,  // in front of the product with kDown
  kDown,
  kFeedForwardOutNorm,
  kExpertsNorm,  // of experts beside a dense part: of what goes in, and what comes out of both
  kDenseOutNorm,
  kExpertsOutNorm,
  kLayerGate,
  kLayerOut,
  kLayerOutNorm,
  kLayerScale,
  kStreamRouter,
  kStreamRouterNorm,
  kPredictions,
  kCorrections,
  kActiveScale,
  kLowRankIn,
  kLowRankOut,
  kLowRankNorm,
  kRouter,
  kRouterScale,  // of a norm of what it reads
  kExpertScale,  // of shares of each expert
  kExpertsIn,    // of what experts read of x, and give
  kExpertsOut,
  kExpertChoice,  // added to scores of experts for the choice alone
  kExpertGate,    // of all experts
  kExpertUp,
  kExpertDown,
  kSharedRouter,
  kSharedGate,
  kSharedUp,
  kSharedDown,
};
/// What GGUF calls it, but for some architectures; of a layer behind "blk.N.".
const char* role_name(Role role);
enum class Part : uint8_t { kWeight, kBias };

/// Of a matrix of float8: one for each block of so many rows and columns, row-major; at the edges
/// blocks may be smaller.
struct BlockScales {
  std::vector<float> numbers;  // empty: there are none
  int64_t rows = 0, columns = 0;
};

struct SourceTensor {
  std::string name;
  std::vector<int64_t> dims;                     // slowest first
  const checkpoint::GgufBlock* block = nullptr;  // null: plain elements
  checkpoint::ElementType element = checkpoint::ElementType::kF32;
  checkpoint::Bytes bytes;
  std::vector<int64_t> inputs = {};  // that each column is for; empty: in their order
  bool is_transposed = false;        // of what the file has, which errors speak of
  BlockScales scales = {};
  const char* type_name() const { return block ? block->name : element_name(element); }
};

/// Elements of a file as they lie. @pre its rows lie one behind the other
inline SourceTensor plain_tensor(const std::string& name, const checkpoint::Tensor& tensor) {
  const checkpoint::Bytes all = tensor.storage->load();
  const uint64_t begin = tensor.offset * element_bytes(tensor.type);
  return {name, tensor.dims, nullptr, tensor.type, {all.owner, all.data + begin, tensor.bytes()}};
}

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// What errors call the source.
  virtual const std::string& file() const = 0;
  /// Its name there, whether or not there is one.
  virtual std::string name(Role role, Part part, int64_t layer) const = 0;
  /// Of one expert's part of kExpertGate .. kExpertDown; empty where one tensor has all of them.
  virtual std::string expert_name(Role, int64_t /*layer*/, int64_t /*expert*/) const { return ""; }
  virtual bool has(const std::string& name) const = 0;
  /// @pre has(name)
  virtual SourceTensor load(const std::string& name) const = 0;
  virtual std::vector<std::string> names() const = 0;
};

/// Rows of a matrix, of the first layer or of all; 1 where it is missing, which builders report.
inline int64_t rows_of(const TensorSource& source, Role role) {
  const std::string name = source.name(role, Part::kWeight, 0);
  if (!source.has(name)) return 1;
  const std::vector<int64_t> dims = source.load(name).dims;
  return dims.empty() || dims[0] < 1 ? 1 : dims[0];
}
/// @throws graph::ConversionError for types that are no numbers of weights.
void check_numbers(const TensorSource& source, const SourceTensor& tensor);
/// f32 of one row of a tensor of `columns`. @pre checked
void widen_row(const SourceTensor& tensor, int64_t columns, int64_t row, float* to);
/// Row-major f32 of rows `order` of a tensor of `columns`, in that order; empty: all as they lie.
/// @throws as check_numbers().
std::vector<uint8_t> widen(const TensorSource& source, const SourceTensor& tensor, int64_t columns,
                           const std::vector<int64_t>& order);
/// The same tensor in f32. @throws as check_numbers().
SourceTensor widened(const TensorSource& source, SourceTensor tensor);

}  // namespace ingot::decoder
