// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/grpc/infer_message.h"

#include <algorithm>
#include <cstring>

#include "tools/serve/core/element_types.h"
#include "tools/serve/core/served_model.h"
#include "tools/serve/core/unsupported.h"

namespace ingot::serve {
namespace {

using Parameters = google::protobuf::Map<std::string, inference::InferParameter>;

[[noreturn]] void invalid(const std::string& text) {
  refuse(Refusal::kInvalid, "request: " + text);
}

/// 0 where it is absent.
uint64_t number_of(const Parameters& parameters, const char* name) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return 0;
  const inference::InferParameter& parameter = found->second;
  if (parameter.parameter_choice_case() == inference::InferParameter::kUint64Param)
    return parameter.uint64_param();
  if (parameter.parameter_choice_case() != inference::InferParameter::kInt64Param)
    invalid(std::string("parameter '") + name + "': expected an integer");
  if (parameter.int64_param() < 0) invalid(std::string("parameter '") + name + "' is negative");
  return uint64_t(parameter.int64_param());
}

/// A sequence's name is a number or a text; 0 and "" are none.
void read_sequence(const Parameters& parameters, Job* job) {
  const auto named = parameters.find("sequence_id");
  const bool is_text = named != parameters.end() && named->second.parameter_choice_case() ==
                                                        inference::InferParameter::kStringParam;
  const uint64_t number = is_text ? 0 : number_of(parameters, "sequence_id");
  if (is_text) job->sequence_id = named->second.string_param();
  if (number) job->sequence_id = std::to_string(number);
  const auto is_set = [&](const char* name) {
    const auto found = parameters.find(name);
    return found != parameters.end() && found->second.bool_param();
  };
  job->starts_sequence = is_set("sequence_start");
  job->ends_sequence = is_set("sequence_end");
}

/// Null where none is named.
std::shared_ptr<Region> region_of(const Parameters& parameters, const SharedRegions* regions) {
  const auto found = parameters.find("shared_memory_region");
  if (found == parameters.end()) return nullptr;
  if (!regions) refuse_shared_memory();
  return regions->find(found->second.string_param());
}

/// Elements of a repeated field, narrowed to the type that the tensor has.
template <class To, class Field>
void convert(const Field& field, InputTensor* input) {
  input->converted.resize(size_t(field.size()) * sizeof(To));
  for (int i = 0; i < field.size(); i++) {
    const To element = To(field[i]);
    if (element != field[i])
      invalid("input '" + input->name + "': an element does not fit " + type_name(input->dtype));
    memcpy(input->converted.data() + size_t(i) * sizeof(To), &element, sizeof(To));
  }
}

void read_contents(const inference::InferTensorContents& contents, InputTensor* input) {
  switch (input->dtype) {
    case INGOT_BOOL: convert<uint8_t>(contents.bool_contents(), input); break;
    case INGOT_I8: convert<int8_t>(contents.int_contents(), input); break;
    case INGOT_I16: convert<int16_t>(contents.int_contents(), input); break;
    case INGOT_I32: convert<int32_t>(contents.int_contents(), input); break;
    case INGOT_I64: convert<int64_t>(contents.int64_contents(), input); break;
    case INGOT_U8: convert<uint8_t>(contents.uint_contents(), input); break;
    case INGOT_U16: convert<uint16_t>(contents.uint_contents(), input); break;
    case INGOT_U32: convert<uint32_t>(contents.uint_contents(), input); break;
    case INGOT_U64: convert<uint64_t>(contents.uint64_contents(), input); break;
    case INGOT_F32:
    case INGOT_F64: {
      const bool is_wide = input->dtype == INGOT_F64;
      const void* from = is_wide ? static_cast<const void*>(contents.fp64_contents().data())
                                 : contents.fp32_contents().data();
      input->data = static_cast<const uint8_t*>(from);
      input->bytes = is_wide ? uint64_t(contents.fp64_contents_size()) * 8
                             : uint64_t(contents.fp32_contents_size()) * 4;
      return;
    }
    default:
      invalid("input '" + input->name + "': elements of " + type_name(input->dtype) +
              " are sent as bytes alone, in raw_input_contents");
  }
  input->data = input->converted.data();
  input->bytes = input->converted.size();
}

void read_input(const inference::ModelInferRequest::InferInputTensor& from, InputTensor* input) {
  input->name = from.name();
  input->converted.clear();
  input->data = nullptr;
  input->bytes = input->region_offset = 0;
  const std::string where = "input '" + from.name() + "': ";
  input->dtype = type_of_input(from.datatype(), "request: " + where);
  if (from.shape_size() > INGOT_MAX_RANK) invalid(where + "more than 8 dimensions");
  input->shape.rank = from.shape_size();
  for (int i = 0; i < from.shape_size(); i++) {
    if (from.shape(i) < 0) invalid(where + "a negative extent");
    input->shape.dims[i] = from.shape(i);
  }
}

}  // namespace

void read_infer_message(const inference::ModelInferRequest& message, const SharedRegions* regions,
                        Job* job) {
  job->id = message.id();
  read_sequence(message.parameters(), job);
  job->timeout_ns = std::min(number_of(message.parameters(), "timeout"), uint64_t{1} << 40) * 1000;
  int raw = 0;
  for (const auto& from : message.inputs()) {
    InputTensor& input = job->inputs.add();
    read_input(from, &input);
    input.region = region_of(from.parameters(), regions);
    if (input.region) {
      input.region_offset = number_of(from.parameters(), "shared_memory_offset");
      input.bytes = number_of(from.parameters(), "shared_memory_byte_size");
    } else if (from.has_contents()) {
      read_contents(from.contents(), &input);
    } else if (raw < message.raw_input_contents_size()) {
      const std::string& bytes = message.raw_input_contents(raw++);
      input.data = reinterpret_cast<const uint8_t*>(bytes.data());
      input.bytes = bytes.size();
    } else {
      invalid("input '" + input.name +
              "': no elements: expected contents, raw_input_contents or "
              "shared memory");
    }
  }
  if (raw != message.raw_input_contents_size())
    invalid(std::to_string(message.raw_input_contents_size() - raw) +
            " of raw_input_contents belong to no input");
  for (const auto& from : message.outputs()) {
    if (number_of(from.parameters(), "classification")) refuse_classification();
    OutputTensor& output = job->outputs.add();
    output.name = from.name();
    output.region = region_of(from.parameters(), regions);
    output.region_offset = number_of(from.parameters(), "shared_memory_offset");
    output.region_bytes = number_of(from.parameters(), "shared_memory_byte_size");
  }
}

void write_infer_message(const Job& job, inference::ModelInferResponse* message) {
  message->set_model_name(job.served->name());
  message->set_model_version(job.served->version());
  message->set_id(job.id);
  for (const OutputTensor& output : job.outputs) {
    auto* to = message->add_outputs();
    to->set_name(output.name);
    to->set_datatype(type_name(output.dtype));
    for (int32_t d = 0; d < output.shape.rank; d++) to->add_shape(output.shape.dims[d]);
    std::string* bytes = message->add_raw_output_contents();  // one for each output
    if (!output.region) {
      bytes->assign(reinterpret_cast<const char*>(output.elements.data()), output.elements.size());
      continue;
    }
    auto& parameters = *to->mutable_parameters();
    parameters["shared_memory_region"].set_string_param(output.region->name());
    parameters["shared_memory_offset"].set_int64_param(int64_t(output.region_offset));
    parameters["shared_memory_byte_size"].set_int64_param(int64_t(output.region_bytes));
  }
}

}  // namespace ingot::serve
