// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/infer_reply.h"

#include <cmath>
#include <cstring>

#include "tools/files/half.h"
#include "tools/serve/core/element_types.h"
#include "tools/serve/core/served_model.h"
#include "tools/serve/protocol/json_text.h"

namespace ingot::serve {
namespace {

template <class T>
T element_at(const OutputTensor& output, size_t i) {
  T value;
  memcpy(&value, output.elements.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class Real>
void append_real(const OutputTensor& output, Real value, std::string* json) {
  if (!std::isfinite(value))
    refuse(Refusal::kUnsupported, "output '" + output.name +
                                      "' has an element that is infinite or no number, which JSON "
                                      "cannot express; ask for it as binary data");
  append_number(value, json);
}

void append_element(const OutputTensor& output, size_t i, std::string* json) {
  switch (output.dtype) {
    case INGOT_F32: append_real(output, element_at<float>(output, i), json); break;
    case INGOT_F64: append_real(output, element_at<double>(output, i), json); break;
    case INGOT_F16:
      append_real(output, host::widen_f16(element_at<uint16_t>(output, i)), json);
      break;
    case INGOT_BF16:
      append_real(output, host::widen_bf16(element_at<uint16_t>(output, i)), json);
      break;
    case INGOT_I8: append_number(int(element_at<int8_t>(output, i)), json); break;
    case INGOT_U8: append_number(int(element_at<uint8_t>(output, i)), json); break;
    case INGOT_I16: append_number(element_at<int16_t>(output, i), json); break;
    case INGOT_U16: append_number(element_at<uint16_t>(output, i), json); break;
    case INGOT_I32: append_number(element_at<int32_t>(output, i), json); break;
    case INGOT_U32: append_number(element_at<uint32_t>(output, i), json); break;
    case INGOT_I64: append_number(element_at<int64_t>(output, i), json); break;
    case INGOT_U64: append_number(element_at<uint64_t>(output, i), json); break;
    case INGOT_BOOL: json->append(element_at<uint8_t>(output, i) ? "true" : "false"); break;
    default: refuse(Refusal::kInternal, "output '" + output.name + "' has no type");
  }
}

void append_output(const OutputTensor& output, std::string* json) {
  json->append("{\"name\":");
  append_json_string(output.name, json);
  json->append(",\"datatype\":\"").append(type_name(output.dtype)).append("\",\"shape\":[");
  for (int32_t d = 0; d < output.shape.rank; d++) {
    if (d) json->push_back(',');
    append_number(output.shape.dims[d], json);
  }
  json->push_back(']');
  if (output.region) {
    json->append(",\"parameters\":{\"shared_memory_region\":");
    append_json_string(output.region->name(), json);
    json->append(",\"shared_memory_offset\":");
    append_number(output.region_offset, json);
    json->append(",\"shared_memory_byte_size\":");
    append_number(output.region_bytes, json);
    json->push_back('}');
  } else if (output.is_binary) {
    json->append(",\"parameters\":{\"binary_data_size\":");
    append_number(output.elements.size(), json);
    json->push_back('}');
  } else {
    json->append(",\"data\":[");
    const size_t count = output.elements.size() / ingot_dtype_bytes(output.dtype);
    for (size_t i = 0; i < count; i++) {
      if (i) json->push_back(',');
      append_element(output, i, json);
    }
    json->push_back(']');
  }
  json->push_back('}');
}

}  // namespace

void write_infer_reply(const Job& job, std::string* json) {
  json->append("{\"model_name\":");
  append_json_string(job.served->name(), json);
  json->append(",\"model_version\":");
  append_json_string(job.served->version(), json);
  if (!job.id.empty()) {
    json->append(",\"id\":");
    append_json_string(job.id, json);
  }
  json->append(",\"outputs\":[");
  for (size_t i = 0; i < job.outputs.size(); i++) {
    if (i) json->push_back(',');
    append_output(job.outputs[i], json);
  }
  json->append("]}");
}

}  // namespace ingot::serve
