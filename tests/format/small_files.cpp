// SPDX-License-Identifier: Apache-2.0
#include "tests/format/small_files.h"

#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/base/sha256.h"

namespace ingot::test {
namespace {

struct MemoryReader {
  const std::vector<uint8_t>* bytes;
};

bool read_memory(void* context, uint64_t offset, void* destination, uint64_t count) {
  memcpy(destination, static_cast<MemoryReader*>(context)->bytes->data() + offset, count);
  return true;
}

Span<uint8_t> take_memory(Opened* opened, uint64_t bytes) {
  opened->memory.emplace_back(size_t(bytes));
  return {opened->memory.back().data(), size_t(bytes)};
}

}  // namespace

Opened open_source(const Source& source, const OpenWith& how) {
  Opened o;
  uint64_t bytes = 0;
  const auto steps = [&]() -> Status {
    INGOT_TRY(measure_head(source, &bytes, &o.detail));
    INGOT_TRY(
        read_head(source, bytes ? take_memory(&o, bytes) : Span<uint8_t>(), &o.file, &o.detail));
    if (how.hashes) INGOT_TRY(check_all_hashes(source, o.file, &o.detail));
    INGOT_TRY(measure_program(o.file, contract_table(), &bytes, &o.detail));
    INGOT_TRY(
        open_program(o.file, contract_table(), take_memory(&o, bytes), &o.program, &o.detail));
    if (!how.bind) return {};
    std::vector<int64_t> values = how.symbol_values;
    if (values.empty())
      for (size_t i = 0; i < o.program.free_symbols; i++)
        values.push_back(o.program.symbols[i].low);
    return bind_program(o.program, {values.data(), values.size()},
                        take_memory(&o, binding_bytes(o.program)), &o.bound, &o.detail);
  };
  o.status = steps();
  return o;
}

Opened open_bytes(const std::vector<uint8_t>& bytes, const OpenWith& how) {
  MemoryReader reader{&bytes};
  Source source;
  ErrorDetail detail;
  AlignedBytes aligned(bytes.size());
  if (how.as_memory) {
    if (!bytes.empty()) memcpy(aligned.data(), bytes.data(), bytes.size());
    (void)source_from_memory(aligned.data(), bytes.size(), &source, &detail);
  } else {
    (void)source_from_reader(bytes.size(), read_memory, &reader, &source, &detail);
  }
  Opened opened = open_source(source, how);
  if (how.as_memory) opened.memory.push_back(std::move(aligned));
  return opened;
}

void rehash(std::vector<uint8_t>* bytes) {
  uint8_t* p = bytes->data();
  const uint32_t parts = load_little<uint32_t>(p + 28);
  for (uint32_t i = 0; i < parts; i++) {
    uint8_t* entry = p + kHeaderFixedBytes + i * kPartEntryBytes;
    const uint64_t offset = load_little<uint64_t>(entry + 8),
                   count = load_little<uint64_t>(entry + 16);
    if (offset <= bytes->size() && count <= bytes->size() - offset)
      sha256(p + offset, count, entry + 32);
  }
  memset(p + 32, 0, kSha256Bytes);
  sha256(p, load_little<uint32_t>(p + 12), p + 32);
}

convert::ConstantBytes pattern_bytes(uint64_t count, uint8_t seed) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(count);
  // small numbers in every dtype
  for (uint64_t i = 0; i < count; i++) (*bytes)[i] = uint8_t((i * 7 + seed) % 61);
  return {bytes, nullptr};
}

convert::ValueSpec activation(const std::string& name, std::vector<Dim> dims, DType dtype) {
  convert::ValueSpec v;
  v.name = name;
  v.dims = std::move(dims);
  v.dtype = dtype;
  return v;
}

convert::ValueSpec input(const std::string& name, std::vector<Dim> dims, DType dtype) {
  convert::ValueSpec v = activation(name, std::move(dims), dtype);
  v.kind = ValueKind::kInput;
  return v;
}

convert::ValueSpec output(const std::string& name, std::vector<Dim> dims, DType dtype) {
  convert::ValueSpec v = activation(name, std::move(dims), dtype);
  v.kind = ValueKind::kOutput;
  return v;
}

convert::ValueSpec constant(const std::string& name, std::vector<Dim> dims, Packing packing,
                            DType dtype) {
  convert::ValueSpec v = activation(name, std::move(dims), dtype);
  v.kind = ValueKind::kConstant;
  v.packing = packing;
  TensorType type;
  type.dtype = dtype;
  type.packing = packing;
  type.rank = uint8_t(v.dims.size());
  for (size_t i = 0; i < v.dims.size(); i++) type.dims[i] = v.dims[i];
  type.row_stride = type.row_length();
  uint64_t bytes = 0;
  if (!storage_bytes(type, &bytes)) bytes = 0;
  v.bytes = pattern_bytes(bytes, uint8_t(name.empty() ? 1 : name[0]));
  return v;
}

convert::ValueSpec view_of(convert::ValueSpec value, int32_t of, Dim offset, Dim row_stride) {
  value.alias = AliasKind::kView;
  value.alias_of = of;
  value.alias_offset = offset;
  value.row_stride = row_stride;
  return value;
}

convert::ValueSpec in_place_of(convert::ValueSpec value, int32_t of) {
  value.alias = AliasKind::kInPlace;
  value.alias_of = of;
  return value;
}

ElementwiseAttributes step(ElementwiseOp op, uint8_t a, uint8_t b) {
  ElementwiseAttributes attributes;
  attributes.step_count = 1;
  attributes.steps[0] = {op, a, b, 0, 0.5f, 2.0f};
  return attributes;
}

void add_ports(convert::FileSpec* spec) {
  for (size_t i = 0; i < spec->program.values.size(); i++) {
    const convert::ValueSpec& v = spec->program.values[i];
    if (v.kind == ValueKind::kInput) spec->program.inputs.push_back({v.name, int32_t(i), "", {}});
    if (v.kind == ValueKind::kOutput)
      spec->program.outputs.push_back({v.name, int32_t(i), "NHWC", {"1", "n"}});
  }
}

convert::FileSpec small_network() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {1, 4, 4, 3}));
  const int32_t w = p.add_value(constant("w", {16, 3, 3, 3}, Packing::kPanels16));
  const int32_t b = p.add_value(constant("b", {16}, Packing::kVector16));
  const int32_t c = p.add_value(activation("c", {1, 4, 4, 16}));
  const int32_t r = p.add_value(in_place_of(activation("r", {1, 4, 4, 16}), c));
  const int32_t flat = p.add_value(view_of(activation("flat", {16, 16}), r));
  const int32_t l = p.add_value(constant("l", {4, 16}, Packing::kPanels16));
  const int32_t l2 = p.add_value(constant("l", {4, 16}, Packing::kPanels16));
  const int32_t h = p.add_value(activation("h", {16, 4}));
  const int32_t g = p.add_value(activation("g", {16, 4}));
  const int32_t y = p.add_value(output("y", {16, 4}));
  Conv2dAttributes conv;
  conv.kernel_h = conv.kernel_w = 3;
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 1;
  p.add_instruction(conv, {x, w, b}, {c}).sources = {0};
  p.add_instruction(step(ElementwiseOp::kRelu), {c}, {r}).sources = {1};
  p.add_instruction(LinearAttributes(), {flat, l}, {h});
  p.add_instruction(LinearAttributes(), {flat, l2}, {g});
  p.add_instruction(step(ElementwiseOp::kAdd), {h, g}, {y});
  add_ports(&file);
  file.metadata.name = "small";
  file.metadata.source_nodes = {{"conv", "Conv", "c"}, {"relu", "Relu", "r"}};
  file.metadata.entries = {{"key", "value"}};
  file.goldens = {{{{"x", DType::kF32, {1, 4, 4, 3}, std::vector<uint8_t>(192)}},
                   {{"y", DType::kF32, {16, 4}, std::vector<uint8_t>(256)}},
                   1e-4,
                   1e-5}};
  return file;
}

convert::FileSpec branching_network() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const Dim n = p.add_symbol("N", 1, 64);
  const Dim half = p.add_dim_expr(DimOp::kFloorDiv, p.add_dim_expr(DimOp::kAdd, n, 1), 2);
  const int32_t x = p.add_value(input("x", {n, 8}));
  const int32_t flag = p.add_value(input("flag", {}, DType::kBool));
  const int32_t both = p.add_value(activation("both", {n, 16}));
  const int32_t left = p.add_value(view_of(activation("left", {n, 8}), both, 0, 16));
  const int32_t right = p.add_value(view_of(activation("right", {n, 8}), both, 8, 16));
  const int32_t chosen = p.add_value(activation("chosen", {n, 16}));
  const int32_t y = p.add_value(output("y", {half, 16}));
  p.subprograms.push_back({"then", {}});
  p.subprograms.push_back({"else", {}});
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {left});
  p.add_instruction(step(ElementwiseOp::kNeg), {x}, {right});
  p.add_instruction(IfAttributes{1, 2}, {flag}, {chosen});
  p.add_instruction(CopyAttributes(), {both}, {chosen}, 1);
  p.add_instruction(step(ElementwiseOp::kTanh), {both}, {chosen}, 2);
  SliceAttributes slice;
  slice.rank = 2;
  slice.starts[0] = p.add_dim_expr(DimOp::kSub, n, half);
  p.add_instruction(slice, {chosen}, {y});
  add_ports(&file);
  return file;
}

}  // namespace ingot::test
