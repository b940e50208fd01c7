// SPDX-License-Identifier: Apache-2.0
// tools/graph/checked_list.h - sequences whose length a file decides: every access is checked, and
// a wrong one is a refusal of the node at hand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ingot::graph {

/// An expression that overflows 64 bits, divides by nothing, or grows beyond any sensible model; a
/// dimension, operand or element that is not there.
struct DimError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class ListKind : uint8_t { kDimensions, kOperands, kValues, kElements };
/// @throws DimError that says what of how many was asked for.
[[noreturn]] void fail_access(ListKind kind, size_t index, size_t size);

/// A vector, or another sequence of the library; it converts from and to the plain one.
template <class T, ListKind kKind, class Plain = std::vector<T>>
class CheckedList : public Plain {
 public:
  using Plain::Plain;
  CheckedList() = default;
  CheckedList(Plain list) : Plain(std::move(list)) {}  // NOLINT: the same sequence
  T& operator[](size_t i) { return Plain::operator[](checked(i)); }
  const T& operator[](size_t i) const { return Plain::operator[](checked(i)); }
  T& at(size_t i) { return (*this)[i]; }
  const T& at(size_t i) const { return (*this)[i]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[this->size() - 1]; }
  const T& back() const { return (*this)[this->size() - 1]; }
  void pop_back() {
    checked(this->size() - 1);
    Plain::pop_back();
  }

 private:
  size_t checked(size_t i) const {
    if (i >= this->size()) fail_access(kKind, i, this->size());
    return i;
  }
};

/// The elements of a constant, which live as long as it does.
template <class T>
class Elements {
 public:
  Elements(const T* data, size_t count) : data_(data), count_(count) {}
  template <class Index>
  const T& operator[](Index i) const {
    if (size_t(i) >= count_) fail_access(ListKind::kElements, size_t(i), count_);
    return data_[size_t(i)];
  }
  const T& operator*() const { return (*this)[0]; }
  operator const T*() const { return data_; }  // NOLINT: for loops over all of them
  /// `count` of them from `offset` on.
  std::span<const T> part(int64_t offset, int64_t count) const {
    if (offset < 0 || count < 0 || size_t(offset) > count_ ||
        size_t(count) > count_ - size_t(offset))
      fail_access(ListKind::kElements, size_t(offset) + size_t(count), count_);
    return {data_ + offset, size_t(count)};
  }

 private:
  const T* data_;
  size_t count_;
};

}  // namespace ingot::graph
