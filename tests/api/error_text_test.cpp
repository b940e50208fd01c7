// SPDX-License-Identifier: Apache-2.0
// Errors in words: the wording is pinned here and nowhere else; lengths, truncation, every code.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "ingot/ingot.hpp"

namespace {

ingot::Error error(ingot_code code, const char* field = "", uint64_t need = 0, uint64_t have = 0) {
  ingot::Error e(code);
  e.instruction = INGOT_NO_INSTRUCTION;
  e.operand = -1;
  e.field = field;
  e.hint = "";
  e.need = need;
  e.have = have;
  return e;
}

}  // namespace

TEST_CASE("error text: what is wrong, expected and found, what to do") {
  ingot::Error small = error(INGOT_ARENA_TOO_SMALL, "options.arena_bytes", 14936, 12288);
  small.hint = "see requirements()";
  CHECK(small.text() ==
        "arena too small: options.arena_bytes: needs 14,936 B, has 12,288 B (2,648 short); see "
        "requirements()");
  ingot::Error dtype = error(INGOT_DTYPE_MISMATCH, "tensor.dtype", INGOT_F32, INGOT_I64);
  std::strcpy(dtype.name, "x");
  CHECK(dtype.text() == "wrong element type 'x': tensor.dtype: expected f32, found i64");
  ingot::Error kernel = error(INGOT_NO_KERNEL, "kernel table: no row for these types");
  kernel.instruction = 12;
  std::strcpy(kernel.name, "head/prob");
  CHECK(kernel.text() ==
        "instruction 12: no kernel for these types 'head/prob': kernel table: no row for these "
        "types; link ingot_cpu, or a "
        "table made by `ingot kernels` from this file");
  ingot::Error plan = error(INGOT_PLAN_INVALID, "plan: a tensor leaves the region", 4096, 8192);
  plan.offset = 1234567;
  plan.operand = 3;
  CHECK(plan.text() ==
        "the file's memory plan is invalid: plan: a tensor leaves the region: expected 4096, found "
        "8192, at byte "
        "1,234,567, "
        "number 3; convert it again, with a converter that you trust");
  // a rule of more than the two numbers, which are equal
  CHECK(error(INGOT_SHAPE_MISMATCH, "operand broadcasts to the output", 2, 2).text() ==
        error(INGOT_SHAPE_MISMATCH, "operand broadcasts to the output").text());
  CHECK(error(INGOT_FILE_OPEN, "", 0, 2).text() ==
        "the file cannot be opened: No such file or directory; check the path and its permissions");
  CHECK(
      error(INGOT_DIMENSION_OUT_OF_BOUNDS, "options.bindings: at least", 1, uint64_t(-3)).text() ==
      "a symbolic dimension is out of its bounds: options.bindings: at least 1, found -3");
}

TEST_CASE("error text: every code has a name and a sentence, and an unknown one says so") {
  for (ingot_code code = 1; code <= 99; code++) {
    const bool known = std::strcmp(ingot_code_name(code), "unknown") != 0;
    const std::string text = error(code).text();
    CAPTURE(code);
    CHECK((text.rfind("a fault of the library", 0) != 0) == (known && code != INGOT_INTERNAL));
  }
  CHECK(std::strcmp(ingot_code_name(-1), "unknown") == 0);
  CHECK(std::strcmp(ingot_code_name(1 << 20), "unknown") == 0);
  CHECK(ingot::Error().text() == "no error");
}

TEST_CASE("error text: the length is what it would take; what does not fit is cut and ended") {
  const ingot::Error e = error(INGOT_NOT_FOUND, "input index", 2, 7);
  const std::string whole = e.text();
  for (size_t size = 0; size <= whole.size() + 2; size++) {
    std::string out(whole.size() + 3, '#');
    CHECK(ingot_error_text(&e, &out[0], size) == whole.size());
    if (size) CHECK(std::string(out.c_str()) == whole.substr(0, size - 1));
    CHECK(out[size] == '#');
  }
  CHECK(ingot_error_text(&e, nullptr, 100) == whole.size());
  CHECK(ingot_error_text(nullptr, nullptr, 0) == 0);
}

TEST_CASE("names: dtypes and codes outside their range are harmless") {
  CHECK(std::strcmp(ingot_dtype_name(INGOT_F32), "f32") == 0);
  CHECK(std::strcmp(ingot_dtype_name(99), "invalid") == 0);
  CHECK(ingot_dtype_bytes(INGOT_I64) == 8);
  CHECK(ingot_dtype_bytes(-4) == 0);
  CHECK(std::strcmp(ingot_version(), "0.1.0") == 0);
}
