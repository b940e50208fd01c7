// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/reused_list.h - a list whose elements keep their memory when it is cleared, so
// that the next request of the same form allocates nothing.
#pragma once
#include <cstddef>
#include <deque>

namespace ingot::serve {

template <class T>
class ReusedList {
 public:
  /// The next element, with what it held before; the caller sets every field.
  T& add() {
    if (used_ == all_.size()) all_.emplace_back();
    return all_[used_++];
  }
  void clear() { used_ = 0; }
  size_t size() const { return used_; }
  bool empty() const { return used_ == 0; }
  T& operator[](size_t i) { return all_[i]; }
  const T& operator[](size_t i) const { return all_[i]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.begin() + std::ptrdiff_t(used_); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.begin() + std::ptrdiff_t(used_); }

 private:
  std::deque<T> all_;  // an element does not move when others are added
  size_t used_ = 0;
};

}  // namespace ingot::serve
