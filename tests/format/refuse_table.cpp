// SPDX-License-Identifier: Apache-2.0
#include "tests/format/refuse_table.h"

#include <cstring>
#include <stdexcept>

#include "ingot_schema/ingot_generated.h"
#include "runtime/base/byte_order.h"
#include "tools/compile/write/program_encoder.h"

namespace ingot::test {
namespace {

/// Constants whose type was changed get bytes again, where the type has a size at all.
void refit_constants(ProgramSpec* p) {
  for (convert::ValueSpec& v : p->values)
    if (v.kind == ValueKind::kConstant && v.bytes.held) {
      const uint64_t need = convert::constant_bytes(v);
      if (v.bytes.held->size() != need) v.bytes = pattern_bytes(need, 3);
    }
}

}  // namespace

std::string RefuseCase::file_name() const {
  return kind + "/e" + std::to_string(int(code)) + "_" + base + "_" + name + ".ingot";
}

void RefuseTable::base(const char* name, convert::FileSpec (*make)()) {
  const Finish finish = finish_;
  bases.push_back({name, [make, finish] { return finish ? finish(make()) : make(); }});
}

void RefuseTable::spec_of(const char* name, std::function<void(ProgramSpec&)> change, Code code) {
  const AcceptedBase base = bases.back();
  cases.push_back({kind_, base.name, name, code, [base, change] {
                     convert::FileSpec file = base.make();
                     change(file.program);
                     refit_constants(&file.program);
                     return convert::write_memory(file);
                   }});
}

void RefuseTable::dims(const char* name, size_t value, std::initializer_list<Dim> to) {
  spec_of(name,
          [value, dims = std::vector<Dim>(to)](ProgramSpec& p) { p.values.at(value).dims = dims; });
}

void RefuseTable::dtype(const char* name, size_t value, DType dtype) {
  spec_of(name, [value, dtype](ProgramSpec& p) { p.values.at(value).dtype = dtype; });
}

void RefuseTable::bytes(const char* name, void (*change)(Bytes&), Code code) {
  const AcceptedBase base = bases.back();
  cases.push_back({kind_, base.name, name, code, [base, change] {
                     Bytes bytes = convert::write_memory(base.make());
                     change(bytes);
                     rehash(&bytes);
                     return bytes;
                   }});
}

void RefuseTable::stale(const char* name, void (*change)(Bytes&), Code code) {
  const AcceptedBase base = bases.back();
  cases.push_back({kind_, base.name, name, code, [base, change] {
                     Bytes bytes = convert::write_memory(base.make());
                     change(bytes);
                     return bytes;
                   }});
}

namespace {

uint8_t* program_part(Bytes* bytes) {
  return bytes->data() + load_little<uint64_t>(bytes->data() + kHeaderFixedBytes + 8);
}
flatbuffers::Table* as_table(const void* table) {
  return static_cast<flatbuffers::Table*>(const_cast<void*>(table));
}
void must(bool done) {
  if (!done) throw std::logic_error("the field is not in the file");
}

}  // namespace

void set_value_field(Bytes* bytes, uint32_t value, ValueField field, uint64_t to) {
  flatbuffers::Table* table = as_table(fb::GetProgram(program_part(bytes))->values()->Get(value));
  switch (field) {
    case ValueField::kKind:
      return must(table->SetField<uint8_t>(fb::Value::VT_KIND, uint8_t(to), 0));
    case ValueField::kPacking:
      return must(table->SetField<uint8_t>(fb::Value::VT_PACKING, uint8_t(to), 0));
    case ValueField::kSegment:
      return must(table->SetField<uint32_t>(fb::Value::VT_SEGMENT, uint32_t(to), 0xffffffffu));
    case ValueField::kSegmentOffset:
      return must(table->SetField<uint64_t>(fb::Value::VT_SEGMENT_OFFSET, to, ~uint64_t{0}));
  }
}

void set_dim(Bytes* bytes, uint32_t value, uint32_t dim, int64_t to) {
  const auto* dims = fb::GetProgram(program_part(bytes))->values()->Get(value)->dims();
  memcpy(const_cast<uint8_t*>(dims->Data()) + dim * sizeof to, &to, sizeof to);
}

void shift_dims(Bytes* bytes, uint32_t value) {
  flatbuffers::Table* table = as_table(fb::GetProgram(program_part(bytes))->values()->Get(value));
  uint8_t* field = table->GetAddressOf(fb::Value::VT_DIMS);
  must(field != nullptr);
  store_little<uint32_t>(field, load_little<uint32_t>(field) + 4);
}

void set_operator(Bytes* bytes, uint32_t instruction, uint8_t to) {
  const auto* i =
      fb::GetProgram(program_part(bytes))->subprograms()->Get(0)->instructions()->Get(instruction);
  must(as_table(i)->SetField<uint8_t>(fb::Instruction::VT_ATTRIBUTES_TYPE, to, 77));
}

convert::FileSpec one_instruction(convert::Attributes attributes,
                                  std::vector<convert::ValueSpec> inputs,
                                  std::vector<convert::ValueSpec> outputs) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  std::vector<int32_t> in, out;
  for (convert::ValueSpec& v : inputs) in.push_back(file.program.add_value(std::move(v)));
  for (convert::ValueSpec& v : outputs) out.push_back(file.program.add_value(std::move(v)));
  file.program.add_instruction(std::move(attributes), in, out);
  add_ports(&file);
  return file;
}

RefuseTable refuse_table_of(RefuseTable::Finish finish) {
  RefuseTable t(std::move(finish));
  t.kind("products");
  add_product_cases(&t);
  t.kind("maps");
  add_map_cases(&t);
  t.kind("movement");
  add_movement_cases(&t);
  t.kind("values");
  add_value_cases(&t);
  t.kind("aliases");
  add_alias_cases(&t);
  t.kind("control");
  add_control_cases(&t);
  t.kind("data_dependent");
  add_data_dependent_cases(&t);
  t.kind("images");
  add_image_cases(&t);
  t.kind("quantized");
  add_quantized_cases(&t);
  t.kind("files");
  add_file_cases(&t);
  return t;
}

const RefuseTable& refuse_table() {
  static const RefuseTable table = refuse_table_of(nullptr);
  return table;
}

}  // namespace ingot::test
