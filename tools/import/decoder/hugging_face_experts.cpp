// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_experts.h"

#include <algorithm>
#include <cstring>

#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"
#include "tools/import/decoder/transposed.h"

namespace ingot::decoder {
namespace {

using checkpoint::ElementType;
using checkpoint::Tensor;

constexpr uint32_t kMxfp4 = 39;  // of GGUF
constexpr int64_t kOfBlock = 32, kBytesOfBlock = kOfBlock / 2;
constexpr const char *kGateUp = "gate_up_proj", *kDown = "down_proj";
constexpr uint8_t kNoNumber = 255;  // of exponents

std::string dims_text(const Tensor& tensor) {
  return graph::text(graph::Dims(tensor.dims.begin(), tensor.dims.end()));
}

checkpoint::Bytes bytes_of(const Tensor& tensor) {
  checkpoint::Bytes all = tensor.storage->load();
  return {all.owner, all.data + tensor.offset * element_bytes(tensor.type), tensor.bytes()};
}

/// Of each expert one of `parts` of its rows. @pre they can be divided so
SourceTensor part_of_rows(const SourceTensor& whole, int64_t part, int64_t parts) {
  std::vector<int64_t> dims = whole.dims;
  dims[1] /= parts;
  const uint64_t bytes = whole.bytes.size / uint64_t(parts), of_one = bytes / uint64_t(dims[0]);
  host::charge_memory(bytes);
  host::charge_work(bytes);
  const auto made = std::make_shared<std::vector<uint8_t>>(host::zero_bytes(bytes));
  for (uint64_t e = 0; e < uint64_t(dims[0]); e++)
    std::memcpy(made->data() + e * of_one,
                whole.bytes.data + (e * uint64_t(parts) + uint64_t(part)) * of_one, of_one);
  host::note_touched(2 * bytes);
  return {whole.name, std::move(dims), nullptr, whole.element, {made, made->data(), bytes}};
}

}  // namespace

std::string experts_in_one_name(Role role, Part part, int64_t layer) {
  const std::string bias = part == Part::kBias ? "_bias" : "";
  const std::string stem = "model.layers." + std::to_string(layer) + ".mlp.experts.";
  if (role == Role::kExpertDown) return stem + kDown + bias;
  return stem + kGateUp + bias + (role == Role::kExpertGate ? ".gate" : ".up");
}

void ExpertsInOne::take(Tensors* tensors, bool is_packed) {
  std::map<std::string, Tensors> matrices;
  for (auto at = tensors->begin(); at != tensors->end();) {
    const auto [name, tensor] = *at;
    std::string matrix, part;
    for (const char* end : {"", "_blocks", "_scales", "_bias"})
      for (const char* own : {kGateUp, kDown}) {
        const std::string whole = std::string(".mlp.experts.") + own + end;
        if (name.size() > whole.size() &&
            name.compare(name.size() - whole.size(), std::string::npos, whole) == 0)
          matrix = name.substr(0, name.size() - std::strlen(end)), part = end;
      }
    if (!matrix.empty()) matrices[matrix][part] = tensor, tensors_[name] = tensor;
    at = matrix.empty() ? std::next(at) : tensors->erase(at);
  }
  for (const auto& [matrix, parts] : matrices) {
    const bool has_blocks = parts.count("_blocks") || parts.count("_scales");
    if (has_blocks && parts.count(""))
      graph::fail_mismatch(file_,
                           "'" + matrix + "' is there twice, packed and not; get the folder anew");
    if (has_blocks && (!is_packed || kind_ != ExpertsInOneKind::kGptOss))
      graph::fail_unsupported(
          file_, "'" + matrix +
                     "' is packed and there is no quantization_config that says mxfp4; get the "
                     "folder anew, or take a GGUF file");
    add_views(matrix, parts);
  }
}

void ExpertsInOne::add_views(const std::string& matrix, const Tensors& parts) {
  const std::string end = std::string(".") + kDown;
  const bool is_down = matrix.compare(matrix.size() - end.size(), std::string::npos, end) == 0;
  const auto add = [&](const std::string& name, bool is_bias) {
    if (is_down) {
      views_[name] = {matrix, is_bias, 0, 1};
      return;
    }
    views_[name + ".gate"] = {matrix, is_bias, 0, 2};
    views_[name + ".up"] = {matrix, is_bias, 1, 2};
  };
  if (parts.count("") || parts.count("_blocks") || parts.count("_scales")) add(matrix, false);
  if (parts.count("_bias")) add(matrix + "_bias", true);
}

std::vector<std::string> ExpertsInOne::names() const {
  std::vector<std::string> all;
  for (const auto& [name, view] : views_) all.push_back(name);
  return all;
}

void ExpertsInOne::refuse(const std::string& name, const std::string& found,
                          const std::string& expected) const {
  graph::fail_mismatch(
      file_, "'" + name + "' is " + found + ", expected " + expected + "; get the folder anew");
}

SourceTensor ExpertsInOne::load(const std::string& name) const {
  const View& view = views_.at(name);
  return view.is_bias || tensors_.count(view.matrix) ? load_numbers(name, view)
                                                     : load_blocks(name, view);
}

bool ExpertsInOne::has_outputs_in_front(const Tensor& tensor, const View& view) const {
  const std::vector<int64_t> dims =
      view.parts == 2 ? std::vector<int64_t>{tensor.dims[0], 2 * widths_.inner, widths_.outer}
                      : std::vector<int64_t>{tensor.dims[0], widths_.outer, widths_.inner};
  return kind_ == ExpertsInOneKind::kHalves && tensor.dims == dims;
}

SourceTensor ExpertsInOne::load_numbers(const std::string& name, const View& view) const {
  const std::string own = view.matrix + (view.is_bias ? "_bias" : "");
  const Tensor& tensor = *tensors_.at(own);
  if (tensor.type != ElementType::kF32 && tensor.type != ElementType::kF16 &&
      tensor.type != ElementType::kBf16)
    refuse(own, element_name(tensor.type), "float32, float16 or bfloat16");
  const std::string outputs = view.parts == 2 ? "2 * outputs]" : "outputs]";
  if (tensor.dims.size() != (view.is_bias ? 2 : 3) || tensor.dims.back() % view.parts)
    refuse(own, dims_text(tensor), (view.is_bias ? "[experts, " : "[experts, inputs, ") + outputs);
  if (tensor.elements() == 0) refuse(own, dims_text(tensor), "one with numbers");
  const SourceTensor whole = {name, tensor.dims, nullptr, tensor.type, bytes_of(tensor)};
  if (has_outputs_in_front(tensor, view)) return part_of_rows(whole, view.part, view.parts);
  std::vector<int64_t> dims = {tensor.dims[0], tensor.dims.back() / view.parts};
  if (!view.is_bias) dims.push_back(tensor.dims[1]);
  const bool in_turn = kind_ == ExpertsInOneKind::kGptOss;
  return transposed(whole, dims, view.is_bias ? 1 : tensor.dims[1],
                    in_turn ? view.part : view.part * dims[1], in_turn ? view.parts : 1);
}

const Tensor& ExpertsInOne::packed_part(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    graph::fail_mismatch(file_, "'" + name + "' is missing; get the folder anew");
  if (found->second->type != ElementType::kU8)
    refuse(name, element_name(found->second->type), element_name(ElementType::kU8));
  return *found->second;
}

SourceTensor ExpertsInOne::load_blocks(const std::string& name, const View& view) const {
  const std::string blocks_name = view.matrix + "_blocks", scales_name = view.matrix + "_scales";
  const Tensor &blocks = packed_part(blocks_name), &scales = packed_part(scales_name);
  if (blocks.dims.size() != 4 || blocks.dims[3] != kBytesOfBlock || blocks.dims[1] % view.parts)
    refuse(
        blocks_name, dims_text(blocks),
        std::string("[experts, ") + (view.parts == 2 ? "2 * " : "") + "outputs, inputs / 32, 16]");
  if (scales.dims != std::vector<int64_t>(blocks.dims.begin(), blocks.dims.end() - 1))
    refuse(scales_name, dims_text(scales), "one for each block of " + dims_text(blocks));
  if (blocks.elements() == 0) refuse(blocks_name, dims_text(blocks), "one with blocks");
  const int64_t experts = blocks.dims[0], rows = blocks.dims[1], of_row = blocks.dims[2],
                outputs = rows / view.parts;
  const checkpoint::GgufBlock& block = *checkpoint::find_gguf_block(kMxfp4);
  const uint64_t bytes =
      uint64_t(experts) * uint64_t(outputs) * uint64_t(of_row) * uint64_t(block.bytes);
  host::charge_memory(bytes);
  host::charge_work(uint64_t(blocks.elements()));
  const auto made = std::make_shared<std::vector<uint8_t>>(host::zero_bytes(bytes));
  const checkpoint::Bytes codes = bytes_of(blocks), exponents = bytes_of(scales);
  uint8_t* to = made->data();
  for (int64_t r = 0; r < experts * outputs; r++) {
    const int64_t row = r / outputs * rows + view.part + r % outputs * view.parts;
    for (int64_t b = row * of_row; b < (row + 1) * of_row; b++, to += block.bytes) {
      const uint8_t* const from = codes.data + b * kBytesOfBlock;
      to[0] = exponents.data[b];
      if (to[0] == kNoNumber)
        graph::fail_unsupported(file_, "'" + scales_name +
                                           "' has an exponent of 255, which is no number, "
                                           "expected at most 254; get the folder anew");
      // neighbors share a byte there, those half a block apart here
      for (int64_t k = 0; k < kOfBlock; k++) {
        const int code = from[k / 2] >> k % 2 * 4 & 15;
        to[1 + k % 16] = uint8_t(to[1 + k % 16] | code << k / 16 * 4);
      }
    }
  }
  host::note_touched(2 * bytes);
  return {name,
          {experts, outputs, of_row * kOfBlock},
          &block,
          ElementType::kF32,
          {made, made->data(), bytes}};
}

}  // namespace ingot::decoder
