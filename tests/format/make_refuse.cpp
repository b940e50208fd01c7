// Writes what tests/format/refuse_table.h says to a folder: the files of tests/golden/refuse and rules.tsv, which names for each the
// rule that refuses it.   rm tests/golden/refuse/*; build/tests/format/make_refuse tests/golden/refuse
#include <cstdio>
#include <fstream>
#include <iostream>

#include "tests/format/refuse_table.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_refuse FOLDER\n";
    return 1;
  }
  const std::string folder = argv[1];
  std::ofstream rules(folder + "/rules.tsv");
  rules << "# file\tcode\trule\n";
  int wrong = 0;
  for (const ingot::test::RefuseCase& c : ingot::test::refuse_table().cases) {
    const ingot::test::Bytes bytes = c.make();
    if (bytes.size() <= ingot::test::kMaxCommittedBytes)
      std::ofstream(folder + "/" + c.file_name(), std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    const ingot::test::Opened opened = ingot::test::open_bytes(bytes);
    rules << c.file_name() << '\t' << ingot::code_name(opened.status.code()) << '\t' << opened.detail.field << '\n';
    if (opened.status.code() == c.code) continue;
    wrong++;
    std::cerr << c.file_name() << ": " << ingot::code_name(opened.status.code()) << " " << opened.detail.field << "\n";
  }
  return wrong == 0 ? 0 : 1;
}
