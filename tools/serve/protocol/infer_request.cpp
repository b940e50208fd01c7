// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/infer_request.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "tools/files/half.h"
#include "tools/serve/core/element_types.h"
#include "tools/serve/core/model_ports.h"
#include "tools/serve/core/unsupported.h"

namespace ingot::serve {
namespace {

constexpr size_t kMaxDepth = 24;
constexpr size_t kMaxTensors = 1024;

/// What the object or array is that the parser is in.
enum class Place {
  kTop,
  kTopParameters,
  kInputs,
  kInput,
  kInputParameters,
  kShape,
  kData,
  kOutputs,
  kOutput,
  kOutputParameters,
  kSkipped
};

/// What is stated of a tensor beside its name, type and shape.
struct TensorParameters {
  std::string region;
  uint64_t region_offset = 0, region_bytes = 0, binary_bytes = 0;
  bool is_binary = false, has_data = false, has_binary = false, has_shape = false;
};

[[noreturn]] void invalid(const std::string& text) {
  refuse(Refusal::kInvalid, "request: " + text);
}

/// First pass: all but the elements. Second pass: the elements, whose types and numbers are known
/// then, in whatever order the request has its members.
class RequestReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  RequestReader(Job* job, bool reads_elements, const ModelPorts* ports)
      : job_(job), reads_elements_(reads_elements), ports_(ports) {}

  std::vector<TensorParameters> of_inputs, of_outputs;

  bool null() override {
    if (place() == Place::kShape) invalid("an extent of a shape is no integer");
    if (place() == Place::kData) invalid("input '" + input().name + "': null among its elements");
    expect(Kind::kOther);
    return true;
  }
  bool boolean(bool value) override {
    expect(Kind::kBool);
    switch (place()) {
      case Place::kTopParameters:
        if (key_ == "binary_data_output" && !reads_elements_) job_->outputs_are_binary = value;
        if (key_ == "sequence_start") job_->starts_sequence = value;
        if (key_ == "sequence_end") job_->ends_sequence = value;
        break;
      case Place::kOutputParameters:
        if (key_ == "binary_data")
          of_outputs.back().is_binary = value, of_outputs.back().has_binary = true;
        break;
      case Place::kShape: invalid("an extent of a shape is no integer");
      case Place::kData: add_integer(value, true); break;
      default: break;
    }
    return true;
  }
  bool number_integer(number_integer_t value) override {
    return number(value < 0, uint64_t(value));
  }
  bool number_unsigned(number_unsigned_t value) override { return number(false, value); }
  bool number_float(number_float_t value, const string_t&) override {
    if (place() == Place::kShape) invalid("an extent of a shape is no integer");
    expect(Kind::kOther);
    if (place() == Place::kData) add_real(value);
    return true;
  }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return false; }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool start_object(size_t) override { return enter(true); }
  bool start_array(size_t) override { return enter(false); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& error) override {
    const std::string text = error.what();
    const size_t at = text.find("parse error");
    invalid("not JSON: " + text.substr(at == std::string::npos ? 0 : at).substr(0, 160));
  }

 private:
  /// Of a value that is neither an object nor an array; kOther: null, a number with a fraction.
  enum class Kind { kBool, kInteger, kString, kOther };
  /// Refuses a value of another type than its key has. Elements have no key, and are many.
  void expect(Kind found) const {
    if (!reads_elements_ && place() != Place::kData) expect_of_key(found);
  }
  void expect_of_key(Kind found) const;
  Place place() const { return depth_ ? stack_[depth_ - 1] : Place::kSkipped; }
  bool leave() {
    depth_--;
    return true;
  }
  bool enter(bool is_object);
  Place inside(bool is_object);
  bool number(bool is_negative, uint64_t bits);
  InputTensor& input() { return job_->inputs[input_]; }
  void begin_data();
  void add_bytes(const void* from, size_t bytes);
  void add_integer(int64_t value, bool is_bool);
  void add_unsigned(uint64_t value);
  void add_real(double value);

  Job* job_;
  const bool reads_elements_;
  const ModelPorts* const ports_;
  Place stack_[kMaxDepth] = {};
  size_t depth_ = 0;
  std::string key_;
  size_t input_ = 0;   // the one that the parser is in
  size_t inputs_ = 0;  // that it was in
  uint64_t most_bytes_ = 0;
  bool has_inputs_ = false, has_outputs_ = false;
};

/// Elements begin: what is known of their input is checked, so that nobody reads millions of them
/// for nothing. What comes behind them is checked before they are read for the second time.
void RequestReader::begin_data() {
  of_inputs.back().has_data = true;
  const bool is_known =
      !input().name.empty() && input().dtype != INGOT_INVALID_DTYPE && of_inputs.back().has_shape;
  if (ports_ && is_known) ports_->check_input(input());
}

void RequestReader::expect_of_key(Kind found) const {
  if (depth_ == 0) invalid("expected an object");
  static constexpr struct {
    Place place;
    const char* key;
    Kind kind;
  } kKeys[] = {
      {Place::kTopParameters, "timeout", Kind::kInteger},
      {Place::kTopParameters, "sequence_start", Kind::kBool},
      {Place::kTopParameters, "sequence_end", Kind::kBool},
      {Place::kTopParameters, "binary_data_output", Kind::kBool},
      {Place::kInput, "name", Kind::kString},
      {Place::kInput, "datatype", Kind::kString},
      {Place::kInputParameters, "binary_data_size", Kind::kInteger},
      {Place::kInputParameters, "shared_memory_region", Kind::kString},
      {Place::kInputParameters, "shared_memory_offset", Kind::kInteger},
      {Place::kInputParameters, "shared_memory_byte_size", Kind::kInteger},
      {Place::kOutput, "name", Kind::kString},
      {Place::kOutputParameters, "binary_data", Kind::kBool},
      {Place::kOutputParameters, "classification", Kind::kInteger},
      {Place::kOutputParameters, "shared_memory_region", Kind::kString},
      {Place::kOutputParameters, "shared_memory_offset", Kind::kInteger},
      {Place::kOutputParameters, "shared_memory_byte_size", Kind::kInteger},
  };
  for (const auto& known : kKeys)
    if (known.place == place() && known.kind != found && key_ == known.key)
      invalid("'" + key_ + "': expected " +
              (known.kind == Kind::kBool      ? "true or false"
               : known.kind == Kind::kInteger ? "an integer from 0"
                                              : "a text"));
  if (place() == Place::kTop && (key_ == "inputs" || key_ == "outputs"))
    invalid("'" + key_ + "' is no array");
  if (place() == Place::kInputs || place() == Place::kOutputs)
    invalid(std::string("an element of '") + (place() == Place::kInputs ? "inputs" : "outputs") +
            "' is no object");
}

Place RequestReader::inside(bool is_object) {
  switch (place()) {
    case Place::kTop:
      if (is_object && key_ == "parameters") return Place::kTopParameters;
      if (!is_object && (key_ == "inputs" || key_ == "outputs")) {
        bool& has = key_ == "inputs" ? has_inputs_ : has_outputs_;
        if (has) invalid("'" + key_ + "' is there twice");
        has = true;
        return key_ == "inputs" ? Place::kInputs : Place::kOutputs;
      }
      if (key_ == "inputs" || key_ == "outputs") invalid("'" + key_ + "' is no array");
      return Place::kSkipped;
    case Place::kInputs:
      if (!is_object) invalid("an element of 'inputs' is no object");
      input_ = inputs_++;
      if (!reads_elements_) {
        if (inputs_ > kMaxTensors) invalid("more than 1,024 inputs");
        InputTensor& tensor = job_->inputs.add();
        tensor.name.clear(), tensor.converted.clear();
        tensor.dtype = INGOT_INVALID_DTYPE;
        tensor.shape.rank = 0;
        tensor.data = nullptr;
        tensor.bytes = tensor.region_offset = 0;
        of_inputs.emplace_back();
      } else {
        Extents& shape = input().shape;
        if (!tensor_bytes(input().dtype, shape, &most_bytes_))
          invalid("input '" + input().name + "': shape " + shape_text(shape) + " is too large");
      }
      return Place::kInput;
    case Place::kInput:
      if (is_object && key_ == "parameters") return Place::kInputParameters;
      if (!is_object && key_ == "shape") {
        if (!reads_elements_) of_inputs.back().has_shape = true, input().shape.rank = 0;
        return Place::kShape;
      }
      if (!is_object && key_ == "data") {
        if (!reads_elements_) begin_data();
        return Place::kData;
      }
      return Place::kSkipped;
    case Place::kShape: invalid("a shape is no list of integers");
    case Place::kData:
      if (is_object) invalid("'data' has an object");
      return Place::kData;
    case Place::kOutputs:
      if (!is_object) invalid("an element of 'outputs' is no object");
      if (!reads_elements_) {
        if (of_outputs.size() >= kMaxTensors) invalid("more than 1,024 outputs");
        OutputTensor& tensor = job_->outputs.add();
        tensor.name.clear();
      }
      of_outputs.emplace_back();
      return Place::kOutput;
    case Place::kOutput:
      return is_object && key_ == "parameters" ? Place::kOutputParameters : Place::kSkipped;
    default: return Place::kSkipped;
  }
}

bool RequestReader::enter(bool is_object) {
  if (depth_ == 0 && !is_object) invalid("expected an object");
  if (depth_ == kMaxDepth) invalid("nested more than 24 deep");
  const Place next = depth_ == 0 ? Place::kTop : inside(is_object);
  stack_[depth_++] = next;
  return true;
}

bool RequestReader::string(string_t& value) {
  expect(Kind::kString);
  switch (place()) {
    case Place::kTop:
      if (key_ == "id") job_->id = value;
      break;
    case Place::kTopParameters:
      if (key_ != "sequence_id") break;
      Sequences::check_id(value);
      job_->sequence_id = value;
      break;
    case Place::kInput:
      if (reads_elements_) break;
      if (key_ == "name") input().name = value;
      if (key_ == "datatype") {
        input().dtype = type_of_input(value, "request: input '" + input().name + "': ");
      }
      break;
    case Place::kInputParameters:
      if (key_ == "shared_memory_region" && !reads_elements_) of_inputs.back().region = value;
      break;
    case Place::kOutput:
      if (key_ == "name" && !reads_elements_) job_->outputs[job_->outputs.size() - 1].name = value;
      break;
    case Place::kOutputParameters:
      if (key_ == "shared_memory_region") of_outputs.back().region = value;
      break;
    case Place::kShape: invalid("an extent of a shape is no integer");
    case Place::kData: invalid("input '" + input().name + "': a string among its elements");
    default: break;
  }
  return true;
}

bool RequestReader::number(bool is_negative, uint64_t bits) {
  expect(Kind::kInteger);
  const auto set = [&](uint64_t* field) {
    if (is_negative) invalid("parameter '" + key_ + "' is negative");
    *field = bits;
  };
  switch (place()) {
    case Place::kTopParameters:
      if (key_ == "timeout") {
        set(&job_->timeout_ns);
        job_->timeout_ns = std::min(bits, uint64_t{1} << 40) * 1000;  // in microseconds
      }
      if (key_ == "sequence_id") job_->sequence_id = bits ? std::to_string(bits) : "";
      break;
    case Place::kInputParameters:
      if (reads_elements_) break;
      if (key_ == "binary_data_size")
        set(&of_inputs.back().binary_bytes), of_inputs.back().has_binary = true;
      if (key_ == "shared_memory_offset") set(&of_inputs.back().region_offset);
      if (key_ == "shared_memory_byte_size") set(&of_inputs.back().region_bytes);
      break;
    case Place::kOutputParameters:
      if (key_ == "shared_memory_offset") set(&of_outputs.back().region_offset);
      if (key_ == "shared_memory_byte_size") set(&of_outputs.back().region_bytes);
      if (key_ == "classification" && bits) refuse_classification();
      break;
    case Place::kShape: {
      if (reads_elements_) break;
      Extents& shape = input().shape;
      if (shape.rank == INGOT_MAX_RANK)
        invalid("input '" + input().name + "': more than 8 dimensions");
      if (is_negative || bits > uint64_t(INT64_MAX))
        invalid("input '" + input().name + "': a negative or too large extent");
      shape.dims[shape.rank++] = int64_t(bits);
      break;
    }
    case Place::kData:
      if (is_negative || bits <= uint64_t(INT64_MAX))
        add_integer(int64_t(bits), false);
      else
        add_unsigned(bits);
      break;
    default: break;
  }
  return true;
}

void RequestReader::add_bytes(const void* from, size_t bytes) {
  std::vector<uint8_t>& to = input().converted;
  if (to.size() + bytes > most_bytes_)
    invalid("input '" + input().name + "': more elements than its shape " +
            shape_text(input().shape) + " has");
  const uint8_t* source = static_cast<const uint8_t*>(from);
  to.insert(to.end(), source, source + bytes);
}

void RequestReader::add_integer(int64_t value, bool is_bool) {
  if (!reads_elements_) return;
  const ingot_dtype dtype = input().dtype;
  const auto out_of_range = [&] {
    invalid("input '" + input().name + "': element " + std::to_string(value) + " does not fit " +
            type_name(dtype));
  };
  const auto add = [&](auto narrow) {
    if (int64_t(narrow) != value || (value < 0 && narrow > 0)) out_of_range();
    add_bytes(&narrow, sizeof narrow);
  };
  if (is_bool != (dtype == INGOT_BOOL) && !(dtype == INGOT_BOOL && (value == 0 || value == 1)))
    invalid("input '" + input().name + "': an element is " +
            (is_bool ? "true or false" : "a number") + ", expected " + type_name(dtype));
  switch (dtype) {
    case INGOT_BOOL: add(uint8_t(value)); break;
    case INGOT_I8: add(int8_t(value)); break;
    case INGOT_U8: add(uint8_t(value)); break;
    case INGOT_I16: add(int16_t(value)); break;
    case INGOT_U16: add(uint16_t(value)); break;
    case INGOT_I32: add(int32_t(value)); break;
    case INGOT_U32: add(uint32_t(value)); break;
    case INGOT_I64: add(value); break;
    case INGOT_U64:
      if (value < 0) out_of_range();
      add_unsigned(uint64_t(value));
      break;
    default: add_real(double(value)); break;
  }
}

void RequestReader::add_unsigned(uint64_t value) {
  if (!reads_elements_) return;
  switch (input().dtype) {
    case INGOT_U64: add_bytes(&value, 8); break;
    case INGOT_F32:
    case INGOT_F64:
    case INGOT_F16:
    case INGOT_BF16: add_real(double(value)); break;
    default:
      invalid("input '" + input().name + "': element " + std::to_string(value) + " does not fit " +
              type_name(input().dtype));
  }
}

void RequestReader::add_real(double value) {
  if (!reads_elements_) return;
  const auto require_finite = [&](bool is_finite) {
    if (is_finite) return;
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    invalid("input '" + input().name + "': element " + text + " does not fit " +
            type_name(input().dtype));
  };
  const float narrow = float(value);
  uint16_t half = 0;
  switch (input().dtype) {
    case INGOT_F32:
      require_finite(std::isfinite(narrow));
      add_bytes(&narrow, 4);
      break;
    case INGOT_F64: add_bytes(&value, 8); break;
    case INGOT_F16:
      half = host::narrow_f16(narrow);
      require_finite((half & 0x7c00) != 0x7c00);
      add_bytes(&half, 2);
      break;
    case INGOT_BF16:
      half = host::narrow_bf16(narrow);
      require_finite((half & 0x7f80) != 0x7f80);
      add_bytes(&half, 2);
      break;
    default:
      invalid("input '" + input().name + "': an element is no integer, expected " +
              type_name(input().dtype));
  }
}

std::shared_ptr<Region> region_of(const SharedRegions* regions, const std::string& name) {
  if (!regions) refuse_shared_memory();
  return regions->find(name);
}

}  // namespace

void read_infer_request(uint64_t json_bytes, const SharedRegions* regions, Job* job,
                        const ModelPorts* ports) {
  if (json_bytes > job->body.size())
    invalid("Inference-Header-Content-Length is " + std::to_string(json_bytes) +
            ", and the body has " + std::to_string(job->body.size()) + " bytes");
  const uint8_t* const begin = job->body.data();
  const uint8_t* const end = begin + json_bytes;
  RequestReader reader(job, false, ports);
  if (!nlohmann::json::sax_parse(begin, end, &reader)) invalid("not JSON");
  uint64_t offset = json_bytes;
  bool has_elements = false;
  for (size_t i = 0; i < job->inputs.size(); i++) {
    InputTensor& input = job->inputs[i];
    const TensorParameters& said = reader.of_inputs[i];
    const std::string where = "input '" + input.name + "': ";
    if (input.dtype == INGOT_INVALID_DTYPE) invalid(where + "'datatype' is missing");
    if (!said.has_shape) invalid(where + "'shape' is missing");
    const int sources = said.has_data + said.has_binary + !said.region.empty();
    if (sources != 1)
      invalid(where + (sources
                           ? "elements are given in more than one way"
                           : "no elements: expected 'data', 'binary_data_size' or shared memory"));
    if (said.has_binary) {
      if (said.binary_bytes > job->body.size() - offset)
        invalid(where + "binary_data_size is " + std::to_string(said.binary_bytes) + ", " +
                std::to_string(job->body.size() - offset) + " bytes are left of the body");
      input.data = begin + offset;
      input.bytes = said.binary_bytes;
      offset += said.binary_bytes;
    } else if (!said.region.empty()) {
      input.region = region_of(regions, said.region);
      input.region_offset = said.region_offset;
      input.bytes = said.region_bytes;
    }
    has_elements = has_elements || said.has_data;
  }
  if (offset != job->body.size())
    invalid(std::to_string(job->body.size() - offset) + " bytes of the body belong to no input");
  for (size_t i = 0; i < job->outputs.size(); i++) {
    OutputTensor& output = job->outputs[i];
    const TensorParameters& said = reader.of_outputs[i];
    output.is_binary = said.has_binary ? said.is_binary : job->outputs_are_binary;
    output.region.reset();
    if (said.region.empty()) continue;
    output.region = region_of(regions, said.region);
    output.region_offset = said.region_offset;
    output.region_bytes = said.region_bytes;
  }
  if (!has_elements) return;
  if (ports)  // given behind their elements, they were not checked yet
    for (const InputTensor& input : job->inputs) ports->check_input(input);
  RequestReader elements(job, true, ports);
  elements.of_inputs = reader.of_inputs;
  if (!nlohmann::json::sax_parse(begin, end, &elements)) invalid("not JSON");
  for (size_t i = 0; i < job->inputs.size(); i++) {
    InputTensor& input = job->inputs[i];
    if (!reader.of_inputs[i].has_data) continue;
    input.data = input.converted.data();
    input.bytes = input.converted.size();
  }
}

}  // namespace ingot::serve
