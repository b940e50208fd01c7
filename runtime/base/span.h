// SPDX-License-Identifier: Apache-2.0
// runtime/base/span.h - a pointer and a count; C++17 has no std::span.
#pragma once
#include <cstddef>

namespace ingot {

template <class T>
struct Span {
  T* data = nullptr;
  size_t size = 0;
  constexpr Span() = default;
  constexpr Span(T* pointer, size_t count) : data(pointer), size(count) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data(array), size(N) {}
  constexpr T& operator[](size_t i) const { return data[i]; }
  constexpr T* begin() const { return data; }
  constexpr T* end() const { return data + size; }
  constexpr bool empty() const { return size == 0; }
};

}  // namespace ingot
