// SPDX-License-Identifier: Apache-2.0
// runtime/micro/schema_fields.h - numbers of the schema's fields and the names of its values, as
// schema/ingot.fbs has them. tests/micro/schema_test.cpp holds them against the generated header.
#pragma once
#include <cstdint>

namespace ingot::micro {

constexpr uint32_t kProgramIdentifier = 0x50474e49;  // "INGP"
constexpr uint32_t kIdentifierAt = 4;

namespace program_field {
enum : uint32_t {
  kRequiredFeatures,
  kSymbols,
  kDimExprs,
  kValues,
  kSubprograms,
  kInputs,
  kOutputs,
  kStates,
  kPlan,
  kAlignment,
  kPrecision
};
}
namespace value_field {
enum : uint32_t {
  kName,
  kDtype,
  kPacking,
  kKind,
  kAlias,
  kAliasOf,
  kAliasOffset,
  kDims,
  kRowStride,
  kSegment,
  kSegmentOffset,
  kInlineData,
  kSourceDtype,
  kStored
};
}
namespace instruction_field {
enum : uint32_t { kAttributesType, kAttributes, kVersion, kInputs, kOutputs };
}
namespace subprogram_field {
enum : uint32_t { kName, kInstructions };
}
namespace port_field {
enum : uint32_t { kName, kValue };
}
namespace state_field {
enum : uint32_t { kName, kValue, kInit, kInput, kOutput, kOutputName };
}
namespace plan_field {
enum : uint32_t { kOffsets, kBytes };
}

enum class ValueKind : uint8_t { kActivation, kConstant, kInput, kOutput, kState };
enum class AliasKind : uint8_t { kNone, kView, kInPlace };

}  // namespace ingot::micro
