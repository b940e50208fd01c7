// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/element_types.h"

#include "tools/serve/core/serve_error.h"

namespace ingot::serve {
namespace {

struct TypeName {
  ingot_dtype dtype;
  const char* name;
};
constexpr TypeName kNames[] = {{INGOT_F32, "FP32"},   {INGOT_F16, "FP16"},   {INGOT_BF16, "BF16"},
                               {INGOT_F64, "FP64"},   {INGOT_I8, "INT8"},    {INGOT_U8, "UINT8"},
                               {INGOT_I16, "INT16"},  {INGOT_U16, "UINT16"}, {INGOT_I32, "INT32"},
                               {INGOT_U32, "UINT32"}, {INGOT_I64, "INT64"},  {INGOT_U64, "UINT64"},
                               {INGOT_BOOL, "BOOL"}};

}  // namespace

const char* type_name(ingot_dtype dtype) {
  for (const TypeName& type : kNames)
    if (type.dtype == dtype) return type.name;
  return "INVALID";
}

ingot_dtype type_of_input(std::string_view name, const std::string& where) {
  for (const TypeName& type : kNames)
    if (name == type.name) return type.dtype;
  if (name == "BYTES")
    refuse(Refusal::kUnsupported, where + "strings (BYTES) are not supported: no model takes them");
  refuse(Refusal::kInvalid,
         where + "type '" + std::string(name.substr(0, 32)) + "' is unknown, expected one as FP32");
}

}  // namespace ingot::serve
