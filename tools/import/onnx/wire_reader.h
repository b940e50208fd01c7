// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/wire_reader.h - protobuf fields whose wire types are checked; protozero itself
// only asserts them.
#pragma once
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "tools/import/onnx/wire.h"

namespace ingot::onnx {

/// A file that is no valid protobuf of an ONNX model; parse_model makes a ConversionError of it.
struct WireError {
  std::string what;
};

class WireReader {
 public:
  explicit WireReader(Text bytes) : reader_(bytes.data(), bytes.size()) {}
  bool next() { return reader_.next(); }
  uint32_t tag() const { return reader_.tag(); }
  void skip() { reader_.skip(); }

  Text bytes(const char* field) {
    expect(protozero::pbf_wire_type::length_delimited, field);
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  int64_t integer(const char* field) {
    expect(protozero::pbf_wire_type::varint, field);
    return reader_.get_int64();
  }
  float number(const char* field) {
    expect(protozero::pbf_wire_type::fixed32, field);
    return reader_.get_float();
  }
  /// Appends a repeated field, packed or not.
  template <class T>
  void integers(std::vector<T>* out, const char* field) {
    if (reader_.wire_type() == protozero::pbf_wire_type::varint) {
      out->push_back(T(reader_.get_int64()));
      return;
    }
    expect(protozero::pbf_wire_type::length_delimited, field);
    for (const int64_t value : reader_.get_packed_int64()) out->push_back(T(value));
  }
  template <class T>
  void fixed(std::vector<T>* out, const char* field) {
    constexpr auto kSingle =
        sizeof(T) == 4 ? protozero::pbf_wire_type::fixed32 : protozero::pbf_wire_type::fixed64;
    if (reader_.wire_type() == kSingle) {
      if constexpr (sizeof(T) == 4)
        out->push_back(reader_.get_float());
      else
        out->push_back(reader_.get_double());
      return;
    }
    const Text packed = bytes(field);
    if (packed.size() % sizeof(T) != 0)
      throw WireError{std::string(field) + " is no whole number of elements"};
    const size_t old = out->size();
    out->resize(old + packed.size() / sizeof(T));
    if (!packed.empty()) std::memcpy(out->data() + old, packed.data(), packed.size());
  }

 private:
  void expect(protozero::pbf_wire_type type, const char* field) {
    if (reader_.wire_type() != type)
      throw WireError{std::string(field) + " has the wrong wire type"};
  }
  protozero::pbf_reader reader_;
};

}  // namespace ingot::onnx
