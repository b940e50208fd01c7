// SPDX-License-Identifier: Apache-2.0
#include "tools/session/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/include/ingot/cpu.h"
#include "tools/files/file_kind.h"
#include "tools/files/input_file.h"
#include "tools/files/suggest.h"
#include "tools/files/work_budget.h"
#include "tools/plugins/plugins.h"

namespace ingot::cli {

using host::Array;
using host::Exit;
using host::fail;

namespace {

constexpr const char* kOracle = "oracle";

/// Whether an error's name is this path, or the end of it.
bool ends_with(const std::string& path, std::string name) {
  if (path.size() >= sizeof ingot_error::name && name.rfind("...", 0) == 0) name.erase(0, 3);
  return name.size() <= path.size() &&
         path.compare(path.size() - name.size(), name.size(), name) == 0;
}

std::string shape_text(const ingot_tensor& tensor) {
  return host::dims_text(std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank));
}

std::vector<std::string> port_names(const Model& model, uint32_t count,
                                    decltype(&ingot_model_input) port) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; i++) {
    ingot_value_type type{};
    port(model.get(), i, &type);
    names.push_back(type.name);
  }
  return names;
}

}  // namespace

Exit exit_of(ingot_code code) {
  switch (code) {
    case INGOT_OK: return Exit::kOk;
    case INGOT_INVALID_ARGUMENT: return Exit::kUsage;
    case INGOT_NOT_FOUND:
    case INGOT_SHAPE_MISMATCH:
    case INGOT_DTYPE_MISMATCH:
    case INGOT_UNBOUND_DIMENSION:
    case INGOT_DIMENSION_OUT_OF_BOUNDS:
    case INGOT_BAD_INDEX_VALUE:
    case INGOT_BAD_STATE_VALUE:
    case INGOT_STATE_MISMATCH:
    case INGOT_CONTROL_REFUSED:
    case INGOT_CUSTOM_FAILED: return Exit::kMismatch;
    case INGOT_NOT_INGOT:
    case INGOT_TRUNCATED:
    case INGOT_HEADER_INVALID:
    case INGOT_HASH_MISMATCH:
    case INGOT_STRUCTURE_INVALID: return Exit::kCorrupt;
    // Whole and yet contradicting itself: running it would be unsafe.
    case INGOT_MEANING_INVALID:
    case INGOT_PLAN_INVALID: return Exit::kUnsafe;
    case INGOT_UNSUPPORTED_VERSION:
    case INGOT_UNSUPPORTED_FEATURE:
    case INGOT_UNSUPPORTED_OPERATOR:
    case INGOT_NO_KERNEL:
    case INGOT_LIMIT_EXCEEDED: return Exit::kUnsupported;
    case INGOT_ARENA_TOO_SMALL:
    case INGOT_OUT_OF_MEMORY:
    case INGOT_FILE_OPEN:
    case INGOT_FILE_READ:
    case INGOT_MAP_FAILED:
    case INGOT_THREAD_FAILED:
    case INGOT_LOCK_FAILED:
    case INGOT_NO_SUCH_DEVICE:
    case INGOT_DEVICE_LOST:
    case INGOT_DEVICE_FAULT:
    case INGOT_CANCELLED:
    case INGOT_DEADLINE_EXCEEDED: return Exit::kUnavailable;
    default: return Exit::kInternal;
  }
}

void fail_with(const std::string& where, const Error& error) {
  fail(exit_of(error.code), where + ": " + error.text());
}

std::vector<std::string> runnable_isas() {
  std::vector<std::string> names;
  for (const char* name : built_isas()) {
    if (cpu_kernels(name)) names.push_back(name);
  }
  return names;
}

const ingot_kernel_table* chosen_kernels() {
  const char* named = getenv("INGOT_CPU_ISA");
  if (!named || !*named) return ingot_cpu_kernels(nullptr);
  if (strcmp(named, kOracle) == 0)
    return reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
  const ingot_kernel_table* table = ingot_cpu_kernels(named);
  if (table) return table;
  std::vector<std::string> names = runnable_isas();
  names.push_back(kOracle);
  std::string list;
  for (size_t i = 0; i < names.size(); i++)
    list += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  bool built = false;
  for (const char* name : built_isas()) built |= strcmp(name, named) == 0;
  fail(Exit::kUsage,
       std::string("INGOT_CPU_ISA: '") + named + "' is " +
           (built ? "not what this processor can run" : "no instruction set of this build") +
           "; expected " + list + ", or leave it unset");
}

Model open_model(const std::string& path, const OpenSettings& settings) {
  const host::FileKind kind = host::file_kind(path);
  if (kind != host::FileKind::kIngot) {
    const bool source = kind != host::FileKind::kOther && kind != host::FileKind::kNumpyArray &&
                        kind != host::FileKind::kIngotState;
    fail(Exit::kCorrupt, path + ": expected an .ingot file, found " + host::kind_text(path, kind) +
                             (source ? "; convert it first: ingot convert " + path : ""));
  }
  ingot_open_options options = open_options(settings.kernels ? settings.kernels : chosen_kernels());
  options.trust = settings.trust;
  options.operators = plugins::operators().data();
  options.operator_count = plugins::operators().size();
  options.map = settings.map;
  host::remember_input(path);
  auto model = Model::open(path.c_str(), options);
  if (!model) {
    Error error = model.error();
    if (ends_with(path, error.name)) error.name[0] = 0;  // stands in front already
    fail_with(path, error);
  }
  return std::move(*model);
}

Engine::Engine(const std::string& path, const OpenSettings& settings)
    : path_(path), model_(open_model(path, settings)), summary_(model_.summary()) {}

ingot_value_type Engine::input(uint32_t i) const {
  ingot_value_type type{};
  ingot_model_input(model_.get(), i, &type);
  return type;
}
ingot_value_type Engine::output(uint32_t i) const {
  ingot_value_type type{};
  ingot_model_output(model_.get(), i, &type);
  return type;
}
std::vector<std::string> Engine::input_names() const {
  return port_names(model_, summary_.input_count, ingot_model_input);
}
std::vector<std::string> Engine::output_names() const {
  return port_names(model_, summary_.output_count, ingot_model_output);
}
std::vector<std::string> Engine::symbol_names() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < summary_.symbol_count; i++) {
    ingot_symbol symbol{};
    ingot_model_symbol(model_.get(), i, &symbol);
    names.push_back(symbol.name);
  }
  return names;
}

std::string Engine::type_text(const ingot_value_type& type) const {
  std::string text = std::string(ingot_dtype_name(type.dtype)) + " [";
  for (int32_t d = 0; d < type.rank; d++) {
    char dim[128];
    ingot_model_dim_text(model_.get(), uint32_t(type.value), uint32_t(d), dim, sizeof dim);
    text += (d ? "," : "") + std::string(dim);
  }
  return text + "]";
}

void Engine::bind_dims(const std::map<std::string, int64_t>& dims) {
  const std::vector<std::string> known = symbol_names();
  for (const auto& [name, value] : dims) {
    bool found = false;
    for (const std::string& symbol : known) found |= symbol == name;
    if (!found) {
      fail(Exit::kMismatch, "--dim " + name + ": " + path_ + " has no dimension of that name" +
                                host::did_you_mean(name, known));
    }
    bindings_[name] = value;
    bound_by_[name] = "--dim";
  }
}

std::string Engine::assume_rest() {
  std::string assumed;
  for (uint32_t s = 0; s < summary_.symbol_count; s++) {
    ingot_symbol symbol{};
    ingot_model_symbol(model_.get(), s, &symbol);
    if (bindings_.count(symbol.name)) continue;
    int64_t extent = std::max<int64_t>(symbol.low, 1);  // one that may be empty too
    char text[24] = {};
    uint64_t length = 0;
    const std::string key = std::string("ingot.typical.") + symbol.name;
    if (ingot_model_metadata(model_.get(), key.c_str(), text, sizeof text - 1, &length, nullptr) ==
        INGOT_OK) {
      extent = std::max<int64_t>(strtoll(text, nullptr, 10), symbol.low);
      if (symbol.high > 0) extent = std::min(extent, symbol.high);
    }
    bindings_[symbol.name] = extent;
    bound_by_[symbol.name] = "the extent it was converted for";
    assumed +=
        (assumed.empty() ? "" : ", ") + std::string(symbol.name) + " = " + std::to_string(extent);
  }
  return assumed;
}

ingot_state Engine::state(uint32_t i) const {
  ingot_state state{};
  state.size = sizeof state;
  ingot_model_state(model_.get(), i, &state);
  return state;
}

void Engine::bind_from_shape(uint32_t i, const std::vector<int64_t>& shape,
                             const std::string& where) {
  bind_from_type(input(i), shape, where);
}

void Engine::bind_from_type(const ingot_value_type& type, const std::vector<int64_t>& shape,
                            const std::string& where) {
  const auto mismatch = [&](const std::string& why) {
    fail(Exit::kMismatch,
         where + ": expected " + type_text(type) + ", found shape " + host::dims_text(shape) + why);
  };
  if (size_t(type.rank) != shape.size())
    mismatch("; it has " + std::to_string(shape.size()) + " dimensions, expected " +
             std::to_string(type.rank));
  const std::vector<std::string> symbols = symbol_names();
  for (size_t d = 0; d < shape.size(); d++) {
    if (type.dim_symbol[d] == INGOT_DIM_NUMBER && type.dims[d] != shape[d])
      mismatch("; dimension " + std::to_string(d) + " is " + std::to_string(shape[d]) +
               ", expected " + std::to_string(type.dims[d]));
    if (type.dim_symbol[d] < 0) continue;  // expressions are compared once everything is bound
    const std::string& symbol = symbols[size_t(type.dim_symbol[d])];
    const auto [at, fresh] = bindings_.emplace(symbol, shape[d]);
    if (fresh) bound_by_[symbol] = where;
    if (at->second != shape[d]) {
      mismatch("; dimension " + symbol + " is " + std::to_string(at->second) + " by " +
               bound_by_[symbol]);
    }
  }
}

std::vector<ingot_binding> Engine::binding_list() const {
  std::vector<ingot_binding> list;
  for (const auto& [name, value] : bindings_) list.push_back({name.c_str(), value});
  return list;
}

ingot_session_options Engine::options_of(const SessionSettings& settings,
                                         const std::vector<ingot_binding>& list) {
  ingot_session_options options = session_options();
  options.device = settings.device.c_str();
  options.bindings = list.data();
  options.binding_count = list.size();
  options.threads = settings.threads;
  options.flags = settings.flags;
  options.arena_bytes = settings.arena_limit;
  return options;
}

bool Engine::can_create(const SessionSettings& settings) const {
  const std::vector<ingot_binding> list = binding_list();
  return bool(model_.requirements(options_of(settings, list)));
}

ingot_requirements Engine::would_need(const SessionSettings& settings) {
  const std::vector<ingot_binding> list = binding_list();
  ingot_session_options options = options_of(settings, list);
  if (!settings.places.empty())
    options.assignment = assign(settings).get(), options.device = nullptr;
  auto need = model_.requirements(options);
  if (!need) fail_with(path_, need.error());
  return *need;
}

const Assignment& Engine::assign(const SessionSettings& settings) {
  assignment_ = cli::assign(model_, path_, settings.device, settings.places);
  return assignment_;
}

template <class Ask>
bool Engine::ask_placement(const SessionSettings& settings, const Ask& ask) const {
  const std::vector<ingot_binding> list = binding_list();
  ingot_session_options options = options_of(settings, list);
  options.assignment = assignment_.get();
  options.device = nullptr;
  Error error;
  const ingot_code code = ask(options, &error);
  if (code != INGOT_OK && code != INGOT_NOT_FOUND) fail_with(path_, error);
  return code == INGOT_OK;
}

bool Engine::find_share(const SessionSettings& settings, uint32_t index, ingot_share* out) const {
  return ask_placement(settings, [&](const ingot_session_options& options, Error* error) {
    return ingot_model_share(model_.get(), &options, index, out, error);
  });
}

bool Engine::find_branch(const SessionSettings& settings, uint32_t index, ingot_branch* out) const {
  return ask_placement(settings, [&](const ingot_session_options& options, Error* error) {
    return ingot_model_branch(model_.get(), &options, index, out, error);
  });
}

bool Engine::find_variant(const SessionSettings& settings, uint32_t instruction,
                          ingot_variant* out) const {
  const std::vector<ingot_binding> list = binding_list();
  ingot_session_options options = options_of(settings, list);
  if (assignment_.get()) options.assignment = assignment_.get(), options.device = nullptr;
  Error error;
  *out = {};
  out->size = sizeof *out;
  const ingot_code code = ingot_model_variant(model_.get(), &options, instruction, out, &error);
  if (code != INGOT_OK && code != INGOT_NOT_FOUND) fail_with(path_, error);
  return code == INGOT_OK;
}

std::string Engine::default_device(const SessionSettings& settings) const {
  if (settings.device != "auto") return settings.device;
  const Assignment unruled =
      cli::assign(model_, path_, "auto", {});  // the CPU, and what was chosen where that is another
  return unruled.device(unruled.device(1) ? 1 : 0);
}

void Engine::create_session(const SessionSettings& settings) {
  const std::vector<ingot_binding> list = binding_list();
  std::string missing;
  for (const std::string& symbol : symbol_names()) {
    if (!bindings_.count(symbol)) missing += " --dim " + symbol + "=NUMBER";
  }
  if (!missing.empty()) {
    fail(Exit::kMismatch, path_ + ": dynamic dimensions have no number; set them:" + missing);
  }
  watch_.reset();  // before its session
  ingot_session_options options = options_of(settings, list);
  if (!settings.places.empty()) {
    session_ = Session();  // before its assignment
    options.assignment = assign(settings).get();
    options.device = nullptr;
  }
  auto session = model_.session(options);
  if (!session && session.error().code == INGOT_OUT_OF_MEMORY &&
      session.error().need > session.error().have && session.error().have)
    fail(Exit::kUnavailable, path_ + ": " + session.error().text() + "; " +
                                 what_would_fit(settings, session.error().have));
  if (!session) fail_with(path_, session.error());
  session_ = std::move(*session);
  if (settings.run_seconds > 0)
    watch_ = std::make_unique<RunWatch>(session_.get(), settings.run_seconds, [this] {
      const std::string line = "ingot: " + late_text(path_, watch_->seconds()) + "\n";
      fflush(nullptr);
      fputs(line.c_str(), stderr);
      _exit(int(Exit::kUnavailable));
    });
  // Inputs and outputs are held beside the arena, of which nothing was touched yet.
  uint64_t ports = 0;
  for (uint32_t i = 0; i < summary_.input_count; i++) ports += session_.input(i).value().bytes;
  for (uint32_t i = 0; i < summary_.output_count; i++) ports += session_.output(i).value().bytes;
  if (ports == 0) return;
  const ingot_requirements need = requirements();
  const bool of_cpu = std::strcmp(placement().device, "cpu") == 0;
  host::require_memory(path_ + ": the session with its inputs and outputs",
                       2 * ports + (of_cpu ? need.arena_bytes - need.weights_mapped : 0));
}

void Engine::set_input(uint32_t i, const Array& array, const std::string& where) {
  set_port(session_.input(i).value(), array, where);
}

void Engine::set_port(const ingot_tensor& port, const Array& array,
                      const std::string& where) const {
  const bool bytes_alike = (port.dtype == INGOT_BOOL && array.dtype == DType::kU8) ||
                           (port.dtype == INGOT_U8 && array.dtype == DType::kBool);
  const bool type_fits = port.dtype == int32_t(array.dtype) || bytes_alike;
  if (!type_fits || !same_shape(port, array.dims)) {
    fail(Exit::kMismatch, where + ": expected " + ingot_dtype_name(port.dtype) + " " +
                              shape_text(port) + ", found " + describe(array) +
                              (type_fits ? "" : "; convert it, as in x.astype(...)"));
  }
  copy_in(array.bytes.data(), port);
}

void Engine::run() {
  if (!run_unless_cancelled()) fail(Exit::kUnavailable, path_ + ": the run was cancelled");
}

bool Engine::run_unless_cancelled() {
  return run_unless_cancelled([this] { return session_.run(); });
}

bool Engine::run_unless_cancelled(const std::function<Result<void>()>& call) {
  if (watch_) watch_->begin();
  const auto result = call();
  const bool is_late = watch_ && watch_->end();
  if (result) return true;
  if (result.error().code == INGOT_CANCELLED && is_late)
    fail(Exit::kUnavailable, late_text(path_, watch_->seconds()));
  if (result.error().code == INGOT_CANCELLED) return false;
  std::string where = path_;
  ingot_instruction instruction{};
  if (ingot_session_instruction(session_.get(), result.error().instruction, &instruction) ==
      INGOT_OK) {
    where += std::string(": ") + instruction.op + " '" + instruction.name + "'";
  }
  fail_with(where, result.error());
}

Array Engine::take_output(uint32_t i) {
  return copy_out(session_.output(i).value(), output(i).name);
}
std::vector<Array> Engine::take_outputs() {
  std::vector<Array> outputs;
  for (uint32_t i = 0; i < summary().output_count; i++) outputs.push_back(take_output(i));
  return outputs;
}

ingot_placement Engine::placement() const {
  ingot_placement placement{};
  placement.size = sizeof placement;
  ingot_session_placement(session_.get(), &placement);
  return placement;
}

bool same_shape(const ingot_tensor& tensor, const std::vector<int64_t>& dims) {
  if (size_t(tensor.rank) != dims.size()) return false;
  for (size_t d = 0; d < dims.size(); d++) {
    if (tensor.dims[d] != dims[d]) return false;
  }
  return true;
}

namespace {

/// Calls row(offset in the dense copy, offset in the view, bytes) for every row.
template <class F>
void each_row(const ingot_tensor& tensor, F&& row) {
  const size_t size = ingot_dtype_bytes(tensor.dtype);
  int64_t rows = 1;
  for (int32_t d = 0; d + 1 < tensor.rank; d++) rows *= tensor.dims[d];
  const int64_t length = tensor.rank ? tensor.dims[tensor.rank - 1] : 1;
  const int64_t stride = tensor.row_stride ? tensor.row_stride : length;
  if (length == 0 || rows == 0) return;
  if (stride == length) {
    row(size_t(0), size_t(0), size_t(rows * length) * size);
    return;
  }
  for (int64_t r = 0; r < rows; r++)
    row(size_t(r * length) * size, size_t(r * stride) * size, size_t(length) * size);
}

}  // namespace

void copy_in(const uint8_t* bytes, const ingot_tensor& to) {
  each_row(to, [&](size_t dense, size_t view, size_t count) {
    memcpy(static_cast<uint8_t*>(to.data) + view, bytes + dense, count);
  });
}

Array copy_out(const ingot_tensor& from, const std::string& name) {
  Array array;
  array.name = name;
  array.dtype = DType(from.dtype);
  array.dims.assign(from.dims, from.dims + from.rank);
  array.bytes.resize(size_t(array.elements()) * ingot_dtype_bytes(from.dtype));
  each_row(from, [&](size_t dense, size_t view, size_t count) {
    memcpy(array.bytes.data() + dense, static_cast<const uint8_t*>(from.data) + view, count);
  });
  return array;
}

}  // namespace ingot::cli
