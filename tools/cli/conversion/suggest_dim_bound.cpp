// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/conversion/suggest_dim_bound.h"

#include <algorithm>
#include <chrono>

#include "tools/cli/conversion/conversion.h"
#include "tools/cli/conversion/random_run.h"
#include "tools/diagnose/steps/check_golden.h"
#include "tools/graph/bound_hint.h"

namespace ingot::cli {
namespace {

constexpr int64_t kFirstTried = 16, kMaxTried = 65536;
constexpr std::chrono::seconds kPatience{10};

/// Whether a run within the bounds of the file stays within them.
bool runs(const std::string& file, const std::string& golden) {
  try {
    if (golden.empty()) {
      (void)run_on_made_inputs(file, {}, {});
      return true;
    }
    Engine engine(file);
    const check::Golden example =
        check::read_golden(golden, engine.input_names(), engine.output_names());
    (void)check_golden(&engine, example, {});
    return true;
  } catch (const host::Failure&) {
    return false;
  }
}

}  // namespace

void suggest_dim_bound(const convert::Source& source, const convert::ConvertOptions& options,
                       const std::string& golden, graph::ConversionError* refusal) {
  const bool lacks_bound = std::any_of(refusal->unsupported.begin(), refusal->unsupported.end(),
                                       [](const auto& one) { return one.wants_bound; });
  if (options.max_elements != 0 || !lacks_bound) return;
  const auto begin = std::chrono::steady_clock::now();
  convert::ConvertOptions bounded = options;
  int64_t converts = 0, enough = 0;  // the least that converts, that runs
  for (int64_t most = kFirstTried; most <= kMaxTried && enough == 0; most *= 4) {
    if (std::chrono::steady_clock::now() - begin > kPatience) break;
    bounded.max_elements = most;
    try {
      const ConvertedFile file(source.path(), bounded);
      if (converts == 0) converts = most;
      if (runs(file.path(), golden)) enough = most;
    } catch (const graph::ConversionError&) {  // too few or too many for another of its sizes
    } catch (const host::Failure&) {
      break;
    }
  }
  if (converts == 0) return;
  const int64_t named = enough ? enough : converts;
  const std::string example =
      golden.empty() ? "random inputs; --golden FILE.npz finds what yours need" : golden;
  const std::string why = enough ? " is enough for " + example
                                 : " is the least of 16, 64, 256, .. with which it converts";
  for (graph::Unsupported& one : refusal->unsupported)
    if (one.wants_bound)
      one.hint = graph::with_bound(one.hint, named) + " (" + std::to_string(named) + why + ")";
}

}  // namespace ingot::cli
