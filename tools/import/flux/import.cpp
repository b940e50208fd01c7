// SPDX-License-Identifier: Apache-2.0
// tools/import/flux/import.cpp - layers of Flux, from version 0.8 (Tracker) on, one by one.
#include "tools/import/flux/import.h"

#include <algorithm>

#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/flux/fields.h"
#include "tools/import/flux/lambda.h"
#include "tools/import/layers/network.h"

namespace ingot::flux {
namespace {

using checkpoint::JuliaId;
using checkpoint::JuliaKind;
using checkpoint::JuliaNode;
using checkpoint::JuliaTree;
using checkpoint::kNoJulia;
using graph::Dim;
using graph::Dims;
using graph::ValueId;
using layers::Network;
using layers::Refused;
using layers::Weight;

constexpr int kMaxDepth = 64;

bool is_layer(const std::string& type) {
  static const char* const kKinds[] = {"Chain", "Dense", "Conv", "SkipConnection", "Parallel",
                                       "LSTM",  "GRU",   "RNN",  "Embedding"};
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const char* kind) { return type == std::string("Flux.") + kind; });
}

/// The one layer below the root that everything else belongs to.
JuliaId find_model(const JuliaTree& tree) {
  std::vector<JuliaId> found;
  for (const JuliaId item : tree.at(tree.root).items)
    if (is_layer(tree.type_name(item)) || tree.short_type(item) == "Chain") found.push_back(item);
  return found.size() == 1 ? found[0] : kNoJulia;
}

class Importer {
 public:
  Importer(const JuliaTree& tree, const importer::ImportOptions& options)
      : tree_(tree), net_(tree.file, "flux", options), b_(net_.b) {}

  graph::Model run() {
    const JuliaId model = find_model(tree_);
    if (model == kNoJulia)
      graph::fail_unsupported(
          tree_.file, "holds no Chain, or several; save one: BSON.@save \"NAME.bson\" model");
    const ValueId x = make_input(model);
    const ValueId y = layer(model, x, "model", 0);
    fields_.refuse_unread(&b_.unsupported);
    return net_.finish({{"y", y}});
  }

 private:
  // The input, as the first layer that says something about it wants it.
  ValueId make_input(JuliaId model) {
    std::vector<int64_t> dims;
    std::vector<std::string> symbols;
    DType dtype = DType::kF32;
    const JuliaId first = first_layer(model, 0);
    const std::string kind = first == kNoJulia ? "" : tree_.short_type(first);
    if (kind == "Dense") {
      dims = {-1, weight_of(first, "weight", "W", 0).dims[0]};
      symbols = {"N", ""};
    } else if (kind == "Conv" || kind == "CrossCor") {
      const Weight w = weight_of(first, "weight", "W", 1);
      const int64_t groups = integer(tree_.field(first, "groups", 6), 1);
      if (w.dims.size() < 3)
        graph::fail_corrupt(tree_.file, "a kernel of rank " + std::to_string(w.dims.size()));
      dims.assign(w.dims.size(), -1);
      dims[1] = w.dims[1] * groups;
      symbols = {"N", "", "H", "W"};
      if (w.dims.size() == 3) symbols = {"N", "", "T"};
      if (w.dims.size() == 5) symbols = {"N", "", "D", "H", "W"};
      symbols.resize(dims.size());
    } else if (kind == "LSTM" || kind == "GRU" || kind == "RNN") {
      const JuliaId cell = tree_.field(first, "cell", 0);
      if (cell == kNoJulia) graph::fail_corrupt(tree_.file, "a recurrent layer without a cell");
      dims = {-1, -1, weight_of(cell, "Wi", "Wi", kind == "RNN" ? 1 : 0).dims[0]};
      symbols = {"N", "T", ""};
    } else if (kind == "Embedding") {
      dims = {-1, -1};
      symbols = {"N", "T"};
      dtype = DType::kI32;
    } else {
      const auto& given = options().input_shapes;
      const auto found = given.find("x");
      if (found == given.end())
        graph::fail_mismatch(tree_.file,
                             "no layer tells the shape of the input; give it as it "
                             "lies in memory, slowest first: --input-shape "
                             "x=1x3x224x224");
      dims.assign(found->second.size(), -1);
      for (size_t i = 0; i < dims.size(); i++)
        symbols.push_back(i == 0 ? "N" : "x_dim" + std::to_string(i));
    }
    return net_.input("x", dtype, dims, symbols);
  }
  const importer::ImportOptions& options() const { return net_.options(); }

  JuliaId first_layer(JuliaId id, int depth) const {
    if (id == kNoJulia || depth > kMaxDepth) return kNoJulia;
    const std::string type = tree_.short_type(id);
    if (type == "Chain") {
      const JuliaId all = tree_.field(id, "layers", 0);
      if (all == kNoJulia) return kNoJulia;
      for (const JuliaId item : tree_.at(all).items) {
        const std::string kind = tree_.short_type(item);
        if (kind == "Dropout" || kind == "BatchNorm" || kind == "MaxPool" || kind == "MeanPool")
          continue;  // keep what says nothing for later
        return first_layer(item, depth + 1);
      }
    }
    if (type == "SkipConnection") return first_layer(tree_.field(id, "layers", 0), depth + 1);
    if (type == "Parallel") {
      const JuliaId all = tree_.field(id, "layers", 1);
      return all == kNoJulia || tree_.at(all).items.empty()
                 ? kNoJulia
                 : first_layer(tree_.at(all).items[0], depth + 1);
    }
    return id;
  }

  // Values of the file. What is read of a layer is noted (fields.h).
  JuliaId field(JuliaId id, const char* name, size_t position) const {
    return fields_.read(id, name, position);
  }
  bool says_nothing(JuliaId id) const { return fields_.says_nothing(id); }
  JuliaId unwrapped(JuliaId id) const {
    return id != kNoJulia && tree_.short_type(id) == "TrackedArray" ? tree_.field(id, "data", 1)
                                                                    : id;
  }
  JuliaId named(JuliaId id, const char* name, const char* old_name, size_t position) const {
    const JuliaId found = field(id, name, position);
    return unwrapped(found == kNoJulia ? field(id, old_name, position) : found);
  }
  bool has_array(JuliaId id) const {
    return id != kNoJulia && tree_.at(id).kind == JuliaKind::kArray;
  }
  Weight array(JuliaId id, const char* what) {
    if (!has_array(id))
      graph::fail_corrupt(
          tree_.file, where_ + ": its " + what + " is no array of numbers; the file is damaged");
    checkpoint::Tensor turned = *tree_.at(id).tensor;
    std::reverse(turned.dims.begin(), turned.dims.end());
    std::reverse(turned.strides.begin(), turned.strides.end());
    return net_.weight(turned);
  }
  /// With its extents turned around: a matrix (out, in) becomes [in, out].
  Weight weight_of(JuliaId id, const char* name, const char* old_name, size_t position) {
    return array(named(id, name, old_name, position), name);
  }
  int64_t integer(JuliaId id, int64_t otherwise) const {
    if (says_nothing(id)) return otherwise;
    if (tree_.at(id).kind != JuliaKind::kInteger)
      refuse("has what is no whole number where one is expected");
    return tree_.at(id).integer;
  }
  double number(JuliaId id, double otherwise) const {
    if (says_nothing(id)) return otherwise;
    const JuliaNode& node = tree_.at(id);
    if (node.kind != JuliaKind::kFloat && node.kind != JuliaKind::kInteger)
      refuse("has what is no number where one is expected");
    return node.kind == JuliaKind::kFloat ? node.number : double(node.integer);
  }
  /// Whether there is one; anything but an array that says something is refused.
  bool has_bias(JuliaId id) const {
    if (!has_array(id) && !says_nothing(id)) refuse("its bias is no array of numbers");
    return has_array(id);
  }
  std::vector<int64_t> integers(JuliaId id) const {
    std::vector<int64_t> out;
    if (id == kNoJulia) return out;
    for (const JuliaId item : tree_.at(id).items) out.push_back(integer(item, 0));
    return out;
  }
  [[noreturn]] void refuse(const std::string& why, const std::string& hint = "") const {
    throw Refused{"", why, hint};
  }

  /// Applied to every element, but for softmax, which takes Julia's first dimension: our last.
  ValueId function(const std::string& name, ValueId x) {
    const std::string plain = layers::plain_name(name);
    if (plain == "flatten") return flatten(x);
    if (plain == "\xcf\x83" || plain == "sigmoidfast")
      return net_.activation(x, "sigmoid", b_.rank(x) - 1);
    if (plain == "tanhfast") return net_.activation(x, "tanh", b_.rank(x) - 1);
    if (plain == "gelu") return net_.activation(x, "gelutanh", b_.rank(x) - 1);
    if (plain == "leakyrelu") return net_.activation(x, "leakyrelu001", b_.rank(x) - 1);
    if (plain == "log\xcf\x83") return net_.activation(x, "logsigmoid", b_.rank(x) - 1);
    return net_.activation(x, plain, b_.rank(x) - 1);
  }
  ValueId flatten(ValueId x) {
    Dim rest(1);
    for (int64_t d = 1; d < b_.rank(x); d++) rest = rest * b_.dims(x)[size_t(d)];
    return b_.reshape(x, Dims{b_.dims(x)[0], rest});
  }
  /// A function as a value of the file: named, or anonymous.
  ValueId apply(JuliaId id, ValueId x) {
    if (id == kNoJulia || tree_.at(id).kind == JuliaKind::kNothing) return x;
    const std::string name = tree_.function_name(id);
    if (!name.empty()) return function(name, x);
    const JuliaNode& node = tree_.at(id);
    if (node.kind != JuliaKind::kStruct || node.type == kNoJulia ||
        !tree_.at(node.type).text.empty())
      refuse("'" + tree_.type_name(id) + "' is no function that is known");
    const Lambda lambda = read_lambda(tree_, node.type);
    if (!lambda.known)
      refuse(
          "is the anonymous function '" + lambda.name + "', which is never executed: " + lambda.why,
          "replace it by standard layers and functions and save again");
    b_.note("the anonymous function '" + lambda.name +
            "' is read as the functions that its saved code names");
    std::vector<ValueId> values = {x};
    for (const LambdaStep& step : lambda.steps) values.push_back(lambda_step(step, values));
    return values.back();
  }
  ValueId lambda_step(const LambdaStep& step, const std::vector<ValueId>& values) {
    static const std::pair<const char*, graph::Operator> kBinary[] = {
        {"+", op::Add}, {"-", op::Sub}, {"*", op::Mul}, {"/", op::Div}};
    std::vector<ValueId> operands;
    size_t number = 0;
    for (const int operand : step.operands)
      operands.push_back(operand < 0 ? net_.scalar(double(float(step.numbers[number++])))
                                     : values[size_t(operand)]);
    if (operands.size() == 1 && step.numbers.empty()) return function(step.function, operands[0]);
    for (const auto& [name, op] : kBinary)
      if (step.function == name && operands.size() == 2) return b_.emit(op, operands);
    refuse("an anonymous function calls '" + step.function + "' with " +
           std::to_string(operands.size()) + " arguments, which is not built");
  }

  ValueId layer(JuliaId id, ValueId x, const std::string& name, int depth) {
    if (depth > kMaxDepth)
      graph::fail_corrupt(tree_.file,
                          "layers nest more than " + std::to_string(kMaxDepth) + " deep");
    const std::string kind = tree_.short_type(id);
    if (kind == "Chain" || kind == "SkipConnection" || kind == "Parallel")
      return container(id, kind, x, name, depth);
    where_ = name;
    fields_.begin(id, name);
    const std::string said = !kind.empty() && kind[0] != '#'   ? kind
                             : tree_.function_name(id).empty() ? "anonymous function"
                                                               : tree_.function_name(id);
    b_.begin_node({name, said, name});
    try {
      if (x == graph::kAbsent) {  // what stands before it was refused: still look at what it is
        if (!known(id, kind)) refuse("the layer is not supported");
        return graph::kAbsent;
      }
      const ValueId y = single(id, kind, x);
      b_.name(y, name);
      return y;
    } catch (const Refused& why) {
      b_.unsupported.push_back({said, why.argument, name, "", why.why, why.hint});
    } catch (const aten::Reported&) {
    } catch (graph::ConversionError& error) {
      if (error.begin != tree_.file) error.add_place(said + " '" + name + "'");
      throw;
    }
    return graph::kAbsent;
  }
  bool known(JuliaId id, const std::string& kind) const {
    static const char* const kKinds[] = {
        "Dense",         "Conv",      "CrossCor",  "MaxPool",  "MeanPool", "GlobalMeanPool",
        "GlobalMaxPool", "BatchNorm", "LayerNorm", "Scale",    "Dropout",  "AlphaDropout",
        "LSTM",          "GRU",       "RNN",       "Embedding"};
    return kind.empty() || kind[0] == '#' || !tree_.function_name(id).empty() ||
           std::any_of(std::begin(kKinds), std::end(kKinds),
                       [&](const char* k) { return kind == k; });
  }
  ValueId container(JuliaId id, const std::string& kind, ValueId x, const std::string& name,
                    int depth) {
    if (kind == "Chain") {
      const JuliaId all = field(id, "layers", 0);
      if (all == kNoJulia) return x;
      const JuliaNode& layers = tree_.at(all);
      for (size_t i = 0; i < layers.items.size(); i++)
        x = layer(layers.items[i], x,
                  name + "." + (i < layers.names.size() ? layers.names[i] : std::to_string(i + 1)),
                  depth + 1);
      return x;
    }
    const bool skip = kind == "SkipConnection";
    const JuliaId inner = field(id, "layers", skip ? 0 : 1),
                  how = field(id, "connection", skip ? 1 : 0);
    std::vector<ValueId> values;
    if (skip) {
      values = {layer(inner, x, name + ".layers", depth + 1), x};
    } else if (inner != kNoJulia) {
      const JuliaNode& layers = tree_.at(inner);
      for (size_t i = 0; i < layers.items.size(); i++)
        values.push_back(layer(
            layers.items[i], x,
            name + ".layers." + (i < layers.names.size() ? layers.names[i] : std::to_string(i + 1)),
            depth + 1));
    }
    where_ = name;
    b_.begin_node({name, kind, name});
    try {
      return joined(how, values);
    } catch (const Refused& why) {
      b_.unsupported.push_back({kind, "connection", name, "", why.why, why.hint});
    } catch (const aten::Reported&) {
    }
    return graph::kAbsent;
  }
  ValueId joined(JuliaId how, const std::vector<ValueId>& values) {
    const std::string function = how == kNoJulia ? "" : tree_.function_name(how);
    const bool known_function =
        function == "+" || function == "*" || function == "vcat" || function == "hcat";
    if (!known_function)
      refuse("'" + (function.empty() ? std::string("an anonymous function") : function) +
             "' does not join what is known: built are + * vcat");
    for (const ValueId value : values)
      if (value == graph::kAbsent) return graph::kAbsent;
    if (values.empty()) refuse("joins nothing");
    if (function == "hcat") refuse("'hcat' is not built");
    if (function == "vcat")
      return b_.emit(op::Concat, values, {{attr::axis, b_.rank(values[0]) - 1}});
    ValueId out = values[0];
    for (size_t i = 1; i < values.size(); i++)
      out = b_.emit(function == "+" ? op::Add : op::Mul, {out, values[i]});
    return out;
  }

  ValueId single(JuliaId id, const std::string& kind, ValueId x) {
    if (kind == "Dense") return dense(id, x);
    if (kind == "Conv" || kind == "CrossCor") return convolution(id, kind == "CrossCor", x);
    if (kind == "MaxPool" || kind == "MeanPool") return pool(id, kind == "MaxPool", x);
    if (kind == "GlobalMeanPool" || kind == "GlobalMaxPool")
      return global_pool(kind == "GlobalMeanPool", x);
    if (kind == "BatchNorm") return batch_norm(id, x);
    if (kind == "LayerNorm") return layer_norm(id, x);
    if (kind == "Scale") return scale(id, x);
    if (kind == "Dropout" || kind == "AlphaDropout") {
      net_.said_inference(kind);
      return x;
    }
    if (kind == "LSTM" || kind == "GRU" || kind == "RNN") return recurrent(id, kind, x);
    if (kind == "Embedding")
      return b_.emit(op::Gather,
                     {net_.constant(weight_of(id, "weight", "weight", 0)),
                      b_.emit(op::Sub, {x, b_.scalar(b_.dtype(x), 1)})},
                     {{attr::axis, int64_t(0)}});
    if (!known(id, kind)) refuse("the layer is not supported");
    return apply(id, x);
  }

  ValueId dense(JuliaId id, ValueId x) {
    const Weight w = weight_of(id, "weight", "W", 0);
    if (w.dims.size() != 2) graph::fail_corrupt(tree_.file, where_ + ": its weight is no matrix");
    ValueId y = b_.emit(op::MatMul, {x, net_.constant(w)});
    const JuliaId bias = named(id, "bias", "b", 1);
    if (has_bias(bias)) y = b_.emit(op::Add, {y, net_.constant(array(bias, "bias"))});
    return apply(field(id, "σ", 2), y);
  }
  ValueId scale(JuliaId id, ValueId x) {
    ValueId y = b_.emit(op::Mul, {x, net_.constant(weight_of(id, "scale", "α", 0))});
    const JuliaId bias = named(id, "bias", "β", 1);
    if (has_bias(bias)) y = b_.emit(op::Add, {y, net_.constant(array(bias, "bias"))});
    return apply(field(id, "σ", 2), y);
  }

  /// Julia's (columns, rows) as ours (rows, columns); pads of one number per axis or two.
  struct Window {
    std::vector<int64_t> strides, dilations, pads;
  };
  Window window(JuliaId stride, JuliaId pad, JuliaId dilation, size_t spatial) {
    Window w;
    w.strides = integers(stride);
    w.dilations = dilation == kNoJulia ? std::vector<int64_t>(spatial, 1) : integers(dilation);
    std::vector<int64_t> pads = integers(pad);
    if (pads.size() == spatial) {
      std::vector<int64_t> both;
      for (const int64_t p : pads) both.insert(both.end(), {p, p});
      pads = both;
    }
    if (w.strides.size() != spatial || w.dilations.size() != spatial || pads.size() != 2 * spatial)
      graph::fail_corrupt(
          tree_.file,
          where_ + ": its window has another rank than its kernel; the file is damaged");
    std::reverse(w.strides.begin(), w.strides.end());
    std::reverse(w.dilations.begin(), w.dilations.end());
    for (size_t side = 0; side < 2; side++)
      for (size_t i = spatial; i-- > 0;) w.pads.push_back(pads[2 * i + side]);
    for (const std::vector<int64_t>* list : {&w.strides, &w.dilations, &w.pads})
      for (const int64_t n : *list)
        if (n < (list == &w.pads ? 0 : 1) || n > (1 << 24))
          graph::fail_corrupt(tree_.file,
                              where_ + ": its window has an extent of " + std::to_string(n));
    return w;
  }
  ValueId convolution(JuliaId id, bool correlation, ValueId x) {
    const JuliaId kernel = named(id, "weight", "W", 1);
    if (!has_array(kernel) || tree_.at(kernel).tensor->dims.size() < 3)
      graph::fail_corrupt(tree_.file, where_ + ": its weight is no kernel");
    const Weight w = net_.weight(checkpoint::turned_kernel(*tree_.at(kernel).tensor, correlation));
    const size_t spatial = w.dims.size() - 2;
    const Window at =
        window(field(id, "stride", 3), field(id, "pad", 4), field(id, "dilation", 5), spatial);
    std::vector<ValueId> inputs = {x, net_.constant(w)};
    const JuliaId bias = named(id, "bias", "b", 2);
    if (has_bias(bias)) inputs.push_back(net_.constant(array(bias, "bias")));
    const ValueId y =
        b_.emit(op::Conv, inputs,
                {{attr::kernel_shape, std::vector<int64_t>(w.dims.begin() + 2, w.dims.end())},
                 {attr::strides, at.strides},
                 {attr::dilations, at.dilations},
                 {attr::pads, at.pads},
                 {attr::auto_pad, std::string("NOTSET")},
                 {attr::group, integer(field(id, "groups", 6), 1)}});
    return apply(field(id, "σ", 0), y);
  }
  ValueId pool(JuliaId id, bool most, ValueId x) {
    std::vector<int64_t> size = integers(field(id, "k", 0));
    const Window at = window(field(id, "stride", 2), field(id, "pad", 1), kNoJulia, size.size());
    std::reverse(size.begin(), size.end());
    aten::Attributes attributes = {{attr::kernel_shape, size},
                                   {attr::strides, at.strides},
                                   {attr::dilations, at.dilations},
                                   {attr::pads, at.pads},
                                   {attr::auto_pad, std::string("NOTSET")},
                                   {attr::ceil_mode, int64_t(0)}};
    if (!most) attributes[attr::count_include_pad] = int64_t(1);
    return b_.emit(most ? op::MaxPool : op::AveragePool, {x}, std::move(attributes));
  }
  ValueId global_pool(bool mean, ValueId x) {
    std::vector<int64_t> axes;
    for (int64_t d = 2; d < b_.rank(x); d++) axes.push_back(d);
    return b_.reduce(mean ? op::ReduceMean : op::ReduceMax, x, axes, true);
  }
  ValueId batch_norm(JuliaId id, ValueId x) {
    net_.said_inference("BatchNorm");
    const Weight mean = weight_of(id, "μ", "μ", 3), variance = weight_of(id, "σ²", "σ²", 4);
    const JuliaId beta = unwrapped(field(id, "β", 1)), gamma = unwrapped(field(id, "γ", 2));
    const Weight ones{mean.dims, std::vector<float>(mean.values.size(), 1)},
        zeros{mean.dims, std::vector<float>(mean.values.size(), 0)};
    // Julia's channels stand second to last, ours second; a matrix (channels, batch) is [batch,
    // channels] as well.
    const ValueId y = b_.emit(op::BatchNormalization,
                              {x, net_.constant(has_bias(gamma) ? array(gamma, "γ") : ones),
                               net_.constant(has_bias(beta) ? array(beta, "β") : zeros),
                               net_.constant(mean), net_.constant(variance)},
                              {{attr::epsilon, double(float(number(field(id, "ϵ", 5), 1e-5)))}});
    return apply(field(id, "λ", 0), y);
  }
  /// (x - mean) / (sqrt(variance) + epsilon) over the first dimensions, as Flux has it, then the
  /// affine part.
  ValueId layer_norm(JuliaId id, ValueId x) {
    const std::vector<int64_t> size = integers(field(id, "size", 3));
    if (size.empty() || int64_t(size.size()) > b_.rank(x)) refuse("its size is not known");
    const Dims in = b_.dims(x);
    for (size_t i = 0; i < size.size(); i++)
      if (const Dim& extent = in[in.size() - 1 - i]; extent.is_static() && extent != Dim(size[i]))
        graph::fail_corrupt(tree_.file, where_ + ": normalizes an extent of " +
                                            std::to_string(size[i]) + ", its input has " +
                                            extent.text());
    std::vector<int64_t> axes;
    for (int64_t d = b_.rank(x) - int64_t(size.size()); d < b_.rank(x); d++) axes.push_back(d);
    const ValueId centred = b_.emit(op::Sub, {x, b_.reduce(op::ReduceMean, x, axes, true)});
    const ValueId variance =
        b_.reduce(op::ReduceMean, b_.emit(op::Mul, {centred, centred}), axes, true);
    const double epsilon = number(field(id, "ϵ", 2), 1e-5);
    ValueId y = b_.emit(
        op::Div,
        {centred,
         b_.emit(op::Sqrt,
                 {b_.emit(op::Add, {variance, net_.scalar(double(float(epsilon * epsilon)))})})});
    const JuliaId affine = field(id, "diag", 1);
    if (tree_.short_type(affine) == "Scale") y = scale(affine, y);
    return apply(field(id, "λ", 0), y);
  }

  ValueId recurrent(JuliaId id, const std::string& kind, ValueId x) {
    const JuliaId at = field(id, "cell", 0);
    if (at == kNoJulia || tree_.short_type(at) != kind + "Cell")
      refuse("its cell is no " + kind + "Cell");
    const size_t first = kind == "RNN" ? 1 : 0;
    const Weight input = weight_of(at, "Wi", "Wi", first),
                 state = weight_of(at, "Wh", "Wh", first + 1);
    if (input.dims.size() != 2 || state.dims.size() != 2)
      graph::fail_corrupt(tree_.file, where_ + ": its weights are no matrices");
    layers::Recurrent cell;
    cell.op = graph::find_operator(kind);
    cell.hidden = state.dims[0];
    const int64_t gates = kind == "LSTM" ? 4 : kind == "GRU" ? 3 : 1;
    if (state.dims[1] != gates * cell.hidden || input.dims[1] != gates * cell.hidden)
      graph::fail_corrupt(tree_.file,
                          where_ + ": its weights do not fit each other; the file is damaged");
    // LSTM i f c o to i o f c; GRU r z h to z r h.
    const std::vector<size_t> order = kind == "LSTM"  ? std::vector<size_t>{0, 3, 1, 2}
                                      : kind == "GRU" ? std::vector<size_t>{1, 0, 2}
                                                      : std::vector<size_t>{0};
    layers::append_gates(input, cell.hidden, order, &cell.input.values);
    layers::append_gates(state, cell.hidden, order, &cell.state.values);
    cell.input.dims = {1, gates * cell.hidden, input.dims[0]};
    cell.state.dims = {1, gates * cell.hidden, cell.hidden};
    const JuliaId bias = named(at, "bias", "b", first + 2);
    if (has_bias(bias)) {
      const Weight values = array(bias, "bias");
      if (int64_t(values.values.size()) != gates * cell.hidden)
        graph::fail_corrupt(tree_.file, where_ + ": its bias does not fit");
      layers::append_bias(values.values.data(), cell.hidden, order, &cell.bias.values);
      layers::append_bias(nullptr, cell.hidden, order, &cell.bias.values);
      cell.bias.dims = {1, 2 * gates * cell.hidden};
    }
    cell.linear_before_reset = kind == "GRU";
    std::vector<std::string> functions = {"tanh"};
    if (kind == "LSTM") functions = {"sigmoid", "tanh", "tanh"};
    if (kind == "GRU") functions = {"sigmoid", "tanh"};
    if (kind == "RNN") functions = {layers::plain_name(tree_.function_name(field(at, "σ", 0)))};
    for (const std::string& name : functions) {
      const layers::CellActivation found = layers::cell_activation(name);
      if (found.name.empty())
        refuse("the function '" + name + "' is not built inside of a recurrent layer");
      cell.activations.push_back(found.name);
      cell.alphas.push_back(found.alpha);
      cell.betas.push_back(found.beta);
    }
    if (b_.rank(x) != 3)
      refuse("its input has " + std::to_string(b_.rank(x)) +
             " dimensions, expected features, steps and batch");
    const ValueId y = net_.recurrent(cell, b_.transpose(x, {1, 0, 2}))[0];
    const Dims dims = b_.dims(y);
    return b_.transpose(b_.reshape(y, Dims{dims[0], dims[2], dims[3]}), {1, 0, 2});
  }

  const JuliaTree& tree_;
  Network net_;
  aten::Builder& b_;
  std::string where_ = "the first layer";
  mutable Fields fields_{tree_};
};

checkpoint::JuliaTree read_tree(const importer::OpenedFile& file) {
  return file.kind == host::FileKind::kBson ? checkpoint::read_bson(file.path, {})
                                            : checkpoint::read_jld2(file.path, {});
}

}  // namespace

bool is_flux_model(const importer::OpenedFile& file) {
  try {
    return (file.kind == host::FileKind::kBson ||
            (file.kind == host::FileKind::kHdf5 && checkpoint::is_jld2(file.path))) &&
           find_model(read_tree(file)) != kNoJulia;
  } catch (const host::Failure&) {
    return false;
  }
}

graph::Model import_flux_tree(const checkpoint::JuliaTree& tree,
                              const importer::ImportOptions& options) {
  return importer::with_errors_of(tree.file, [&] {
    try {
      return Importer(tree, options).run();
    } catch (const Refused& why) {
      graph::fail_unsupported(tree.file, why.why);
    }
  });
}

graph::Model import_flux(const importer::OpenedFile& file, const importer::ImportOptions& options) {
  return import_flux_tree(read_tree(file), options);
}

}  // namespace ingot::flux
