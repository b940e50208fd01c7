// SPDX-License-Identifier: Apache-2.0
// options.cpp - from a dict to ingot_session_options, and requirements back to a dict.
#include "python/extension/options.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "python/extension/failure.h"
#include "python/extension/interpreter.h"

namespace ingot::python {

Pool::Pool(int32_t threads) {
  ingot_error error = {};
  check(ingot_pool_create(threads, &pool, &error), error);
}

namespace {

/// [begin, end) of the arenas that sessions work in. @pre the GIL is held
std::vector<std::pair<uintptr_t, uintptr_t>>& arenas_in_use() {
  static auto* made = new std::vector<std::pair<uintptr_t, uintptr_t>>;  // sessions may be last
  return *made;
}

[[noreturn]] void refuse_type(const std::string& argument, const char* expected, nb::handle found) {
  const std::string text =
      argument + ": expected " + expected + ", found " + nb::inst_name(found).c_str();
  throw nb::type_error(text.c_str());
}

/// A number that the caller in Python has checked already.
template <class Number>
Number number_of(nb::handle given, const char* argument) {
  Number number = 0;
  if (!nb::try_cast(given, number)) refuse_type(argument, "a whole number", given);
  return number;
}

}  // namespace

void CallerArena::take(HeldArray array) {
  if (!array.object().is_valid() || !array.tensor().bytes) return;
  const uintptr_t begin = uintptr_t(array.tensor().data);
  const uintptr_t end = begin + uintptr_t(array.tensor().bytes);
  for (const auto& [other_begin, other_end] : arenas_in_use())
    if (begin < other_end && other_begin < end)
      throw Failure(INGOT_WRONG_STATE, "arena: another session works in this memory",
                    "close that one and drop the arrays of its input(), output() and state()");
  arenas_in_use().emplace_back(begin, end);
  begin_ = begin, end_ = end;
  array_ = std::move(array);
}

void CallerArena::leave() {
  if (end_) std::erase(arenas_in_use(), std::pair(begin_, end_));
}

void Bindings::read(nb::handle mapping, const char* argument) {
  if (!nb::isinstance<nb::dict>(mapping))
    refuse_type(argument, "a dict of dimensions, {'W': 320}", mapping);
  for (auto [name, value] : nb::borrow<nb::dict>(mapping)) {
    names_.push_back(text_of(name, argument));
    bindings_.push_back({names_.back().c_str(), number_of<int64_t>(value, argument)});
  }
}

void check_made(ingot_code code, const ingot_error& error, const ingot_model* model) {
  if (code == INGOT_OK) return;
  Failure failure(error);
  if (code == INGOT_NOT_FOUND && error.name[0]) {
    std::vector<std::string> names;
    auto summary = INGOT_INIT(ingot_model_summary);
    ingot_model_summarize(model, &summary);
    ingot_symbol symbol = {};
    while (names.size() < summary.symbol_count &&
           !ingot_model_symbol(model, uint32_t(names.size()), &symbol))
      names.push_back(symbol.name);
    failure.add_names(names);
  }
  if (code == INGOT_UNBOUND_DIMENSION) {
    failure.set_hint("");
    failure.add("session(bindings={'" + std::string(failure.name()) + "': 1}) gives it one");
  }
  throw failure;
}

SessionOptions::SessionOptions(nb::dict given) {
  options_ = INGOT_INIT(ingot_session_options);
  const auto value = [&](const char* key) { return nb::object(given[key]); };
  if (!value("device").is_none()) {
    device_ = text_of(value("device"), "device");
    options_.device = device_.c_str();
  }
  options_.threads = number_of<int32_t>(value("threads"), "threads");
  options_.flags = number_of<uint32_t>(value("flags"), "flags");
  if (!value("bindings").is_none()) bindings_.read(value("bindings"), "bindings");
  options_.bindings = bindings_.data();
  options_.binding_count = bindings_.size();
  if (!value("upper_bounds").is_none()) upper_bounds_.read(value("upper_bounds"), "upper_bounds");
  options_.upper_bounds = upper_bounds_.data();
  options_.upper_bound_count = upper_bounds_.size();
  if (upper_bounds_.size() && !(options_.flags & INGOT_REBINDABLE))
    throw Failure(INGOT_INVALID_ARGUMENT, "upper_bounds: only with rebindable=True");
  if (!value("pool").is_none()) {
    if (!nb::try_cast(value("pool"), pool_)) refuse_type("pool", "an ingot.Pool", value("pool"));
    options_.pool = pool_->pool;
  }
  const nb::object arena = value("arena");
  if (arena.is_none()) return;
  if (nb::isinstance<nb::int_>(arena)) {
    options_.arena_bytes = number_of<uint64_t>(arena, "arena");
    return;
  }
  options_.arena_kind = INGOT_ARENA_CALLER;
  if (nb::isinstance<nb::str>(arena)) {
    if (!arena.equal(nb::str("caller")))
      throw nb::type_error("arena: expected None, a number of bytes, an array, or 'caller'");
    return;  // of requirements(): there is none yet
  }
  arena_ = HeldArray(arena, "arena", Access::kWrite);
  const ingot_tensor& tensor = arena_.tensor();
  if (arena_.on_device() || (tensor.rank > 1 && tensor.row_stride != tensor.dims[tensor.rank - 1]))
    throw Failure(INGOT_INVALID_ARGUMENT, "arena: one piece of the CPU's memory is expected",
                  "ingot.empty() makes one");
  options_.arena = tensor.data;
  options_.arena_bytes = tensor.bytes;
}

nb::dict requirements_dict(const ingot_requirements& need) {
  nb::dict d;
  d["arena_bytes"] = need.arena_bytes;
  d["arena_alignment"] = need.arena_alignment;
  d["weights_mapped"] = need.weights_mapped;
  d["weights_copied"] = need.weights_copied;
  d["activations"] = need.activations;
  d["state"] = need.state;
  d["scratch"] = need.scratch;
  d["tables"] = need.tables;
  d["rounding"] = need.rounding;
  d["weights_in_place"] = need.weights_in_place;
  d["outside_bytes"] = need.outside_bytes;
  d["activations_lower_bound"] = need.activations_lower_bound;
  d["peak_instruction"] = need.peak_instruction;
  d["threads"] = need.threads;
  d["device_bytes"] = need.device_bytes;
  d["weights_widened"] = need.weights_widened;
  d["weights_shared"] = need.weights_shared;
  d["steps"] = need.steps;
  return d;
}

void bind_pool(nb::module_& m) {
  nb::class_<Pool>(m, "Pool", "Threads that several sessions share; any thread may use it.")
      .def(
          "__init__", [](Pool* self, int32_t threads) { new (self) Pool(threads); },
          nb::arg("threads") = 0,
          "threads: of the team, the calling thread counts as one; 0: one for each processor.")
      .def_prop_ro("threads", [](const Pool& pool) { return ingot_pool_threads(pool.pool); });
}

}  // namespace ingot::python
