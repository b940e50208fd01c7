// SPDX-License-Identifier: Apache-2.0
// views.hpp - errors, results and typed views of tensors; part of ingot.hpp.
#ifndef INGOT_VIEWS_HPP_
#define INGOT_VIEWS_HPP_

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ingot.h"

// GCC 14 warns of a view that a temporary returns as of a part of that temporary.
#ifdef __has_cpp_attribute
#if __has_cpp_attribute(gnu::no_dangling)
#define INGOT_NO_DANGLING [[gnu::no_dangling]]
#endif
#endif
#ifndef INGOT_NO_DANGLING
#define INGOT_NO_DANGLING
#endif

namespace ingot {

/// The numbers behind a failure, and their text.
struct Error : ingot_error {
  Error() : Error(INGOT_OK) {}
  explicit Error(ingot_code why) : ingot_error{} {
    code = why;
    instruction = INGOT_NO_INSTRUCTION;
    operand = -1;
    field = hint = "";
  }
  std::string note;  // the names that there are, which an ingot_error has no room for; or ""
  std::string text() const {
    std::string line(ingot_error_text(this, nullptr, 0), '\0');
    ingot_error_text(this, line.empty() ? nullptr : &line[0], line.size() + 1);
    return note.empty() ? line : line + "; " + note;
  }
};

/// Ends the program: a value was taken out of a Result that holds an error.
[[noreturn]] inline void stop(const Error& error) {
  std::fprintf(stderr, "ingot: a result was used that is an error: %s\n", error.text().c_str());
  std::abort();
}

/// A value or an error. The value of one that is an error ends the program, in every build; see
/// stop().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: a value is a result
  Result(const Error& error) : error_(error) {}  // NOLINT: and so is an error
  bool ok() const { return error_.code == INGOT_OK; }
  explicit operator bool() const { return ok(); }
  T& value() & { return checked(), value_; }
  const T& value() const& { return checked(), value_; }
  /// Of a temporary: by value, so that `for (float& x : session.input<float>(0).value())` outlives
  /// it.
  INGOT_NO_DANGLING T value() && { return checked(), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  INGOT_NO_DANGLING T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return error_; }

 private:
  void checked() const {
    if (!ok()) stop(error_);
  }
  T value_{};
  Error error_;
};
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(const Error& error) : error_(error) {}  // NOLINT
  bool ok() const { return error_.code == INGOT_OK; }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (!ok()) stop(error_);
  }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// Elements that lie one behind the other.
template <class T>
struct Elements {
  T* data = nullptr;
  size_t size = 0;
  T* begin() const { return data; }
  T* end() const { return data + size; }
  T& operator[](size_t i) const { return data[i]; }
  bool empty() const { return size == 0; }
};

template <class T>
constexpr ingot_dtype dtype_of() {
  using U = std::remove_cv_t<T>;
  if (std::is_same_v<U, float>) return INGOT_F32;
  if (std::is_same_v<U, double>) return INGOT_F64;
  if (std::is_same_v<U, bool>) return INGOT_BOOL;
  if (std::is_integral_v<U>) {
    const bool s = std::is_signed_v<U>;
    switch (sizeof(U)) {
      case 1: return s ? INGOT_I8 : INGOT_U8;
      case 2: return s ? INGOT_I16 : INGOT_U16;
      case 4: return s ? INGOT_I32 : INGOT_U32;
      case 8: return s ? INGOT_I64 : INGOT_U64;
    }
  }
  return INGOT_INVALID_DTYPE;
}

namespace detail {

inline Error failure(ingot_code code, const char* field, const char* name, uint64_t need = 0,
                     uint64_t have = 0) {
  Error error(code);
  error.field = field;
  error.need = need;
  error.have = have;
  std::strncpy(error.name, name, sizeof error.name - 1);
  return error;
}

template <class T>
Result<Elements<T>> typed(const ingot_tensor& tensor, const char* name) {
  static_assert(dtype_of<T>() != INGOT_INVALID_DTYPE,
                "no tensor has elements of this C++ type; for f16 and bf16 read ingot_tensor.data");
  if (tensor.dtype != dtype_of<T>())
    return failure(INGOT_DTYPE_MISMATCH, "C++ type of the elements", name,
                   static_cast<uint64_t>(tensor.dtype), static_cast<uint64_t>(dtype_of<T>()));
  size_t count = 1;
  for (int32_t i = 0; i < tensor.rank; i++) count *= static_cast<size_t>(tensor.dims[i]);
  if (count == 0) return Elements<T>{};
  if (!tensor.data) {
    Error unbound = failure(INGOT_WRONG_STATE, "it has no memory yet", name);
    unbound.hint = "bind some with bind_input() or bind_output()";
    return unbound;
  }
  if (tensor.bytes != count * sizeof(T)) {
    Error padded = failure(INGOT_SHAPE_MISMATCH, "its rows do not lie one behind the other: bytes",
                           name, count * sizeof(T), tensor.bytes);
    padded.hint = "read ingot_tensor.data by row_stride";
    return padded;
  }
  return Elements<T>{static_cast<T*>(tensor.data), count};
}

/// Insertions, removals and replacements that make one name of the other.
inline size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 0; i < a.size(); i++) {
    size_t before = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); j++) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, before + (a[i] != b[j])});
      before = above;
    }
  }
  return row[b.size()];
}

/// "did you mean 'audio'? There are: 'audio', 'h', 'c'".
inline std::string alternatives(const char* asked, const std::vector<std::string>& names) {
  constexpr size_t kShown = 16, kCompared = 1000, kLongest = 200;
  if (names.empty()) return "there are none";
  std::string line, nearest;
  size_t fewest = std::string(asked).size() / 3 + 2;
  for (size_t i = 0; i < names.size() && i < kCompared; i++) {
    if (names[i].size() > kLongest) continue;
    const size_t distance = edits(std::string(asked).substr(0, kLongest), names[i]);
    if (distance < fewest) fewest = distance, nearest = names[i];
  }
  if (*asked && !nearest.empty()) line = "did you mean '" + nearest + "'? ";
  line += names.size() == 1 ? "there is: " : "there are: ";
  for (size_t i = 0; i < names.size() && i < kShown; i++)
    line += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > kShown) line += " and " + std::to_string(names.size() - kShown) + " more";
  return line;
}

enum class Kind { kInput, kOutput, kState, kSymbol };

inline std::vector<std::string> names_of(const ingot_model* model, Kind kind) {
  std::vector<std::string> names;
  for (uint32_t i = 0;; i++) {
    ingot_value_type type{};
    ingot_state state = INGOT_INIT(ingot_state);
    ingot_symbol symbol{};
    ingot_code code = INGOT_OK;
    switch (kind) {
      case Kind::kInput: code = ingot_model_input(model, i, &type); break;
      case Kind::kOutput: code = ingot_model_output(model, i, &type); break;
      case Kind::kState:
        code = ingot_model_state(model, i, &state), type.name = state.type.name;
        break;
      case Kind::kSymbol:
        code = ingot_model_symbol(model, i, &symbol), type.name = symbol.name;
        break;
    }
    if (code) return names;
    names.emplace_back(type.name);
  }
}

}  // namespace detail

/// Typed elements of a tensor view. An error where the type is another, rows lie apart, or there is
/// no memory.
template <class T>
Result<Elements<T>> elements(const ingot_tensor& tensor) {
  return detail::typed<T>(tensor, "");
}

/// Which input, output or state variable: its index or its name.
struct PortKey {
  PortKey(const char* given) : name(given ? given : "") {}    // NOLINT: a name is a key
  PortKey(const std::string& given) : name(given.c_str()) {}  // NOLINT: read during the call only
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  PortKey(I given) : index(static_cast<int64_t>(given)) {}  // NOLINT: and so is an index
  const char* name = nullptr;
  int64_t index = -1;
};

namespace detail {

inline Error no_such(const ingot_model* model, Kind kind, const PortKey& key) {
  static const char* const kFields[] = {"inputs", "outputs", "state variables", "symbols"};
  const std::string asked = key.name ? key.name : std::to_string(key.index);
  Error error = failure(INGOT_NOT_FOUND, kFields[static_cast<int>(kind)], asked.c_str());
  error.note = alternatives(key.name ? key.name : "", names_of(model, kind));
  return error;
}

/// The view that `call` gives of a port.
template <class Call, class Object>
Result<ingot_tensor> view(Call call, Object* object, const ingot_model* model, Kind kind,
                          const PortKey& key) {
  int64_t index = key.index;
  if (key.name && kind == Kind::kInput) index = ingot_model_find_input(model, key.name);
  if (key.name && kind == Kind::kOutput) index = ingot_model_find_output(model, key.name);
  if (key.name && kind == Kind::kState) index = ingot_model_find_state(model, key.name);
  ingot_tensor tensor{};
  const bool is_index = index >= 0 && index <= INT32_MAX;
  const ingot_code code =
      is_index ? call(object, static_cast<uint32_t>(index), &tensor) : ingot_code{INGOT_NOT_FOUND};
  if (code == INGOT_NOT_FOUND) return no_such(model, kind, key);
  if (code)
    return failure(code, "view of a port", key.name ? key.name : std::to_string(key.index).c_str());
  return tensor;
}

template <class T>
Result<Elements<T>> typed(const Result<ingot_tensor>& tensor, const ingot_model* model, Kind kind,
                          const PortKey& key) {
  if (!tensor) return tensor.error();
  auto found = typed<T>(*tensor, key.name ? key.name : "");
  if (found || key.name) return found;
  return typed<T>(*tensor, names_of(model, kind)[static_cast<size_t>(key.index)].c_str());
}

/// An error about a name of a symbol gets the names that there are.
inline Error with_symbols(Error error, const ingot_model* model) {
  if (error.code == INGOT_NOT_FOUND && error.name[0])
    error.note = alternatives(error.name, names_of(model, Kind::kSymbol));
  return error;
}

}  // namespace detail

}  // namespace ingot

#endif  // INGOT_VIEWS_HPP_
