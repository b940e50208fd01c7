// SPDX-License-Identifier: Apache-2.0
// tests/support/onnx_writer.h - small ONNX models made in memory, right or wrong: a protobuf writer
// and the few messages on top of it.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ingot::test {

class Proto {
 public:
  std::string bytes;
  Proto& varint(int field, uint64_t value) {
    return raw_varint(uint64_t(field) << 3).raw_varint(value);
  }
  Proto& text(int field, const std::string& value) {
    raw_varint(uint64_t(field) << 3 | 2).raw_varint(value.size());
    bytes += value;
    return *this;
  }
  Proto& message(int field, const Proto& value) { return text(field, value.bytes); }
  Proto& number(int field, float value) {
    raw_varint(uint64_t(field) << 3 | 5);
    return append(&value, sizeof value);
  }
  template <class T>
  Proto& packed(int field, const std::vector<T>& values) {
    return text(field, std::string(reinterpret_cast<const char*>(values.data()),
                                   values.size() * sizeof(T)));
  }
  Proto& packed_varints(int field, const std::vector<int64_t>& values) {
    Proto inner;
    for (const int64_t v : values) inner.raw_varint(uint64_t(v));
    return text(field, inner.bytes);
  }
  Proto& raw_varint(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes += char(value | 128);
    bytes += char(value);
    return *this;
  }
  Proto& append(const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return *this;
  }
};

/// A dimension of an input: a number, or a name.
struct OnnxDim {
  int64_t value = -1;
  std::string symbol;
  OnnxDim(int n) : value(n) {}                 // NOLINT
  OnnxDim(const char* name) : symbol(name) {}  // NOLINT
};

inline Proto attribute(const std::string& name, int64_t i) {
  return Proto().text(1, name).varint(3, uint64_t(i)).varint(20, 2);
}
inline Proto attribute(const std::string& name, float f) {
  return Proto().text(1, name).number(2, f).varint(20, 1);
}
inline Proto attribute(const std::string& name, const std::string& s) {
  return Proto().text(1, name).text(4, s).varint(20, 3);
}
inline Proto attribute(const std::string& name, const std::vector<int64_t>& ints) {
  Proto out = Proto().text(1, name);
  for (const int64_t v : ints) out.varint(8, uint64_t(v));
  return out.varint(20, 7);
}
inline Proto attribute(const std::string& name, const std::vector<float>& floats) {
  return Proto().text(1, name).packed(7, floats).varint(20, 6);
}
inline Proto graph_attribute(const std::string& name, const Proto& graph) {
  return Proto().text(1, name).message(6, graph).varint(20, 5);
}
inline Proto tensor_attribute(const std::string& name, const Proto& tensor) {
  return Proto().text(1, name).message(5, tensor).varint(20, 4);
}

inline Proto tensor(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<float>& values) {
  return Proto().packed_varints(1, dims).varint(2, 1).packed(4, values).text(8, name);
}
inline Proto tensor(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<int64_t>& values) {
  return Proto().packed_varints(1, dims).varint(2, 7).packed(9, values).text(8, name);
}
inline Proto tensor(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<int32_t>& values) {
  return Proto().packed_varints(1, dims).varint(2, 6).packed(9, values).text(8, name);
}
inline Proto tensor(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<uint8_t>& values) {
  return Proto().packed_varints(1, dims).varint(2, 2).packed(9, values).text(8, name);
}
inline Proto tensor(const std::string& name, const std::vector<int64_t>& dims,
                    const std::vector<int8_t>& values) {
  return Proto().packed_varints(1, dims).varint(2, 3).packed(9, values).text(8, name);
}

inline Proto value_info(const std::string& name, int type, const std::vector<OnnxDim>& dims) {
  Proto shape;
  for (const OnnxDim& d : dims)
    shape.message(
        1, d.symbol.empty() ? Proto().varint(1, uint64_t(d.value)) : Proto().text(2, d.symbol));
  return Proto().text(1, name).message(
      2, Proto().message(1, Proto().varint(1, uint64_t(type)).message(2, shape)));
}

/// GraphProto; `model` wraps it.
class OnnxGraph {
 public:
  Proto proto;
  OnnxGraph& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs,
                  const std::vector<Proto>& attributes = {}, const std::string& domain = "") {
    Proto made;
    for (const std::string& name : inputs) made.text(1, name);
    for (const std::string& name : outputs) made.text(2, name);
    made.text(3, "n" + std::to_string(count_++)).text(4, op);
    for (const Proto& attribute : attributes) made.message(5, attribute);
    if (!domain.empty()) made.text(7, domain);
    proto.message(1, made);
    return *this;
  }
  template <class T>
  OnnxGraph& initializer(const std::string& name, const std::vector<int64_t>& dims,
                         const std::vector<T>& values) {
    proto.message(5, tensor(name, dims, values));
    return *this;
  }
  OnnxGraph& shape_input(const std::string& name, const std::vector<int64_t>& values) {
    return initializer(name, {int64_t(values.size())}, values);
  }
  OnnxGraph& input(const std::string& name, const std::vector<OnnxDim>& dims, int type = 1) {
    proto.message(11, value_info(name, type, dims));
    return *this;
  }
  OnnxGraph& output(const std::string& name) {
    proto.message(12, Proto().text(1, name));
    return *this;
  }
  Proto model(int64_t opset) const {
    return Proto().varint(1, 8).text(2, "test").message(7, proto).message(
        8, Proto().text(1, "").varint(2, uint64_t(opset)));
  }
  std::string bytes(int64_t opset = 13) const { return model(opset).bytes; }

 private:
  int count_ = 0;
};

}  // namespace ingot::test
