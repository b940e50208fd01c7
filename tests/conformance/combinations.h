// SPDX-License-Identifier: Apache-2.0
// tests/conformance/combinations.h - an operator over the product of its attributes: every
// combination where they are few, else as many as are asked for at random, and more until every
// combination of values that any `together` attributes can have was in a case that ran. Each runs
// on every instruction set and is compared with the oracle, which shares nothing with the kernels;
// kernels that are alike in all bits may be wrong alike.
//
//   Combinations all("softmax", 2000);
//   const Axis<bool> log = all.axis<bool>("log", {false, true});
//   all.run([&](Case& c) { ... log() ... return true; });   // false: there is no such case
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/conformance/runner.h"

namespace ingot::conformance {

class Combinations;

/// One attribute. Called, it is the value in the combination that runs.
template <class T>
class Axis {
 public:
  const T& operator()() const { return (*values_)[*at_]; }

 private:
  friend class Combinations;
  std::shared_ptr<const std::deque<T>> values_;  // no vector: that of bools has no elements
  std::shared_ptr<const size_t> at_;
};

class Combinations {
 public:
  /// `gpu_every`: the emulated device code runs one case in so many; 0: none.
  Combinations(std::string name, size_t most, size_t together = 3, size_t gpu_every = 8)
      : name_(std::move(name)), most_(most), together_(together), gpu_every_(gpu_every) {}

  template <class T>
  Axis<T> axis(const char* name, std::vector<T> values) {
    places_.push_back({name, uint16_t(values.size()), std::make_shared<size_t>(0)});
    Axis<T> axis;
    axis.values_ = std::make_shared<const std::deque<T>>(values.begin(), values.end()),
    axis.at_ = places_.back().at;
    return axis;
  }
  /// 0 .. count - 1.
  Axis<int> axis(const char* name, int count) {
    std::vector<int> values;
    for (int i = 0; i < count; i++) values.push_back(i);
    return axis<int>(name, std::move(values));
  }

  /// What is wrong with one case; see check_combination().
  using Check =
      std::function<std::string(const Case&, uint32_t serial, bool on_gpu, bool* refused)>;
  /// Checks every combination with doctest, ends after five that are wrong, and prints how many
  /// there were. Every value of every axis has to be in some case that ran.
  void run(const std::function<bool(Case&)>& make, const Check& check = check_combination);

 private:
  struct Place {
    const char* name;
    uint16_t count;
    std::shared_ptr<size_t> at;
  };
  using Row = std::vector<uint16_t>;  // the number of a value, one a place
  std::string name_;
  size_t most_, together_, gpu_every_;
  std::vector<Place> places_;
  std::function<bool(Case&)> make_;
  Check check_;
  std::vector<Row> ran_;
  size_t none_ = 0, refused_ = 0, wrong_ = 0, on_gpu_ = 0, apart_ = 0;
  std::string text() const;
  double product() const;
  bool run_row(const Row& row);
  void run_sample();
  void run_missing();
};

}  // namespace ingot::conformance
