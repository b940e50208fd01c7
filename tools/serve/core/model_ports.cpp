// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/model_ports.h"

#include <algorithm>
#include <cstdlib>

#include "tools/serve/core/element_types.h"

namespace ingot::serve {
namespace {

template <class Dims>
std::string dims_text(const Dims& dims, int32_t rank) {
  std::string text = "[";
  for (int32_t i = 0; i < rank; i++) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

std::string names_of(const std::vector<ingot_value_type>& types) {
  std::string text;
  for (const ingot_value_type& type : types)
    text += (text.empty() ? "'" : ", '") + std::string(type.name) + "'";
  return text;
}

const ingot_value_type* find_port(const std::vector<ingot_value_type>& types,
                                  const std::string& name) {
  for (const ingot_value_type& type : types)
    if (name == type.name) return &type;
  return nullptr;
}

/// What a symbol without bounds is bound to: what the conversion chose by, else its lower bound.
int64_t typical_extent(const Model& model, const ingot_symbol& symbol) {
  const auto text = model.metadata(("ingot.typical." + std::string(symbol.name)).c_str());
  const int64_t chosen = text ? atoll(text->c_str()) : 0;
  return std::max({chosen, symbol.low, int64_t{1}});
}

}  // namespace

std::string shape_text(const ingot_value_type& type) { return dims_text(type.dims, type.rank); }
std::string shape_text(const Extents& shape) { return dims_text(shape.dims, shape.rank); }

bool tensor_bytes(ingot_dtype dtype, const Extents& shape, uint64_t* bytes) {
  *bytes = ingot_dtype_bytes(dtype);
  for (int32_t i = 0; i < shape.rank; i++) {
    if (shape.dims[i] < 0 || __builtin_mul_overflow(*bytes, uint64_t(shape.dims[i]), bytes))
      return false;
  }
  return true;
}

ModelPorts::ModelPorts(const Model& model, int64_t max_rows) {
  const ingot_model_summary summary = model.summary();
  has_state_ = summary.state_count != 0;
  for (uint32_t i = 0; i < summary.input_count; i++) inputs_.push_back(*model.input(i));
  for (uint32_t i = 0; i < summary.output_count; i++) outputs_.push_back(*model.output(i));
  if (!has_state_) find_batch();
  for (uint32_t i = 0; i < summary.symbol_count; i++) {
    const ingot_symbol symbol = *model.symbol(i);
    OpenDimension dimension{symbol.name, std::max<int64_t>(symbol.low, 0), symbol.high};
    if (int32_t(i) == batch_) {
      dimension.high =
          std::max(dimension.low, symbol.high ? std::min(symbol.high, max_rows) : max_rows);
    } else if (!symbol.high || has_state_) {  // state has the extents that it began with
      dimension.low = dimension.high = typical_extent(model, symbol);
    }
    dimensions_.push_back(dimension);
  }
  largest_body_ = body_limit();
}

uint64_t ModelPorts::body_limit() const {
  constexpr uint64_t kElementText = 64;  // of a number, its indent and its comma
  uint64_t all = 65536;
  for (const ingot_value_type& type : inputs_) {
    uint64_t elements = 1;
    for (int32_t d = 0; d < type.rank; d++) {
      const int32_t symbol = type.dim_symbol[d];
      if (symbol == INGOT_DIM_EXPRESSION) return UINT64_MAX;
      const bool is_open = symbol >= 0 && size_t(symbol) < dimensions_.size();
      const int64_t extent = is_open ? dimensions_[size_t(symbol)].high : type.dims[d];
      if (__builtin_mul_overflow(elements, uint64_t(std::max<int64_t>(extent, 1)), &elements))
        return UINT64_MAX;
    }
    uint64_t text = 0;
    if (__builtin_mul_overflow(elements, kElementText, &text) ||
        __builtin_add_overflow(all, text, &all))
      return UINT64_MAX;
  }
  return all;
}

void ModelPorts::find_batch() {
  int32_t symbol = -1;
  for (const auto* types : {&inputs_, &outputs_})
    for (const ingot_value_type& type : *types) {
      if (type.rank == 0 || type.dim_symbol[0] < 0) return;
      if (symbol >= 0 && type.dim_symbol[0] != symbol) return;
      symbol = type.dim_symbol[0];
      for (int32_t d = 1; d < type.rank; d++)
        if (type.dim_symbol[d] == symbol) return;
    }
  batch_ = symbol;
}

const ingot_value_type& ModelPorts::port_of(const InputTensor& input) const {
  const ingot_value_type* type = find_port(inputs_, input.name);
  if (!type)
    refuse(Refusal::kInvalid,
           "input '" + input.name.substr(0, 256) + "' is unknown; there are " + names_of(inputs_));
  if (input.dtype != type->dtype)
    refuse(Refusal::kInvalid, "input '" + input.name + "': type " + type_name(input.dtype) +
                                  ", expected " + type_name(type->dtype));
  return *type;
}

void ModelPorts::check_input(const InputTensor& input) const {
  const ingot_value_type& type = port_of(input);
  bool fits = input.shape.rank == type.rank;
  for (int32_t d = 0; fits && d < type.rank; d++) {
    const int32_t symbol = type.dim_symbol[d];
    if (symbol == INGOT_DIM_NUMBER) fits = input.shape.dims[d] == type.dims[d];
    if (symbol >= 0 && size_t(symbol) < dimensions_.size())
      fits = input.shape.dims[d] <= dimensions_[size_t(symbol)].high;
  }
  if (fits) return;
  Job alone;
  alone.symbols.assign(dimensions_.size(), 0);
  InputTensor named = input;
  named.port = uint32_t(&type - inputs_.data());
  resolve_shape(named, &alone);  // which says what is wrong
}

void ModelPorts::resolve_shape(const InputTensor& input, Job* job) const {
  const ingot_value_type& type = inputs_[input.port];
  const std::string where = "input '" + input.name + "': ";
  bool fits = input.shape.rank == type.rank;
  for (int32_t i = 0; fits && i < type.rank; i++)
    fits = type.dim_symbol[i] != INGOT_DIM_NUMBER || input.shape.dims[i] == type.dims[i];
  if (!fits)
    refuse(Refusal::kInvalid,
           where + "shape " + shape_text(input.shape) + ", expected " + shape_text(type));
  for (int32_t i = 0; i < type.rank; i++) {
    const int32_t symbol = type.dim_symbol[i];
    if (symbol < 0 || size_t(symbol) >= dimensions_.size()) continue;
    const OpenDimension& dimension = dimensions_[size_t(symbol)];
    const int64_t extent = input.shape.dims[i];
    int64_t& bound = job->symbols[size_t(symbol)];
    if (extent < dimension.low || extent > dimension.high)
      refuse(Refusal::kInvalid,
             where + "dimension " + std::to_string(i) + " ('" + dimension.name + "') is " +
                 std::to_string(extent) + ", served are " + std::to_string(dimension.low) + " to " +
                 std::to_string(dimension.high) +
                 (symbol == batch_ ? "; see: ingot serve --max-batch"
                                   : "; bounds are given by: ingot convert --dim " +
                                         dimension.name + "=LOW..HIGH"));
    if (bound && bound != extent)
      refuse(Refusal::kInvalid, where + "dimension " + std::to_string(i) + " is " +
                                    std::to_string(extent) + ", and '" + dimension.name + "' is " +
                                    std::to_string(bound) + " in another input");
    bound = extent;
  }
}

void ModelPorts::resolve(Job* job) const {
  if (has_state_ && job->sequence_id.empty())
    refuse(
        Refusal::kInvalid,
        "the model keeps state: expected 'sequence_id', and 'sequence_start' in the first request");
  if (!has_state_ && !job->sequence_id.empty())
    refuse(Refusal::kUnsupported, "sequences need a model with state, and this one keeps none");
  job->symbols.assign(dimensions_.size(), 0);
  if (job->inputs.size() != inputs_.size())
    refuse(Refusal::kInvalid, std::to_string(job->inputs.size()) + " inputs, expected " +
                                  std::to_string(inputs_.size()) + ": " + names_of(inputs_));
  for (size_t i = 0; i < job->inputs.size(); i++) {
    InputTensor& input = job->inputs[i];
    input.port = uint32_t(&port_of(input) - inputs_.data());
    for (size_t j = 0; j < i; j++)
      if (job->inputs[j].port == input.port)
        refuse(Refusal::kInvalid, "input '" + input.name + "' is given twice");
    const std::string where = "input '" + input.name + "': ";
    resolve_shape(input, job);
    uint64_t bytes = 0;
    if (!tensor_bytes(input.dtype, input.shape, &bytes) || bytes != input.bytes)
      refuse(Refusal::kInvalid, where + std::to_string(input.bytes) + " bytes, expected " +
                                    std::to_string(bytes) + " for shape " +
                                    shape_text(input.shape));
    if (input.region) input.region->check(input.region_offset, input.bytes);
  }
  for (size_t i = 0; i < dimensions_.size(); i++)
    if (!job->symbols[i]) job->symbols[i] = dimensions_[i].low;
  job->rows = batch_ < 0 ? 1 : job->symbols[size_t(batch_)];
  for (OutputTensor& output : job->outputs) {
    const ingot_value_type* type = find_port(outputs_, output.name);
    if (!type)
      refuse(Refusal::kInvalid,
             "output '" + output.name + "' is unknown; there are " + names_of(outputs_));
    output.port = uint32_t(type - outputs_.data());
    if (output.region) output.region->check(output.region_offset, output.region_bytes);
  }
  if (!job->outputs.empty()) return;
  for (uint32_t i = 0; i < outputs_.size(); i++) {
    OutputTensor& output = job->outputs.add();
    output.name = outputs_[i].name;
    output.port = i;
    output.is_binary = job->outputs_are_binary;
    output.region.reset();
  }
}

bool ModelPorts::agree(const Job& a, const Job& b) const {
  for (size_t i = 0; i < dimensions_.size(); i++)
    if (int32_t(i) != batch_ && a.symbols[i] != b.symbols[i]) return false;
  return true;
}

}  // namespace ingot::serve
