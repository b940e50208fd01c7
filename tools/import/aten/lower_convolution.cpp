// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_convolution.cpp - convolutions in all their spellings.
#include "runtime/base/checked_math.h"
#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

struct Window {
  std::vector<int64_t> strides, dilations, pads;  // pads: all begins, then all ends
};

/// "same" pads the odd one at the end.
std::vector<int64_t> named_pads(Operands& o, const std::string& padding, const Dims& weight,
                                const Window& w) {
  const size_t rank = w.strides.size();
  std::vector<int64_t> pads(rank * 2, 0);
  if (padding == "valid") return pads;
  if (padding != "same") o.refuse("padding", "'" + padding + "' is not known");
  for (size_t i = 0; i < rank; i++) {
    const auto kernel = weight[i + 2].value();
    if (!kernel) o.refuse("weight", "has a symbolic shape");
    int64_t total = 0;
    if (!checked_mul(w.dilations[i], *kernel - 1, &total))
      o.corrupt("its dilation is " + std::to_string(w.dilations[i]));
    pads[i] = total / 2;
    pads[i + rank] = total - total / 2;
  }
  return pads;
}

/// Without a batch dimension, one is added and taken away again.
Results convolved(Operands& o, graph::Operator op, const Attributes& attributes, size_t spatial) {
  ValueId x = o.read("input");
  const bool batched = o.b.rank(x) == int64_t(spatial) + 2;
  if (!batched) {
    Dims dims = o.b.dims(x);
    dims.insert(dims.begin(), Dim(1));
    x = o.b.reshape(x, dims);
  }
  std::vector<ValueId> inputs = {x, o.read("weight")};
  if (o.given("bias")) inputs.push_back(o.read("bias"));
  const ValueId made = o.b.emit(op, inputs, attributes);
  if (batched) return o.result(made);
  const Dims dims = o.b.dims(made);
  return o.result(o.b.reshape(made, Dims(dims.begin() + 1, dims.end())));
}

Results convolve(Operands& o) {
  const Dims weight = o.b.dims(o.read("weight"));
  if (weight.size() < 3) o.corrupt("its weight has shape " + graph::text(weight));
  const size_t rank = weight.size() - 2;
  const int64_t in = o.b.rank(o.read("input"));
  if (in != int64_t(rank) + 1 && in != int64_t(rank) + 2)
    o.corrupt("its input has shape " + graph::text(o.b.dims(o.read("input"))) + ", its weight " +
              graph::text(weight));
  Window w;
  w.strides = o.integers("stride", rank);
  w.dilations = o.integers("dilation", rank);
  if (o.value("padding").is(Value::Kind::kString)) {
    w.pads = named_pads(o, o.text("padding"), weight, w);
  } else {
    w.pads = o.integers("padding", rank);
    w.pads.insert(w.pads.end(), w.pads.begin(), w.pads.begin() + int64_t(rank));
  }
  Attributes attributes = {{attr::strides, w.strides},
                           {attr::dilations, w.dilations},
                           {attr::pads, w.pads},
                           {attr::group, o.integer("groups")}};
  const bool transposed =
      o.op().rfind("conv_transpose", 0) == 0 || (o.has("transposed") && o.flag("transposed"));
  if (transposed) attributes[attr::output_padding] = o.integers("output_padding", rank);
  return convolved(o, transposed ? op::ConvTranspose : op::Conv, attributes, rank);
}

}  // namespace

void add_convolutions(Table& table) {
  const std::string head = "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, ";
  for (const char* name : {"conv1d", "conv2d", "conv3d"}) {
    table.add(name, head + "int[] padding=0, int[] dilation=1, int groups=1", convolve);
    table.add(std::string(name) + ".padding",
              head + "str padding='valid', int[] dilation=1, int groups=1", convolve);
  }
  table.add_all("conv_transpose1d conv_transpose2d.input conv_transpose3d.input",
                head + "int[] padding=0, int[] output_padding=0, int groups=1, int[] dilation=1",
                convolve);
  const std::string general =
      "Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
      "bool transposed, int[] "
      "output_padding, int groups";
  table.add("convolution", general, convolve);
  table.add(
      "_convolution",
      general + ", bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32=True",
      convolve);
  table.add("_convolution_mode",
            "Tensor input, Tensor weight, Tensor? bias, int[] stride, str padding, int[] dilation, "
            "int groups",
            convolve);
}

}  // namespace ingot::aten
