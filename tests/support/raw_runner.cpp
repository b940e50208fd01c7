// raw_runner.cpp - runs a file on raw inputs and prints a hash of every output: needs neither npz nor the command line, so that it also
// runs cross-compiled under an emulator.
//
//   raw_runner MODEL.ingot ISA|best THREADS DIR NAME=24x576 ...      inputs: DIR/NAME.bin ('/' and ':' in NAME written as '_')
//   prints   output NAME BYTES FNV1A64     (every NaN counts as one pattern: NaN equals NaN)
//   raw_runner --exact MODEL.ingot ISA|best THREADS DIR NAME=24x576 ...
//   proves promise 2: one byte less than requirements() is refused with both numbers, and in a poisoned arena of exactly that
//   size the highest byte touched, plus alignment, equals it. Prints   exact NEED TOUCHED
#include <algorithm>

#include <ingot/cpu.h>
#include <ingot/ingot.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
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

struct Opened {
  ingot_model* model = nullptr;
  ingot_model_summary summary{};
  std::vector<ingot_value_type> inputs;
  std::vector<ingot_binding> bindings;
  ingot_session_options options{};
  ~Opened() { ingot_model_destroy(model); }
};

/// Binds every symbol that stands alone in an input's dimensions to what the shapes on the command line say.
bool bind_from_shapes(Opened* o, int count, char** shapes) {
  for (int i = 0; i < count; i++) {
    const char* equals = std::strrchr(shapes[i], '=');
    if (!equals) return std::fprintf(stderr, "raw_runner: %s: expected NAME=1x2x3\n", shapes[i]), false;
    const int32_t index = ingot_model_find_input(o->model, std::string(shapes[i], static_cast<size_t>(equals - shapes[i])).c_str());
    if (index < 0) return std::fprintf(stderr, "raw_runner: %s: no such input\n", shapes[i]), false;
    const ingot_value_type& type = o->inputs[static_cast<size_t>(index)];
    const char* at = equals + 1;
    for (int d = 0; d < type.rank; d++) {
      char* end = nullptr;
      const long long n = std::strtoll(at, &end, 10);
      at = *end == 'x' ? end + 1 : end;
      if (type.dim_symbol[d] < 0) continue;
      ingot_symbol symbol{};
      ingot_model_symbol(o->model, static_cast<uint32_t>(type.dim_symbol[d]), &symbol);
      const auto same = [&](const ingot_binding& b) { return std::strcmp(b.name, symbol.name) == 0; };
      if (std::none_of(o->bindings.begin(), o->bindings.end(), same)) o->bindings.push_back({symbol.name, n});
    }
  }
  return true;
}

bool fill_inputs(const Opened& o, ingot_session* session, const std::string& dir) {
  for (uint32_t i = 0; i < o.summary.input_count; i++) {
    ingot_tensor t{};
    ingot_session_input(session, i, &t);
    std::string name = o.inputs[i].name;
    std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || c == ':'; }, '_');
    const std::string path = dir + "/" + name + ".bin";
    if (!read_all(path, t.data, t.bytes)) {
      std::fprintf(stderr, "raw_runner: %s: expected exactly %" PRIu64 " bytes\n", path.c_str(), t.bytes);
      return false;
    }
  }
  return true;
}

int run_and_hash(const Opened& o, const std::string& dir) {
  ingot_error error{};
  ingot_session* session = nullptr;
  if (ingot_session_create(o.model, &o.options, &session, &error)) return fail("session", error);
  int status = fill_inputs(o, session, dir) ? 0 : 1;
  if (status == 0 && ingot_session_run(session, &error)) status = fail("run", error);
  for (uint32_t i = 0; status == 0 && i < o.summary.output_count; i++) {
    ingot_value_type type{};
    ingot_model_output(o.model, i, &type);
    ingot_tensor t{};
    ingot_session_output(session, i, &t);
    std::printf("output %s %" PRIu64 " %016" PRIx64 "\n", type.name, t.bytes, hash_of(t));
  }
  ingot_session_destroy(session);
  return status;
}

int prove_exact(Opened* o, const std::string& dir) {
  ingot_error error{};
  ingot_requirements need{};
  need.size = sizeof need;
  o->options.flags = INGOT_POISON;
  o->options.arena_kind = INGOT_ARENA_CALLER;
  if (ingot_model_requirements(o->model, &o->options, &need, &error)) return fail("requirements", error);
  const size_t alignment = static_cast<size_t>(need.arena_alignment);
  std::unique_ptr<void, void (*)(void*)> arena(std::aligned_alloc(alignment, (need.arena_bytes + alignment - 1) / alignment * alignment), std::free);
  ingot_session* session = nullptr;
  o->options.arena = arena.get();
  o->options.arena_bytes = need.arena_bytes - 1;
  if (ingot_session_create(o->model, &o->options, &session, &error) != INGOT_ARENA_TOO_SMALL || error.need != need.arena_bytes ||
      error.have != need.arena_bytes - 1)
    return std::fprintf(stderr, "raw_runner: one byte less was not refused with both numbers\n"), 1;
  o->options.arena_bytes = need.arena_bytes;
  if (ingot_session_create(o->model, &o->options, &session, &error)) return fail("session", error);
  int status = fill_inputs(*o, session, dir) ? 0 : 1;
  if (status == 0 && ingot_session_run(session, &error)) status = fail("run", error);
  ingot_touched touched{};
  touched.size = sizeof touched;
  ingot_session_touched(session, &touched);
  ingot_session_destroy(session);
  if (status) return status;
  std::printf("exact %" PRIu64 " %" PRIu64 "\n", need.arena_bytes, touched.arena);
  return touched.arena <= need.arena_bytes && touched.arena + need.arena_alignment > need.arena_bytes ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool exact = argc > 1 && std::strcmp(argv[1], "--exact") == 0;
  if (exact) argc--, argv++;
  if (argc < 5) return std::fprintf(stderr, "usage: raw_runner [--exact] MODEL.ingot ISA|best THREADS DIR [NAME=1x2x3 ...]\n"), 1;
  const ingot_kernel_table* kernels = ingot_cpu_kernels(std::strcmp(argv[2], "best") == 0 ? nullptr : argv[2]);
  if (!kernels) return std::printf("[skip] no %s kernels on this machine\n", argv[2]), 77;
  ingot_error error{};
  ingot_open_options open{};
  open.size = sizeof open, open.kernels = kernels;
  open.map = exact ? INGOT_MAP_COPY : INGOT_MAP_SHARE;
  Opened o;
  if (ingot_model_open(argv[1], &open, &o.model, &error)) return fail(argv[1], error);
  o.summary.size = sizeof o.summary;
  ingot_model_summarize(o.model, &o.summary);
  o.inputs.resize(o.summary.input_count);
  for (uint32_t i = 0; i < o.summary.input_count; i++) ingot_model_input(o.model, i, &o.inputs[i]);
  if (!bind_from_shapes(&o, argc - 5, argv + 5)) return 1;
  o.options.size = sizeof o.options, o.options.threads = std::atoi(argv[3]);
  o.options.bindings = o.bindings.data(), o.options.binding_count = o.bindings.size();
  return exact ? prove_exact(&o, argv[4]) : run_and_hash(o, argv[4]);
}
