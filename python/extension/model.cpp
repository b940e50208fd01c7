// SPDX-License-Identifier: Apache-2.0
// model.cpp - opening files, and what can be asked of them.
#include "python/extension/model.h"

#include <ingot/cpu.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>
#include <vector>

#include "python/extension/failure.h"
#include "python/extension/interpreter.h"
#include "python/extension/options.h"

namespace ingot::python {
namespace {

ingot_open_options options_of(ingot_trust trust, ingot_map map, nb::handle isa) {
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  const std::string name = isa.is_none() ? "" : text_of(isa, "isa");
  options.kernels = ingot_cpu_kernels(isa.is_none() ? nullptr : name.c_str());
  if (!options.kernels)
    throw Failure(INGOT_NO_KERNEL, "instruction set that this processor or build lacks",
                  "see: ingot --version", name);
  options.trust = trust;
  options.map = map;
  return options;
}

ingot_model_summary summarize(const Model& model) {
  ingot_model_summary summary = INGOT_INIT(ingot_model_summary);
  check(ingot_model_summarize(model.get(), &summary), "model");
  return summary;
}

/// (name, dtype, shape, layout): extents are numbers, names of symbols, or expressions in words.
nb::tuple port_of(const Model& model, const ingot_value_type& type) {
  nb::list shape;
  for (int i = 0; i < type.rank; i++) {
    if (type.dim_symbol[i] == INGOT_DIM_NUMBER) {
      shape.append(type.dims[i]);
      continue;
    }
    std::string text(
        ingot_model_dim_text(model.get(), uint32_t(type.value), uint32_t(i), nullptr, 0), '\0');
    ingot_model_dim_text(model.get(), uint32_t(type.value), uint32_t(i), text.data(),
                         text.size() + 1);
    shape.append(text);
  }
  return nb::make_tuple(type.name, numpy_name(type.dtype), nb::tuple(shape), type.layout);
}

nb::list ports_of(const Model& model, bool is_input) {
  const ingot_model_summary summary = summarize(model);
  nb::list ports;
  for (uint32_t i = 0; i < (is_input ? summary.input_count : summary.output_count); i++) {
    ingot_value_type type;
    check((is_input ? ingot_model_input : ingot_model_output)(model.get(), i, &type), "port");
    ports.append(port_of(model, type));
  }
  return ports;
}

nb::list states_of(const Model& model) {
  nb::list states;
  for (uint32_t i = 0; i < summarize(model).state_count; i++) {
    ingot_state state = INGOT_INIT(ingot_state);
    check(ingot_model_state(model.get(), i, &state), "state");
    states.append(nb::make_tuple(port_of(model, state.type), state.output_name,
                                 bool(state.has_initial_value)));
  }
  return states;
}

nb::list symbols_of(const Model& model) {
  nb::list symbols;
  for (uint32_t i = 0; i < summarize(model).symbol_count; i++) {
    ingot_symbol symbol;
    check(ingot_model_symbol(model.get(), i, &symbol), "symbol");
    symbols.append(nb::make_tuple(symbol.name, symbol.low, symbol.high));
  }
  return symbols;
}

nb::dict summary_of(const Model& model) {
  const ingot_model_summary s = summarize(model);
  nb::dict d;
  d["file_bytes"] = s.file_bytes;
  d["program_bytes"] = s.program_bytes;
  d["metadata_bytes"] = s.metadata_bytes;
  d["weights_bytes"] = s.weights_bytes;
  d["golden_bytes"] = s.golden_bytes;
  d["model_bytes"] = s.model_bytes;
  d["instruction_count"] = s.instruction_count;
  d["step_count"] = s.step_count;
  d["format"] = nb::make_tuple(s.format_major, s.format_minor);
  return d;
}

std::optional<std::string> metadata_of(const Model& model, nb::handle given) {
  const std::string key = text_of(given, "key");
  ingot_error error = {};
  uint64_t bytes = 0;
  ingot_code code = ingot_model_metadata(model.get(), key.c_str(), nullptr, 0, &bytes, &error);
  if (code == INGOT_NOT_FOUND) return std::nullopt;
  check(code, error);
  std::string text(bytes, '\0');
  check(ingot_model_metadata(model.get(), key.c_str(), text.data(), bytes, &bytes, &error), error);
  return text;
}

/// (scale, zero_point), or None.
nb::object quantization_of(const Model& model, nb::handle given) {
  const std::string port = text_of(given, "port");
  ingot_error error = {};
  ingot_quantization found = INGOT_INIT(ingot_quantization);
  const ingot_code code = ingot_model_quantization(model.get(), port.c_str(), &found, &error);
  if (code == INGOT_NOT_FOUND) return nb::none();
  check(code, error);
  return nb::make_tuple(found.scale, found.zero_point);
}

void verify_hashes(const Model& model) {
  ingot_error error = {};
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_model_verify_hashes(model.get(), &error);
  }
  check(code, error);
}

nb::object requirements_of_model(const Model& model, nb::dict options) {
  const SessionOptions session(options);
  ingot_requirements need = INGOT_INIT(ingot_requirements);
  ingot_error error = {};
  check_made(ingot_model_requirements(model.get(), session.get(), &need, &error), error,
             model.get());
  return requirements_dict(need);
}

}  // namespace

Model Model::open_file(nb::bytes path, ingot_trust trust, ingot_map map, nb::handle isa) {
  const ingot_open_options options = options_of(trust, map, isa);
  Model made;
  made.open_ = std::make_shared<OpenModel>();
  ingot_error error = {};
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_model_open(path.c_str(), &options, &made.open_->model, &error);
  }
  check(code, error);
  return made;
}

Model Model::open_bytes(nb::handle bytes, ingot_trust trust, nb::handle isa) {
  const ingot_open_options options = options_of(trust, INGOT_MAP_SHARE, isa);
  Model made;
  made.open_ = std::make_shared<OpenModel>();
  OpenModel& open = *made.open_;
  open.bytes = HeldArray(bytes, "data", Access::kRead);
  const ingot_tensor& tensor = open.bytes.tensor();
  if (tensor.rank != 1 || ingot_dtype_bytes(tensor.dtype) != 1 || open.bytes.on_device())
    throw nb::type_error("data: expected the bytes of an .ingot file: bytes, memoryview, mmap");
  const void* at = tensor.data;
  const uint64_t size = tensor.bytes;
  if (!open.bytes.is_aligned()) {
    open.copied = std::make_shared<Memory>(size_t(size));
    if (size) std::memcpy(open.copied->data(), at, size_t(size));
    at = open.copied->data();
    open.bytes.release();
  }
  ingot_error error = {};
  ingot_code code;
  {
    const Unlocked unlocked;
    code = ingot_model_open_memory(at, size, &options, &open.model, &error);
  }
  check(code, error);
  return made;
}

void bind_model(nb::module_& m) {
  nb::class_<Model>(m, "Model")
      .def_static("open_file", &Model::open_file, nb::arg("path"), nb::arg("trust"), nb::arg("map"),
                  nb::arg("isa").none())
      .def_static("open_bytes", &Model::open_bytes, nb::arg("data").none(), nb::arg("trust"),
                  nb::arg("isa").none())
      .def("inputs", [](const Model& model) { return ports_of(model, true); })
      .def("outputs", [](const Model& model) { return ports_of(model, false); })
      .def("states", states_of)
      .def("symbols", symbols_of)
      .def("summary", summary_of)
      .def("metadata", metadata_of, nb::arg("key").none())
      .def("quantization", quantization_of, nb::arg("port").none())
      .def("copied_bytes",
           [](const Model& model) {
             return model.shared()->copied ? model.shared()->copied->bytes() : 0;
           })
      .def("verify_hashes", verify_hashes)
      .def("requirements", requirements_of_model, nb::arg("options"));
}

}  // namespace ingot::python
