// SPDX-License-Identifier: Apache-2.0
// The code of TorchScript archives as syntax: what the printer writes, and what anybody may have
// put in its place.
#include "tools/import/torchscript/parse.h"

#include <doctest/doctest.h>

#include "tools/graph/graph.h"

using namespace ingot;
using namespace ingot::torchscript;

namespace {

std::string refusal(const std::string& source) {
  try {
    (void)parse_file(source, "net.pt: code/a.py");
  } catch (const graph::ConversionError& error) {
    CHECK(error.message.rfind("net.pt: code/a.py:", 0) == 0);
    return error.message;
  }
  return "";
}
std::string in_function(const std::string& line) {
  return "def f(x: Tensor) -> Tensor:\n  " + line + "\n";
}

const Expression& value_of(const File& file, size_t statement = 0) {
  const Function& f = file.functions.at("f");
  return file.at(file.statements[file.order[f.body.first + statement]].value);
}

}  // namespace

TEST_CASE("a class as torch prints it") {
  const File file = parse_file(
      "op_version_set = 1\n"
      "import __torch__.torch.nn\n"
      "class Net(Module):\n"
      "  __parameters__ = [\"weight\", ]\n"
      "  __buffers__ = []\n"
      "  weight : Tensor\n"
      "  bias : Optional[Tensor]\n"
      "  stride : Final[Tuple[int, int]] = (1, 2)\n"
      "  __annotations__[\"0\"] = __torch__.torch.nn.modules.linear.Linear\n"
      "  def forward(self: __torch__.Net,\n"
      "    x: Tensor,\n"
      "    n: int=-3) -> Tuple[Tensor, Dict[str, Tensor]]:\n"
      "    _0 = getattr(self, \"0\")\n"
      "    a, b, = (_0).forward(x, )\n"
      "    c : Optional[Tensor] = a\n"
      "    if torch.gt(n, 0):\n"
      "      y = torch.add(a, b, alpha=2)\n"
      "    else:\n"
      "      ops.prim.RaiseException(\"no\", \"builtins.ValueError\")\n"
      "      y = a\n"
      "    for i in range(n):\n"
      "      pass\n"
      "    while torch.lt(n, 1):\n"
      "      n = torch.add(n, 1)\n"
      "    return (y, {\"k\": (x)[0], })\n"
      "def free(x: Tensor) -> Tensor:\n"
      "  return x\n",
      "net.pt: code/a.py");
  const Class& net = file.classes.at("Net");
  CHECK(net.base == "Module");
  REQUIRE(net.fields.size() == 6);
  CHECK(type_text(file, net.fields[3].type) == "Optional[Tensor]");
  CHECK(net.fields[5].name == "0");
  CHECK(type_text(file, net.fields[5].type) == "__torch__.torch.nn.modules.linear.Linear");
  const Function& forward = net.methods.at("forward");
  REQUIRE(forward.parameters.size() == 3);
  CHECK(forward.parameters[2].name == "n");
  CHECK(file.at(forward.parameters[2].otherwise).integer == -3);
  CHECK(type_text(file, forward.result) == "Tuple[Tensor, Dict[str, Tensor]]");
  REQUIRE(forward.body.count == 7);
  const Statement& unpacked = file.statements[file.order[forward.body.first + 1]];
  CHECK(unpacked.unpacks);
  CHECK(unpacked.count == 2);
  CHECK(unpacked.line == 14);
  const Statement& branch = file.statements[file.order[forward.body.first + 3]];
  CHECK(branch.kind == StatementKind::kIf);
  CHECK(branch.body.count == 1);
  CHECK(branch.otherwise.count == 2);
  CHECK(file.functions.count("free") == 1);
}

TEST_CASE("literals") {
  CHECK(value_of(parse_file(in_function("return 1.0000000000000001e-05"), "a")).number ==
        1.0000000000000001e-05);
  CHECK(value_of(parse_file(in_function("return -9223372036854775807"), "a")).integer ==
        -9223372036854775807);
  CHECK(value_of(parse_file(in_function("return 0."), "a")).kind == ExpressionKind::kFloat);
  CHECK(value_of(parse_file(in_function("return ()"), "a")).count == 0);
  CHECK(value_of(parse_file(in_function("return (x,)"), "a")).kind == ExpressionKind::kTuple);
  CHECK(value_of(parse_file(in_function("return (x)"), "a")).kind == ExpressionKind::kName);
  const File text = parse_file(in_function("return \"a\\n\\\"\\\\\\101\\x42\""), "a");
  CHECK(text.text(value_of(text)) == "a\n\"\\AB");
  const File call =
      parse_file(in_function("return torch.f(x, [1, 2], {\"k\": None}, b=True)"), "a");
  CHECK(value_of(call).count == 5);
  CHECK(dotted(call, call.item(value_of(call), 0)) == "torch.f");
}

TEST_CASE("what is not the language is refused with its line") {
  CHECK(refusal(in_function("return x + 1")).find("'+'") != std::string::npos);
  CHECK(refusal(in_function("return (x")).find("cut short") != std::string::npos);
  CHECK(refusal(in_function("return \"x")).find("no end") != std::string::npos);
  CHECK(refusal(in_function("return x]")).find("closes nothing") != std::string::npos);
  CHECK(refusal(in_function("f(x) = 1")).find("assigned") != std::string::npos);
  CHECK(refusal(in_function("return 99999999999999999999")).find("64 bits") != std::string::npos);
  CHECK(refusal(in_function("return 1.5j")).find("complex") != std::string::npos);
  CHECK(refusal(in_function("return \"\\q\"")).find("escape") != std::string::npos);
  CHECK(refusal("def f(x):\nreturn x\n").find("indented") != std::string::npos);
  CHECK(refusal("def f(x):\n    return x\n  return x\n").find("indentation") != std::string::npos);
  CHECK(refusal("def f(x):\n  return x\ndef f(x):\n  return x\n").find("twice") !=
        std::string::npos);
  CHECK(refusal("lambda x: x\n").find("expected") != std::string::npos);
  CHECK(refusal("\x01").find("byte 1") != std::string::npos);
  CHECK(refusal("class A(B\n").find(":1:") == std::string::npos);
}

TEST_CASE("every beginning of a file is a file or refused") {
  const std::string whole =
      "class A(Module):\n  x : Final[int] = 1\n  def f(self, a: List[int]=[1, 2]) -> int:\n    if "
      "(a)[0]:\n      b, c, "
      "= g(a, k=\"s\\\"\", )\n"
      "    else:\n      pass\n    return {\"a\": -1.5e3}\n";
  CHECK(refusal(whole).empty());
  size_t refused = 0;
  for (size_t n = 0; n < whole.size(); n++) refused += !refusal(whole.substr(0, n)).empty();
  CHECK(refused > whole.size() / 2);
}

TEST_CASE("depth is bounded, length is not") {
  const int deep = 100000;
  CHECK(refusal(in_function("return " + std::string(deep, '(') + "x" + std::string(deep, ')')))
            .find("deeper") != std::string::npos);
  CHECK(refusal(in_function("return " + std::string(deep, '[') + "x" + std::string(deep, ']')))
            .find("deeper") != std::string::npos);
  CHECK(refusal(in_function("return " + std::string(deep, '-') + "x")).find("deeper") !=
        std::string::npos);
  std::string chain = "return x", calls = "return x", items = "return [", blocks = "def f(x):\n",
              otherwise = "def f(x):\n  if x:\n    pass\n";
  for (int i = 0; i < deep; i++) chain += ".a", calls += "()", items += "1, ";
  for (int i = 0; i < 1000; i++)
    blocks += std::string(size_t(i) + 1, ' ') + "if x:\n", otherwise += "  elif x:\n    pass\n";
  CHECK(refusal(in_function(chain)).find("deeper") != std::string::npos);
  CHECK(refusal(in_function(calls)).find("deeper") != std::string::npos);
  CHECK(refusal(blocks).find("nests") != std::string::npos);
  CHECK(refusal(otherwise).find("deeper") != std::string::npos);
  CHECK(refusal(in_function(items + "]")).empty());
}
