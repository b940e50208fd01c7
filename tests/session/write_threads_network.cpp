// SPDX-License-Identifier: Apache-2.0
// write_threads_network FILE - the network of threads_test.cpp. Convolutions of several methods
// with a residual: instructions that are shared, barriers within them, scratch of each member.
#include <cstdio>

#include "tests/compile/core_graph.h"
#include "tools/compile/convert/convert.h"

using namespace ingot;

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  convert::CoreGraph g;
  const graph::ValueId x = g.input("x", {1, 14, 14, 16});
  const graph::ValueId a = g.conv(x, 16, 3);
  const graph::ValueId b = g.conv(a, 32, 1);
  const graph::ValueId c = g.conv(b, 32, 3, 1, "relu", -1, "depthwise");
  g.output(g.conv(c, 16, 1, 1, "none", a));
  convert::ConvertOptions options;
  options.winograd = convert::WinogradMode::kAuto;
  convert::write_file(convert::convert_model(std::move(g.model), options).file, argv[1]);
  std::printf("%s\n", argv[1]);
  return 0;
}
