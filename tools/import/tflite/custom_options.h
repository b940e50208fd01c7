// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/custom_options.h - options of a custom operator, refused where they are
// missing or out of range.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tools/import/tflite/call.h"
#include "tools/import/tflite/flex_map.h"

namespace ingot::tflite {

class CustomOptions {
 public:
  /// @throws where the options are no map.
  explicit CustomOptions(Call& call) : call_(call) {
    const auto* bytes = call.op.custom_options();
    auto found = bytes ? FlexMap::read(bytes->data(), bytes->size()) : std::nullopt;
    if (!found) call.corrupt("its options are no map of FlexBuffers");
    map_ = std::move(*found);
  }
  bool has(const char* name) const { return map_.has(name); }
  double number(const char* name, double least, double most) {
    const auto found = map_.number(name);
    if (!found || !(*found >= least && *found <= most)) out_of_range(name, found, least, most);
    return *found;
  }
  int64_t whole(const char* name, int64_t least, int64_t most) {
    const double found = number(name, double(least), double(most));
    if (found != std::floor(found)) out_of_range(name, found, double(least), double(most));
    return int64_t(found);
  }
  std::vector<int64_t> integers(const char* name) {
    auto found = map_.integers(name);
    if (!found || found->empty())
      call_.corrupt(std::string("its option ") + name +
                    " is missing, empty or no list of integers");
    return *found;
  }
  /// An option that changes no result.
  void ignore(const char* name) { (void)map_.number(name); }
  void expect_all_read() const {
    for (const std::string& name : map_.unread())
      call_.refuse(name, "is an option that is not known");
  }

 private:
  [[noreturn]] void out_of_range(const char* name, std::optional<double> found, double least,
                                 double most) const {
    const auto shown = [](double x) {
      return x == std::floor(x) && std::abs(x) < 1e15 ? std::to_string(int64_t(x))
                                                      : std::to_string(x);
    };
    call_.corrupt(
        std::string("its option ") + name +
        (found ? " is " + shown(*found) + ", expected " + shown(least) + " to " + shown(most)
               : " is missing or no number"));
  }

  Call& call_;
  FlexMap map_;
};

}  // namespace ingot::tflite
