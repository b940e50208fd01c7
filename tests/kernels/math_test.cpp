// SPDX-License-Identifier: Apache-2.0
// Ingot's elementary functions: every f16 value and samples of every float exponent against the C
// library in double, with the largest error in units of the last place, and the same bits on every
// instruction set.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/simd/half.inl"
#include "runtime/op/elementwise.h"
#include "tests/support/fewer_cases.h"
#include "tests/support/subnormals.h"
#include "tests/support/unfused_kernels.h"

using namespace ingot;
using Op = ElementwiseOp;

namespace {

double gelu(double x) {
  return std::isinf(x) ? (x > 0 ? x : 0) : x * std::erfc(-x / std::sqrt(2.0)) / 2;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu_tanh(double x) {
  return x * sigmoid(2 * std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x));
}
double softplus(double x) {
  return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}
double mish(double x) { return x * std::tanh(softplus(x)); }
double silu(double x) { return x * sigmoid(x); }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double elu(double x) { return x < 0 ? std::expm1(x) : x; }

struct Function {
  const char* name;
  Op op;
  double (*reference)(double);
  double ulps;      // allowed error
  double absolute;  // errors below do not count
};
using Real = double (*)(double);
const Function kFunctions[] = {
    {"exp", Op::kExp, Real(std::exp), 1.1, 0},
    {"log", Op::kLog, Real(std::log), 1, 0},
    {"sin", Op::kSin, Real(std::sin), 3, 0},
    {"cos", Op::kCos, Real(std::cos), 3, 0},
    {"tan", Op::kTan, Real(std::tan), 5, 0},
    {"tanh", Op::kTanh, Real(std::tanh), 2.5, 0},
    {"sigmoid", Op::kSigmoid, sigmoid, 2.5, 1.2e-38},
    {"erf", Op::kErf, Real(std::erf), 1.5, 0},
    {"silu", Op::kSilu, silu, 2.5, 1.2e-36},
    {"gelu", Op::kGelu, gelu, 2.5, 2e-7},
    {"gelu_tanh", Op::kGeluTanh, gelu_tanh, 14, 1e-9},
    {"softplus", Op::kSoftplus, softplus, 3, 1.2e-37},
    {"mish", Op::kMish, mish, 4, 1.2e-36},
    {"atan", Op::kAtan, Real(std::atan), 1.5, 0},
    {"asin", Op::kAsin, Real(std::asin), 2.5, 0},
    {"acos", Op::kAcos, Real(std::acos), 1.5, 0},
    {"sinh", Op::kSinh, Real(std::sinh), 2.5, 0},
    {"cosh", Op::kCosh, Real(std::cosh), 1.5, 0},
    {"asinh", Op::kAsinh, Real(std::asinh), 3, 0},
    {"acosh", Op::kAcosh, Real(std::acosh), 3, 0},
    {"atanh", Op::kAtanh, Real(std::atanh), 3.5, 0},
    {"sqrt", Op::kSqrt, Real(std::sqrt), 0.5, 0},
    {"rsqrt", Op::kRsqrt, rsqrt, 1.5, 0},
    {"elu", Op::kElu, elu, 2, 0},
};

std::vector<float> run(const KernelTable& table, const ElementwiseStep& step,
                       const std::vector<std::vector<float>>& inputs) {
  ElementwiseAttributes t;
  t.step_count = 1;
  t.steps[0] = step;
  std::vector<float> out(inputs[0].size());
  std::vector<TensorView> views(inputs.size() + 1);
  for (size_t i = 0; i <= inputs.size(); i++) {
    views[i].dtype = DType::kF32;
    views[i].rank = 1;
    views[i].dims[0] = views[i].row_stride = int64_t(out.size());
    views[i].data = i < inputs.size() ? const_cast<float*>(inputs[i].data()) : out.data();
  }
  OpArguments a;
  a.attributes = &t;
  a.inputs = views.data();
  a.outputs = &views.back();
  a.input_count = uint16_t(inputs.size());
  a.output_count = 1;
  std::vector<double> scratch(4096);
  Team team;
  team.scratch = scratch.data();
  REQUIRE(find_kernel(table, OpCode::kElementwise, a)->run(a, team).ok());
  return out;
}

/// Every f16 value, then floats spread evenly over all bit patterns.
std::vector<float> samples() {
  const uint32_t step = uint32_t(testing::one_case_in());
  std::vector<float> x;
  for (uint32_t h = 0; h < 65536; h += step) x.push_back(cpu::f16_to_f32(uint16_t(h)));
  for (uint64_t bits = 0; bits < 0x100000000ull; bits += uint64_t{40503} * step)
    x.push_back(cpu::bits_float(uint32_t(bits)));
  return x;
}

bool same_float(float a, float b) {
  return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b));
}

void check_isas(const ElementwiseStep& step, const std::vector<std::vector<float>>& inputs,
                const std::vector<float>& scalar) {
  for (const char* name : built_isas()) {
    const KernelTable* table = cpu_kernels(name);
    if (!table) continue;
    const std::vector<float> y = run(*table, step, inputs),
                             twin = testing::rounds_twice(*table)
                                        ? run(*testing::unfused_kernels(), step, inputs)
                                        : scalar;
    size_t differences = 0, first = 0;
    for (size_t i = 0; i < y.size(); i++) {
      bool flushed = false;
      if (testing::flushes_subnormals(*table)) {
        // what lies between may have been flushed as well, and multiplied by x after that
        flushed = testing::is_subnormal(double(twin[i])) ||
                  std::fabs(double(y[i]) - double(twin[i])) < 128 * double(FLT_MIN);
        for (const std::vector<float>& x : inputs) flushed |= testing::is_subnormal(double(x[i]));
      }
      if (!flushed && !same_float(y[i], twin[i]) && differences++ == 0) first = i;
    }
    CAPTURE(std::string(name));
    CAPTURE(inputs[0][first]);
    CHECK(differences == 0);
  }
}

void check_errors(const std::vector<float>& y, const std::vector<double>& want,
                  const std::vector<float>& x, double ulps, double absolute) {
  double worst = 0;
  size_t worst_at = 0, special = 0;
  for (size_t i = 0; i < y.size(); i++) {
    const float rounded = float(want[i]);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      special += !same_float(y[i], rounded);
      continue;
    }
    const double error = std::fabs(double(y[i]) - want[i]);
    if (std::isnan(y[i])) special++;
    if (error <= absolute) continue;
    const double unit = std::fmax(std::ldexp(1.0, std::ilogb(want[i] == 0 ? 1e-300 : want[i]) - 23),
                                  1.4012984643e-45);
    if (error / unit > worst) worst = error / unit, worst_at = i;
  }
  CAPTURE(x[worst_at]);
  CAPTURE(y[worst_at]);
  CAPTURE(want[worst_at]);
  CHECK(worst <= ulps);
  CHECK(special == 0);
}

}  // namespace

TEST_CASE("math: functions of one number are accurate and the same on every instruction set") {
  const std::vector<float> x = samples();
  for (const Function& f : kFunctions) {
    CAPTURE(std::string(f.name));
    const ElementwiseStep step{f.op, 0, 0, 0, 1, 0};
    const std::vector<float> y = run(*cpu_kernels("scalar"), step, {x});
    std::vector<double> want;
    for (float v : x) want.push_back(f.reference(double(v)));
    check_errors(y, want, x, f.ulps, f.absolute);
    if (const KernelTable* unfused = testing::unfused_kernels()) {
      CAPTURE("unfused");
      check_errors(run(*unfused, step, {x}), want, x, f.ulps, f.absolute);
    }
    check_isas(step, {x}, y);
  }
}

TEST_CASE("math: functions of two numbers are accurate and the same on every instruction set") {
  const std::vector<float> all = samples();
  const struct {
    const char* name;
    Op op;
    double (*reference)(double, double);
    double ulps;
  } functions[] = {{"pow", Op::kPow, [](double a, double b) { return std::pow(a, b); }, 2},
                   {"atan2", Op::kAtan2, [](double a, double b) { return std::atan2(a, b); }, 2},
                   {"fmod", Op::kFmod, [](double a, double b) { return std::fmod(a, b); }, 0}};
  for (const auto& f : functions)
    for (float second : {2.0f, 0.5f, -1.5f, 3.0f, 17.3f, -0.001f, 0.0f, -0.0f, INFINITY, -INFINITY,
                         NAN, 1e10f, -1.0f, 1e-40f}) {
      const std::vector<float> other(all.size(), second);
      for (bool swapped : {false, true}) {
        CAPTURE(std::string(f.name));
        CAPTURE(second);
        CAPTURE(swapped);
        const ElementwiseStep step{f.op, uint8_t(swapped), uint8_t(!swapped)};
        const std::vector<float> y = run(*cpu_kernels("scalar"), step, {all, other});
        std::vector<double> want;
        for (float v : all)
          want.push_back(swapped ? f.reference(double(second), double(v))
                                 : f.reference(double(v), double(second)));
        check_errors(y, want, all, f.ulps, 0);
        if (const KernelTable* unfused = testing::unfused_kernels()) {
          CAPTURE("unfused");
          check_errors(run(*unfused, step, {all, other}), want, all, f.ulps, 0);
        }
        if (!swapped) check_isas(step, {all, other}, y);
      }
    }
}

TEST_CASE("half: every f16 and bf16 value goes to float and back") {
  for (uint32_t h = 0; h < 65536; h++) {
    const float f = cpu::f16_to_f32(uint16_t(h)), b = cpu::bf16_to_f32(uint16_t(h));
    if (std::isnan(f))
      CHECK(std::isnan(cpu::f16_to_f32(cpu::f32_to_f16(f))));
    else
      CHECK(cpu::f32_to_f16(f) == h);
    if (std::isnan(b))
      CHECK(std::isnan(cpu::bf16_to_f32(cpu::f32_to_bf16(b))));
    else
      CHECK(cpu::f32_to_bf16(b) == h);
    if (std::isnan(f) || std::isinf(f) || (h & 0x7fff) >= 0x7bff) continue;
    // Halfway to the next value goes to the even one; a little off goes to the nearer.
    const float next = cpu::f16_to_f32(uint16_t(h + 1)),
                middle = float((double(f) + double(next)) / 2);
    CHECK(cpu::f32_to_f16(middle) == (h & 1 ? h + 1 : h));
    CHECK(cpu::f32_to_f16(std::nextafterf(middle, f)) == h);
    CHECK(cpu::f32_to_f16(std::nextafterf(middle, next)) == h + 1);
  }
}
