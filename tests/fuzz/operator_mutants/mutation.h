// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/operator_mutants/mutation.h - numbers, shapes and types that an operator does not
// expect.
#pragma once
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::mutants {

/// The same numbers for the same mutant, whatever came before it.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t n) { return n ? random_() % n : 0; }
  bool chance(int percent) { return below(100) < uint64_t(percent); }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }
  int64_t number() {
    static constexpr int64_t kUsual[] = {0, 1, 2, 3, 4, -1, 8, 16};
    static constexpr int64_t kStrange[] = {
        INT64_MIN, INT64_MAX, int64_t(1) << 31, int64_t(1) << 40,
        -2,        -3,        INT32_MIN,        int64_t(1) << 20};
    return chance(75) ? one_of(kUsual) : one_of(kStrange);
  }
  double real() {
    static const double kReals[] = {0, 1, -1, 0.5, 1e-5, 1e30, NAN, INFINITY, -INFINITY};
    return one_of(kReals);
  }

 private:
  std::mt19937_64 random_;
};

/// Another shape: cut, longer, of other extents or at random.
inline std::vector<int64_t> wrong_shape(std::vector<int64_t> dims, Dice* dice) {
  const uint64_t how = dice->below(100);
  if (how < 35) {
    dims.resize(dice->below(dims.size() + 1));
  } else if (how < 50) {
    dims.insert(dims.begin() + int64_t(dice->below(dims.size() + 1)), int64_t(dice->below(4)));
  } else if (how < 60 && !dims.empty()) {
    dims.erase(dims.begin() + int64_t(dice->below(dims.size())));
  } else if (how < 85 && !dims.empty()) {
    static constexpr int64_t kExtents[] = {0, 1, 2, 3, 7, 64, 1 << 20, int64_t(1) << 40, -1};
    dims[dice->below(dims.size())] = dice->one_of(kExtents);
  } else {
    dims.resize(dice->below(7));
    for (int64_t& n : dims) n = int64_t(dice->below(5));
  }
  return dims;
}
inline std::vector<int64_t> wrong_numbers(std::vector<int64_t> numbers, Dice* dice) {
  const uint64_t how = dice->below(4);
  if (how == 0) numbers.resize(dice->below(numbers.size() + 3), 1);
  if (numbers.empty()) return numbers;
  for (uint64_t k = 0; k <= dice->below(2); k++)
    numbers[dice->below(numbers.size())] = dice->number();
  return numbers;
}

/// Whether this mutant is its form as it is: each form is in one round of four, so that a short run
/// has forms that are right, and mutants of every form.
inline bool stays_right(uint64_t index, uint64_t forms) {
  return (index % forms + index / forms) % 4 == 0;
}

/// What is tried at the moment, for whoever finds the program dead.
void tell(const std::string& what);

/// Families. Each makes mutant `index` and hands it to the importers, which take or refuse it.
/// @throws what no importer may throw
void try_onnx(uint64_t index, bool contrib);
void try_tflite(uint64_t index);
void try_aten(uint64_t index);
void try_gguf(uint64_t index);
/// Files of templates. @return how many were read
size_t read_onnx_templates(const std::string& path);
size_t read_tflite_templates(const std::string& path);

}  // namespace ingot::mutants
