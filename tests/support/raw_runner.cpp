// raw_runner.cpp - runs a file on raw inputs and prints a hash of every output: what needs neither npz nor the command line, so that it
// also runs cross-compiled under an emulator.
//
//   raw_runner MODEL.ingot ISA|best THREADS INPUT_PREFIX [NAME=VALUE ...]     inputs: INPUT_PREFIX.0, INPUT_PREFIX.1, ...
//   prints   output NAME BYTES FNV1A64     (NaN bits are made one before hashing: NaN equals NaN)
#include <ingot/cpu.h>
#include <ingot/ingot.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int fail(const char* what, const ingot_error& error) {
  char text[512];
  ingot_error_text(&error, text, sizeof text);
  std::fprintf(stderr, "raw_runner: %s: %s\n", what, text);
  return 1;
}

bool read_all(const std::string& path, void* to, uint64_t bytes) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  if (!f) return false;
  const size_t got = bytes ? std::fread(to, 1, bytes, f) : 0;
  const bool more = std::fgetc(f) != EOF;
  std::fclose(f);
  return got == bytes && !more;
}

uint64_t hash_of(const ingot_tensor& t) {
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](const uint8_t* p, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 1099511628211u;
  };
  const size_t width = ingot_dtype_bytes(t.dtype);
  const int64_t row = t.rank ? t.dims[t.rank - 1] : 1;
  int64_t rows = 1;
  for (int i = 0; i + 1 < t.rank; i++) rows *= t.dims[i];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < row; i++) {
      const uint8_t* p = static_cast<const uint8_t*>(t.data) + static_cast<size_t>(r * t.row_stride + i) * width;
      uint32_t bits;
      if (t.dtype == INGOT_F32 && (std::memcpy(&bits, p, 4), (bits & 0x7fffffffu) > 0x7f800000u)) {
        bits = 0x7fc00000u;
        p = reinterpret_cast<const uint8_t*>(&bits);
        add(p, 4);
      } else {
        add(p, width);
      }
    }
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::fprintf(stderr, "usage: raw_runner MODEL.ingot ISA|best THREADS INPUT_PREFIX [NAME=VALUE ...]\n"), 1;
  const ingot_kernel_table* kernels = ingot_cpu_kernels(std::strcmp(argv[2], "best") == 0 ? nullptr : argv[2]);
  if (!kernels) return std::printf("[skip] no %s kernels on this machine\n", argv[2]), 77;
  ingot_error error{};
  ingot_open_options open{};
  open.size = sizeof open, open.kernels = kernels;
  ingot_model* model = nullptr;
  if (ingot_model_open(argv[1], &open, &model, &error)) return fail(argv[1], error);
  std::vector<std::string> names;
  std::vector<ingot_binding> bindings;
  names.reserve(static_cast<size_t>(argc));
  for (int i = 5; i < argc; i++) {
    const char* equals = std::strrchr(argv[i], '=');
    if (!equals) return std::fprintf(stderr, "raw_runner: %s: expected NAME=VALUE\n", argv[i]), 1;
    names.emplace_back(argv[i], static_cast<size_t>(equals - argv[i]));
    bindings.push_back({names.back().c_str(), std::atoll(equals + 1)});
  }
  ingot_session_options options{};
  options.size = sizeof options, options.threads = std::atoi(argv[3]);
  options.bindings = bindings.data(), options.binding_count = bindings.size();
  ingot_session* session = nullptr;
  if (ingot_session_create(model, &options, &session, &error)) return fail("session", error);
  ingot_model_summary summary{};
  summary.size = sizeof summary;
  ingot_model_summarize(model, &summary);
  ingot_tensor t{};
  for (uint32_t i = 0; i < summary.input_count; i++) {
    ingot_session_input(session, i, &t);
    const std::string path = std::string(argv[4]) + "." + std::to_string(i);
    if (!read_all(path, t.data, t.bytes)) return std::fprintf(stderr, "raw_runner: %s: expected exactly %" PRIu64 " bytes\n", path.c_str(), t.bytes), 1;
  }
  if (ingot_session_run(session, &error)) return fail("run", error);
  for (uint32_t i = 0; i < summary.output_count; i++) {
    ingot_value_type type{};
    ingot_model_output(model, i, &type);
    ingot_session_output(session, i, &t);
    std::printf("output %s %" PRIu64 " %016" PRIx64 "\n", type.name, t.bytes, hash_of(t));
  }
  ingot_session_destroy(session);
  ingot_model_destroy(model);
  return 0;
}
