// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/wire.cpp - field numbers of onnx.proto (IR version 11).
#include "tools/import/onnx/wire.h"

#include <string>

#include "tools/files/mapped_pages.h"
#include "tools/files/spill_file.h"
#include "tools/graph/graph.h"
#include "tools/import/onnx/ort_format.h"
#include "tools/import/onnx/wire_reader.h"

namespace ingot::onnx {
namespace {

constexpr int kMaxDepth = 32;  // graphs inside attributes of nodes of graphs
constexpr size_t kMaxMessages =
    4u << 20;  // nodes, attributes, tensors, values: the structs are larger than their bytes

struct Parser {
  size_t messages = 0;
  void count() {
    if (++messages > kMaxMessages)
      throw WireError{"more than " + std::to_string(kMaxMessages) +
                      " nodes, attributes and values"};
  }

  Entry entry(Text bytes) {
    count();
    Entry out;
    WireReader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1: out.key = in.bytes("StringStringEntryProto.key"); break;
        case 2: out.value = in.bytes("StringStringEntryProto.value"); break;
        default: in.skip();
      }
    }
    return out;
  }
  OpsetImport opset(Text bytes) {
    count();
    OpsetImport out;
    WireReader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1: out.domain = in.bytes("OperatorSetIdProto.domain"); break;
        case 2: out.version = in.integer("OperatorSetIdProto.version"); break;
        default: in.skip();
      }
    }
    return out;
  }
  Tensor tensor(Text bytes) {
    count();
    Tensor out;
    WireReader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1: in.integers(&out.dims, "TensorProto.dims"); break;
        case 2: out.data_type = int32_t(in.integer("TensorProto.data_type")); break;
        case 3:
          out.has_segment = true;
          in.skip();
          break;
        case 4: in.fixed(&out.floats, "TensorProto.float_data"); break;
        case 5: in.integers(&out.int32s, "TensorProto.int32_data"); break;
        case 7: in.integers(&out.int64s, "TensorProto.int64_data"); break;
        case 8:
          out.own_name = std::make_shared<const std::string>(in.bytes("TensorProto.name"));
          out.name = *out.own_name;
          break;
        case 9:
          out.raw = in.bytes("TensorProto.raw_data");
          out.has_raw = true;
          break;
        case 10: in.fixed(&out.doubles, "TensorProto.double_data"); break;
        case 11: in.integers(&out.uint64s, "TensorProto.uint64_data"); break;
        case 13: out.external_data.push_back(entry(in.bytes("TensorProto.external_data"))); break;
        case 14: out.external = in.integer("TensorProto.data_location") == 1; break;
        default: in.skip();
      }
    }
    // a fault brings in the pages around it: of small weights all of them
    host::note_touched(bytes.size());
    return out;
  }
  SparseTensor sparse(Text bytes) {
    count();
    SparseTensor out;
    WireReader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1: out.values = tensor(in.bytes("SparseTensorProto.values")); break;
        case 2: out.indices = tensor(in.bytes("SparseTensorProto.indices")); break;
        case 3: in.integers(&out.dims, "SparseTensorProto.dims"); break;
        default: in.skip();
      }
    }
    return out;
  }
  void dimension(Text bytes, ValueInfo* out) {
    count();
    Dimension d;
    WireReader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1:
          d.value = in.integer("Dimension.dim_value");
          d.has_value = true;
          break;
        case 2: d.symbol = in.bytes("Dimension.dim_param"); break;
        default: in.skip();
      }
    }
    out->dims.push_back(d);
  }
  void tensor_type(Text bytes, ValueInfo* out) {
    out->is_tensor = true;
    WireReader in(bytes);
    while (in.next()) {
      switch (in.tag()) {
        case 1: out->element_type = int32_t(in.integer("TypeProto.Tensor.elem_type")); break;
        case 2: {
          out->has_shape = true;
          WireReader shape(in.bytes("TypeProto.Tensor.shape"));
          while (shape.next()) {
            if (shape.tag() == 1)
              dimension(shape.bytes("TensorShapeProto.dim"), out);
            else
              shape.skip();
          }
          break;
        }
        default: in.skip();
      }
    }
  }
  ValueInfo value_info(Text bytes) {
    count();
    ValueInfo out;
    WireReader in(bytes);
    while (in.next()) {
      if (in.tag() == 1) {
        out.name = in.bytes("ValueInfoProto.name");
      } else if (in.tag() == 2) {
        out.has_type = true;
        WireReader type(in.bytes("ValueInfoProto.type"));
        while (type.next()) {
          switch (type.tag()) {
            case 1:
              out.kind = "tensor";
              tensor_type(type.bytes("TypeProto.tensor_type"), &out);
              break;
            case 4:
              out.kind = "sequence";
              type.skip();
              break;
            case 5:
              out.kind = "map";
              type.skip();
              break;
            case 8:
              out.kind = "sparse tensor";
              type.skip();
              break;
            case 9:
              out.kind = "optional";
              type.skip();
              break;
            default: type.skip();
          }
        }
      } else {
        in.skip();
      }
    }
    return out;
  }
  Attribute attribute(Text bytes, int depth);
  Node node(Text bytes, int depth);
  Graph graph(Text bytes, int depth);
  Function function(Text bytes);
  Model model(Text bytes);
};

Attribute Parser::attribute(Text bytes, int depth) {
  count();
  Attribute out;
  int32_t seen = kAttributeUndefined;  // files of IR version 1 and 2 lack the type
  WireReader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1: out.name = in.bytes("AttributeProto.name"); break;
      case 2:
        out.f = in.number("AttributeProto.f");
        seen = kAttributeFloat;
        break;
      case 3:
        out.i = in.integer("AttributeProto.i");
        seen = kAttributeInt;
        break;
      case 4:
        out.s = in.bytes("AttributeProto.s");
        seen = kAttributeString;
        break;
      case 5:
        out.tensor = std::make_shared<Tensor>(tensor(in.bytes("AttributeProto.t")));
        seen = kAttributeTensor;
        break;
      case 6:
        out.graph = std::make_shared<Graph>(graph(in.bytes("AttributeProto.g"), depth + 1));
        seen = kAttributeGraph;
        break;
      case 7:
        in.fixed(&out.floats, "AttributeProto.floats");
        seen = kAttributeFloats;
        break;
      case 8:
        in.integers(&out.ints, "AttributeProto.ints");
        seen = kAttributeInts;
        break;
      case 9:
        count();
        out.strings.push_back(in.bytes("AttributeProto.strings"));
        seen = kAttributeStrings;
        break;
      case 20: out.type = int32_t(in.integer("AttributeProto.type")); break;
      case 21: out.reference = in.bytes("AttributeProto.ref_attr_name"); break;
      case 22:
        out.sparse =
            std::make_shared<SparseTensor>(sparse(in.bytes("AttributeProto.sparse_tensor")));
        seen = kAttributeSparse;
        break;
      default: in.skip();
    }
  }
  if (out.type == kAttributeUndefined) out.type = seen;
  return out;
}

Node Parser::node(Text bytes, int depth) {
  count();
  Node out;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        count();
        out.inputs.push_back(in.bytes("NodeProto.input"));
        break;
      case 2:
        count();
        out.outputs.push_back(in.bytes("NodeProto.output"));
        break;
      case 3: out.name = in.bytes("NodeProto.name"); break;
      case 4: out.op = in.bytes("NodeProto.op_type"); break;
      case 5: out.attributes.push_back(attribute(in.bytes("NodeProto.attribute"), depth)); break;
      case 7: out.domain = in.bytes("NodeProto.domain"); break;
      case 8: out.overload = in.bytes("NodeProto.overload"); break;
      case 9: {
        const Entry fact = entry(in.bytes("NodeProto.metadata_props"));
        if (fact.key == "pkg.torch.onnx.name_scopes") out.module_scopes = fact.value;
        break;
      }
      default: in.skip();
    }
  }
  if (out.op.empty()) throw WireError{"a node without op_type"};
  return out;
}

Graph Parser::graph(Text bytes, int depth) {
  count();
  if (depth > kMaxDepth)
    throw WireError{"graphs are nested deeper than " + std::to_string(kMaxDepth)};
  Graph out;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1: out.nodes.push_back(node(in.bytes("GraphProto.node"), depth)); break;
      case 2: out.name = in.bytes("GraphProto.name"); break;
      case 5: out.initializers.push_back(tensor(in.bytes("GraphProto.initializer"))); break;
      case 11: out.inputs.push_back(value_info(in.bytes("GraphProto.input"))); break;
      case 12: out.outputs.push_back(value_info(in.bytes("GraphProto.output"))); break;
      case 13: out.value_infos.push_back(value_info(in.bytes("GraphProto.value_info"))); break;
      case 15:
        out.sparse_initializers.push_back(sparse(in.bytes("GraphProto.sparse_initializer")));
        break;
      default: in.skip();
    }
  }
  return out;
}

Function Parser::function(Text bytes) {
  count();
  Function out;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1: out.name = in.bytes("FunctionProto.name"); break;
      case 4:
        count();
        out.inputs.push_back(in.bytes("FunctionProto.input"));
        break;
      case 5:
        count();
        out.outputs.push_back(in.bytes("FunctionProto.output"));
        break;
      case 6:
        count();
        out.attributes.push_back(in.bytes("FunctionProto.attribute"));
        break;
      case 7: out.nodes.push_back(node(in.bytes("FunctionProto.node"), 0)); break;
      case 9: out.opsets.push_back(opset(in.bytes("FunctionProto.opset_import"))); break;
      case 10: out.domain = in.bytes("FunctionProto.domain"); break;
      case 11:
        out.defaults.push_back(attribute(in.bytes("FunctionProto.attribute_proto"), 0));
        break;
      case 13: out.overload = in.bytes("FunctionProto.overload"); break;
      default: in.skip();
    }
  }
  return out;
}

Model Parser::model(Text bytes) {
  Model out;
  WireReader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1: out.ir_version = in.integer("ModelProto.ir_version"); break;
      case 2: out.producer_name = in.bytes("ModelProto.producer_name"); break;
      case 3: out.producer_version = in.bytes("ModelProto.producer_version"); break;
      case 4: out.domain = in.bytes("ModelProto.domain"); break;
      case 5: out.model_version = in.integer("ModelProto.model_version"); break;
      case 6: out.doc = in.bytes("ModelProto.doc_string"); break;
      case 7:
        out.graph = graph(in.bytes("ModelProto.graph"), 0);
        out.has_graph = true;
        break;
      case 8: out.opsets.push_back(opset(in.bytes("ModelProto.opset_import"))); break;
      case 14: out.metadata.push_back(entry(in.bytes("ModelProto.metadata_props"))); break;
      case 25: out.functions.push_back(function(in.bytes("ModelProto.functions"))); break;
      default: in.skip();
    }
  }
  return out;
}

}  // namespace

Model parse_model(Text bytes, const std::string& source) {
  if (is_ort_format(bytes)) return parse_ort_format(bytes, source);
  std::string problem;
  try {
    Model model = Parser().model(bytes);
    host::forget_mapped_pages();  // what stands before each weight has been read
    if (model.has_graph) return model;
    problem = "it holds no graph";
  } catch (const WireError& error) {
    problem = error.what;
  } catch (const protozero::end_of_buffer_exception&) {
    problem =
        "a field passes the end of the file (" + std::to_string(bytes.size()) + " B); truncated?";
  } catch (const protozero::exception& error) {
    problem = std::string("bad protobuf (") + error.what() + ")";
  }
  graph::fail_corrupt(source, "no valid ONNX model: " + problem);
}

}  // namespace ingot::onnx
