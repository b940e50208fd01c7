// The pickle machine: what it reads, what it refuses to call, what it does not fall for.
#include "tools/checkpoint/pickle.h"

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

  const ValueTree b = read(with_zeros("\x80\x02}q\x00(X\x01\x00\x00\x00kK\x07X\x01\x00\x00\x00m\x8a\x01\xffu.", 25));
  CHECK(b.at(b.find(b.root, "k")).integer == 7);
  CHECK(b.at(b.find(b.root, "m")).integer == -1);
  CHECK(b.find(b.root, "z") == kNoNode);
}

TEST_CASE("a call is kept when it stands for data and refused by name otherwise") {
  const ValueTree tree = read("ccollections\nOrderedDict\n)R(S'w'\nI3\nu.");
  CHECK(tree.at(tree.root).kind == NodeKind::kCall);
  CHECK(tree.at(tree.find(tree.root, "w")).integer == 3);
  for (const char* target :
       {"os\nsystem", "posix\nsystem", "builtins\neval", "builtins\nexec", "builtins\ngetattr", "subprocess\nPopen",
        "torch.hub\nload", "numpy.testing\nrunstring", "functools\npartial", "my.module\nfunction"}) {
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

TEST_CASE("a stream that is not sound is refused with its place") {
  for (const std::string& bytes :
       {std::string(""), std::string("."), std::string("I1\n"), std::string("a."), std::string("K"),
        std::string("\x87."), with_zeros("X\xff\xff\xff\xff.", 6), std::string("h\x05."), std::string("Ix\n."),
        std::string("]I1\nI2\ns."), std::string("\x80\x09."), std::string("\xfe"),
        with_zeros("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", 10), std::string("(I1\nd.")}) {
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
