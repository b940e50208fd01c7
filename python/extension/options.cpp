// options.cpp - from a dict to ingot_session_options, and requirements back to a dict.
#include "python/extension/options.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "python/extension/failure.h"

namespace ingot::python {

Pool::Pool(int32_t threads) {
  ingot_error error = {};
  check(ingot_pool_create(threads, &pool, &error), error);
}

void Bindings::read(nb::handle mapping, const char* argument) {
  if (!nb::isinstance<nb::dict>(mapping))
    throw nb::type_error((std::string(argument) +
                          ": expected a dict of dimensions, {'W': 320}, found " +
                          nb::inst_name(mapping).c_str())
                             .c_str());
  for (auto [name, value] : nb::borrow<nb::dict>(mapping)) {
    int64_t number = 0;
    if (!nb::isinstance<nb::str>(name) || !nb::try_cast(value, number))
      throw nb::type_error(
          (std::string(argument) + ": expected a name and a whole number for each dimension")
              .c_str());
    names_.push_back(nb::cast<std::string>(name));
    bindings_.push_back({names_.back().c_str(), number});
  }
}

SessionOptions::SessionOptions(nb::dict given) {
  options_ = INGOT_INIT(ingot_session_options);
  const auto value = [&](const char* key) { return nb::object(given[key]); };
  if (!value("device").is_none()) {
    device_ = nb::cast<std::string>(value("device"));
    options_.device = device_.c_str();
  }
  options_.threads = nb::cast<int32_t>(value("threads"));
  options_.flags = nb::cast<uint32_t>(value("flags"));
  if (!value("bindings").is_none()) bindings_.read(value("bindings"), "bindings");
  options_.bindings = bindings_.data();
  options_.binding_count = bindings_.size();
  if (!value("upper_bounds").is_none()) upper_bounds_.read(value("upper_bounds"), "upper_bounds");
  options_.upper_bounds = upper_bounds_.data();
  options_.upper_bound_count = upper_bounds_.size();
  if (!value("pool").is_none()) {
    pool_ = nb::cast<std::shared_ptr<Pool>>(value("pool"));
    options_.pool = pool_->pool;
  }
  const nb::object arena = value("arena");
  if (arena.is_none()) return;
  if (nb::isinstance<nb::int_>(arena)) {
    options_.arena_bytes = nb::cast<uint64_t>(arena);
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
