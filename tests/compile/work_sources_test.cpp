// SPDX-License-Identifier: Apache-2.0
// Sources out of proportion: programs of TorchScript, torch.export and Keras that are long, or
// short and ask for much. Work is counted in steps and memory in bytes (tools/files/work_budget.h):
// long sources are read at n and at 2 n, bombs are refused with one line. No clock is read.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/checkpoint/stored_zip.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

struct Cost {
  uint64_t steps = 0, bytes = 0;
  int exit = 0;
  std::string said;
};

Cost cost_of(const std::string& bytes, const std::string& ending) {
  const host::TemporaryPath file(ending);
  std::ofstream(file.path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  Cost cost;
  const host::WorkBudget budget("test", bytes.size());
  try {
    ConvertOptions options;
    if (ending == ".pt") options.input_shapes = {"x=2x4"};
    convert_source(file.path(), options);
  } catch (const graph::ConversionError& error) {
    cost.exit = error.exit_code;
    cost.said = error.message;
  } catch (const host::Failure& failure) {
    cost.exit = int(failure.exit());
    cost.said = failure.message();
  }
  cost.steps = budget.steps();
  cost.bytes = budget.bytes();
  return cost;
}

std::string repeated(int n, const std::function<std::string(int)>& line) {
  std::string all;
  for (int i = 0; i < n; i++) all += line(i);
  return all;
}

/// A module without weights, whose forward(x) has these lines.
std::string program(const std::string& body, const std::string& methods = "") {
  const std::string code =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
      "  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n" +
      body + methods;
  const std::string data(
      "\x80\x02"
      "c__torch__\nM\nq\x00)\x81}(X\x08\x00\x00\x00trainingq\x01\x89ub.",
      41);
  return test::stored_zip({{"m/data.pkl", data},
                           {"m/code/__torch__.py", code},
                           {"m/constants.pkl", "\x80\x02)."},
                           {"m/version", "3\n"}});
}
std::string line(int level, const std::string& text) {
  return std::string(size_t(4 + 2 * level), ' ') + text + "\n";
}
std::string statements(int n, const std::string& first, const std::string& each) {
  return program(line(0, first) + repeated(n, [&](int) { return line(0, each); }) +
                 line(0, "return y"));
}

/// A torch.export archive: `nodes` make y of inputs whose names are in `inputs`.
std::string exported(const std::vector<std::string>& inputs, const std::string& nodes) {
  std::string specs, values;
  for (const std::string& name : inputs) {
    specs += (specs.empty() ? "" : ",") +
             std::string(R"({"user_input":{"arg":{"as_tensor":{"name":")") + name + "\"}}}}";
    values += (values.empty() ? "\"" : ",\"") + name +
              R"(":{"dtype":7,"sizes":[{"as_int":2},{"as_int":4}]})";
  }
  const std::string program =
      R"({"schema_version":{"major":8,"minor":2},"torch_version":"2.9.0","range_constraints":{},)"
      R"("graph_module":{"signature":{"input_specs":[)" +
      specs +
      R"(],"output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"y"}}}}]},)"
      R"("graph":{"inputs":[],"outputs":[],"nodes":[)" +
      nodes + R"(],"tensor_values":{)" + values + "}}}}";
  return test::stored_zip({{"m/archive_format", "pt2"},
                           {"m/byteorder", "little"},
                           {"m/models/m.json", program},
                           {"m/data/weights/m_weights_config.json", "{\"config\":{}}"},
                           {"m/data/constants/m_constants_config.json", "{\"config\":{}}"}});
}
std::string tensor_argument(const std::string& name, const std::string& value) {
  return R"({"name":")" + name + R"(","arg":{"as_tensor":{"name":")" + value + R"("}},"kind":1})";
}
std::string exported_node(const std::string& op, const std::string& arguments,
                          const std::string& output) {
  return R"({"name":")" + output + R"(","target":"torch.ops.aten.)" + op + R"(","inputs":[)" +
         arguments + R"(],"outputs":[{"as_tensor":{"name":")" + output + R"("}}],"metadata":{}})";
}
/// x -> n times `op` -> y.
std::string exported_chain(int n, const std::string& op, const std::string& more = "") {
  return exported({"x"}, repeated(n, [&](int i) {
                    const std::string from = i ? "v" + std::to_string(i) : "x",
                                      to = i + 1 < n ? "v" + std::to_string(i + 1) : "y";
                    return (i ? "," : "") +
                           exported_node(op, tensor_argument("self", from) + more, to);
                  }));
}
std::string exported_sum(int n) {
  std::vector<std::string> inputs;
  for (int i = 0; i <= n; i++) inputs.push_back("x" + std::to_string(i));
  return exported(inputs, repeated(n, [&](int i) {
                    const std::string from = i ? "v" + std::to_string(i) : "x0",
                                      to = i + 1 < n ? "v" + std::to_string(i + 1) : "y";
                    return (i ? "," : "") +
                           exported_node("add.Tensor",
                                         tensor_argument("self", from) + "," +
                                             tensor_argument("other", inputs[size_t(i) + 1]),
                                         to);
                  }));
}

std::string keras_call(const std::string& from, int node) {
  return R"({"args":[{"class_name":"__keras_tensor__","config":{"shape":[null,4],"dtype":)"
         R"("float32","keras_history":[")" +
         from + "\"," + std::to_string(node) + R"(,0]}}],"kwargs":{}})";
}
std::string keras_layer(const std::string& kind, const std::string& name, const std::string& fields,
                        const std::string& calls) {
  return R"({"module":"keras.layers","class_name":")" + kind + R"(","config":{"name":")" + name +
         "\"," + fields + R"(},"registered_name":null,"name":")" + name + R"(","inbound_nodes":[)" +
         calls + "]}";
}
/// A Keras archive without weights, of these layers behind an input `x`.
std::string keras(const std::string& layers, const std::string& output, int node) {
  const std::string config =
      R"({"module":"keras.src.models.functional","class_name":"Functional","config":{"name":"net",)"
      R"("trainable":true,"layers":[)" +
      keras_layer("InputLayer", "x", R"("batch_shape":[null,4],"dtype":"float32")", "") + "," +
      layers + R"(],"input_layers":[["x",0,0]],"output_layers":[[")" + output + "\"," +
      std::to_string(node) + R"(,0]]},"registered_name":"Functional"})";
  const std::string root = "OHDR" + test::little(2, 1) + test::little(0, 2) + test::little(0, 4);
  const std::string h5 = "\x89HDF\r\n\x1a\n" + test::little(2, 1) + test::little(8, 1) +
                         test::little(8, 1) + test::little(0, 9) + test::little(~uint64_t{0}, 8) +
                         test::little(48 + root.size(), 8) + test::little(48, 8) +
                         test::little(0, 4) + root;
  return test::stored_zip(
      {{"metadata.json", "{}"}, {"config.json", config}, {"model.weights.h5", h5}});
}
const std::string kTanh = R"("trainable":true,"dtype":"float32","activation":"tanh")";
std::string keras_chain(int n) {
  return keras(repeated(n,
                        [](int i) {
                          const std::string from = i ? "a" + std::to_string(i - 1) : "x";
                          return (i ? "," : "") + keras_layer("Activation", "a" + std::to_string(i),
                                                              kTanh, keras_call(from, 0));
                        }),
               "a" + std::to_string(n - 1), 0);
}
/// One layer that is called n times.
std::string keras_shared(int n) {
  return keras(
      keras_layer(
          "Activation", "a", kTanh,
          repeated(n, [](int i) { return i ? "," + keras_call("a", i - 1) : keras_call("x", 0); })),
      "a", n - 1);
}

struct Kind {
  const char* name;
  const char* ending;
  int n;
  std::function<std::string(int)> source;
};
const Kind kKinds[] = {
    {"statements that give one name again", ".pt", 1000,
     [](int n) { return statements(n, "y = x", "y = torch.sin(y)"); }},
    {"writes in place", ".pt", 500,
     [](int n) { return statements(n, "y = torch.sin(x)", "_0 = torch.add_(y, 1)"); }},
    {"views of views", ".pt", 1000,
     [](int n) { return statements(n, "y = x", "y = torch.view(y, [2, 4])"); }},
    {"names", ".pt", 1000,
     [](int n) {
       return program(line(0, "y0 = x") +
                      repeated(n,
                               [](int i) {
                                 return line(0, "y" + std::to_string(i + 1) + " = torch.sin(y" +
                                                    std::to_string(i) + ")");
                               }) +
                      line(0, "return y" + std::to_string(n)));
     }},
    {"a long list", ".pt", 5000,
     [](int n) {
       return program(line(0, "y = [" + repeated(n, [](int) { return "1, "; }) + "]") +
                      line(0, "return x"));
     }},
    {"nodes", ".pt2", 500, [](int n) { return exported_chain(n, "sin.default"); }},
    {"reshapes", ".pt2", 500,
     [](int n) {
       return exported_chain(n, "view.default",
                             R"(,{"name":"size","arg":{"as_ints":[2,4]},"kind":1})");
     }},
    {"writes in place", ".pt2", 300, [](int n) { return exported_chain(n, "relu_.default"); }},
    {"inputs", ".pt2", 500, exported_sum},
    {"layers", ".keras", 300, keras_chain},
    {"calls of one layer", ".keras", 300, keras_shared},
};

constexpr const char* kTwice = ".__new__(__torch__.M)";
const std::string kManyTimes = line(0, "for i in range(60000):");

struct Bomb {
  const char* name;
  std::string source;
  int exit;
};
std::vector<Bomb> bombs() {
  std::vector<Bomb> all;
  const auto add = [&](const char* name, const std::string& body, int exit,
                       const std::string& methods = "") {
    all.push_back({name, program(body, methods), exit});
  };
  add("a text that doubles",
      line(0, "y = \"aaaaaaaa\"") + kManyTimes + line(1, "y = torch.add(y, y)") +
          line(0, "return x"),
      7);
  add("a text that is formatted into itself",
      line(0, "y = \"aaaaaaaa\"") + kManyTimes + line(1, "y = torch.format(\"{}{}\", y, y)") +
          line(0, "return x"),
      7);
  add("a list that doubles",
      line(0, "y = annotate(List[int], [1])") + kManyTimes + line(1, "y = torch.add(y, y)") +
          line(0, "return x"),
      7);
  add("a list that holds itself",
      line(0, "y = [x]") + line(0, "_1 = torch.append(y, y)") + line(0, "return y"), 4);
  add("a list that is set into itself, dropped",
      line(0, "y = [[x]]") + line(0, "y[0] = y") + line(0, "return x"), 0);
  add("a list that is put into itself, dropped",
      line(0, "y = [[x]]") + line(0, "_1 = torch.insert(y, 0, y)") + line(0, "return x"), 0);
  add("a list that is extended by itself, dropped",
      line(0, "y = [[x]]") + line(0, "_1 = torch.append(y[0], y)") +
          line(0, "_2 = torch.extend(y, y)") + line(0, "return x"),
      0);
  add("an object that holds itself, dropped",
      line(0, std::string("y = __torch__.M") + kTwice) + line(0, "y.a = [y]") + line(0, "return x"),
      0);
  add("a dictionary that holds itself, dropped",
      line(0, "y = {\"a\": x}") + line(0, "y[\"b\"] = y") + line(0, "return x"), 0);
  add("lists in lists, returned",
      line(0, "y = [x]") + kManyTimes + line(1, "y = [y]") + line(0, "return y"), 4);
  add("lists in lists, dropped",
      line(0, "y = [x]") + kManyTimes + line(1, "y = [y]") + line(0, "return x"), 0);
  add("objects in objects, dropped",
      line(0, std::string("y = __torch__.M") + kTwice) + kManyTimes +
          line(1, std::string("z = __torch__.M") + kTwice) + line(1, "z.a = y") + line(1, "y = z") +
          line(0, "return x"),
      0);
  add("two to the 200 outputs",
      line(0, "y0 = [x]") +
          repeated(190,
                   [](int i) {
                     const std::string last = "y" + std::to_string(i);
                     return line(0,
                                 "y" + std::to_string(i + 1) + " = [" + last + ", " + last + "]");
                   }) +
          line(0, "return y190"),
      4);
  add("an endless loop", line(0, "while True:") + line(1, "pass") + line(0, "return x"), 4);
  add("loops in loops",
      line(0, "y = x") + repeated(200, [](int i) { return line(i, "for i in range(60000):"); }) +
          line(200, "z = 1") + line(0, "return y"),
      4);
  add("a function that calls itself", line(0, "return (self).forward(x, )"), 2);
  add("functions that call the next twice", line(0, "return (self).f0(x, )"), 4,
      repeated(60, [](int i) {
        const std::string next = std::to_string(i + 1);
        return "  def f" + std::to_string(i) +
               "(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    y = (self).f" + next +
               "(x, )\n    return (self).f" + next + "(y, )\n";
      }) + "  def f60(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    return x\n");
  add("branches in branches",
      line(0, "y = x") + line(0, "k = bool(torch.gt(torch.sum(x), 0))") +
          repeated(40, [](int i) { return line(i, "if k:"); }) + line(40, "y = torch.relu(y)") +
          line(0, "return y"),
      4);
  add("a hundred thousand operands",
      line(0, "y = [" + repeated(100000, [](int) { return "x, "; }) + "]") +
          line(0, "return torch.cat(y)"),
      4);
  return all;
}

}  // namespace

TEST_CASE("work: twice the program costs a little more than twice the steps") {
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name));
    const Cost once = cost_of(kind.source(kind.n), kind.ending),
               twice = cost_of(kind.source(2 * kind.n), kind.ending);
    CHECK(once.said == "");
    CHECK(twice.said == "");
    CHECK(once.steps > 0);
    CHECK(double(twice.steps) <= 2.2 * double(once.steps));
    CHECK(double(twice.bytes) <= 2.2 * double(once.bytes) + 1e6);
  }
}

TEST_CASE("work: wherever the budget of a program ends, one line says so") {
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name) + kind.ending);
    const std::string source = kind.source(12);
    const double all = double(host::WorkLimits::kFloor) +
                       double(host::WorkLimits::kPerByte) * double(source.size());
    const uint64_t steps = cost_of(source, kind.ending).steps;
    for (uint64_t part = 1; part < 24; part++) {
      host::WorkBudget::set_factor(double(steps * part / 24) / all);
      const Cost cost = cost_of(source, kind.ending);
      host::WorkBudget::set_factor(1);
      CHECK(cost.said.find("--limit") != std::string::npos);
    }
  }
}

TEST_CASE("work: a name that an exported program makes twice is refused") {
  const std::string sine = exported_node("sin.default", tensor_argument("self", "x"), "y");
  CHECK(cost_of(exported({"x"}, sine), ".pt2").said == "");
  const auto twice = [](const std::string& source, const std::string& name) {
    const Cost cost = cost_of(source, ".pt2");
    CHECK(cost.exit == 2);
    CHECK(cost.said.find("'" + name + "'") != std::string::npos);
    CHECK(cost.said.find("twice") != std::string::npos);
  };
  twice(exported({"x"}, sine + "," + sine), "y");
  twice(exported({"x"}, exported_node("sin.default", tensor_argument("self", "x"), "x")), "x");
  twice(exported({"x", "x"}, sine), "x");
}

TEST_CASE("work: a program that asks for much is refused with one line") {
  for (const Bomb& bomb : bombs()) {
    CAPTURE(std::string(bomb.name));
    const Cost cost = cost_of(bomb.source, ".pt");
    CAPTURE(cost.said.substr(0, 300));
    CHECK(cost.exit == bomb.exit);
    CHECK(cost.said.find('\n') == std::string::npos);
    CHECK(cost.bytes <=
          host::WorkLimits::kFloorBytes + host::WorkLimits::kBytesPerByte * bomb.source.size());
  }
}

TEST_CASE("work: a program that recurses ends with a line on a small stack") {
  const std::string source = program(line(0, "return (self).forward(x, )"));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // the main thread's stack grows up to the limit that holds now
    rlimit limit{256 << 10, 256 << 10};
    setrlimit(RLIMIT_STACK, &limit);
    _exit(cost_of(source, ".pt").exit);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
}

}  // namespace ingot::convert
