// SPDX-License-Identifier: Apache-2.0
// Sizes that only the data tells, on a GPU over the fake driver: alone they are one launch and one
// wait, and the number comes with the outputs; where the CPU goes on with what was found, the
// segment ends and the number is the first thing that comes.
#include "runtime/op/data_dependent.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ingot/pipeline.hpp>

#include "tests/cuda/session_answers.h"

using namespace ingot;
using namespace ingot::test;

namespace {

void resolve_by(convert::ProgramSpec* p, const char* name, int32_t by, Dim bound) {
  for (convert::SymbolSpec& symbol : p->symbols)
    if (symbol.name == name) symbol.low = 0, symbol.resolved_by = by, symbol.bound = bound;
}

constexpr int64_t kRows = 3;

/// found [2, n] = NonZero(x [3, W]); then z = -(-x), whose storage may be the number's. `packs`: y
/// [n] = x's column of each, which is of a size that depends on data.
convert::FileSpec finding_network(bool free_extent, bool packs) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  p.required_features = {"measured"};
  const Dim w = free_extent ? p.add_symbol("W", 1, 40) : Dim{12};
  const Dim most = free_extent ? p.add_dim_expr(DimOp::kMul, w, Dim{kRows}) : Dim{12 * kRows};
  const Dim n = p.add_symbol("n", 0, 0);
  const int32_t x = p.add_value(input("x", {Dim{kRows}, w})),
                found = p.add_value(output("found", {2, n}, DType::kI64));
  const int32_t number = p.add_value(activation("number", {}, DType::kI64));
  resolve_by(&p, "n", number, most);
  p.add_instruction(NonZeroAttributes(), {x}, {found, number});
  const int32_t negated = p.add_value(activation("negated", {Dim{kRows}, w})),
                z = p.add_value(output("z", {Dim{kRows}, w}));
  p.add_instruction(step(ElementwiseOp::kNeg), {x}, {negated});
  p.add_instruction(step(ElementwiseOp::kNeg), {negated}, {z});
  if (packs) {
    const int32_t twice = p.add_value(output("twice", {2, n}, DType::kI64));
    ElementwiseAttributes add = step(ElementwiseOp::kAdd);
    add.compute = ComputeType::kI64;
    p.add_instruction(add, {found, found}, {twice});
  }
  add_ports(&file);
  return file;
}

std::vector<float> sparse(size_t size, uint32_t pattern) {
  std::vector<float> x(size, 0.0f);
  for (size_t i = 0; i < size; i++)
    if (pattern >> (i % 13) & 1) x[i] = float(i) + 0.5f;
  return x;
}

std::vector<int64_t> places(const std::vector<float>& x) {
  std::vector<int64_t> rows, columns;
  const size_t width = x.size() / kRows;
  for (size_t i = 0; i < x.size(); i++)
    if (x[i] != 0) rows.push_back(int64_t(i / width)), columns.push_back(int64_t(i % width));
  rows.insert(rows.end(), columns.begin(), columns.end());
  return rows;
}

void check_found(Session& session, const std::vector<float>& x) {
  const ingot_tensor found = session.output("found").value();
  CHECK(found.dims[1] == int64_t(places(x).size() / 2));
  CHECK(read<int64_t>(found) == places(x));
  CHECK(read<float>(session.output("z")) == x);
}
void run(Session& session, const std::vector<float>& x) {
  write(session.input("x"), x);
  const auto ran = session.run();
  REQUIRE_MESSAGE(ran.ok(), ran.error().text());
}

}  // namespace

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda data-dependent: wholly on the GPU it is one launch and one wait, and outputs are as "
    "large as "
    "the data makes them") {
  FileBytes bytes(finding_network(false, false));
  const Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda", INGOT_STRICT));
  CHECK(gpu.output("found")->dims[1] == 36);  // the most, before a run
  const FakeCuda before = fake_cuda();
  uint64_t runs = 0;
  for (uint32_t pattern = 0; pattern < 8192; pattern += 631, runs++) {
    const std::vector<float> x = sparse(36, pattern);
    run(gpu, x);
    check_found(gpu, x);
  }
  CHECK(fake_cuda().launches - before.launches == runs);
  CHECK(fake_cuda().waits - before.waits == runs);
  CHECK(deeds(fake_cuda()) - deeds(before) == 2 * runs);
  CHECK(gpu.share(0).launches == 1);
  const std::vector<float> x = sparse(36, 77);
  write(gpu.input("x"), x);
  REQUIRE(gpu.start().ok());
  REQUIRE(gpu.wait().ok());
  check_found(gpu, x);
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda data-dependent: memory of the caller's, bound before and between runs") {
  FileBytes bytes(finding_network(false, false));
  const Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda"));
  run(gpu, sparse(36, 3));
  AlignedBlock memory(2 * 48 * 8, 64);
  ingot_tensor found = make(model, on("cpu")).output("found").value();  // at the most
  found.data = memory.data();
  found.row_stride = 48;  // rows apart
  found.bytes = (48 + 36) * 8;
  REQUIRE(gpu.bind_output(0, found).ok());
  const std::vector<float> x = sparse(36, 1000);
  run(gpu, x);
  const ingot_tensor shown = gpu.output("found").value();
  const size_t n = places(x).size() / 2;
  CHECK(shown.dims[1] == int64_t(n));
  CHECK(shown.row_stride == 48);
  const int64_t* rows = reinterpret_cast<const int64_t*>(memory.data());
  std::vector<int64_t> got(rows, rows + n);
  got.insert(got.end(), rows + 48, rows + 48 + n);
  CHECK(got == places(x));

  void* library = dlopen(INGOT_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  const auto push = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxPushCurrent_v2"));
  const auto pop = reinterpret_cast<int (*)(void**)>(dlsym(library, "cuCtxPopCurrent_v2"));
  const auto allocate =
      reinterpret_cast<int (*)(unsigned long long*, size_t)>(dlsym(library, "cuMemAlloc_v2"));
  const auto release =
      reinterpret_cast<int (*)(unsigned long long)>(dlsym(library, "cuMemFree_v2"));
  const auto retain =
      reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  const auto drop = reinterpret_cast<int (*)(int)>(dlsym(library, "cuDevicePrimaryCtxRelease_v2"));
  void* context = nullptr;
  unsigned long long at = 0;
  REQUIRE(retain(&context, 0) == 0);
  push(context);
  REQUIRE(allocate(&at, 48 * 2 * 8) == 0);
  pop(&context);
  found.data = reinterpret_cast<void*>(at);
  const auto strided = gpu.bind_device_output(0, found);
  CHECK(strided.error().code == INGOT_SHAPE_MISMATCH);
  found.row_stride = 36;
  found.bytes = 2 * 36 * 8;
  REQUIRE(gpu.bind_device_output(0, found).ok());
  for (const uint32_t pattern : {5u, 8191u, 0u}) {
    const std::vector<float> y = sparse(36, pattern);
    run(gpu, y);
    const ingot_tensor there = gpu.output("found").value();
    CHECK(there.bytes == places(y).size() * 8);
    CHECK(there.row_stride == there.dims[1]);  // dense, as long as they are
    const int64_t* back = reinterpret_cast<const int64_t*>(uintptr_t(at));
    CHECK(std::vector<int64_t>(back, back + places(y).size()) == places(y));
  }
  push(context);
  REQUIRE(release(at) == 0);
  pop(&context);
  drop(0);
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda data-dependent: with a free extent, bound and bound again") {
  FileBytes bytes(finding_network(true, false));
  const Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda", INGOT_REBINDABLE | INGOT_STRICT));
  for (const int64_t w : {40, 1, 13, 24, 39}) {
    REQUIRE(gpu.rebind("W", w).ok());
    for (const uint32_t pattern : {0u, 8191u, 1365u, 1u}) {
      const std::vector<float> x = sparse(size_t(w * kRows), pattern);
      run(gpu, x);
      check_found(gpu, x);
    }
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda data-dependent: what is of a data-dependent size runs on the CPU, with exactly the "
    "stated launches "
    "and waits") {
  FileBytes bytes(finding_network(false, true));
  const Model model = open_bytes_or_fail(bytes, scalar());
  CHECK(model.session(on("cuda", INGOT_STRICT)).error().code == INGOT_NO_KERNEL);
  Session gpu = make(model, on("cuda"));
  const ingot_share on_gpu = gpu.share(1), on_cpu = gpu.share(0);
  CHECK(on_gpu.instructions == 3);
  CHECK(on_cpu.instructions == 1);
  CHECK(on_gpu.launches == 2);  // up to what resolves the size, and the rest
  const FakeCuda before = fake_cuda();
  uint64_t runs = 0;
  for (uint32_t pattern = 0; pattern < 8192; pattern += 631, runs++) {
    const std::vector<float> x = sparse(36, pattern);
    run(gpu, x);
    check_found(gpu, x);
    std::vector<int64_t> twice = places(x);
    for (int64_t& place : twice) place *= 2;
    CHECK(read<int64_t>(gpu.output("twice")) == twice);
  }
  CHECK(fake_cuda().launches - before.launches == runs * on_gpu.launches);
  CHECK(fake_cuda().waits - before.waits == runs * on_gpu.waits);
  CHECK(fake_cuda().uploads - before.uploads == runs * on_gpu.uploads);
  CHECK(fake_cuda().downloads - before.downloads == runs * on_gpu.downloads);
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda data-dependent: items of a pipeline have the extents of their own data") {
  FileBytes bytes(finding_network(false, false));
  const Model model = open_bytes_or_fail(bytes, scalar());
  ingot_pipeline_options options = pipeline_options();
  const ingot_session_options session = on("cuda");
  options.session = &session;
  options.depth = 3;
  auto pipeline = Pipeline::create(model, options);
  REQUIRE_MESSAGE(pipeline.ok(), pipeline.error().text());
  const auto data = [](uint64_t item) { return sparse(36, uint32_t(item * 997 % 8192)); };
  for (uint64_t pushed = 0, popped = 0; popped < 20; popped++) {
    for (; pipeline->free() && pushed < 20; pushed++)
      REQUIRE(pipeline
                  ->push([&](Pipeline& p) {
                    const std::vector<float> x = data(pushed);
                    std::copy(x.begin(), x.end(), p.input<float>(0)->begin());
                  })
                  .ok());
    REQUIRE(pipeline->pop().ok());
    // rows where those of the most would be
    const ingot_tensor found = pipeline->output(0).value();
    std::vector<int64_t> got;
    for (int64_t row = 0; row < found.dims[0]; row++) {
      const int64_t* at = static_cast<const int64_t*>(found.data) + row * found.row_stride;
      got.insert(got.end(), at, at + found.dims[1]);
    }
    CHECK(got == places(data(popped)));
    pipeline->release().value();
  }
}
