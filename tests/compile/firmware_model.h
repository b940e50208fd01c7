// SPDX-License-Identifier: Apache-2.0
// tests/compile/firmware_model.h - the small network whose kernel table is generated while the
// tests are built.
#pragma once
#include "tests/compile/core_graph.h"
#include "tools/compile/convert/convert.h"

namespace ingot::convert {

inline std::vector<uint8_t> firmware_model() {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 8, 8, 3});
  const ValueId y =
      g.node(op::Reshape, {g.conv(g.conv(x, 8, 3, 2), 8, 3, 2, "relu", -1, "depthwise")}, {1, 32});
  g.output(g.node(op::Linear, {y, g.weights({5, 32}), g.weights({5})}, {1, 5}));
  ConvertOptions options;
  options.targets = {"mcu"};
  return write_memory(convert_model(std::move(g.model), options).file);
}

}  // namespace ingot::convert
