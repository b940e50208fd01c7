// SPDX-License-Identifier: Apache-2.0
// Programs followed during conversion: what is known is computed, what is not becomes the graph,
// and nothing runs without end.
#include <doctest/doctest.h>

#include <map>

#include "tools/graph/infer/infer_shapes.h"
#include "tools/import/torchscript/interpreter.h"

using namespace ingot;
using namespace ingot::torchscript;
using graph::Dim;
using Kind = Value::Kind;

namespace {

/// A module whose forward() is `body`; what it takes is in `parameters`.
struct Program {
  Program(const std::string& parameters, const std::string& body, const std::string& more = "") {
    std::string text = "class M(Module):\n  def forward(self: __torch__.M" +
                       (parameters.empty() ? "" : ", " + parameters) + ") -> Tensor:\n";
    size_t at = 0;
    while (at < body.size()) {
      const size_t end = std::min(body.find('\n', at), body.size());
      text += "    " + body.substr(at, end - at) + "\n";
      at = end + 1;
    }
    code["__torch__.py"] = text + more;
  }
  Value run(std::vector<Value> arguments = {}) {
    Interpreter interpreter(builder, library, Value::tuple({Value::of(Dim(7))}));
    module->type = "__torch__.M";
    return interpreter.call_method(module, "forward", std::move(arguments));
  }
  Value input(const std::string& name, graph::Dims dims, DType dtype = DType::kF32) {
    const graph::ValueId id = model.add_value(name, dtype);
    model.values[size_t(id)].dims = std::move(dims);
    model.values[size_t(id)].shape_known = true;
    model.graph.inputs.push_back(id);
    return Value::of(builder.own(id));
  }
  size_t count(const std::string& op) const {
    size_t n = 0;
    for (const graph::Node& node : model.graph.nodes) n += text(node.op) == op;
    return n;
  }
  std::map<std::string, std::string> code;
  graph::Model model;
  aten::Builder builder{model};
  Library library{"net.pt", [this](const std::string& member) -> std::optional<std::string> {
                    const auto found = code.find(member);
                    if (found == code.end()) return std::nullopt;
                    return found->second;
                  }};
  std::shared_ptr<Object> module = std::make_shared<Object>();
};

Value result(const std::string& body) { return Program("", body).run(); }
int64_t integer(const std::string& expression) {
  const Value v = result("return " + expression);
  REQUIRE(v.is(Kind::kInt));
  return v.integer.value().value();
}
std::string raised(const std::string& body) {
  try {
    (void)result(body);
  } catch (const Raised& error) {
    return error.message;
  }
  return "nothing";
}

}  // namespace

TEST_CASE("plain values are computed as Python computes them") {
  CHECK(integer("torch.floordiv(-7, 2)") == -4);
  CHECK(integer("torch.remainder(-7, 2)") == 1);
  CHECK(integer("torch.remainder(7, -2)") == -1);
  CHECK(integer("torch.sub(torch.mul(3, 4), 5)") == 7);
  CHECK(integer("torch.__range_length(2, 11, 3)") == 3);
  CHECK(integer("torch.__range_length(11, 2, -3)") == 3);
  CHECK(integer("torch.__derive_index(2, 10, -4)") == 2);
  CHECK(integer("int(2.9)") == 2);
  CHECK(integer("torch.len([1, 2, 3])") == 3);
  CHECK(integer("([4, 5, 6])[-1]") == 6);
  CHECK(integer("({\"a\": 1, \"b\": 2})[\"b\"]") == 2);
  CHECK(integer("CONSTANTS.c0") == 7);
  CHECK(integer("ops.prim.max([3, 9, 4])") == 9);
  CHECK(result("return torch.div(7, 2)").number == 3.5);
  CHECK(result("return torch.__contains__([1, 2], 2)").truth);
  CHECK(result("return torch.__isnot__(None, None)").truth == false);
  CHECK(result("return torch.format(\"{} of {}\", 1, \"x\")").text == "1 of x");
  CHECK(raised("return torch.floordiv(1, 0)") == "integer division or modulo by zero");
  CHECK(raised("return ([1])[3]") != "nothing");
  CHECK(raised("ops.prim.RaiseException(\"said so\", \"builtins.ValueError\")\nreturn 1") ==
        "said so");
}

TEST_CASE("branches and loops on what is known are taken") {
  CHECK(result("if torch.gt(1, 2):\n  x = 1\nelse:\n  x = 2\nreturn x").integer == Dim(2));
  CHECK(result("s = 0\nfor i in range(10):\n  s = torch.add(s, i)\nreturn s").integer == Dim(45));
  CHECK(result("s = 1\nwhile torch.lt(s, 100):\n  s = torch.mul(s, 3)\nreturn s").integer ==
        Dim(243));
  CHECK(result("l = annotate(List[int], [])\nfor i in range(3):\n  _0 = torch.append(l, i)\nreturn "
               "torch.len(l)")
            .integer == Dim(3));
}

TEST_CASE("isinstance() knows its types, or is refused") {
  const auto is = [](const std::string& what) {
    return result("return isinstance(" + what + ")").truth;
  };
  CHECK(is("[1, 2], (list, tuple)"));
  CHECK(is("(1, 2), (list, tuple)"));
  CHECK(!is("1, (list, tuple)"));
  CHECK(is("[1], List[int]"));
  CHECK(!is("[1], List[str]"));
  CHECK(is("[[1.0]], List[List[float]]"));
  CHECK(is("annotate(List[int], []), List[str]"));  // it does not say what it would hold
  CHECK(is("{\"a\": 1}, Dict[str, int]"));
  CHECK(is("[None, 1], List[Optional[int]]"));
  CHECK(!is("2.5, Tensor"));
  CHECK(!is("2.5, __torch__.Other"));
  Program odd("", "return isinstance(1, Future[int])");
  CHECK_THROWS_AS((void)odd.run(), Stopped);
  REQUIRE(odd.builder.unsupported.size() == 1);
  CHECK(odd.builder.unsupported[0].why == "of the type Future[int] is not supported");
}

TEST_CASE("functions, methods and classes of the archive") {
  Program p("x: int", "_0 = __torch__.f\na, b, = _0(x, c=5)\nq = (self).twice(b)\nreturn q",
            "  def twice(self: __torch__.M, y: int) -> int:\n    return torch.mul(y, 2)\n"
            "def f(x: int, c: int=1) -> Tuple[int, int]:\n  return (x, torch.add(x, c))\n");
  CHECK(p.run({Value::of(Dim(3))}).integer == Dim(16));
}

TEST_CASE("sizes are numbers, symbolic where a dimension is") {
  Program p("x: Tensor",
            "n = torch.size(x, 0)\nm = torch.floordiv(torch.mul(n, 4), 2)\nif torch.gt(n, 0):\n  y "
            "= m\nelse:\n  y = "
            "0\nreturn y");
  const Value v = p.run({p.input("x", {Dim::symbol("N"), Dim(3)})});
  CHECK(v.integer == Dim::symbol("N") * Dim(2));
}

TEST_CASE("a branch that data decides becomes an If with what both leave behind") {
  Program p("x: Tensor",
            "if bool(torch.gt(torch.sum(x), 0)):\n  y, n = torch.mul(x, 2), 3\nelse:\n  y, n = "
            "torch.neg(x), 3\nreturn "
            "torch.add(y, n)");
  const Value v = p.run({p.input("x", {Dim(2), Dim(3)})});
  REQUIRE(p.builder.unsupported.empty());
  REQUIRE(v.is(Kind::kTensor));
  CHECK(p.count("If") == 1);
  CHECK(graph::text(p.builder.dims(p.builder.read(v.tensor))) == "[2, 3]");
}

TEST_CASE("a tensor that one branch writes in place is another one after it") {
  Program p("x: Tensor",
            "y = torch.mul(x, 1)\nv = torch.select(y, 0, 0)\nif bool(torch.gt(torch.sum(x), 0)):\n "
            " _0 = torch.mul_(y, "
            "3)\nelse:\n  pass\nreturn torch.add(v, y)");
  (void)p.run({p.input("x", {Dim(2), Dim(3)})});
  REQUIRE(p.builder.unsupported.empty());
  CHECK(p.count("If") == 1);
}

TEST_CASE(
    "a shape changes in place where the program always changes it, not where the run decides") {
  const std::string kBranch = "if bool(torch.gt(torch.sum(x), 0)):\n  ";
  Program p("x: Tensor", "y = torch.mul(x, 1)\n_0 = torch.unsqueeze_(y, 0)\n" + kBranch +
                             "z = torch.mul(y, 2)\n  _1 = torch.transpose_(z, 1, 2)\nelse:\n  z = "
                             "torch.transpose(y, 2, 1)\nreturn torch.squeeze_(z)");
  const Value v = p.run({p.input("x", {Dim(2), Dim(3)})});
  REQUIRE(p.builder.unsupported.size() == 1);  // of a result that one of two branches gives
  CHECK(p.builder.unsupported[0].op == "aten::squeeze_");
  CHECK(p.count("If") == 1);
  Program inside("x: Tensor",
                 kBranch + "y = torch.mul(x, 2)\n  z = torch.t_(y)\nelse:\n  z = torch.t(x)\n" +
                     "return torch.add(z, torch.t(x))");
  const Value w = inside.run({inside.input("x", {Dim(2), Dim(3)})});
  CHECK(inside.builder.unsupported.empty());
  CHECK(graph::text(inside.builder.dims(inside.builder.read(w.tensor))) == "[3, 2]");
  Program outside("x: Tensor",
                  "y = torch.mul(x, 1)\n" + kBranch + "_0 = torch.t_(y)\nelse:\n  pass\nreturn y");
  (void)outside.run({outside.input("x", {Dim(3), Dim(3)})});
  REQUIRE(!outside.builder.unsupported.empty());
  CHECK(outside.builder.unsupported[0].why.find("from outside of a branch") != std::string::npos);
}

TEST_CASE("a branch that raises is no branch; a run that takes it ends with an error") {
  Program p("x: Tensor",
            "if bool(torch.gt(torch.sum(x), 0)):\n  ops.prim.RaiseException(\"no\", \"\")\n  y = "
            "x\nelse:\n  y = "
            "torch.relu(x)\nreturn y");
  (void)p.run({p.input("x", {Dim(2)})});
  REQUIRE(p.builder.unsupported.empty());
  REQUIRE(p.count("If") == 1);
  for (const graph::Node& node : p.model.graph.nodes)
    if (node.op == op::If) CHECK(!node.has(attr::then_branch));
}

TEST_CASE("what cannot be proved is refused by name") {
  Program list(
      "x: Tensor",
      "l = annotate(List[Tensor], [])\nif bool(torch.gt(torch.sum(x), 0)):\n  _0 = torch.append(l, "
      "x)\nelse:\n  pass\nreturn x");
  CHECK_THROWS_AS((void)list.run({list.input("x", {Dim(2)})}), Stopped);
  REQUIRE(!list.builder.unsupported.empty());
  CHECK(list.builder.unsupported[0].why.find("list") != std::string::npos);
  Program op(
      "x: Tensor",
      "y = torch.no_such_operator(x)\nz = ops.mine.other(y)\nw = ops.mine.third(x)\nreturn z");
  (void)op.run({op.input("x", {Dim(2)})});
  CHECK(op.builder.unsupported.size() == 2);  // what reads a refused value is not reported again
}

TEST_CASE("nothing runs without end") {
  const auto code = [](const std::string& body, const std::string& more = "") -> int {
    Program p("", body, more);
    try {
      (void)p.run();
    } catch (const graph::ConversionError& error) {
      return error.exit_code;
    }
    return 0;
  };
  CHECK(code("while True:\n  pass\nreturn 1") == 4);
  CHECK(code("for i in range(1000000000000):\n  pass\nreturn 1") == 4);
  CHECK(code("for i in range(60000):\n  for j in range(60000):\n    pass\nreturn 1") == 4);
  CHECK(code("return (self).forward()") == 2);
  CHECK(code("return __torch__.f()", "def f() -> int:\n  return __torch__.f()\n") == 2);
  CHECK(code("return torch.mul([1, 2], 1000000000)") == 4);
}

TEST_CASE("programs that contradict themselves are corrupt") {
  const auto refused = [](const std::string& body) {
    Program p("x: Tensor", body);
    try {
      (void)p.run({p.input("x", {Dim(2)})});
    } catch (const graph::ConversionError& error) {
      CHECK(error.exit_code == 2);
      CHECK(error.message.rfind("net.pt: code/__torch__.py:", 0) == 0);
      return error.message;
    }
    return std::string();
  };
  CHECK(refused("return y").find("'y' is not defined") != std::string::npos);
  CHECK(refused("a, b, = [1, 2, 3]\nreturn x").find("unpacks") != std::string::npos);
  CHECK(refused("return self.weight").find("'weight'") != std::string::npos);
  CHECK(refused("return CONSTANTS.c9").find("c9") != std::string::npos);
  CHECK(refused("return __torch__.nowhere.f(x)").find("nowhere") != std::string::npos);
  CHECK(refused("return (self).other(x)").find("other") != std::string::npos);
  CHECK(refused("return (self).forward(x, x)").find("arguments") != std::string::npos);
}

TEST_CASE("an argument that nobody reads is refused, not ignored") {
  const auto refused = [](const std::string& body) {
    Program p("x: Tensor", body);
    (void)p.run({p.input("x", {Dim(2), Dim(3)})});
    return p.builder.unsupported.empty() ? std::string() : p.builder.unsupported[0].why;
  };
  CHECK(refused("return torch.len([1, 2], 5)").find("its argument 2 is ") == 0);
  CHECK(refused("return torch.dim(x, flat=True)").find("its argument 'flat' is ") == 0);
  CHECK(refused("return torch.dim(x)") == "");
  CHECK(refused("return torch.is_contiguous(x, memory_format=2)") == "");
  Program p("", "return torch.scalar_tensor(3, dtype=5)");
  const Value half = p.run();
  REQUIRE(half.is(Kind::kTensor));
  CHECK(p.builder.dtype(p.builder.read(half.tensor)) == DType::kF16);
}

TEST_CASE("layers that optimize_for_mobile() packed, with the bounds behind them") {
  Program p(
      "x: Tensor, w: Tensor",
      "a = ops.prepacked.conv2d_clamp_prepack(w, None, [2, 2], [1, 1], [1, 1], 1, 0., 6.)\n"
      "y = ops.prepacked.conv2d_clamp_run(x, a)\n"
      "b = ops.prepacked.conv2d_clamp_prepack(w, None, [1, 1], [1, 1], [1, 1], 1, None, None)\n"
      "return ops.prepacked.conv2d_clamp_run(y, b)");
  const Value x = p.input("x", {Dim(1), Dim(3), Dim(8), Dim(8)}),
              w = p.input("w", {Dim(3), Dim(3), Dim(3), Dim(3)});
  const Value y = p.run({x, w});
  REQUIRE(y.is(Kind::kTensor));
  CHECK(graph::text(p.builder.dims(p.builder.read(y.tensor))) == "[1, 3, 4, 4]");
  CHECK(p.count("Conv") == 2);
  CHECK(p.count("Clip") == 1);
  Program wrong("x: Tensor", "return ops.prepacked.conv2d_clamp_run(x, x)");
  CHECK_THROWS_AS((void)wrong.run({wrong.input("x", {Dim(1)})}), Stopped);
  REQUIRE(wrong.builder.unsupported.size() == 1);
  CHECK(wrong.builder.unsupported[0].op == "prepacked::conv2d_clamp_run");
}
