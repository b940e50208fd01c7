// ingot.hpp - thin C++17 over ingot.h: Result<T>, RAII, typed views. Header only; throws nothing, allocates nothing
// itself. The rules of ingot.h hold (lifetimes, threads). A moved-from Model, Session or Pool is empty and may only be
// destroyed.
//
//   auto model = ingot::Model::open("net.ingot", ingot_cpu_kernels(nullptr));
//   if (!model) return fail(model.error());
//   auto session = model->session();
//   ...  session->input<float>(0)[i] = x;  session->run();  session->output<float>(0)[0]
#ifndef INGOT_INGOT_HPP_
#define INGOT_INGOT_HPP_

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ingot.h"

namespace ingot {

/// The numbers behind a failure, and their text.
struct Error : ingot_error {
  Error() : ingot_error{} {}
  explicit Error(ingot_code why) : ingot_error{} { code = why; }
  std::string text() const {
    std::string line(ingot_error_text(this, nullptr, 0), '\0');
    ingot_error_text(this, line.empty() ? nullptr : &line[0], line.size() + 1);
    return line;
  }
};

/// A value or an error. @pre ok() for the value, !ok() for the error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: a value is a result
  Result(const Error& error) : error_(error) {}  // NOLINT: and so is an error
  bool ok() const { return error_.code == INGOT_OK; }
  explicit operator bool() const { return ok(); }
  T& value() { return value_; }
  const T& value() const { return value_; }
  T& operator*() { return value_; }
  T* operator->() { return &value_; }
  const Error& error() const { return error_; }

 private:
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
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// Elements that lie one behind the other; empty when the tensor is of another type or not dense.
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

/// Typed elements of a tensor view.
template <class T>
Elements<T> elements(const ingot_tensor& tensor) {
  size_t count = 1;
  for (int32_t i = 0; i < tensor.rank; i++) count *= static_cast<size_t>(tensor.dims[i]);
  const bool dense = tensor.bytes == count * sizeof(T);
  if (tensor.dtype != dtype_of<T>() || !tensor.data || !dense) return {};
  return {static_cast<T*>(tensor.data), count};
}

/// Owns an object of the C interface.
template <class T, void (*Destroy)(T*)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(T* object) : object_(object) {}
  Owner(Owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) {
      Destroy(object_);
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { Destroy(object_); }
  /// For calls of ingot.h that have no wrapper.
  T* get() const { return object_; }

 protected:
  T* object_ = nullptr;
};

/// Turns a C call into a Result.
template <class Call>
Result<void> checked(Call&& call) {
  Error error;
  const ingot_code code = call(&error);
  if (code == INGOT_OK) return {};
  error.code = code;
  return error;
}

inline ingot_session_options session_options() {
  ingot_session_options options{};
  options.size = sizeof options;
  return options;
}
inline ingot_open_options open_options(const ingot_kernel_table* kernels) {
  ingot_open_options options{};
  options.size = sizeof options;
  options.kernels = kernels;
  return options;
}

class Pool : public Owner<ingot_pool, ingot_pool_destroy> {
 public:
  using Owner::Owner;
  static Result<Pool> create(int threads = 0) {
    Error error;
    ingot_pool* pool = nullptr;
    if (ingot_pool_create(threads, &pool, &error)) return error;
    return Pool(pool);
  }
};

class Session : public Owner<ingot_session, ingot_session_destroy> {
 public:
  using Owner::Owner;
  /// View of a port by index or name; data is null when there is no such port, or it has no memory yet.
  ingot_tensor input(uint32_t index) const { return view(ingot_session_input, index); }
  ingot_tensor output(uint32_t index) const { return view(ingot_session_output, index); }
  ingot_tensor input(int index) const { return input(static_cast<uint32_t>(index)); }
  ingot_tensor output(int index) const { return output(static_cast<uint32_t>(index)); }
  ingot_tensor input(const char* name) const { return view(ingot_session_input_by_name, name); }
  ingot_tensor output(const char* name) const { return view(ingot_session_output_by_name, name); }
  template <class T, class Key>
  Elements<T> input(Key key) const {
    return elements<T>(input(key));
  }
  template <class T, class Key>
  Elements<T> output(Key key) const {
    return elements<T>(output(key));
  }
  Result<void> bind_input(uint32_t index, const ingot_tensor& tensor) {
    return checked([&](ingot_error* e) { return ingot_session_bind_input(object_, index, &tensor, e); });
  }
  Result<void> bind_output(uint32_t index, const ingot_tensor& tensor) {
    return checked([&](ingot_error* e) { return ingot_session_bind_output(object_, index, &tensor, e); });
  }
  /// Memory of the session's GPU.
  Result<void> bind_device_input(uint32_t index, const ingot_tensor& tensor) {
    return checked([&](ingot_error* e) { return ingot_session_bind_device_input(object_, index, &tensor, e); });
  }
  Result<void> bind_device_output(uint32_t index, const ingot_tensor& tensor) {
    return checked([&](ingot_error* e) { return ingot_session_bind_device_output(object_, index, &tensor, e); });
  }
  Result<void> run() {
    return checked([&](ingot_error* e) { return ingot_session_run(object_, e); });
  }
  Result<void> run_until(uint64_t deadline_ns) {
    return checked([&](ingot_error* e) { return ingot_session_run_until(object_, deadline_ns, e); });
  }
  /// Begins a run; wait() gives its result. See INGOT_ASYNC for sessions on the CPU.
  Result<void> start() {
    return checked([&](ingot_error* e) { return ingot_session_start(object_, e); });
  }
  Result<void> wait() {
    return checked([&](ingot_error* e) { return ingot_session_wait(object_, e); });
  }
  /// Whether wait() would not sleep.
  bool has_ended() {
    int32_t ended = 0;
    ingot_session_poll(object_, &ended, nullptr);
    return ended != 0;
  }
  Result<void> rebind(const ingot_binding* bindings, size_t count) {
    return checked([&](ingot_error* e) { return ingot_session_rebind(object_, bindings, count, e); });
  }
  Result<void> rebind(const char* name, int64_t value) {
    const ingot_binding binding = {name, value};
    return rebind(&binding, 1);
  }
  void cancel() { ingot_session_cancel(object_); }
  Result<void> reset_state() {
    return checked([&](ingot_error* e) { return ingot_session_reset_state(object_, e); });
  }
  /// A state variable where it lies; data is null when there is none of that index.
  ingot_tensor state(uint32_t index) const { return view(ingot_session_state, index); }
  Result<std::vector<uint8_t>> save_state() const {
    Error error;
    uint64_t bytes = 0;
    std::vector<uint8_t> saved;
    if (ingot_session_save_state(object_, nullptr, 0, &bytes, &error)) return error;
    saved.resize(bytes);
    if (ingot_session_save_state(object_, saved.data(), bytes, &bytes, &error)) return error;
    return saved;
  }
  Result<void> restore_state(const void* saved, uint64_t bytes) {
    return checked([&](ingot_error* e) { return ingot_session_restore_state(object_, saved, bytes, e); });
  }
  Result<void> check_state() const {
    return checked([&](ingot_error* e) { return ingot_session_check_state(object_, e); });
  }
  Result<void> park() {
    return checked([&](ingot_error* e) { return ingot_session_park(object_, e); });
  }
  ingot_requirements requirements() const {
    ingot_requirements need{};
    need.size = sizeof need;
    ingot_session_requirements(object_, &need);
    return need;
  }
  /// What device `index` has and does; zeros and null names beyond the last.
  ingot_share share(uint32_t index) const {
    ingot_share share{};
    share.size = sizeof share;
    ingot_session_share(object_, index, &share);
    return share;
  }
  /// Null names beyond the last.
  ingot_branch branch(uint32_t index) const {
    ingot_branch branch{};
    branch.size = sizeof branch;
    ingot_session_branch(object_, index, &branch);
    return branch;
  }

 private:
  template <class Call, class Key>
  ingot_tensor view(Call call, Key key) const {
    ingot_tensor tensor{};
    call(object_, key, &tensor);
    return tensor;
  }
};

/// Which device each weight lies on. Must outlive the sessions that are made with it, and die before its model.
class Assignment : public Owner<ingot_assignment, ingot_assignment_destroy> {
 public:
  using Owner::Owner;
  /// Null beyond the last; 0 is the CPU.
  const char* device(uint32_t index) const { return ingot_assignment_device(object_, index); }
  /// Index of the device that runs an instruction, -1 beyond the last; and why it does.
  int32_t device_of(uint32_t instruction) const { return ingot_assignment_instruction(object_, instruction); }
  const char* reason_of(uint32_t instruction) const { return ingot_assignment_reason(object_, instruction); }
  /// Null names beyond the last.
  ingot_weight weight(uint32_t index) const {
    ingot_weight weight{};
    weight.size = sizeof weight;
    ingot_assignment_weight(object_, index, &weight, nullptr);
    return weight;
  }
  ingot_weight_place place(uint32_t index) const {
    ingot_weight_place place{};
    place.size = sizeof place;
    ingot_assignment_weight(object_, index, nullptr, &place);
    return place;
  }
};

class Model : public Owner<ingot_model, ingot_model_destroy> {
 public:
  using Owner::Owner;
  static Result<Model> open(const char* path, const ingot_kernel_table* kernels) {
    return open(path, open_options(kernels));
  }
  static Result<Model> open(const char* path, const ingot_open_options& options) {
    Error error;
    ingot_model* model = nullptr;
    if (ingot_model_open(path, &options, &model, &error)) return error;
    return Model(model);
  }
  static Result<Model> open(const void* bytes, uint64_t size, const ingot_open_options& options) {
    Error error;
    ingot_model* model = nullptr;
    if (ingot_model_open_memory(bytes, size, &options, &model, &error)) return error;
    return Model(model);
  }
  ingot_model_summary summary() const {
    ingot_model_summary summary{};
    summary.size = sizeof summary;
    ingot_model_summarize(object_, &summary);
    return summary;
  }
  Result<ingot_requirements> requirements(const ingot_session_options& options = session_options()) const {
    Error error;
    ingot_requirements need{};
    need.size = sizeof need;
    if (ingot_model_requirements(object_, &options, &need, &error)) return error;
    return need;
  }
  /// `place` is called with each weight, a const ingot_weight&, and answers a device's name; null or "" is `device`.
  template <class Place>
  Result<Assignment> assign(const char* device, Place&& place) const {
    ingot_assignment_options options{};
    options.size = sizeof options;
    options.device = device;
    options.user = const_cast<void*>(static_cast<const void*>(&place));
    options.place = [](void* user, const ingot_weight* weight) -> const char* {
      return (*static_cast<std::remove_reference_t<Place>*>(user))(*weight);
    };
    Error error;
    ingot_assignment* assignment = nullptr;
    if (ingot_assignment_create(object_, &options, &assignment, &error)) return error;
    return Assignment(assignment);
  }
  Result<Session> session(const ingot_session_options& options = session_options()) const {
    Error error;
    ingot_session* session = nullptr;
    if (ingot_session_create(object_, &options, &session, &error)) return error;
    return Session(session);
  }
};

}  // namespace ingot

#endif  // INGOT_INGOT_HPP_
