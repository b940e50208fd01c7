// SPDX-License-Identifier: Apache-2.0
// tools/session/engine.h - a model and its session through the public interface, with failures
// turned into exit codes and lines, and numpy arrays moved in and out.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.hpp"
#include "tools/files/failure.h"
#include "tools/files/npz/npz.h"
#include "tools/session/arguments.h"
#include "tools/session/placing.h"
#include "tools/session/run_watch.h"

namespace ingot::cli {

/// Exit code of design 8 for a code of the library.
host::Exit exit_of(ingot_code code);
[[noreturn]] void fail_with(const std::string& where, const Error& error);

/// The CPU kernels that INGOT_CPU_ISA names, "oracle" (naive, in double) among them, or the best
/// for this processor. @throws Failure kUsage for a name that is unknown or cannot run here.
const ingot_kernel_table* chosen_kernels();
/// Names that INGOT_CPU_ISA takes on this processor, slowest first, without "oracle".
std::vector<std::string> runnable_isas();

struct OpenSettings {
  ingot_trust trust = INGOT_TRUST_NONE;
  ingot_map map = INGOT_MAP_SHARE;
  const ingot_kernel_table* kernels = nullptr;  // null: chosen_kernels()
};
/// Says what the file is when it is none of ours. @throws Failure.
Model open_model(const std::string& path, const OpenSettings& settings = {});

struct SessionSettings {
  std::string device = "auto";
  // not empty: a device for each weight, `device` for those that no rule fits
  std::vector<PlaceRule> places;
  int32_t threads = 0;
  uint32_t flags = 0;
  uint64_t arena_limit = 0;  // 0: none
  double run_seconds = 300;  // of each run; 0: any
};

/// One model, opened, and at most one session of it.
class Engine {
 public:
  Engine(const std::string& path, const OpenSettings& settings = {});

  const std::string& path() const { return path_; }
  const Model& model() const { return model_; }
  const ingot_model_summary& summary() const { return summary_; }
  Session& session() { return session_; }
  ingot_value_type input(uint32_t i) const;
  ingot_value_type output(uint32_t i) const;
  ingot_state state(uint32_t i) const;
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  std::vector<std::string> symbol_names() const;
  /// "f32 [N,3,32,W]".
  std::string type_text(const ingot_value_type& type) const;

  /// --dim. @throws Failure kMismatch for an unknown name.
  void bind_dims(const std::map<std::string, int64_t>& dims);
  /// Dims that `shape` of input i determines. @throws Failure kMismatch where rank, a fixed
  /// dimension, or an earlier binding disagree.
  void bind_from_shape(uint32_t i, const std::vector<int64_t>& shape, const std::string& where);
  /// The same for any port or state.
  void bind_from_type(const ingot_value_type& type, const std::vector<int64_t>& shape,
                      const std::string& where);
  /// Binds every dimension still open to the extent that conversion chose by ("ingot.typical.NAME"
  /// in the metadata), else to its lower bound. Returns what was assumed, "N = 1, W = 320", or "".
  std::string assume_rest();
  const std::map<std::string, int64_t>& bindings() const { return bindings_; }

  /// The assignment that the rules of `settings` make; create_session() makes it by itself where
  /// there are rules.
  const Assignment& assign(const SessionSettings& settings);
  /// What a device of the assignment would have and do; false beyond the last. @pre assign().
  /// @throws Failure
  bool find_share(const SessionSettings& settings, uint32_t index, ingot_share* out) const;
  bool find_branch(const SessionSettings& settings, uint32_t index, ingot_branch* out) const;
  /// How an instruction of a session would be computed; false beyond the last. @throws Failure
  bool find_variant(const SessionSettings& settings, uint32_t instruction,
                    ingot_variant* out) const;
  /// The device that `settings.device` stands for. @pre assign()
  std::string default_device(const SessionSettings& settings) const;

  void create_session(const SessionSettings& settings);
  /// With which dimensions, and converted in which precision, a session would need no more than
  /// `bytes` of a device, in words.
  std::string what_would_fit(const SessionSettings& settings, uint64_t bytes) const;
  /// Whether the bindings make a sound program and plan; allocates no session.
  bool can_create(const SessionSettings& settings) const;
  /// What create_session() will take. @throws Failure
  ingot_requirements would_need(const SessionSettings& settings);

  /// Copies; type and shape must be those of the session's input. @throws Failure kMismatch.
  void set_input(uint32_t i, const host::Array& array, const std::string& where);
  /// The same for a port's memory wherever it lies.
  void set_port(const ingot_tensor& port, const host::Array& array, const std::string& where) const;
  /// @throws Failure, also where it took longer than SessionSettings.run_seconds
  void run();
  /// The same; false where the run was cancelled by the session's caller. `call` runs the session
  /// once, in another way than session().run().
  bool run_unless_cancelled();
  bool run_unless_cancelled(const std::function<Result<void>()>& call);
  host::Array take_output(uint32_t i);
  std::vector<host::Array> take_outputs();
  /// A state variable of the session; of a device that keeps it to itself a copy, which lasts until
  /// the next call. @throws Failure
  ingot_tensor state_tensor(uint32_t i);
  /// As set_input().
  void set_state(uint32_t i, const host::Array& array, const std::string& where);
  ingot_requirements requirements() const { return session_.requirements(); }
  ingot_placement placement() const;

 private:
  std::string path_;
  Model model_;
  ingot_model_summary summary_{};
  std::map<std::string, int64_t> bindings_;
  std::map<std::string, std::string> bound_by_;
  std::vector<ingot_binding> binding_list() const;
  template <class Ask>
  bool ask_placement(const SessionSettings& settings, const Ask& ask) const;
  static ingot_session_options options_of(const SessionSettings& settings,
                                          const std::vector<ingot_binding>& bindings);
  Assignment assignment_;
  Session session_;
  std::unique_ptr<RunWatch> watch_;    // of session_; null: a run may take any time
  std::vector<uint8_t> saved_states_;  // of state_tensor()
};

/// Dense copies between arrays and views whose rows may lie apart.
void copy_in(const uint8_t* bytes, const ingot_tensor& to);
host::Array copy_out(const ingot_tensor& from, const std::string& name);
bool same_shape(const ingot_tensor& tensor, const std::vector<int64_t>& dims);

}  // namespace ingot::cli
