// SPDX-License-Identifier: Apache-2.0
// Writes two models that do not end, below a folder: endless/1/model.ingot, a loop of 2^40
// iterations with an open batch, and stubborn/1/model.ingot, one instruction that takes hours.
#include <cstdio>
#include <filesystem>

#include "tests/format/small_files.h"

namespace {

using namespace ingot;

/// y = |x| of x [N,4], through the loop.
convert::FileSpec endless() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const Dim n = p.add_symbol("N", 1, 64);
  const int32_t x = p.add_value(test::input("x", {n, 4})),
                y = p.add_value(test::output("y", {n, 4}));
  const int32_t i = p.add_value(test::activation("i", {}, DType::kI64));
  p.subprograms.push_back({"body", {}});
  p.add_instruction(test::step(ElementwiseOp::kNeg), {x}, {y});
  p.add_instruction(LoopAttributes{1, int64_t{1} << 40}, {-1, -1, y}, {i});
  p.add_instruction(test::step(ElementwiseOp::kAbs), {y}, {y}, 1);
  test::add_ports(&f);
  return f;
}

/// No overlap is found between empty boxes, so each is compared with all.
convert::FileSpec stubborn() {
  constexpr int64_t kBoxes = 1 << 20;
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  p.required_features = {"measured"};
  const Dim n = p.add_symbol("n", 0, 0);
  const int32_t x = p.add_value(test::input("x", {1, 1, 1})),
                boxes = p.add_value(test::activation("boxes", {1, kBoxes, 4}));
  const int32_t scores = p.add_value(test::activation("scores", {1, 1, kBoxes}));
  const int32_t most = p.add_value(test::constant("most", {1}, Packing::kDense, DType::kI64));
  const int32_t y = p.add_value(test::output("y", {n, 3}, DType::kI64));
  const int32_t count = p.add_value(test::activation("count", {}, DType::kI64));
  p.symbols[0].resolved_by = count, p.symbols[0].bound = kBoxes;
  const std::vector<uint8_t> large(8, 0x7f);
  p.values[size_t(most)].bytes = {std::make_shared<std::vector<uint8_t>>(large), nullptr};
  p.add_instruction(TileAttributes(), {x}, {boxes});
  p.add_instruction(TileAttributes(), {x}, {scores});
  p.add_instruction(NonMaxSuppressionAttributes(), {boxes, scores, most}, {y, count});
  test::add_ports(&f);
  return f;
}

void write(const convert::FileSpec& file, const std::string& folder) {
  std::filesystem::create_directories(folder + "/1");
  convert::write_file(file, folder + "/1/model.ingot");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: make_endless FOLDER\n");
    return 1;
  }
  const std::string folder = argv[1];
  write(endless(), folder + "/endless");
  write(stubborn(), folder + "/stubborn");
  return 0;
}
