// SPDX-License-Identifier: Apache-2.0
// Which processors are fast, in trees of files as systems have them.
#include "runtime/base/os/processors.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace ingot;
namespace fs = std::filesystem;

namespace {

/// cpu0 .. cpuN with these numbers in `file`; 0: no such file.
struct Tree {
  std::string root;
  os::ProcessorSet usable;

  Tree(const std::string& file, const std::vector<unsigned>& speeds) {
    char name[] = "/tmp/ingot_processors_XXXXXX";
    root = mkdtemp(name);
    for (size_t i = 0; i < speeds.size(); i++) {
      const fs::path path = fs::path(root) / ("cpu" + std::to_string(i)) / file;
      fs::create_directories(path.parent_path());
      if (speeds[i]) std::ofstream(path) << speeds[i] << "\n";
      usable.add(int(i));
    }
  }
  ~Tree() { fs::remove_all(root); }
  std::string fast() const {
    const os::ProcessorSet set = os::choose_fast(usable, root.c_str());
    std::string bits;
    for (int i = 0; i < usable.count(); i++) bits += set.has(i) ? '1' : '0';
    return bits;
  }
};

}  // namespace

TEST_CASE("processors: the fewest that a divided step is nearly as soon done with") {
  struct Case {
    const char* name;
    std::vector<unsigned> speeds;
    const char* fast;
  };
  const Case cases[] = {
      {"all equal", {1024, 1024, 1024, 1024}, "1111"},
      {"four slow, four fast", {530, 530, 530, 530, 1024, 1024, 1024, 1024}, "00001111"},
      {"one fastest, three fast, four slow", {250, 250, 250, 250, 870, 870, 870, 1024}, "00001111"},
      {"two and six that add up to more", {1024, 1024, 700, 700, 700, 700, 700, 700}, "11111111"},
      {"favored cores are no class", {5200, 5200, 5000, 5000, 5000, 5000, 5000, 5000}, "11111111"},
      {"one slow", {1000, 1000, 1000, 100}, "1110"},
      {"one that says nothing", {1024, 0, 250, 250}, "1111"},
      {"one", {400}, "1"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(Tree("cpu_capacity", c.speeds).fast() == c.fast);
    CHECK(Tree("cpufreq/cpuinfo_max_freq", c.speeds).fast() == c.fast);
  }
}

TEST_CASE("processors: those that this process may not use do not count") {
  Tree tree("cpu_capacity", {250, 250, 1024, 1024});
  tree.usable = {};
  tree.usable.add(0), tree.usable.add(1);
  const os::ProcessorSet fast = os::choose_fast(tree.usable, tree.root.c_str());
  CHECK((fast.has(0) && fast.has(1) && fast.count() == 2));
}

TEST_CASE("processors: files of other text, and none at all, leave all of them") {
  Tree tree("cpu_capacity", {1024, 250});
  std::ofstream(tree.root + "/cpu1/cpu_capacity") << "many\n";
  CHECK(tree.fast() == "11");
  CHECK(os::choose_fast(tree.usable, "/nowhere").count() == 2);
  CHECK(os::choose_fast(tree.usable, std::string(400, 'x').c_str()).count() == 2);
}
