// SPDX-License-Identifier: Apache-2.0
// The pickle machine: what it reads, what it refuses to call, what it does not fall for.
#include "tools/checkpoint/torch/pickle.h"

#include <doctest/doctest.h>

#include "tools/files/failure.h"

using namespace ingot;
using namespace ingot::checkpoint;

namespace {

ValueTree read(const std::string& bytes) { return read_pickle(bytes, "test"); }

host::Failure refusal(const std::string& bytes) {
  try {
    (void)read(bytes);
  } catch (const host::Failure& failure) {
    return failure;
  }
  return {host::Exit::kOk, "was read"};
}

std::string with_zeros(const char* text, size_t count) { return std::string(text, count); }

}  // namespace

TEST_CASE("numbers, texts and containers of every protocol") {
  const ValueTree a = read("(I1\nI01\nL12345678901234567890L\nF2.5\nS'a\\nb'\nNt.");
  const Node& tuple = a.at(a.root);
  REQUIRE(tuple.kind == NodeKind::kTuple);
  REQUIRE(tuple.items.size() == 6);
  CHECK(a.at(tuple.items[0]).integer == 1);
  CHECK(a.at(tuple.items[1]).kind == NodeKind::kBool);
  CHECK(a.at(tuple.items[2]).text == "12345678901234567890");
  CHECK(a.at(tuple.items[3]).number == 2.5);
  CHECK(a.at(tuple.items[4]).text == "a\nb");
  CHECK(a.at(tuple.items[5]).kind == NodeKind::kNone);

  const ValueTree b = read(
      with_zeros("\x80\x02}q\x00(X\x01\x00\x00\x00kK\x07X\x01\x00\x00\x00m\x8a\x01\xffu.", 25));
  CHECK(b.at(b.find(b.root, "k")).integer == 7);
  CHECK(b.at(b.find(b.root, "m")).integer == -1);
  CHECK(b.find(b.root, "z") == kNoNode);
}

TEST_CASE("a call is kept when it stands for data and refused by name otherwise") {
  const ValueTree tree = read("ccollections\nOrderedDict\n)R(S'w'\nI3\nu.");
  CHECK(tree.at(tree.root).kind == NodeKind::kCall);
  CHECK(tree.at(tree.find(tree.root, "w")).integer == 3);
  for (const char* target :
       {"os\nsystem", "posix\nsystem", "builtins\neval", "builtins\nexec", "builtins\ngetattr",
        "subprocess\nPopen", "torch.hub\nload", "numpy.testing\nrunstring", "functools\npartial",
        "my.module\nfunction"}) {
    CAPTURE(target);
    const host::Failure failure = refusal(std::string("c") + target + "\n(S'x'\ntR.");
    CHECK(failure.exit() == host::Exit::kUnsafe);
    std::string name = target;
    name[name.find('\n')] = '.';
    CHECK(failure.message().find(name) != std::string::npos);
  }
  // The callable is made by the pickle itself.
  CHECK(refusal("ccollections\nOrderedDict\n)R)R.").exit() == host::Exit::kUnsafe);
  CHECK(refusal("(ios\nsystem\n.").exit() == host::Exit::kUnsafe);
  CHECK(refusal("(cos\nsystem\no.").exit() == host::Exit::kUnsafe);
  CHECK(refusal("\x82\x01.").exit() == host::Exit::kUnsafe);
  // A class that is not there leaves its data.
  CHECK(read("cmy.module\nNet\n)\x81}b.").nodes.size() > 2);
}

TEST_CASE("a class may begin with a small letter: what is made without a call is an instance") {
  const ValueTree tree = read("cultralytics.nn.modules.head\nv10Detect\n)\x81}S'nc'\nI3\nsb.");
  CHECK(tree.at(tree.root).kind == NodeKind::kCall);
  CHECK(tree.at(tree.find(tree.at(tree.root).state, "nc")).integer == 3);
  CHECK(tree.global_name(tree.at(tree.root).items[0]) == "ultralytics.nn.modules.head.v10Detect");
  // a call of it
  CHECK(refusal("cultralytics.nn.modules.head\nv10Detect\n)R.").exit() == host::Exit::kUnsafe);
  for (const char* target :
       {"os\nsystem", "builtins\neval", "subprocess\nrun", "torch\nload", "numpy\nload"})
    CHECK(refusal(std::string("c") + target + "\n)\x81.").exit() == host::Exit::kUnsafe);
}

TEST_CASE("integers beyond 64 bits have the name that Python writes") {
  const auto text = [](const std::string& bytes) {
    const ValueTree tree = read(bytes);
    const Node& node = tree.at(tree.root);
    return node.kind == NodeKind::kText ? node.text : "an integer: " + std::to_string(node.integer);
  };
  // 2 ** 70
  CHECK(text(with_zeros("\x8a\x09\0\0\0\0\0\0\0\0\x40.", 12)) == "1180591620717411303424");
  // 2 ** 63
  CHECK(text(with_zeros("\x8a\x09\0\0\0\0\0\0\0\x80\0.", 12)) == "9223372036854775808");
  CHECK(text(with_zeros("\x8a\x09\0\0\0\0\0\0\0\0\xc0.", 12)) == "-1180591620717411303424");
  CHECK(text(with_zeros("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff.", 12)) == "an integer: -1");
  CHECK(text(with_zeros("\x8a\x09\x07\0\0\0\0\0\0\0\0.", 12)) == "an integer: 7");
  std::string long_one = with_zeros("\x8b\0\0\x10\0", 5) + std::string(1 << 20, 'x') + ".";
  // its decimals would take time without end
  CHECK(refusal(long_one).exit() == host::Exit::kCorrupt);
  CHECK(refusal("L" + std::string(100000, '9') + "L\n.").exit() == host::Exit::kCorrupt);
  CHECK(refusal("L99999999999999999999x\n.").exit() == host::Exit::kCorrupt);
}

TEST_CASE("a stream that is not sound is refused with its place") {
  for (const std::string& bytes :
       {std::string(""), std::string("."), std::string("I1\n"), std::string("a."), std::string("K"),
        std::string("\x87."), with_zeros("X\xff\xff\xff\xff.", 6), std::string("h\x05."),
        std::string("Ix\n."), std::string("]I1\nI2\ns."), std::string("\x80\x09."),
        std::string("\xfe"), with_zeros("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", 10),
        std::string("(I1\nd.")}) {
    CAPTURE(bytes);
    const host::Failure failure = refusal(bytes);
    CHECK(failure.exit() == host::Exit::kCorrupt);
    CHECK(failure.message().find("at byte") != std::string::npos);
  }
}

TEST_CASE("a huge memo index costs nothing and deep nesting does not recurse") {
  CHECK(read(with_zeros("K\x01r\xff\xff\xff\x7f.", 8)).nodes.size() == 1);
  std::string deep(200000, ']');
  deep += std::string(199999, 'a') + ".";
  CHECK(read(deep).nodes.size() == 200000);
}
