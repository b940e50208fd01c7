// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/call.h - one operator while it is translated: typed access to its options and
// tensors, and what it gives.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/import/tflite/translator.h"

namespace ingot::tflite {

struct OperatorRow;

class Call {
 public:
  /// How quantized tensors are read: as bytes of the graph, as the numbers that they stand for, or
  /// as the integers of the file, whatever their scales are.
  enum class Reads { kBytes, kFloats, kIntegers };
  Call(Translator& translator, Scope& scope, const fb::Operator& op, const OperatorRow& row,
       Options options, Reads reads = Reads::kBytes);

  Translator& translator;
  Network& net;
  aten::Builder& b;
  Scope& scope;
  const fb::Operator& op;
  const OperatorRow& row;
  graph::SourceNode source;
  std::vector<Slot> outputs;

  // Tensors. What an operator does not read of its inputs is refused at the end.
  size_t input_count() const { return op.inputs() ? op.inputs()->size() : 0; }
  size_t output_count() const { return op.outputs() ? op.outputs()->size() : 0; }
  bool has(size_t i) const;
  ValueId input(size_t i);
  Slot& slot(size_t i);
  const fb::Tensor& tensor(size_t i) const;
  const fb::Tensor& output_tensor(size_t i) const;
  int64_t tensor_index(size_t i) const;
  /// Of what is given; of what is quantized, the bytes or the numbers.
  DType output_dtype(size_t i) const;
  /// None of what is no tensor of bytes with one scale.
  std::optional<QuantParams> quant_params(size_t i) const {
    return quant_params_of(translator.file(), tensor(i));
  }
  std::optional<QuantParams> output_quant_params(size_t i) const {
    return quant_params_of(translator.file(), output_tensor(i));
  }
  /// The same, or numbers of int16 with one scale.
  std::optional<QuantParams> quantized(size_t i) const { return numbers_of(tensor(i)); }
  std::optional<QuantParams> output_quantized(size_t i) const {
    return numbers_of(output_tensor(i));
  }
  /// Whose integers: kLitert, kBuiltin or kTflm.
  importer::ExactTo exact_to() const { return translator.exact_to(); }
  bool as_xnnpack() const { return exact_to() == importer::ExactTo::kLitert; }
  bool as_micro() const { return exact_to() == importer::ExactTo::kTflm; }
  Limits limits(const RealRange& range, const QuantParams& y) const {
    return as_xnnpack() && !y.is_int16 ? limits_of_xnnpack(range, y) : limits_of_kernels(range, y);
  }
  void mark_read(size_t i) { read_.insert(i); }
  bool reads_floats() const { return reads_ == Reads::kFloats; }
  /// Set by an operator of floats that computes in integers.
  bool on_bytes = false;
  /// The element of an input that stands for zero: of bytes their zero point.
  double zero_of(size_t i) const;
  int64_t rank(size_t i) { return b.rank(input(i)); }
  void expect_rank(size_t i, int64_t wanted);
  void expect_inputs(size_t least, size_t most) const;
  /// Whole numbers that are known while converting. @throws Refused where only the run knows them.
  std::vector<int64_t> known_integers(size_t i, const char* what);
  int64_t known_integer(size_t i, const char* what);
  double known_number(size_t i, const char* what);
  /// The same where dimensions may be among them.
  graph::Dims known_dims(size_t i, const char* what);
  /// An axis counted from the front.
  int64_t axis(int64_t given, int64_t rank) const;

  // Options.
  int64_t integer(const char* name) { return options_.integer(name); }
  bool offers(const char* name) const { return options_.offers(name); }
  bool flag(const char* name) { return options_.integer(name) != 0; }
  double number(const char* name) { return options_.number(name); }
  std::vector<int64_t> integers(const char* name) { return options_.integers(name); }
  std::vector<double> numbers(const char* name) { return options_.numbers(name); }
  std::string text(const char* name) { return options_.text(name); }
  bool is_complex(size_t i) const { return tensor(i).type() == fb::TensorType::complex64; }
  /// The extents as the file has them: those of complex numbers without that of their two parts.
  graph::Dims dims(size_t i);
  /// The input with these extents instead; parts of complex numbers stay together.
  ValueId reshaped(size_t i, graph::Dims dims);
  /// The real parts (`which` 0) or the imaginary ones (1).
  ValueId part_of_complex(size_t i, int64_t which);
  bool is_given(const char* name) { return options_.has(name); }
  void refuse_unread() const;

  // What it becomes.
  void give(ValueId value) { outputs = {Slot{value, false, ""}}; }
  void give_all(const std::vector<ValueId>& values);
  /// `x` behind the function that the option names.
  ValueId activated(ValueId x);
  ValueId activated(ValueId x, int64_t function) const;
  // Images have the channels last; ours are turned around each operator that wants them second,
  // and passes take that away.
  ValueId channels_second(ValueId x);
  ValueId channels_last(ValueId x);

  [[noreturn]] void refuse(const std::string& attribute, const std::string& why,
                           const std::string& hint = "") const {
    throw layers::Refused{attribute, why, hint};
  }
  [[noreturn]] void corrupt(const std::string& why) const;

 private:
  std::optional<QuantParams> numbers_of(const fb::Tensor& t) const {
    const auto bytes = quant_params_of(translator.file(), t);
    return bytes ? bytes : int16_quant_params_of(translator.file(), t);
  }

  Options options_;
  Reads reads_;
  std::set<size_t> read_;
};

/// How many inputs an operator has, and the function that translates it.
struct Translation {
  size_t fewest = 0, most = SIZE_MAX;
  void (*translate)(Call&) = nullptr;
};
/// On bytes that stand for numbers. False, with nothing given: there is no arithmetic for these,
/// and they become numbers before and bytes behind.
using TranslateQuantized = bool (*)(Call&);
struct OperatorRow {
  int code = 0;
  const char* name = "";
  int options = 0;      // number of its kind of options; 0: none
  bool second = false;  // of the second union
  Translation translation = {};
};
/// By builtin code, or of a custom one by name; null for what there is none of. `translate` is null
/// where the operator is not supported.
const OperatorRow* find_operator(const OperatorKind& kind);
std::string operator_name(const OperatorKind& kind);

/// `most` of what is found; behind it zeros. lower_generate.cpp
ValueId filled_up(Call& call, ValueId found, int64_t most);

using TranslateTable = std::map<std::string, Translation>;
const TranslateTable& translate_table();
// One per family, in lower_<family>.cpp.
void add_declared(TranslateTable& table);
void add_convolution(TranslateTable& table);
void add_pool(TranslateTable& table);
void add_product(TranslateTable& table);
void add_elementwise(TranslateTable& table);
void add_normalize(TranslateTable& table);
void add_reduce(TranslateTable& table);
void add_shape(TranslateTable& table);
void add_slice(TranslateTable& table);
void add_gather(TranslateTable& table);
void add_arrange(TranslateTable& table);
void add_generate(TranslateTable& table);
void add_resize(TranslateTable& table);
void add_spectral(TranslateTable& table);
void add_signal(TranslateTable& table);
void add_signal_streams(TranslateTable& table);
void add_recurrent(TranslateTable& table);
void add_control(TranslateTable& table);
void add_detection(TranslateTable& table);
void add_landmarks(TranslateTable& table);
void add_variables(TranslateTable& table);

/// Operators that LiteRT computes on the integers of the file, whatever their scales say: fills,
/// places, signs, quotients that are rounded down.
bool ignores_scales(const std::string& name);  // lower_quantized_movement.cpp

/// Operators that move integers, whatever their scales say, and those whose tensors have one scale.
const std::set<std::string>& moves_of_any_scale();  // lower_quantized_movement.cpp
const std::set<std::string>& moves_of_one_scale();

using QuantizedTable = std::map<std::string, TranslateQuantized>;
const QuantizedTable& quantized_table();
/// On numbers of int16: what is not in it is refused.
const QuantizedTable& int16_table();
void add_int16(QuantizedTable& table);  // lower_int16.cpp
void add_quantized_products(QuantizedTable& table);
void add_int16_products(QuantizedTable& table);
// One per family, in lower_quantized_<family>.cpp.
void add_quantized_arithmetic(QuantizedTable& table);
void add_quantized_binary(QuantizedTable& table);  // of bytes and of int16, as are the next two
void add_quantized_functions(QuantizedTable& table);
void add_quantized_reduce(QuantizedTable& table);
void add_quantized_transposed(QuantizedTable& table);
void add_quantized_resize(QuantizedTable& table);
void add_quantized_recurrent(QuantizedTable& table);
void add_int8_binary(QuantizedTable& table);   // of bytes
void add_int16_binary(QuantizedTable& table);  // of int16
void add_quantized_normalize(QuantizedTable& table);
void add_recurrent_int16(QuantizedTable& table);
void add_quantized_wide(QuantizedTable& table);
/// QUANTIZE from or to int16 and int32. lower_quantized_wide.cpp
bool requantize_wide(Call& call);
/// A product of two tensors of int16 that the run computes. lower_quantized_wide.cpp
bool multiply_int16(Call& call);
/// FULLY_CONNECTED whose weights are int16 too; `rows` is its input. lower_quantized_wide.cpp
bool connect_int16(Call& call, ValueId rows, const RealRange& range);
/// Of int16 where the image grows. lower_quantized_resize.cpp
bool resize_bilinear_int16(Call& call);
void add_quantized_movement(QuantizedTable& table);

}  // namespace ingot::tflite
