// SPDX-License-Identifier: Apache-2.0
// runtime/micro/attributes.h - attributes of one instruction out of its table in the file. A
// function for each operator, so that a firmware links those of its model.
// Owns     nothing.
// Threads  any.
#pragma once
#include "runtime/micro/flat_reader.h"
#include "runtime/op/opcode.h"

namespace ingot::micro {

/// Room for the plain struct of any operator that has a reader here.
constexpr uint32_t kAttributeRoom = 208;

/// Fills the struct at `to`, 8-byte aligned; what the file leaves out has the struct's default.
/// False: an enum, a number of steps or a dynamic dimension that is not known.
using ReadAttributes = bool (*)(FlatReader* reader, uint32_t table, void* to);

#define INGOT_ATTRIBUTES(op, fields) \
  bool read_##op##_attributes(FlatReader* reader, uint32_t table, void* to);
#include "runtime/micro/attributes.def"
/// Operators with vectors of steps or numbers, whose readers are written out.
#define INGOT_WRITTEN_READERS(ROW) ROW(Elementwise) ROW(Slice) ROW(Transpose)
bool read_Elementwise_attributes(FlatReader* reader, uint32_t table, void* to);
bool read_Slice_attributes(FlatReader* reader, uint32_t table, void* to);
bool read_Transpose_attributes(FlatReader* reader, uint32_t table, void* to);

/// One field of the schema's table: where it goes in the struct, and what it may be.
struct AttributeField {
  enum Form : uint8_t { kWord, kFlag, kChoice, kActivation };
  uint8_t offset;
  Form form;
  uint8_t most;  // of a choice
};

}  // namespace ingot::micro
