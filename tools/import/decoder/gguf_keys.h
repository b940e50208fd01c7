// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/gguf_keys.h - metadata of one architecture in a GGUF file, key by key.
// Errors   graph::ConversionError kUnsupported: a key that says something else than what is known;
//          kCorrupt: one that must be there is missing.
#pragma once
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/flat/gguf.h"
#include "tools/graph/graph.h"

namespace ingot::decoder {

/// Metadata of one architecture by the rest of their keys; what was read is noted.
class Keys {
 public:
  Keys(const checkpoint::GgufFile& file, const std::string& architecture)
      : file_(file), prefix_(architecture + ".") {}

  std::string full(const std::string& key) const { return prefix_ + key; }
  const checkpoint::GgufValue* find(const std::string& key) {
    read_.insert(full(key));
    return file_.find(full(key));
  }
  bool flag(const std::string& key, bool otherwise) {
    return find(key) ? *file_.flag(full(key)) : otherwise;
  }
  double number(const std::string& key, double otherwise) {
    if (!find(key)) return otherwise;
    const double x = *file_.number(full(key));
    if (!std::isfinite(x)) refuse(key, "is not finite", "a number");
    return x;
  }
  std::string text(const std::string& key) { return find(key) ? *file_.text(full(key)) : ""; }
  int64_t integer(const std::string& key, int64_t otherwise, int64_t low, int64_t high) {
    return find(key) ? in_bounds(key, *file_.integer(full(key)), low, high) : otherwise;
  }
  int64_t need(const std::string& key, int64_t high) {
    if (!find(key))
      graph::fail_corrupt(file_.path(), "its metadata has no '" + full(key) +
                                            "', expected a number; get the file anew, or convert "
                                            "it again");
    return integer(key, 0, 1, high);
  }
  /// One number for all layers, or one for each. `low`: of those in a list, which, where it is 0,
  /// has no more than one for each and `drafts`.
  std::vector<int64_t> each(const std::string& key, int64_t layers, int64_t high, int64_t low = 1,
                            int64_t drafts = 0) {
    const checkpoint::GgufValue* value = find(key);
    if (!value || value->type != checkpoint::GgufType::kArray)
      return std::vector<int64_t>(size_t(layers),
                                  value && low == 0 ? integer(key, 0, 0, high) : need(key, high));
    const std::vector<int64_t> all = file_.integers(full(key));
    if (int64_t(all.size()) < layers || (low == 0 && int64_t(all.size()) > layers + drafts))
      refuse(key, "has " + std::to_string(all.size()) + " numbers",
             std::to_string(layers) + ", one for each layer");
    for (int64_t i = 0; i < layers; i++) in_bounds(key, all[size_t(i)], low, high);
    return {all.begin(), all.begin() + layers};
  }
  /// Known, and of no consequence for what is computed.
  void pass_over(std::initializer_list<const char*> keys) {
    for (const char* key : keys) read_.insert(full(key));
  }
  /// Where it is there, it must say this.
  void expect_text(const std::string& key, std::initializer_list<const char*> known) {
    const std::string said = text(key);
    if (said.empty()) return;
    std::string list;
    for (const char* one : known) {
      if (said == one) return;
      list += (list.empty() ? "" : ", ") + std::string(one);
    }
    refuse(key, "is '" + said + "'", list);
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& found,
                           const std::string& expected) const {
    graph::fail_unsupported(file_.path(), "its metadata '" + full(key) + "' " + found +
                                              ", expected " + expected +
                                              "; convert another model, or report this one");
  }
  void check_all_read() const {
    for (const std::string& key : file_.keys())
      if (key.rfind(prefix_, 0) == 0 && !read_.count(key))
        graph::fail_unsupported(file_.path(),
                                "its metadata '" + key + "' is not known for the architecture '" +
                                    prefix_.substr(0, prefix_.size() - 1) +
                                    "' and may change what it computes; convert another model, or "
                                    "report this one");
  }

 private:
  int64_t in_bounds(const std::string& key, int64_t n, int64_t low, int64_t high) const {
    if (n < low || n > high)
      refuse(key, "is " + std::to_string(n), std::to_string(low) + " to " + std::to_string(high));
    return n;
  }

  const checkpoint::GgufFile& file_;
  const std::string prefix_;
  std::set<std::string> read_;
};

}  // namespace ingot::decoder
