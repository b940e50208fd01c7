// SPDX-License-Identifier: Apache-2.0
// consumer.cpp - the same through the C++ wrapper.
#include <ingot/cpu.h>

#include <cstdio>
#include <ingot/ingot.hpp>

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  auto model = ingot::Model::open(argv[1], ingot_cpu_kernels(nullptr));
  if (!model) return std::fprintf(stderr, "%s\n", model.error().text().c_str()), 1;
  const ingot_binding batch{"n", 2};
  ingot_session_options options = ingot::session_options();
  options.bindings = &batch, options.binding_count = 1;
  auto session = model->session(options);
  if (!session) return std::fprintf(stderr, "%s\n", session.error().text().c_str()), 1;
  for (float& x : session->input<float>("image").value()) x = 0;
  if (!session->run()) return 1;
  std::printf("ingot %s: first %.6f\n", ingot_version(),
              static_cast<double>(session->output<float>("digit").value()[0]));
}
