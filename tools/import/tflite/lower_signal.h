// tools/import/tflite/lower_signal.h - the audio front end of TFLite Micro: whole numbers of i64,
// whatever type the file says. What lower_signal.cpp and its transform share.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tools/import/tflite/flex_map.h"
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {

/// Options of an operator; finish() refuses those that nothing asked for.
class SignalOptions {
 public:
  explicit SignalOptions(Call& c) : call(c) {
    const auto* bytes = call.op.custom_options();
    auto read = bytes ? FlexMap::read(bytes->data(), bytes->size()) : std::nullopt;
    if (!read) call.corrupt("its options are no map of FlexBuffers");
    map = *read;
    (void)map.number("T");  // the type of its tensors
  }
  int64_t whole(const char* name, int64_t least, int64_t most) {
    const auto found = map.number(name);
    if (!found || *found != std::floor(*found) || *found < double(least) || *found > double(most))
      call.corrupt(std::string("its option ") + name +
                   (found ? " is " + std::to_string(*found) + ", expected " +
                                std::to_string(least) + " to " + std::to_string(most)
                          : " is missing or no number"));
    return int64_t(*found);
  }
  void finish() const {
    for (const std::string& name : map.unread())
      call.refuse(name, "is an option that is not known");
  }

 private:
  Call& call;
  FlexMap map;
};

/// The last dimension of `x`, which the conversion has to know.
inline int64_t last_extent(Call& call, ValueId x) {
  const graph::Dims dims = call.b.dims(x);
  const auto extent = dims.empty() ? std::nullopt : dims.back().value();
  constexpr int64_t kMax = 1 << 16;
  if (!extent || *extent < 1 || *extent > kMax)
    call.refuse("", "its input has shape " + graph::text(dims) +
                        ", expected a last dimension of 1 to " + std::to_string(kMax));
  return *extent;
}

/// The outputs, in the types that the file says.
inline void give_numbers(Call& call, const std::vector<ValueId>& values) {
  std::vector<ValueId> all;
  for (size_t i = 0; i < values.size(); i++)
    all.push_back(call.b.cast(values[i], call.output_dtype(i)));
  call.give_all(all);
}

/// Of what an operator keeps from run to run, by what it gives. @throws where it gives nothing.
inline std::string kept_key(const Call& call, const char* name) {
  (void)call.output_tensor(0);
  return std::string(name) + "\n" + std::to_string(call.scope.index) + "/" +
         std::to_string(call.op.outputs()->Get(0));
}

/// [rows, length] of 16 bits -> [rows, length + 2], real and imaginary parts in turns. `length` is
/// a power of two, at least 2.
ValueId fixed_real_transform(Call& call, ValueId x, const graph::Dim& rows, int64_t length);

}  // namespace ingot::tflite
