// SPDX-License-Identifier: Apache-2.0
// tests/support/log_lines.h - the lines that a library's log gets.
#pragma once
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/include/ingot/ingot.hpp"

namespace ingot::test {

/// Must outlive the models that it is handed to.
struct LogLines {
  std::mutex lock;
  std::vector<std::pair<ingot_log_level, std::string>> lines;
  ingot_log log{this, [](void* user, ingot_log_level level, const char* text) {
                  LogLines& self = *static_cast<LogLines*>(user);
                  const std::lock_guard<std::mutex> guard(self.lock);
                  self.lines.emplace_back(level, text);
                }};

  template <class Bytes>
  Model open(Bytes& bytes, const ingot_kernel_table* kernels) const {
    Model model = Model::open(bytes.data(), bytes.size(), open_options(kernels)).value();
    model.set_log(log);
    return model;
  }
  std::vector<std::string> of(ingot_log_level level) const {
    std::vector<std::string> found;
    for (const auto& [at, text] : lines)
      if (at == level) found.push_back(text);
    return found;
  }
  std::vector<std::string> warnings() const { return of(INGOT_LOG_WARNING); }
  bool has_info(const std::string& part) const {
    for (const std::string& text : of(INGOT_LOG_INFO))
      if (text.find(part) != std::string::npos) return true;
    return false;
  }
};

}  // namespace ingot::test
