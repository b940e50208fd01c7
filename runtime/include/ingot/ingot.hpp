// SPDX-License-Identifier: Apache-2.0
// ingot.hpp - thin C++17 over ingot.h: Result<T>, RAII, typed views. Header only; throws nothing,
// and allocates for the text of an error alone. The rules of ingot.h hold (lifetimes, threads). A
// moved-from Model, Session or Pool is empty and may only be destroyed.
//
//   auto model = ingot::Model::open("net.ingot", ingot_cpu_kernels(nullptr));
//   if (!model) return fail(model.error());
//   auto session = model->session();
//   if (!session) return fail(session.error());
//   for (float& x : session->input<float>("audio").value()) x = next_sample();
//   if (auto ran = session->run(); !ran) return fail(ran.error());
//   use(session->output<float>("speech").value());
//
// What may fail gives a Result. To take a value out of one that holds an error ends the program
// with the error's text on stderr: a name that does not exist, or another element type, is never an
// empty view. Ask ok() first to go on instead.
#ifndef INGOT_INGOT_HPP_
#define INGOT_INGOT_HPP_

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ingot.h"
#include "views.hpp"

namespace ingot {

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

inline ingot_session_options session_options() { return INGOT_INIT(ingot_session_options); }
inline ingot_pool_options pool_options() { return INGOT_INIT(ingot_pool_options); }
inline ingot_open_options open_options(const ingot_kernel_table* kernels) {
  ingot_open_options options = INGOT_INIT(ingot_open_options);
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
  static Result<Pool> create(const ingot_pool_options& options) {
    Error error;
    ingot_pool* pool = nullptr;
    if (ingot_pool_create_with(&options, &pool, &error)) return error;
    return Pool(pool);
  }
};

class Session : public Owner<ingot_session, ingot_session_destroy> {
 public:
  using Owner::Owner;
  /// View of a port by index or name; data is null when the caller has yet to bind it.
  Result<ingot_tensor> input(PortKey key) const {
    return view(ingot_session_input, detail::Kind::kInput, key);
  }
  Result<ingot_tensor> output(PortKey key) const {
    return view(ingot_session_output, detail::Kind::kOutput, key);
  }
  /// A state variable where it lies.
  Result<ingot_tensor> state(PortKey key) const {
    return view(ingot_session_state, detail::Kind::kState, key);
  }
  /// Their elements, of that C++ type.
  template <class T>
  Result<Elements<T>> input(PortKey key) const {
    return detail::typed<T>(input(key), model(), detail::Kind::kInput, key);
  }
  template <class T>
  Result<Elements<T>> output(PortKey key) const {
    return detail::typed<T>(output(key), model(), detail::Kind::kOutput, key);
  }
  template <class T>
  Result<Elements<T>> state(PortKey key) const {
    return detail::typed<T>(state(key), model(), detail::Kind::kState, key);
  }
  /// The model that it is made of; null of an empty session.
  const ingot_model* model() const { return ingot_session_model(object_); }
  Result<void> bind_input(uint32_t index, const ingot_tensor& tensor) {
    return checked(
        [&](ingot_error* e) { return ingot_session_bind_input(object_, index, &tensor, e); });
  }
  Result<void> bind_output(uint32_t index, const ingot_tensor& tensor) {
    return checked(
        [&](ingot_error* e) { return ingot_session_bind_output(object_, index, &tensor, e); });
  }
  /// Memory of the session's GPU.
  Result<void> bind_device_input(uint32_t index, const ingot_tensor& tensor) {
    return checked([&](ingot_error* e) {
      return ingot_session_bind_device_input(object_, index, &tensor, e);
    });
  }
  Result<void> bind_device_output(uint32_t index, const ingot_tensor& tensor) {
    return checked([&](ingot_error* e) {
      return ingot_session_bind_device_output(object_, index, &tensor, e);
    });
  }
  Result<void> run() {
    return checked([&](ingot_error* e) { return ingot_session_run(object_, e); });
  }
  Result<void> run_until(uint64_t deadline_ns) {
    return checked(
        [&](ingot_error* e) { return ingot_session_run_until(object_, deadline_ns, e); });
  }
  /// Begins a run; wait() gives its result. See INGOT_ASYNC for sessions on the CPU.
  Result<void> start() {
    return checked([&](ingot_error* e) { return ingot_session_start(object_, e); });
  }
  Result<void> wait() {
    return checked([&](ingot_error* e) { return ingot_session_wait(object_, e); });
  }
  /// Whether wait() would not sleep: also where nothing was started, which wait() then tells.
  bool has_ended() {
    int32_t ended = 0;
    return ingot_session_poll(object_, &ended, nullptr) || ended != 0;
  }
  Result<void> rebind(const ingot_binding* bindings, size_t count) {
    const auto bound =
        checked([&](ingot_error* e) { return ingot_session_rebind(object_, bindings, count, e); });
    if (bound) return {};
    return detail::with_symbols(bound.error(), model());
  }
  Result<void> rebind(const char* name, int64_t value) {
    const ingot_binding binding = {name, value};
    return rebind(&binding, 1);
  }
  void cancel() { ingot_session_cancel(object_); }
  Result<void> reset_state() {
    return checked([&](ingot_error* e) { return ingot_session_reset_state(object_, e); });
  }
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
    return checked(
        [&](ingot_error* e) { return ingot_session_restore_state(object_, saved, bytes, e); });
  }
  Result<void> check_state() const {
    return checked([&](ingot_error* e) { return ingot_session_check_state(object_, e); });
  }
  Result<void> park() {
    return checked([&](ingot_error* e) { return ingot_session_park(object_, e); });
  }
  ingot_requirements requirements() const {
    ingot_requirements need = INGOT_INIT(ingot_requirements);
    ingot_session_requirements(object_, &need);
    return need;
  }
  /// What device `index` has and does; zeros and null names beyond the last.
  ingot_share share(uint32_t index) const {
    ingot_share share = INGOT_INIT(ingot_share);
    ingot_session_share(object_, index, &share);
    return share;
  }
  /// Null names beyond the last.
  ingot_branch branch(uint32_t index) const {
    ingot_branch branch = INGOT_INIT(ingot_branch);
    ingot_session_branch(object_, index, &branch);
    return branch;
  }

 private:
  template <class Call>
  Result<ingot_tensor> view(Call call, detail::Kind kind, const PortKey& key) const {
    return detail::view(call, object_, model(), kind, key);
  }
};

/// Which device each weight lies on. Must outlive the sessions that are made with it, and die
/// before its model.
class Assignment : public Owner<ingot_assignment, ingot_assignment_destroy> {
 public:
  using Owner::Owner;
  /// Null beyond the last; 0 is the CPU.
  const char* device(uint32_t index) const { return ingot_assignment_device(object_, index); }
  /// Index of the device that runs an instruction, -1 beyond the last; and why it does.
  int32_t device_of(uint32_t instruction) const {
    return ingot_assignment_instruction(object_, instruction);
  }
  const char* reason_of(uint32_t instruction) const {
    return ingot_assignment_reason(object_, instruction);
  }
  /// Null names beyond the last.
  ingot_weight weight(uint32_t index) const {
    ingot_weight weight = INGOT_INIT(ingot_weight);
    ingot_assignment_weight(object_, index, &weight, nullptr);
    return weight;
  }
  ingot_weight_place place(uint32_t index) const {
    ingot_weight_place place = INGOT_INIT(ingot_weight_place);
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
    ingot_model_summary summary = INGOT_INIT(ingot_model_summary);
    ingot_model_summarize(object_, &summary);
    return summary;
  }
  /// Type of an input or output, by index or name.
  Result<ingot_value_type> input(PortKey key) const {
    return type(ingot_model_input, ingot_model_find_input, detail::Kind::kInput, key);
  }
  Result<ingot_value_type> output(PortKey key) const {
    return type(ingot_model_output, ingot_model_find_output, detail::Kind::kOutput, key);
  }
  Result<ingot_symbol> symbol(uint32_t index) const {
    ingot_symbol found{};
    if (ingot_model_symbol(object_, index, &found))
      return detail::no_such(object_, detail::Kind::kSymbol, index);
    return found;
  }
  /// Text under a key of the metadata.
  Result<std::string> metadata(const char* key) const {
    Error error;
    uint64_t bytes = 0;
    if (ingot_model_metadata(object_, key, nullptr, 0, &bytes, &error)) return error;
    std::string text(static_cast<size_t>(bytes), '\0');
    if (bytes && ingot_model_metadata(object_, key, &text[0], bytes, &bytes, &error)) return error;
    return text;
  }
  /// Lines about sessions and pipelines that are made from now on.
  void set_log(const ingot_log& log) { ingot_model_set_log(object_, &log); }
  /// What the integers of an input or output stand for.
  Result<ingot_quantization> quantization(const char* port) const {
    Error error;
    ingot_quantization found = INGOT_INIT(ingot_quantization);
    if (ingot_model_quantization(object_, port, &found, &error)) return error;
    return found;
  }
  Result<ingot_requirements> requirements(
      const ingot_session_options& options = session_options()) const {
    Error error;
    ingot_requirements need = INGOT_INIT(ingot_requirements);
    if (ingot_model_requirements(object_, &options, &need, &error))
      return detail::with_symbols(error, object_);
    return need;
  }
  /// `place` is called with each weight, a const ingot_weight&, and answers a device's name; null
  /// or "" is `device`.
  template <class Place>
  Result<Assignment> assign(const char* device, Place&& place) const {
    ingot_assignment_options options = INGOT_INIT(ingot_assignment_options);
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
    if (ingot_session_create(object_, &options, &session, &error))
      return detail::with_symbols(error, object_);
    return Session(session);
  }

 private:
  template <class Ask, class Find>
  Result<ingot_value_type> type(Ask ask, Find find, detail::Kind kind, const PortKey& key) const {
    ingot_value_type found{};
    const int64_t index = key.name ? find(object_, key.name) : key.index;
    if (index < 0 || index > INT32_MAX || ask(object_, static_cast<uint32_t>(index), &found))
      return detail::no_such(object_, kind, key);
    return found;
  }
};

}  // namespace ingot

#endif  // INGOT_INGOT_HPP_
