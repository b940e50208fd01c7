// SPDX-License-Identifier: Apache-2.0
// Writes what tests/format/refuse_table.h says to a folder: the files of tests/golden/refuse and
// rules.tsv, which names for each the rule that refuses it. A second folder gets the files that
// they are changes of, which open: tests/golden/accept/v1, once a release.
//   rm -r tests/golden/refuse; build/gcc/tests/format/make_refuse tests/golden/refuse
//   [tests/golden/accept/v1]
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/format/refuse_table.h"

namespace {
void write(const std::string& path, const ingot::test::Bytes& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: make_refuse FOLDER [FOLDER_OF_BASES]\n";
    return 1;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  std::ofstream rules(folder + "/rules.tsv");
  rules << "# file\tcode\trule\n";
  int wrong = 0;
  for (const ingot::test::RefuseCase& c : ingot::test::refuse_table().cases) {
    const ingot::test::Bytes bytes = c.make();
    if (bytes.size() <= ingot::test::kMaxCommittedBytes) write(folder + "/" + c.file_name(), bytes);
    const ingot::test::Opened opened = ingot::test::open_bytes(bytes);
    rules << c.file_name() << '\t' << ingot::code_name(opened.status.code()) << '\t'
          << opened.detail.field << '\n';
    if (opened.status.code() == c.code) continue;
    wrong++;
    std::cerr << c.file_name() << ": " << ingot::code_name(opened.status.code()) << " "
              << opened.detail.field << "\n";
  }
  if (argc == 3) {
    for (const ingot::test::AcceptedBase& base : ingot::test::refuse_table().bases)
      write(std::string(argv[2]) + "/" + base.name + ".ingot",
            ingot::convert::write_memory(base.make()));
    write(std::string(argv[2]) + "/small_network.ingot",
          ingot::convert::write_memory(ingot::test::small_network()));
    write(std::string(argv[2]) + "/branching_network.ingot",
          ingot::convert::write_memory(ingot::test::branching_network()));
  }
  return wrong == 0 ? 0 : 1;
}
