// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/precision/check_precision.h - how far a program in fast, fp16 or bf16 is from
// exact, as far as a CPU can tell: run with exact kernels and with ones that round as the device
// does, on the same inputs. How many inputs are drawn follows from the program's work, not from a
// clock, so that the same conversion gives the same file.
// Owns     what the exact kernels gave.
// Threads  one check at a time: kernels are hooked.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/diagnose/golden/golden.h"
#include "tools/diagnose/precision/reduced_kernels.h"
#include "tools/session/engine.h"

namespace ingot::precision {

struct PrecisionQuestion {
  std::string file;                              // converted in the first precision asked about
  const ingot_kernel_table* kernels = nullptr;   // null: cli::chosen_kernels(); products are f32
  const check::Golden* golden = nullptr;         // inputs, instead of random ones
  std::vector<std::vector<host::Array>> inputs;  // likewise: those of runs, by input of the file
  std::optional<double> rtol, atol;              // instead of the table's
};

/// Of the output that is worst, in parts of its largest number: of the run that is worst, of drawn
/// ones the one after it.
struct PrecisionLoss {
  double error = 0, allowed = 0;
  std::string output;
  bool holds() const { return error <= allowed; }
};

class PrecisionCheck {
 public:
  /// Runs the exact kernels. `question` must outlive it.
  explicit PrecisionCheck(const PrecisionQuestion& question);
  /// Why there is no result, e.g. that it would take too long; "" where it can.
  const std::string& obstacle() const { return obstacle_; }
  /// That count.
  size_t runs() const;
  /// Nothing where there is no result; then there is an obstacle().
  std::optional<PrecisionLoss> loss_in(GpuPrecision precision);
  /// The same of the first `runs` runs, where `exact` says by step what stays f32.
  std::optional<PrecisionLoss> loss_in(GpuPrecision precision, const std::vector<bool>& exact,
                                       size_t runs);

  /// A product that a precision rounds, or a chain of some.
  struct Product {
    uint32_t step, instruction;
    double multiply_adds;
  };
  /// Those of a program whose steps are instructions alone; of others none.
  std::vector<Product> products(GpuPrecision precision);
  /// Of one run, as kMaxWork counts it.
  double work() const { return work_; }
  size_t steps() const { return steps_; }

 private:
  using Outputs = std::vector<host::Array>;
  std::vector<Outputs> run(const std::optional<GpuPrecision>& precision,
                           const std::vector<bool>& exact = {}, size_t runs = SIZE_MAX);
  std::vector<Outputs> run_golden(cli::Engine* engine);
  std::vector<Outputs> run_each(cli::Engine* engine, size_t runs);
  host::Array input_of(cli::Engine* engine, uint32_t i, size_t r, int64_t fed,
                       const Outputs& last) const;
  const ingot_kernel_table* kernels() const;
  void give_up();
  void leave_out_strange_runs();
  double error_of(std::vector<double> errors) const;
  PrecisionLoss measure(const std::vector<Outputs>& found, GpuPrecision precision) const;

  const PrecisionQuestion& question_;
  std::string obstacle_;
  size_t runs_ = 0;
  std::vector<bool> left_out_;  // by drawn run; before it is settled: inputs are larger than 1
  bool has_loops_ = false, runs_in_order_ = false;
  double work_ = 0;
  size_t steps_ = 0;
  std::vector<Product> products_;  // that the last run rounded
  std::vector<Outputs> expected_;
};

}  // namespace ingot::precision
