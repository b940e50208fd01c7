// SPDX-License-Identifier: Apache-2.0
// A source twice as long may cost a little more than twice the work: every list that the converter
// walks is charged (tools/files/work_budget.h), and long sources of every kind are converted at n
// and at 2 n. No clock is read.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/support/onnx_writer.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

using test::attribute;
using test::OnnxGraph;
using Ints = std::vector<int64_t>;

std::string name(const char* stem, int i) { return stem + std::to_string(i); }

/// x -> n nodes -> y; `node` adds the one that makes value i + 1 of value i.
std::string chain(
    int n, const std::vector<test::OnnxDim>& dims,
    const std::function<void(OnnxGraph&, int)>& constants,
    const std::function<void(OnnxGraph&, int, const std::string&, const std::string&)>& node) {
  OnnxGraph g;
  g.input("x", dims);
  if (constants) constants(g, n);
  for (int i = 0; i < n; i++)
    node(g, i, i ? name("v", i) : "x", i + 1 < n ? name("v", i + 1) : "y");
  g.output("y");
  return g.bytes(18);
}

std::string of_operator(const char* op, int n, const std::vector<test::OnnxDim>& dims,
                        const std::vector<test::Proto>& attributes = {},
                        const char* constant = nullptr) {
  return chain(
      n, dims,
      [](OnnxGraph& g, int) {
        g.initializer("four", {4}, std::vector<float>{1, 2, 3, 4});
        g.initializer("kernel", {4, 4, 1, 1}, std::vector<float>(16, 0.5f));
        g.shape_input("order", {3, 1, 2, 0});
        g.shape_input("one", {1});
        g.shape_input("most", {int64_t{1} << 40});
      },
      [&](OnnxGraph& g, int, const std::string& x, const std::string& y) {
        std::vector<std::string> inputs{x};
        if (constant) inputs.push_back(constant);
        if (std::string(op) == "Slice") inputs.insert(inputs.end(), {"most", "one"});
        g.node(op, inputs, {y}, attributes);
      });
}

struct Kind {
  const char* name;
  int n;
  std::function<std::string(int)> source;
};

const Kind kKinds[] = {
    {"transposes", 1000,
     [](int n) {
       return of_operator("Transpose", n, {2, 3, 4}, {attribute("perm", Ints{1, 2, 0})});
     }},
    {"transposes of order three between others", 2000,
     [](int n) {
       return chain(n, {2, 3, 4}, nullptr,
                    [](OnnxGraph& g, int i, const std::string& x, const std::string& y) {
                      i % 2 ? g.node("Transpose", {x}, {y}, {attribute("perm", Ints{1, 2, 0})})
                            : g.node("Relu", {x}, {y});
                    });
     }},
    {"reshapes", 1000,
     [](int n) {
       return chain(
           n, {2, 3, 4},
           [](OnnxGraph& g, int) {
             g.shape_input("wide", {6, 4}).shape_input("deep", {2, 3, 4});
           },
           [](OnnxGraph& g, int i, const std::string& x, const std::string& y) {
             g.node("Reshape", {x, i % 2 ? "deep" : "wide"}, {y});
           });
     }},
    {"activations", 1000,
     [](int n) {
       return of_operator("Sin", n, {2, 4});
     }},
    {"identities", 1000,
     [](int n) {
       return of_operator("Identity", n, {2, 4});
     }},
    {"sums", 1000,
     [](int n) {
       return of_operator("Add", n, {2, 4}, {}, "four");
     }},
    {"gathers", 1000,
     [](int n) {
       return of_operator("Gather", n, {2, 4}, {attribute("axis", int64_t{1})}, "order");
     }},
    {"convolutions", 500,
     [](int n) {
       return of_operator("Conv", n, {1, 4, 6, 6}, {}, "kernel");
     }},
    {"slices", 500,
     [](int n) {
       return of_operator("Slice", n, {2, n + 4}, {}, "one");
     }},
    {"joined one by one", 500,
     [](int n) {
       return chain(
           n, {2, 4},
           [](OnnxGraph& g, int) {
             g.initializer("c", {2, 1}, std::vector<float>{1, 2});
           },
           [](OnnxGraph& g, int, const std::string& x, const std::string& y) {
             g.node("Concat", {x, "c"}, {y}, {attribute("axis", int64_t{1})});
           });
     }},
    {"conversions", 1000,
     [](int n) {
       return chain(n, {2, 4}, nullptr,
                    [](OnnxGraph& g, int i, const std::string& x, const std::string& y) {
                      g.node("Cast", {x}, {y}, {attribute("to", int64_t{i % 2 ? 1 : 6})});
                    });
     }},
    {"operators over dynamic dimensions", 500,
     [](int n) {
       return of_operator("Sin", n, {"a", "b"});
     }},
    {"reshapes of dynamic dimensions", 500,
     [](int n) {
       return chain(
           n, {"a", 4},
           [](OnnxGraph& g, int) {
             g.shape_input("flat", {-1}).shape_input("rows", {-1, 4});
           },
           [](OnnxGraph& g, int i, const std::string& x, const std::string& y) {
             g.node("Reshape", {x, i % 2 ? "rows" : "flat"}, {y});
           });
     }},
    {"sums of two different dynamic dimensions each", 100,
     [](int n) {
       OnnxGraph g;
       for (int i = 0; i <= n; i++) g.input(name("x", i), {name("n", i).c_str()});
       for (int i = 0; i < n; i++)
         g.node("Add", {name("x", i), name("x", i + 1)}, {name("y", i)}).output(name("y", i));
       return g.bytes(18);
     }},
    {"outputs", 500,
     [](int n) {
       OnnxGraph g;
       g.input("x", {2, 4});
       for (int i = 0; i < n; i++) {
         g.initializer(name("c", i), {4}, std::vector<float>(4, float(i)));
         g.node("Add", {"x", name("c", i)}, {name("y", i)}).output(name("y", i));
       }
       return g.bytes(18);
     }},
    {"readers of one value, and constants", 400,
     [](int n) {
       OnnxGraph g;
       g.input("x", {2, 4}).node("Sin", {"x"}, {"s"});
       std::vector<std::string> parts;
       for (int i = 0; i < n; i++) {
         g.initializer(name("c", i), {4}, std::vector<float>(4, float(i)));
         g.node("Add", {"s", name("c", i)}, {name("v", i)});
         parts.push_back(name("v", i));
       }
       return g.node("Concat", parts, {"y"}, {attribute("axis", int64_t{0})}).output("y").bytes(18);
     }},
};

/// Steps of a whole conversion.
uint64_t work_of(const std::string& bytes) {
  const host::TemporaryPath file(".onnx");
  std::ofstream(file.path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  const host::WorkBudget budget("test", bytes.size());
  try {
    convert_source(file.path(), {});
  } catch (const graph::ConversionError& error) {
    FAIL(error.message);
  }
  return budget.steps();
}

}  // namespace

TEST_CASE("work: twice the source costs a little more than twice the steps") {
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name));
    const uint64_t once = work_of(kind.source(kind.n)), twice = work_of(kind.source(2 * kind.n));
    CAPTURE(once);
    CAPTURE(twice);
    CHECK(once > 0);
    CHECK(double(twice) <= 2.2 * double(once));  // n log n; what is quadratic gives four
  }
}

TEST_CASE("work: a dimension of too many symbols is refused with the limit, at one cost") {
  const auto refused = [](int n) {
    OnnxGraph g;
    g.input("x0", {"n0"});
    for (int i = 0; i < n; i++) {
      g.input(name("x", i + 1), {name("n", i + 1).c_str()});
      g.node("Add", {i ? name("y", i) : "x0", name("x", i + 1)}, {name("y", i + 1)});
    }
    const std::string bytes = g.output(name("y", n)).bytes(18);
    const host::TemporaryPath file(".onnx");
    std::ofstream(file.path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    const host::WorkBudget budget("test", bytes.size());
    try {
      convert_source(file.path(), {});
      FAIL("was converted");
    } catch (const graph::ConversionError& error) {
      CHECK(error.exit_code == 4);
      CHECK(error.message.find("4096 characters") != std::string::npos);
      CHECK(error.message.find("--dim") != std::string::npos);
    }
    return budget.steps();
  };
  const uint64_t once = refused(600), twice = refused(1200);
  CHECK(double(twice) <= 2.2 * double(once));
}

TEST_CASE("work: wherever the budget ends, one line says so") {
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name));
    const std::string bytes = kind.source(12);
    const double all = double(host::WorkLimits::kFloor) +
                       double(host::WorkLimits::kPerByte) * double(bytes.size());
    const uint64_t steps = work_of(bytes);
    for (uint64_t part = 1; part < 24; part++) {
      const host::TemporaryPath file(".onnx");
      std::ofstream(file.path(), std::ios::binary)
          .write(bytes.data(), std::streamsize(bytes.size()));
      host::WorkBudget::set_factor(double(steps * part / 24) / all);
      std::string said;
      try {
        convert_source(file.path(), {});
      } catch (const host::Failure& failure) {
        said = failure.message();
      } catch (const graph::ConversionError& error) {
        said = error.message;
      }
      host::WorkBudget::set_factor(1);
      CHECK(said.find("--limit") != std::string::npos);
    }
  }
}

TEST_CASE("work: what is out of proportion is refused by name, with the way to allow more") {
  const std::string bytes = of_operator("Sin", 200, {2, 4});
  const host::TemporaryPath file(".onnx");
  std::ofstream(file.path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  host::WorkBudget::set_factor(1e-9);
  std::string said;
  int exit = 0;
  try {
    convert_source(file.path(), {});
  } catch (const host::Failure& failure) {
    said = failure.message();
    exit = int(failure.exit());
  }
  host::WorkBudget::set_factor(1);
  CHECK(exit == 4);
  CHECK(said.find("steps of work") != std::string::npos);
  CHECK(said.find("--limit") != std::string::npos);
  CHECK_NOTHROW(convert_source(file.path(), {}));
}

TEST_CASE("work: memory that a file asks for is refused before it is taken") {
  const host::WorkBudget budget("small.pth", 8192);
  CHECK_NOTHROW(host::charge_memory(1 << 20));
  try {
    host::charge_memory(uint64_t{3} << 30);
    FAIL("was allowed");
  } catch (const host::Failure& failure) {
    CHECK(failure.exit() == host::Exit::kUnavailable);
    CHECK(failure.message().find("small.pth") == 0);
  }
  CHECK(budget.bytes() == 1 << 20);
}

TEST_CASE(
    "work: weights that are one number over a large shape are refused before they are taken") {
  for (const char* op : {"Conv", "MatMul"}) {
    CAPTURE(op);
    OnnxGraph g;
    const bool is_conv = std::string(op) == "Conv";
    if (is_conv)
      g.input("x", {1, 1024, 8, 8}), g.shape_input("shape", {1 << 17, 1024, 1, 1});
    else
      g.input("x", {8, 1024}), g.shape_input("shape", {1024, 1 << 17});
    g.node("ConstantOfShape", {"shape"}, {"w"});
    g.node(op, {"x", "w"}, {"y"});
    g.output("y");
    const std::string bytes = g.bytes(18);
    const host::TemporaryPath file(".onnx");
    std::ofstream(file.path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    int exit = 0;
    std::string said;
    try {
      convert_source(file.path(), {});
    } catch (const host::Failure& failure) {
      exit = int(failure.exit()), said = failure.message();
    }
    CHECK(exit == 7);
    CHECK(said.find("bytes of memory") != std::string::npos);
  }
}

}  // namespace ingot::convert
