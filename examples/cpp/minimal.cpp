// SPDX-License-Identifier: Apache-2.0
// minimal.cpp - open a model, make a session with weights mapped into its own arena, run it, print
// what came out.
//
//   minimal_cpp MODEL.ingot [DIMENSION=VALUE]...
#include <ingot/cpu.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ingot/ingot.hpp>
#include <string>
#include <vector>

namespace {

int fail(const char* what, const ingot::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.text().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: minimal_cpp MODEL.ingot [DIMENSION=VALUE]...\n");
    return 1;
  }
  auto model = ingot::Model::open(argv[1], ingot_cpu_kernels(nullptr));
  if (!model) return fail(argv[1], model.error());

  std::vector<std::string> names;
  std::vector<ingot_binding> bindings;
  names.reserve(size_t(argc));
  for (int i = 2; i < argc; i++) {
    const char* at = std::strchr(argv[i], '=');
    if (!at) continue;
    names.emplace_back(argv[i], size_t(at - argv[i]));
    bindings.push_back({names.back().c_str(), std::atoll(at + 1)});
  }
  ingot_session_options options = ingot::session_options();
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  auto session = model->session(options);
  if (!session) return fail("session", session.error());
  const ingot_requirements need = session->requirements();
  std::printf("arena: %llu bytes, of which %llu are pages of the file; %d threads\n",
              static_cast<unsigned long long>(need.arena_bytes),
              static_cast<unsigned long long>(need.weights_mapped), need.threads);

  const ingot_model_summary summary = model->summary();
  for (uint32_t i = 0; i < summary.input_count; i++) {
    const auto input = session->input<float>(i);  // or by name
    if (!input) return fail("input", input.error());
    std::fill(input->begin(), input->end(), 0.0f);  // your image, your samples
  }
  if (const auto ran = session->run(); !ran) return fail("run", ran.error());
  for (uint32_t i = 0; i < summary.output_count; i++) {
    const auto output = session->output<float>(i);
    if (!output) return fail("output", output.error());
    std::printf("%s:", model->output(i)->name);
    for (size_t k = 0; k < 4 && k < output->size; k++)
      std::printf(" %g", static_cast<double>((*output)[k]));
    std::printf("\n");
  }
  return 0;
}
