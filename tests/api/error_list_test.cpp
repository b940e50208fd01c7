// SPDX-License-Identifier: Apache-2.0
// Every error of the C interface in words, provoked where a call can provoke it:
// tests/api/error_texts.txt is the list that people read when they change a wording. INGOT_UPDATE=1
// writes it anew.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>

#include "ingot/cpu.h"
#include "ingot/pipeline.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// "what was done" and the line that the error gives.
class List {
 public:
  void add(const std::string& what, const std::function<ingot_code(ingot_error*)>& act) {
    Error error;
    const ingot_code code = act(&error);
    CAPTURE(what);
    CHECK(code != INGOT_OK);
    CHECK(code == error.code);
    // Sizes of structs are not what is read here.
    static const std::regex sizes("[0-9][0-9,]*( B|[ ]short|(?=; copy|, part))");
    lines << what << "\n    " << std::regex_replace(error.text(), sizes, "N$1") << "\n";
  }
  std::ostringstream lines;
};

struct Folder {
  Folder() {
    char name[] = "/tmp/ingot_errors_XXXXXX";
    REQUIRE(mkdtemp(name));
    REQUIRE(chdir(name) == 0);  // texts have the paths that are given
    path = name;
  }
  ~Folder() {
    for (const char* file :
         {"text.ingot", "zip.ingot", "empty.ingot", "cut.ingot", "changed.ingot"})
      unlink(file);
    if (chdir("/") == 0) rmdir(path.c_str());
  }
  std::string path;
};

void write_file(const char* name, const void* bytes, size_t size) {
  std::ofstream(name, std::ios::binary)
      .write(static_cast<const char*>(bytes), std::streamsize(size));
}

void files(List* list) {
  Folder folder;
  const ingot_open_options options = open_options(ingot_cpu_kernels("scalar"));
  const auto open = [&](const char* what, const char* path, const ingot_open_options& with) {
    list->add(what, [&](ingot_error* e) {
      ingot_model* model = nullptr;
      const ingot_code code = ingot_model_open(path, &with, &model, e);
      ingot_model_destroy(model);
      return code;
    });
  };
  FileBytes good(chain_network());
  const std::vector<uint8_t> bytes(good.data(), good.data() + good.size());
  write_file("text.ingot", "hello, world\n", 13);
  write_file("zip.ingot", "PK\x03\x04____________________", 24);
  write_file("empty.ingot", "", 0);
  write_file("cut.ingot", bytes.data(), bytes.size() - 100);
  std::vector<uint8_t> other = bytes;
  other[other.size() - 1] ^= 1;
  write_file("changed.ingot", other.data(), other.size());
  open("open a file that is not there", "nets/mobilenet.ingot", options);
  open("open a folder", "/tmp", options);
  open("open a device", "/dev/null", options);
  open("open a path longer than an error has room for",
       "a/very/long/path/that/has/more/characters/than/the/name/of/an/error/can/hold/net.ingot",
       options);
  open("open a text", "text.ingot", options);
  open("open a zip archive", "zip.ingot", options);
  open("open an empty file", "empty.ingot", options);
  open("open a file that was cut", "cut.ingot", options);
  ingot_open_options hashes = options;
  hashes.trust = INGOT_TRUST_HASHES;
  open("open a file of which a byte of the weights was changed, with its hashes", "changed.ingot",
       hashes);
  const auto memory = [&](const char* what, size_t at, uint8_t value) {
    FileBytes changed(chain_network());
    const_cast<uint8_t*>(static_cast<const uint8_t*>(changed.data()))[at] = value;
    list->add(what, [&](ingot_error* e) {
      ingot_model* model = nullptr;
      return ingot_model_open_memory(changed.data(), changed.size(), &options, &model, e);
    });
  };
  memory("open a file of major version 9", 8, 9);
  memory("open a file with a million parts", 30, 16);
  memory("open a file whose header was changed", 40, 1);
  list->add("open memory that is not aligned", [&](ingot_error* e) {
    ingot_model* model = nullptr;
    return ingot_model_open_memory(good.data() + 4, good.size() - 4, &options, &model, e);
  });
  open("open without kernels", "cut.ingot", ingot_open_options(INGOT_INIT(ingot_open_options)));
  ingot_open_options small = options;
  alignas(16) static uint8_t block[64];
  small.memory = block, small.memory_bytes = sizeof block;
  list->add("open in too little memory", [&](ingot_error* e) {
    ingot_model* model = nullptr;
    return ingot_model_open_memory(good.data(), good.size(), &small, &model, e);
  });
}

void sessions(List* list) {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes);
  FileBytes fixed_bytes(chain_network());
  Model fixed = open_bytes_or_fail(fixed_bytes);
  const auto create = [&](const char* what, const Model& of, const ingot_session_options& options) {
    list->add(what, [&](ingot_error* e) {
      ingot_session* session = nullptr;
      return ingot_session_create(of.get(), &options, &session, e);
    });
  };
  const auto bound = [](const ingot_binding& binding) {
    ingot_session_options options = session_options();
    options.bindings = &binding, options.binding_count = 1, options.threads = 1;
    return options;
  };
  const ingot_binding four{"N", 4}, none{"N", -1}, zero{"N", 0}, large{"N", int64_t{1} << 60},
      unknown{"batch", 4};
  create("a session without a value for a dimension", model, session_options());
  create("a dimension of -1", model, bound(none));
  create("a dimension of 0", model, bound(zero));
  create("a dimension of 2^60", model, bound(large));
  create("a dimension that the model has not", model, bound(unknown));
  ingot_session_options options = bound(four);
  options.upper_bounds = &unknown, options.upper_bound_count = 1;
  options.flags = INGOT_REBINDABLE;
  create("an upper bound of a dimension that the model has not", model, options);
  options = session_options();
  const auto with = [&](const char* what, const std::function<void(ingot_session_options*)>& set) {
    ingot_session_options changed = options;
    set(&changed);
    create(what, fixed, changed);
  };
  with("1000 threads", [](auto* o) { o->threads = 1000; });
  with("-1 threads", [](auto* o) { o->threads = -1; });
  with("unknown flags", [](auto* o) { o->flags = 1u << 30; });
  with("an arena kind of 7", [](auto* o) { o->arena_kind = 7; });
  with("a caller's arena that is null",
       [](auto* o) { o->arena_kind = INGOT_ARENA_CALLER, o->arena_bytes = 1 << 20; });
  alignas(64) static uint8_t arena[1 << 16];
  with("a caller's arena that is too small", [](auto* o) {
    o->arena_kind = INGOT_ARENA_CALLER, o->arena = arena, o->arena_bytes = 256, o->threads = 1;
  });
  with("a caller's arena that is not aligned", [](auto* o) {
    o->arena_kind = INGOT_ARENA_CALLER, o->arena = arena + 8, o->arena_bytes = sizeof arena - 8;
  });
  with("a limit below what the arena takes", [](auto* o) { o->arena_bytes = 64, o->threads = 1; });
  with("a device that nobody knows", [](auto* o) { o->device = "tpu"; });
  with("a fake device beyond the last", [](auto* o) { o->device = "fake:7"; });
  with("an executor without threads", [](auto* o) {
    static const ingot_executor executor = {nullptr,
                                            [](void*, void (*)(void*, int32_t), void*, int32_t) {}};
    o->executor = &executor;
  });
  list->add("a pool of 1000 threads", [](ingot_error* e) {
    ingot_pool* pool = nullptr;
    return ingot_pool_create(1000, &pool, e);
  });
  list->add("a pool of -1 threads", [](ingot_error* e) {
    ingot_pool* pool = nullptr;
    return ingot_pool_create(-1, &pool, e);
  });
  ingot_session_options rebindable = bound(four);
  rebindable.flags = INGOT_REBINDABLE;
  Session session = std::move(model.session(rebindable)).value();
  const auto rebind = [&](const char* what, const ingot_binding& to) {
    list->add(what, [&](ingot_error* e) { return ingot_session_rebind(session.get(), &to, 1, e); });
  };
  rebind("rebind to 0", zero);
  rebind("rebind beyond what the session was made for", large);
  rebind("rebind a dimension that the model has not", unknown);
}

void ports(List* list) {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  Session session = std::move(model.session()).value();
  alignas(64) static uint8_t memory[1 << 12];
  ingot_tensor good = session.input(0).value();
  good.data = memory;
  const auto bind = [&](const char* what, const std::function<void(ingot_tensor*)>& set) {
    ingot_tensor tensor = good;
    set(&tensor);
    list->add(what, [&](ingot_error* e) {
      return ingot_session_bind_input(session.get(), 0, &tensor, e);
    });
  };
  bind("bind integers where floats are", [](auto* t) { t->dtype = INGOT_I32; });
  bind("bind another rank", [](auto* t) { t->rank = 3; });
  bind("bind 5 rows for 4", [](auto* t) { t->dims[0] = 5; });
  bind("bind 9 columns for 8", [](auto* t) { t->dims[1] = 9, t->row_stride = 9; });
  bind("bind rows that overlap", [](auto* t) { t->row_stride = 3; });
  bind("bind too few bytes", [](auto* t) { t->bytes = 100; });
  bind("bind memory that is not aligned", [](auto* t) { t->data = memory + 4; });
  bind("bind a tensor of rank 99", [](auto* t) { t->rank = 99; });
  list->add("bind input 7",
            [&](ingot_error* e) { return ingot_session_bind_input(session.get(), 7, &good, e); });
  list->add("wait for nothing",
            [&](ingot_error* e) { return ingot_session_wait(session.get(), e); });
  list->add("rebind a session that was not made for it", [&](ingot_error* e) {
    const ingot_binding binding{"N", 1};
    return ingot_session_rebind(session.get(), &binding, 1, e);
  });
  list->add("read a value that may be overwritten", [&](ingot_error* e) {
    ingot_tensor tensor;
    for (uint32_t value = 0;; value++)
      if (const ingot_code code = ingot_session_value(session.get(), value, &tensor, e))
        return code;
  });
  list->add("read value 1000", [&](ingot_error* e) {
    ingot_tensor tensor;
    return ingot_session_value(session.get(), 1000, &tensor, e);
  });
  session.cancel();
  list->add("run what was cancelled",
            [&](ingot_error* e) { return ingot_session_run(session.get(), e); });
  list->add("run without a session", [&](ingot_error* e) { return ingot_session_run(nullptr, e); });
  list->add("restore what is no state", [&](ingot_error* e) {
    return ingot_session_restore_state(session.get(), memory, 100, e);
  });
  list->add("an embedded golden that is not there", [&](ingot_error* e) {
    ingot_golden* golden = nullptr;
    return ingot_golden_open(model.get(), &golden, e);
  });
  list->add("metadata that is not there", [&](ingot_error* e) {
    uint64_t size = 0;
    return ingot_model_metadata(model.get(), "labels", nullptr, 0, &size, e);
  });
  list->add("a part into too few bytes", [&](ingot_error* e) {
    uint64_t size = 0;
    return ingot_model_part(model.get(), INGOT_PART_PROGRAM, 0, memory, 3, &size, e);
  });
  FileBytes lookup(lookup_network());
  Model looks = open_bytes_or_fail(lookup);
  Session looking = std::move(looks.session()).value();
  write(looking.input("indices"), std::vector<int64_t>{0, 9, 3});
  list->add("look up row 9 of 4",
            [&](ingot_error* e) { return ingot_session_run(looking.get(), e); });
  ingot_pipeline* pipeline = nullptr;
  REQUIRE(ingot_pipeline_create(model.get(), nullptr, &pipeline, nullptr) == INGOT_OK);
  list->add("pop what was not pushed",
            [&](ingot_error* e) { return ingot_pipeline_pop(pipeline, nullptr, e); });
  list->add("push without a slot",
            [&](ingot_error* e) { return ingot_pipeline_push(pipeline, e); });
  list->add("release without a slot",
            [&](ingot_error* e) { return ingot_pipeline_release(pipeline, e); });
  ingot_pipeline_destroy(pipeline);
  ingot_pipeline_options deep = INGOT_INIT(ingot_pipeline_options);
  deep.depth = 99;
  list->add("a pipeline of 99 slots", [&](ingot_error* e) {
    ingot_pipeline* made = nullptr;
    return ingot_pipeline_create(model.get(), &deep, &made, e);
  });
}

/// Codes that no call here provokes, with numbers.
void codes(List* list) {
  for (ingot_code code = 1; code <= 99; code++) {
    if (std::string(ingot_code_name(code)) == "unknown") continue;
    list->add(std::string("code ") + ingot_code_name(code), [&](ingot_error* e) {
      *static_cast<ingot_error*>(e) = Error(code);
      std::snprintf(e->name, sizeof e->name, "name");
      e->need = code == INGOT_DTYPE_MISMATCH ? INGOT_F32 : 3;
      e->have = code == INGOT_DTYPE_MISMATCH ? INGOT_I64 : 12;
      return code;
    });
  }
}

}  // namespace

TEST_CASE("error list: every text is the one that was read and agreed on") {
  const std::string path = std::string(INGOT_SOURCE_DIR) + "/tests/api/error_texts.txt";
  List list;
  files(&list);
  sessions(&list);
  ports(&list);
  codes(&list);
  const std::string now = list.lines.str();
  if (std::getenv("INGOT_UPDATE")) std::ofstream(path) << now;
  std::stringstream recorded;
  recorded << std::ifstream(path).rdbuf();
  std::istringstream a(recorded.str()), b(now);
  std::string was, is;
  while (std::getline(b, is)) {
    std::getline(a, was);
    CHECK(is == was);
  }
  CHECK(recorded.str() == now);
}
