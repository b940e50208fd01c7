// Sources out of proportion: TorchScript programs that are long, or short and ask for much. Work is
// counted in steps and memory in bytes (tools/files/work_budget.h): long sources are read at n and
// at 2 n, bombs are refused with one line. No clock is read.
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

namespace ingot::cast {
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
    CastOptions options;
    if (ending == ".pt") options.input_shapes = {"x=2x4"};
    cast_source(file.path(), options);
  } catch (const graph::CastError& error) {
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

}  // namespace ingot::cast
