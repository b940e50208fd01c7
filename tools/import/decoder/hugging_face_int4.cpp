// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_int4.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "tools/files/half.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_compressed.h"
#include "tools/import/decoder/hugging_face_float8.h"

namespace ingot::decoder {
namespace {

using checkpoint::ElementType;
using checkpoint::Tensor;
using Kind = PackedInt4::Kind;

constexpr int64_t kBlock = 32;  // weights of a block
constexpr uint32_t kQ4_0 = 2, kQ4_1 = 3;
constexpr float kMaxHalf = 65504, kLeastStep = 0x1p-25f;  // half of f16's smallest number

/// A tensor in row-major order.
class Reader {
 public:
  Reader(const Tensor& tensor) : type_(tensor.type), bytes_(tensor.storage->load()) {
    at_ = bytes_.data + tensor.offset * element_bytes(tensor.type);
  }
  uint32_t word(int64_t i) const {
    const uint8_t* const p = at_ + 4 * i;
    return uint32_t(p[0]) | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16 | uint32_t(p[3]) << 24;
  }
  int64_t long_word(int64_t i) const {
    return int64_t(uint64_t(word(2 * i)) | uint64_t(word(2 * i + 1)) << 32);
  }
  float number(int64_t i) const {
    if (type_ == ElementType::kF32) {
      const uint32_t bits = word(i);
      float number;
      std::memcpy(&number, &bits, 4);
      return number;
    }
    const uint16_t bits = uint16_t(at_[2 * i] | at_[2 * i + 1] << 8);
    return type_ == ElementType::kF16 ? host::widen_f16(bits) : host::widen_bf16(bits);
  }

 private:
  ElementType type_;
  checkpoint::Bytes bytes_;
  const uint8_t* at_;
};

/// One matrix, whose parts are of the right sizes.
class Matrix4 {
 public:
  Matrix4(const PackedInt4& how, const std::string& name, const PackedParts& parts,
          const std::string& file)
      : how_(how), name_(name), file_(file), parts_(parts) {
    const bool is_compressed = how.kind == Kind::kCompressed;
    const char* const codes_name = is_compressed ? "weight_packed" : "qweight";
    const Tensor& codes = integers(codes_name);
    if (codes.dims.size() != 2 || codes.elements() < 1)
      refuse(std::string("its ") + codes_name + " is no matrix");
    out_ = codes.dims[is_compressed ? 0 : 1] * (how.kind == Kind::kAwq ? 8 : 1);
    in_ = codes.dims[is_compressed ? 1 : 0] * (how.kind == Kind::kAwq ? 1 : 8);
    group_ = how.group ? how.group : in_;
    if (in_ % group_ || group_ % kBlock)
      graph::fail_unsupported(file_, "'" + name_ + "' has " + std::to_string(in_) +
                                         " inputs in groups of " + std::to_string(group_) +
                                         ", expected whole groups of a multiple of 32; take "
                                         "another model, or a GGUF file of this one");
    groups_ = in_ / group_;
    codes_.emplace(codes);
    const std::vector<int64_t> by_output = {out_, groups_}, by_group = {groups_, out_};
    scales_.emplace(
        floats(is_compressed ? "weight_scale" : "scales", is_compressed ? by_output : by_group));
    read_order(is_compressed ? "weight_g_idx" : "g_idx");
    if (is_compressed) {
      check_shape();
      if (!how.has_zeros && parts_.count("weight_zero_point"))
        refuse("it has zero points, expected none of a symmetric matrix");
      if (how.has_zeros) zeros_.emplace(integers("weight_zero_point", {(out_ + 7) / 8, groups_}));
      return;
    }
    if (out_ % 8) refuse("it has " + std::to_string(out_) + " outputs, expected a multiple of 8");
    zeros_.emplace(integers("qzeros", {groups_, out_ / 8}));
  }

  int64_t outputs() const { return out_; }
  int64_t inputs() const { return in_; }
  /// Input of each column; empty: in their order.
  const std::vector<int64_t>& order() const { return order_; }
  int code(int64_t o, int64_t column) const {
    const int64_t i = order_.empty() ? column : order_[size_t(column)];
    switch (how_.kind) {
      case Kind::kGptq: return four(codes_->word(i / 8 * out_ + o), i % 8);
      case Kind::kAwq: return four(codes_->word(i * (out_ / 8) + o / 8), awq_place(o % 8));
      case Kind::kMxfp4:
      case Kind::kCompressed: break;
    }
    return four(codes_->word(o * (in_ / 8) + i / 8), i % 8);
  }
  float scale(int64_t o, int64_t i) const {
    const int64_t g = i / group_;
    return scales_->number(how_.kind == Kind::kCompressed ? o * groups_ + g : g * out_ + o);
  }
  /// Of 4 bits too where one is added: 15 stands for 0.
  int zero(int64_t o, int64_t i) const {
    if (!zeros_) return 8;
    if (how_.kind == Kind::kCompressed)
      return four(zeros_->word(o / 8 * groups_ + i / group_), o % 8);
    const uint32_t word = zeros_->word(i / group_ * (out_ / 8) + o / 8);
    const int stored = four(word, how_.kind == Kind::kAwq ? awq_place(o % 8) : o % 8);
    return (stored + how_.added_zero) & 15;
  }
  bool is_centered() const {
    host::charge_work(uint64_t(out_) * uint64_t(groups_));
    for (int64_t o = 0; o < out_; o++)
      for (int64_t g = 0; g < groups_; g++)
        if (zero(o, g * group_) != 8) return false;
    return true;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    graph::fail_mismatch(file_, "'" + name_ + "': " + why + "; get the model anew");
  }
  [[noreturn]] void refuse_scale(float scale) const {
    char text[32];
    std::snprintf(text, sizeof text, "%g", double(scale));
    graph::fail_unsupported(file_, "'" + name_ + "' has the scale " + text +
                                       ", which blocks of f16 scales do not hold; take another "
                                       "model, or a GGUF file of this one");
  }

 private:
  static int four(uint32_t word, int64_t place) { return int(word >> 4 * place & 15); }
  /// Where a word has each of its eight outputs: it begins with 0, 2, 4, 6, then 1, 3, 5, 7.
  static int64_t awq_place(int64_t output) { return output / 2 + output % 2 * 4; }

  const Tensor& part(const char* which, const std::vector<int64_t>& dims) const {
    const auto found = parts_.find(which);
    if (found == parts_.end()) refuse(std::string("its ") + which + " is missing");
    const Tensor& tensor = *found->second;
    const auto text = [](const std::vector<int64_t>& all) {
      return graph::text(graph::Dims(all.begin(), all.end()));
    };
    if (!dims.empty() && tensor.dims != dims)
      refuse(std::string("its ") + which + " is " + text(tensor.dims) + ", expected " + text(dims) +
             " for groups of " + std::to_string(group_));
    return tensor;
  }
  const Tensor& integers(const char* which, const std::vector<int64_t>& dims = {}) const {
    const Tensor& tensor = part(which, dims);
    if (tensor.type != ElementType::kI32)
      refuse(std::string("its ") + which + " is " + element_name(tensor.type) + ", expected " +
             element_name(ElementType::kI32));
    return tensor;
  }
  const Tensor& floats(const char* which, const std::vector<int64_t>& dims) const {
    const Tensor& tensor = part(which, dims);
    if (tensor.type != ElementType::kF16 && tensor.type != ElementType::kBf16 &&
        tensor.type != ElementType::kF32)
      refuse(std::string("its ") + which + " is " + element_name(tensor.type) +
             ", expected float16, bfloat16 or float32");
    return tensor;
  }
  /// Rows that are filled up would have another length.
  void check_shape() const {
    const auto found = parts_.find("weight_shape");
    if (found == parts_.end()) return;
    const Tensor& shape = *found->second;
    if (shape.type != ElementType::kI64 || shape.dims != std::vector<int64_t>{2})
      refuse("its weight_shape is no pair of int64");
    const Reader numbers(shape);
    if (numbers.long_word(0) != out_ || numbers.long_word(1) != in_)
      refuse("its weight_shape is [" + std::to_string(numbers.long_word(0)) + ", " +
             std::to_string(numbers.long_word(1)) + "], its codes are [" + std::to_string(out_) +
             ", " + std::to_string(in_) + "]");
  }
  /// Columns sorted by their groups, which are then of neighbors, as blocks have them.
  void read_order(const char* which) {
    if (!parts_.count(which)) {
      if (how_.has_order)
        refuse(std::string("its ") + which + " is missing, which " +
               (how_.kind == Kind::kCompressed ? "actorder" : "desc_act") + " asks for");
      return;
    }
    const Reader groups(integers(which, {in_}));
    std::vector<int64_t> ends(size_t(groups_), 0);  // inputs of each group, then where they end
    bool are_neighbors = true;
    for (int64_t i = 0; i < in_; i++) {
      const int64_t g = groups.word(i);
      if (g >= groups_)
        refuse(std::string("its ") + which + " has the group " + std::to_string(int32_t(g)) +
               " for input " + std::to_string(i) + ", expected 0 to " +
               std::to_string(groups_ - 1));
      ends[size_t(g)]++;
      are_neighbors &= g == i / group_;
    }
    if (are_neighbors) return;
    for (int64_t g = 0; g < groups_; g++) {
      if (ends[size_t(g)] != group_)
        refuse(std::string("its ") + which + " has " + std::to_string(ends[size_t(g)]) +
               " inputs in group " + std::to_string(g) + ", expected " + std::to_string(group_));
      ends[size_t(g)] = g * group_;
    }
    order_.resize(size_t(in_));
    for (int64_t i = 0; i < in_; i++) order_[size_t(ends[groups.word(i)]++)] = i;
  }

  const PackedInt4& how_;
  const std::string &name_, &file_;
  const PackedParts& parts_;
  int64_t out_ = 0, in_ = 0, group_ = 0, groups_ = 0;
  std::vector<int64_t> order_;
  std::optional<Reader> codes_, scales_, zeros_;
};

void put_half(float number, uint8_t* to) {
  const uint16_t bits = host::narrow_f16(number);
  to[0] = uint8_t(bits), to[1] = uint8_t(bits >> 8);
}

PackedInt4 read_compressed(const nlohmann::json& json, const std::string& file) {
  Config how(json, file);
  if (how.text("format", "") != "pack-quantized")
    how.refuse("format", std::string("pack-quantized or ") + kFloatQuantized);
  Config own(compressed_weights(json, "pack-quantized", file), file);
  if (own.integer("num_bits", 0, 0, 64) != 4) own.refuse("num_bits", "4");
  if (own.text("type", "int") != "int") own.refuse("type", "int");
  // "weight" and "static" order weights before they are cut into groups, which stay neighbors
  const nlohmann::json* const order = own.find("actorder");
  const bool has_order = order && (*order == "group" || *order == "dynamic" || *order == true);
  if (order && !has_order && *order != false && *order != "weight" && *order != "static")
    own.refuse("actorder", "none, weight, static, group or dynamic");
  const std::string strategy = own.text("strategy", "group");
  if (strategy != "group" && strategy != "channel") own.refuse("strategy", "group or channel");
  PackedInt4 made{Kind::kCompressed};
  made.has_zeros = !own.flag("symmetric", true), made.has_order = has_order;
  if (strategy == "group") made.group = own.integer("group_size", 0, 1, 1 << 24);
  if (strategy == "group" && made.group == 0) own.refuse("group_size", "a number");
  return made;
}

}  // namespace

std::optional<PackedInt4> read_packed_int4(const nlohmann::json& config, const std::string& file) {
  const auto found = config.find("quantization_config");
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (!found->is_object()) Config(config, file).refuse("quantization_config", "an object");
  Config how(*found, file);
  const std::string method = how.text("quant_method", "");
  if (method == "compressed-tensors") return read_compressed(*found, file);
  if (method == "mxfp4") {
    const auto type = config.find("model_type");
    if (type == config.end() || *type != "gpt_oss")
      how.refuse("quant_method", "another: mxfp4 is known of experts of gpt_oss alone");
    return PackedInt4{Kind::kMxfp4};
  }
  if (method != "gptq" && method != "awq")
    how.refuse("quant_method", "gptq, awq, compressed-tensors, fp8, bitnet or mxfp4");
  if (how.integer("bits", how.integer("w_bit", 0, 0, 64), 0, 64) != 4) how.refuse("bits", "4");
  PackedInt4 made{method == "awq" ? Kind::kAwq : Kind::kGptq};
  const char* const key = how.find("q_group_size") ? "q_group_size" : "group_size";
  made.group = std::max<int64_t>(how.integer(key, 0, -1, 1 << 24), 0);
  made.has_order = how.flag("desc_act", false);
  if (how.flag("is_marlin_format", false)) how.refuse("is_marlin_format", "false");
  if (const nlohmann::json* own = how.find("dynamic"); own && !own->empty())
    how.refuse("dynamic", "none: all matrices are packed alike");
  if (method == "awq") {
    if (how.text("version", "gemm") != "gemm" && how.text("version", "gemm") != "GEMM")
      how.refuse("version", "gemm");
    return made;
  }
  const std::string format = how.text("checkpoint_format", "gptq");
  if (format != "gptq" && format != "gptq_v2") how.refuse("checkpoint_format", "gptq or gptq_v2");
  made.added_zero = format == "gptq" ? 1 : 0;
  return made;
}

std::optional<std::pair<std::string, std::string>> packed_part(const PackedInt4& how,
                                                               const std::string& tensor) {
  static const std::vector<const char*> kParts = {"qweight", "qzeros", "scales", "g_idx"},
                                        kCompressedParts = {"weight_packed", "weight_scale",
                                                            "weight_shape", "weight_zero_point",
                                                            "weight_g_idx"};
  const size_t dot = tensor.rfind('.');
  if (dot == std::string::npos || how.kind == PackedInt4::Kind::kMxfp4) return std::nullopt;
  const std::string last = tensor.substr(dot + 1);
  for (const char* part : how.kind == PackedInt4::Kind::kCompressed ? kCompressedParts : kParts)
    if (last == part) return std::pair(tensor.substr(0, dot) + ".weight", last);
  return std::nullopt;
}

bool is_packed_word(const std::string& tensor) {
  const auto ends = [&](const std::string& end) {
    return tensor.size() > end.size() &&
           tensor.compare(tensor.size() - end.size(), std::string::npos, end) == 0;
  };
  return ends(".qweight") || ends(".weight_packed");
}

SourceTensor unpack_int4(const PackedInt4& how, const std::string& name, const PackedParts& parts,
                         const std::string& file) {
  const Matrix4 matrix(how, name, parts, file);
  const bool is_centered = matrix.is_centered();
  const checkpoint::GgufBlock* const block =
      checkpoint::find_gguf_block(is_centered ? kQ4_0 : kQ4_1);
  const uint64_t bytes =
      uint64_t(matrix.outputs()) * uint64_t(matrix.inputs() / kBlock) * block->bytes;
  host::charge_memory(bytes);
  const auto made = std::make_shared<std::vector<uint8_t>>(host::zero_bytes(bytes));
  uint8_t* to = made->data();
  for (int64_t o = 0; o < matrix.outputs(); o++) {
    host::charge_work(uint64_t(matrix.inputs()));
    for (int64_t i = 0; i < matrix.inputs(); i += kBlock, to += block->bytes) {
      const float scale = matrix.scale(o, i), least = -scale * float(matrix.zero(o, i));
      const float kept = host::widen_f16(host::narrow_f16(scale)),
                  allowed = std::fabs(scale) / 512 + kLeastStep;
      if (!(std::fabs(kept - scale) <= allowed) ||
          (!is_centered && !(std::fabs(least) <= kMaxHalf)))
        matrix.refuse_scale(scale);
      put_half(scale, to);
      if (!is_centered) put_half(least, to + 2);
      uint8_t* const codes = to + block->bytes - kBlock / 2;
      for (int64_t k = 0; k < kBlock; k++)
        codes[k % 16] = uint8_t(codes[k % 16] | matrix.code(o, i + k) << k / 16 * 4);
    }
  }
  host::note_touched(2 * bytes);
  return {name,
          {matrix.outputs(), matrix.inputs()},
          block,
          ElementType::kF32,
          {made, made->data(), bytes},
          matrix.order()};
}

}  // namespace ingot::decoder
