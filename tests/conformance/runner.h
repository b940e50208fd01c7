// SPDX-License-Identifier: Apache-2.0
// tests/conformance/runner.h - runs one instruction on every instruction set, team size and
// permitted aliasing, between guard bytes, and compares: scalar with the oracle by tolerance,
// everything with scalar bit for bit.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/op/contract.h"

namespace ingot::conformance {

/// A tensor with memory of its own, guarded on both sides and between strided rows.
class Tensor {
 public:
  Tensor() = default;  // absent
  Tensor(DType dtype, std::vector<int64_t> dims, int64_t row_padding = 0,
         Packing packing = Packing::kDense);

  /// Reproducible values: floats in [low, high], whole numbers likewise and rounded.
  Tensor& random(uint32_t seed, double low = -2, double high = 2);
  /// The given numbers in row-major order, repeated as needed.
  Tensor& values(const std::vector<double>& numbers);
  /// Everything, gaps and guards, to the guard pattern.
  void poison();

  const TensorView& view() const { return view_; }
  TensorView& view() { return view_; }
  bool present() const { return view_.present(); }
  /// Number of the element at row-major position n, in elements from the start.
  int64_t offset(int64_t n) const;
  /// Of the element at row-major position n. @pre 0 <= n < view().elements()
  double at(int64_t n) const;
  void set(int64_t n, double x);
  /// Name of what is wrong with the guards, or empty.
  std::string guard_fault() const;
  /// Same bits wherever the tensor has elements; NaN equals NaN.
  bool same_bits(const Tensor& other, int64_t* first_difference) const;

  /// The same, `elements` further on in memory: no more aligned than its elements, for up to 16
  /// bytes. @pre dense
  Tensor shifted(int64_t elements) const;

  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);

 private:
  TensorView view_;
  std::vector<uint8_t> memory_;
  uint64_t bytes_ = 0;
  size_t start_ = 0;  // in memory_
  void aim();
};

struct Tolerance {
  double relative = 2e-6;
  double absolute = 1e-6;
};

/// One instruction: attributes must outlive it.
struct Case {
  std::string name;
  OpCode op = OpCode::kNone;
  const void* attributes = nullptr;
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};  // types; contents are ignored
  Tolerance tolerance = {};
  std::vector<Tensor> oracle_inputs = {};  // where the oracle reads other packings; empty: the same
  // What the oracle gets for kernels of bf16: operands rounded as they round them, so that sums
  // alone differ, by `rounded_tolerance`. Empty: oracle_inputs, and half_tolerance.h.
  std::vector<Tensor> rounded_inputs = {};
  Tolerance rounded_tolerance = {};
};

/// A number by lot, the same ones in each run.
uint32_t drawn_below(size_t count);
/// Whether a case of a product that loops write down is left out, by lot. With fewer cases
/// (support/fewer_cases.h) pairs of values meet in random ones, not triples, and what is left of
/// written ones has a team, an order and a shift by lot, not each of them.
bool is_left_out();

/// Checks everything said at the top with doctest's CHECK. Returns the kernel name of the best
/// instruction set.
std::string run_case(const Case& test);

/// One case of very many (combinations.h): every instruction set against the oracle itself, on a
/// team and with an aliased input as `serial` has them; `on_gpu`: the device code as well. What is
/// wrong in one line, empty where nothing is. `refused`: the contract does not take the case, which
/// is no fault.
std::string check_combination(const Case& test, uint32_t serial, bool on_gpu, bool* refused);

/// Runs `test` expecting that a kernel answers `code` on every instruction set (bad index values).
void run_failing_case(const Case& test, Code code);

/// Checks that the contract of test.op refuses, and names the rule. Returns the rule for further
/// checks.
std::string refusal(const Case& test);

}  // namespace ingot::conformance
