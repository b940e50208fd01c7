// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_ml_features.cpp - what stands around models of ai.onnx.ml: scalers,
// encoders, imputers, normalizers, features chosen and joined, and ZipMap.
#include <algorithm>
#include <cmath>

#include "tools/import/onnx/ml_emitter.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {
namespace {

using Integers = std::vector<int64_t>;

ValueId row_of(MlEmitter& ml, const std::vector<double>& all) {
  return all.size() == 1 ? ml.number(all[0]) : ml.floats({int64_t(all.size())}, all);
}

void scaler(Call& call) {
  MlEmitter ml(call);
  ValueId y = ml.cast(call.input(0), DType::kF32);
  if (const auto offset = call.numbers(attr::offset)) y = ml(op::Sub, {y, row_of(ml, *offset)});
  if (const auto scale = call.numbers(attr::scale)) y = ml(op::Mul, {y, row_of(ml, *scale)});
  ml.give(0, y);
}
void normalizer(Call& call) {
  MlEmitter ml(call);
  const std::string norm = call.text("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    return call.refuse("norm", "'" + norm + "', known are MAX, L1 and L2");
  const ValueId x = ml.cast(call.input(0), DType::kF32);
  const ValueId size = norm == "MAX"  ? ml.over(op::ReduceMax, x, -1, true)
                       : norm == "L1" ? ml.over(op::ReduceL1, x, -1, true)
                                      : ml.over(op::ReduceL2, x, -1, true);
  const ValueId is_zero = ml(op::Equal, {size, ml.number(0)});
  ml.give(0, ml(op::Div, {x, ml(op::Where, {is_zero, ml.number(1), size})}));
}
void binarizer(Call& call) {
  MlEmitter ml(call);
  const ValueId limit = ml.number(call.number("threshold", 0));
  const ValueId above = ml(op::Greater, {ml.cast(call.input(0), DType::kF32), limit});
  if (call.wants(0)) call.emit(op::CastLike, {above, call.input(0)}, {call.output(0)});
}
void imputer(Call& call) {
  MlEmitter ml(call);
  const ValueId x = call.input(0);
  const auto whole = call.integers("imputed_value_int64s");
  const auto floats = call.numbers("imputed_value_floats");
  const double replaced = call.number("replaced_value_float", 0);
  const int64_t replaced_whole = call.integer("replaced_value_int64", 0);
  if (whole && !whole->empty()) {
    const ValueId is_missing = ml(op::Equal, {x, ml.integers({}, {replaced_whole})});
    return ml.give(0,
                   ml(op::Where, {is_missing, ml.integers({int64_t(whole->size())}, *whole), x}));
  }
  if (!floats || floats->empty())
    call.translator().corrupt(describe(call.node()) + ": lacks the values that it puts in");
  const ValueId is_missing =
      std::isnan(replaced) ? ml(op::IsNaN, {x}) : ml(op::Equal, {x, ml.number(replaced)});
  ml.give(0, ml(op::Where, {is_missing, row_of(ml, *floats), x}));
}

/// Columns by number. A row of one dimension gives a row of two.
void array_feature_extractor(Call& call) {
  MlEmitter ml(call);
  const ValueId flat =
      ml(op::Reshape, {call.input(1), ml.integers({1}, {-1})}, {{attr::allowzero, int64_t(0)}});
  call.emit(op::ChooseFeatures, {call.input(0), flat}, {call.output(0)});
}
void feature_vectorizer(Call& call) {
  call.integers("inputdimensions");  // the shapes say it
  MlEmitter ml(call);
  std::vector<ValueId> parts;
  for (const ValueId x : call.inputs()) parts.push_back(ml.cast(x, DType::kF32));
  ml.give(0, ml(op::Concat, parts, {{attr::axis, int64_t(1)}}));
}

/// Keys and values of one kind of number; nothing where the file has texts.
struct Mapping {
  graph::Constant keys, values;
};
std::optional<graph::Constant> numbers_named(Call& call, const std::string& stem) {
  if (const auto all = call.integers(stem == "keys" ? "keys_int64s" : "values_int64s");
      all && !all->empty())
    return graph::make_integer(DType::kI64, {int64_t(all->size())}, *all);
  if (const auto all = call.numbers(stem == "keys" ? "keys_floats" : "values_floats");
      all && !all->empty())
    return graph::make_floating(DType::kF32, {int64_t(all->size())}, *all);
  if (const Attribute* given =
          call.attribute(stem == "keys" ? "keys_tensor" : "values_tensor", kAttributeTensor)) {
    try {
      return read_tensor(*given->tensor, stem, call.translator().external());
    } catch (const TensorRefused&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}
void label_encoder(Call& call) {
  MlEmitter ml(call);
  const auto keys = numbers_named(call, "keys"), values = numbers_named(call, "values");
  if (!keys || !values)
    return call.refuse("keys_strings", "text tensors are not supported",
                       "map texts to numbers before the model");
  if (keys->elements() != values->elements() || keys->elements() == 0)
    call.translator().corrupt(describe(call.node()) + ": has " + std::to_string(keys->elements()) +
                              " keys and " + std::to_string(values->elements()) + " values");
  graph::Constant otherwise = graph::make_scalar(
      values->dtype, graph::is_floating(values->dtype) ? call.number("default_float", -0.0)
                                                       : double(call.integer("default_int64", -1)));
  call.number("default_float", 0), call.integer("default_int64", 0);
  call.text("default_string", "");
  if (const Attribute* given = call.attribute("default_tensor", kAttributeTensor)) {
    try {
      otherwise = read_tensor(*given->tensor, "default_tensor", call.translator().external());
    } catch (const TensorRefused& refused) {
      return call.refuse("default_tensor", refused.why);
    }
    if (otherwise.elements() != 1 || otherwise.dtype != values->dtype)
      call.translator().corrupt(describe(call.node()) + ": its default is not one of its values");
    otherwise.dims.clear();
  }
  graph::Constant row = *keys;
  row.dims = {row.elements()};
  graph::Constant chosen = *values;
  chosen.dims = {chosen.elements()};
  const ValueId wide = ml(op::Unsqueeze, {call.input(0)}, {{attr::axes, Integers{-1}}});
  ValueId same = ml(op::Equal, {wide, ml.constant(row)});
  if (graph::is_floating(row.dtype)) {  // NaN as a key is found
    Integers is_nan;
    for (const double key : graph::read_numbers(row)) is_nan.push_back(std::isnan(key));
    if (std::count(is_nan.begin(), is_nan.end(), 1) > 0)
      same = ml(op::Or,
                {same, ml(op::And, {ml(op::IsNaN, {wide}),
                                    ml.integers({int64_t(is_nan.size())}, is_nan, DType::kBool)})});
  }
  const ValueId hits = ml.cast(same, DType::kI32);
  const ValueId place =
      ml(op::ArgMax, {hits}, {{attr::axis, int64_t(-1)}, {attr::keepdims, int64_t(0)}});
  const ValueId found =
      ml(op::Greater, {ml.over(op::ReduceMax, hits, -1, false), ml.integers({}, {0}, DType::kI32)});
  const ValueId value = ml(op::Gather, {ml.constant(chosen), place}, {{attr::axis, int64_t(0)}});
  ml.give(0, ml(op::Where, {found, value, ml.constant(otherwise)}));
}
void one_hot_encoder(Call& call) {
  MlEmitter ml(call);
  const auto classes = call.integers("cats_int64s");
  call.integer("zeros", 1);  // 0: a value of no class is an error there; here a row of zeros
  if (!classes || classes->empty())
    return call.refuse("cats_strings", "text tensors are not supported",
                       "map texts to numbers before the model");
  const ValueId whole = ml.cast(call.input(0), DType::kI64);
  const ValueId wide = ml(op::Unsqueeze, {whole}, {{attr::axes, Integers{-1}}});
  ml.give(0, ml.cast(ml(op::Equal, {wide, ml.integers({int64_t(classes->size())}, *classes)}),
                     DType::kF32));
}

/// A map from labels to scores is the scores, in the order of the labels.
void zip_map(Call& call) {
  std::string labels;
  const auto add = [&](const std::string& label) {
    if (labels.size() < 200) labels += (labels.empty() ? "" : ", ") + label;
  };
  for (const int64_t label : call.integers("classlabels_int64s").value_or(Integers()))
    add(std::to_string(label));
  for (const std::string& label : call.texts("classlabels_strings")) add(label);
  call.note("ZipMap: a tensor of scores in the order of the labels " + labels);
  if (!call.wants(0)) return;
  const ValueId y = call.output(0);
  call.emit(op::Identity, {call.input(0)}, {y});
  call.translator().plain_ports.insert(y);
}

void needs_text(Call& call) {
  call.refuse("", "it maps texts or dictionaries, which are no tensors",
              "map them to numbers before the model");
}

}  // namespace

void add_ml_features(TranslateTable& table) {
  table["Scaler"] = {1, 1, scaler};
  table["Normalizer"] = {1, 1, normalizer};
  table["Binarizer"] = {1, 1, binarizer};
  table["Imputer"] = {1, 1, imputer};
  table["ArrayFeatureExtractor"] = {2, 2, array_feature_extractor};
  table["FeatureVectorizer"] = {1, SIZE_MAX, feature_vectorizer};
  table["LabelEncoder"] = {1, 1, label_encoder};
  table["OneHotEncoder"] = {1, 1, one_hot_encoder};
  table["ZipMap"] = {1, 1, zip_map};
  table["CategoryMapper"] = table["CastMap"] = table["DictVectorizer"] = needs_text;
}

const TranslateTable& ml_table() {
  static const TranslateTable kTable = [] {
    TranslateTable table;
    add_ml_trees(table);
    add_ml_linear(table);
    add_ml_features(table);
    return table;
  }();
  return kTable;
}

}  // namespace ingot::onnx
