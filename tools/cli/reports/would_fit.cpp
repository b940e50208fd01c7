// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/would_fit.cpp - what to do where a GPU's memory does not suffice: smaller
// dimensions, and f16.
#include <optional>

#include "tools/cli/output/terminal.h"
#include "tools/session/as_fp16.h"
#include "tools/session/engine.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

using Dims = std::map<std::string, int64_t>;

/// Asks the same model for sessions of several dimensions.
class Needs {
 public:
  Needs(const Model& model, const std::string& path, const SessionSettings& settings,
        ingot_session_options options)
      : model_(model), options_(options) {
    if (settings.places.empty()) return;
    assignment_ = assign(model, path, settings.device, settings.places);
    options_.assignment = assignment_.get(), options_.device = nullptr;
  }
  Needs(const Needs&) = delete;
  Needs& operator=(const Needs&) = delete;

  std::optional<ingot_requirements> at(const Dims& dims) const {
    std::vector<ingot_binding> list;
    for (const auto& [name, value] : dims) list.push_back({name.c_str(), value});
    ingot_session_options options = options_;
    options.bindings = list.data(), options.binding_count = list.size();
    auto need = model_.requirements(options);
    return need ? std::optional(*need) : std::nullopt;
  }
  /// Of a program in parts, what is on devices other than the CPU.
  static uint64_t of_device(const ingot_requirements& need) {
    return (need.device_bytes ? need.device_bytes : need.arena_bytes) + need.weights_shared;
  }
  /// Each dimension halved, down to 1, until no more than `bytes` are needed.
  std::optional<Dims> smaller(Dims dims, uint64_t bytes) const {
    for (;;) {
      bool is_smaller = false;
      for (auto& [name, value] : dims)
        if (value > 1) value = (value + 1) / 2, is_smaller = true;
      if (!is_smaller) return std::nullopt;
      const auto need = at(dims);
      if (need && of_device(*need) <= bytes) return dims;
    }
  }

 private:
  const Model& model_;
  Assignment assignment_;
  ingot_session_options options_;
};

std::string dims_words(const Dims& dims) {
  std::string words;
  for (const auto& [name, value] : dims) words += " --dim " + name + "=" + std::to_string(value);
  return words;
}

/// "converted with --precision fp16, in 1,234 B"; "" where that would not fit either, or is no less
/// than `now`. `only_as_asked`: not with smaller dimensions.
std::string fp16_words(const Needs& needs, const Dims& dims, uint64_t now, uint64_t bytes,
                       bool only_as_asked) {
  std::optional<ingot_requirements> need = needs.at(dims);
  std::string with;
  if (need && Needs::of_device(*need) > bytes) {
    const std::optional<Dims> fitting = only_as_asked ? std::nullopt : needs.smaller(dims, bytes);
    need = fitting ? needs.at(*fitting) : std::nullopt;
    if (fitting) with = " and" + dims_words(*fitting);
  }
  if (!need || Needs::of_device(*need) >= now) return "";
  return "converted with --precision fp16" + with + ", in " + grouped(Needs::of_device(*need)) +
         " B";
}

}  // namespace

std::string Engine::what_would_fit(const SessionSettings& settings, uint64_t bytes) const {
  const ingot_session_options options = options_of(settings, {});
  const Needs needs(model_, path_, settings, options);
  const std::optional<ingot_requirements> asked = needs.at(bindings_);
  const uint64_t weights = asked ? asked->weights_shared : 0;
  const bool on_device = weights || (asked && asked->device_bytes);  // the CPU has neither
  const std::optional<Dims> fitting = needs.smaller(bindings_, bytes);
  const std::optional<Model> fp16 = on_device ? open_as_fp16(path_) : std::nullopt;
  const std::string in_f16 = fp16 ? fp16_words(Needs(*fp16, path_, settings, options), bindings_,
                                               Needs::of_device(*asked), bytes, bool(fitting))
                                  : "";
  std::string words;
  if (fitting) {
    words = "it would fit with" + dims_words(*fitting) + (in_f16.empty() ? "" : ", or " + in_f16);
  } else if (!in_f16.empty()) {
    words = "it would fit " + in_f16;
  } else {
    words =
        bindings_.empty() ? "the file leaves no dimension open" : "no smaller dimension would fit";
    if (fp16) words += ", and --precision fp16 would not do either";
    words += ": take a smaller network, or another device";
  }
  if (!weights) return words;
  words += "; its weights are " + grouped(weights) + " B of that";
  // Another --dtype would change the file, and nothing of what the device holds.
  if (ProgramView(path_, {}).program().precision == 0)
    words += ", f32 there whatever --dtype the file stores them in";
  return words;
}

}  // namespace ingot::cli
