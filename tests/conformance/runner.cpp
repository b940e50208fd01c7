// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/runner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <memory>
#include <thread>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/oracle/access.h"
#include "tests/conformance/comparison.h"
#include "tests/conformance/conformance_gpu.h"
#include "tests/support/fewer_cases.h"
#include "tests/support/unfused_kernels.h"

namespace ingot::conformance {
namespace {

/// Those that others are compared with come first.
std::vector<const KernelTable*> runnable_tables() {
  std::vector<const KernelTable*> tables;
  if (const KernelTable* unfused = testing::unfused_kernels()) tables.push_back(unfused);
  for (const char* name : built_isas())
    if (const KernelTable* table = cpu_kernels(name)) tables.push_back(table);
  return tables;
}

/// Tables go on with others': what an earlier one of the family has had run is not run again.
class KernelsRun {
 public:
  bool again(const KernelEntry* kernel, const void* family) {
    const std::pair<const KernelEntry*, const void*> one(kernel, family);
    if (std::find(run_.begin(), run_.end(), one) != run_.end()) return true;
    run_.push_back(one);
    return false;
  }

 private:
  std::vector<std::pair<const KernelEntry*, const void*>> run_;
};

struct Bound {
  std::vector<TensorView> inputs, outputs;
  OpArguments arguments;
  Bound(const void* attributes, const std::vector<Tensor>& in, const std::vector<Tensor>& out) {
    for (const Tensor& t : in) inputs.push_back(t.view());
    for (const Tensor& t : out) outputs.push_back(t.view());
    arguments.attributes = attributes;
    arguments.inputs = inputs.data();
    arguments.outputs = outputs.data();
    arguments.input_count = uint16_t(inputs.size());
    arguments.output_count = uint16_t(outputs.size());
  }
};

/// Scratch of exactly the size asked for, behind a guard.
struct Scratch {
  std::vector<uint8_t> memory;
  uint8_t* start;
  size_t size;
  Scratch(uint64_t bytes, uint8_t contents)
      : memory(bytes + 64 + kOperandGuard, kOperandPattern), size(bytes) {
    start = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    std::memset(start, contents, bytes);
  }
  bool intact() const {
    for (size_t i = 0; i < kOperandGuard; i++)
      if (start[size + i] != kOperandPattern) return false;
    return true;
  }
};

/// `contents`: every byte that the scratch holds before.
Status run_team(const KernelEntry& kernel, const OpArguments& a, int threads,
                uint8_t contents = kOperandPattern) {
  const ScratchNeed need =
      kernel.contract->scratch ? kernel.contract->scratch(a, threads) : ScratchNeed{};
  const ScratchNeed larger =
      kernel.contract->scratch ? kernel.contract->scratch(a, threads + 1) : ScratchNeed{};
  CHECK_MESSAGE(larger.per_thread_bytes >= need.per_thread_bytes,
                "a larger team's scratch does not suffice for a smaller one");
  CHECK_MESSAGE(larger.shared_bytes >= need.shared_bytes,
                "a larger team's shared scratch does not suffice for a smaller one");
  Scratch shared(need.shared_bytes, contents);
  std::vector<std::unique_ptr<Scratch>> own;
  for (int i = 0; i < threads; i++)
    own.push_back(std::make_unique<Scratch>(need.per_thread_bytes, contents));
  std::barrier<> barrier(threads);
  std::vector<Status> status(static_cast<size_t>(threads));
  const auto member = [&](int id) {
    Team team;
    team.id = id;
    team.size = threads;
    team.barrier = [](void* b) { static_cast<std::barrier<>*>(b)->arrive_and_wait(); };
    team.barrier_argument = &barrier;
    team.scratch = own[size_t(id)]->start;
    team.shared = shared.start;
    status[size_t(id)] = kernel.run(a, team);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; i++) others.emplace_back(member, i);
  member(0);
  for (std::thread& t : others) t.join();
  CHECK_MESSAGE(shared.intact(), "shared scratch overrun");
  for (const auto& s : own) CHECK_MESSAGE(s->intact(), "scratch of a thread overrun");
  for (Status s : status)
    if (!s.ok()) return s;
  return {};
}

/// Of three ways those that a case takes: each, or with fewer cases one by lot.
std::vector<int> ways_of_three() {
  if (testing::one_case_in() == 1) return {0, 1, 2};
  return {int(drawn_below(3))};
}

void check_guards(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors) CHECK(t.guard_fault() == "");
}

void compare_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  CHECK(bits_fault(got, want) == "");
}

std::string guards_fault(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (const std::string fault = t.guard_fault(); !fault.empty()) return fault;
  return "";
}

bool overlaps(const Case& test, int input, uint32_t mask) {
  return (mask >> input & 1) != 0 && test.inputs[size_t(input)].present();
}

/// The device code in the emulator, in several orders of threads, with unaligned operands, in every
/// variant that a row offers, and with every permitted aliasing: the bits of one lane.
void check_emulated_gpu(const Case& test, const Case& work, const std::vector<Tensor>& reference,
                        uint32_t mask) {
  INFO("isa: emulated GPU");
  constexpr uint32_t kOrders[] = {0, 1, 77};
  for (const int way : ways_of_three()) {
    const uint32_t order = kOrders[way];
    CAPTURE(order);
    std::vector<Tensor> outputs = work.outputs;
    const Bound bound(test.attributes, work.inputs, outputs);
    Status status;
    if (!run_on_gpu(test.op, bound.arguments, order, &status)) return;
    CHECK(status.ok());
    check_guards(outputs);
    check_guards(work.inputs);
    compare_bits(outputs, reference);
  }
  for (const int way : ways_of_three()) {  // as what is written into columns of another value
    const int64_t shift = 1 + way;
    CAPTURE(shift);
    const auto shifted = [&](std::vector<Tensor> tensors, int64_t elements) {
      for (Tensor& t : tensors)
        if (t.view().packing == Packing::kDense) t = t.shifted(elements++);
      return tensors;
    };
    const std::vector<Tensor> inputs = shifted(work.inputs, shift);
    std::vector<Tensor> outputs = shifted(work.outputs, shift - 1);
    const Bound bound(test.attributes, inputs, outputs);
    Status status;
    REQUIRE(run_on_gpu(test.op, bound.arguments, 3, &status));
    CHECK(status.ok());
    check_guards(outputs);
    check_guards(inputs);
    compare_bits(outputs, reference);
  }
  const int variants =
      gpu_variants(test.op, Bound(test.attributes, work.inputs, work.outputs).arguments);
  for (int variant = 0; variants > 1 && variant < variants; variant++) {
    CAPTURE(variant);
    std::vector<Tensor> outputs = work.outputs;
    const Bound bound(test.attributes, work.inputs, outputs);
    Status status;
    REQUIRE(run_on_gpu(test.op, bound.arguments, uint32_t(variant), &status, variant));
    CHECK(status.ok());
    check_guards(outputs);
    check_guards(work.inputs);
    compare_bits(outputs, reference);
  }
  for (int i = 0; i < int(work.inputs.size()) && i < 32; i++) {
    if (!overlaps(work, i, mask)) continue;
    CAPTURE(i);
    std::vector<Tensor> aliased = work.inputs, results = work.outputs;
    Bound same(test.attributes, aliased, results);
    same.outputs[0].data = same.inputs[size_t(i)].data;
    Status status;
    REQUIRE(run_on_gpu(test.op, same.arguments, 5, &status));
    CHECK(status.ok());
    check_guards(aliased);
    Tensor result = aliased[size_t(i)];
    static_cast<TensorType&>(result.view()) = static_cast<const TensorType&>(results[0].view());
    results[0] = result;
    compare_bits(results, reference);
  }
}

}  // namespace

namespace {

/// Output 0 in the memory of input `i`, on one team.
std::string aliased_fault(const Case& work, const KernelEntry& kernel, int i, int threads,
                          const std::vector<Tensor>& reference) {
  std::vector<Tensor> aliased = work.inputs, results = work.outputs;
  Bound same(work.attributes, aliased, results);
  same.outputs[0].data = same.inputs[size_t(i)].data;
  if (!run_team(kernel, same.arguments, threads, 0xff).ok())
    return "ends with an error in place of an input";
  if (const std::string fault = guards_fault(aliased); !fault.empty())
    return "in place of an input: " + fault;
  Tensor result = aliased[size_t(i)];
  static_cast<TensorType&>(result.view()) = static_cast<const TensorType&>(results[0].view());
  results[0] = result;
  const std::string fault = bits_fault(results, reference);
  return fault.empty() ? fault : "in place of input " + std::to_string(i) + ": " + fault;
}

/// In the memory of each input where the planner may put output 0.
void check_in_place(const Case& work, const KernelEntry& kernel, int threads,
                    const std::vector<Tensor>& reference) {
  const Bound bound(work.attributes, work.inputs, work.outputs);
  const OpContract* contract = find_contract(*oracle_kernels(), work.op);
  const uint32_t mask = contract->in_place ? contract->in_place(bound.arguments) : 0;
  for (int i = 0; i < int(work.inputs.size()) && i < 32; i++)
    if (overlaps(work, i, mask)) CHECK(aliased_fault(work, kernel, i, threads, reference) == "");
}

/// Of kernels of bf16.
std::string rounded_fault(const Case& test, const std::vector<Tensor>& outputs) {
  std::vector<Tensor> expected = test.outputs;
  const Bound bound(test.attributes, test.rounded_inputs, expected);
  CHECK(
      find_kernel(*oracle_kernels(), test.op, bound.arguments)->run(bound.arguments, Team{}).ok());
  Case sums = test;
  sums.tolerance = test.rounded_tolerance;
  return oracle_fault(sums, outputs, expected, 1);
}

}  // namespace

std::string run_case(const Case& test) {
  INFO("case: ", test.name);
  const KernelTable* oracle = oracle_kernels();
  Case work = test;
  for (Tensor& t : work.outputs)
    if (t.present()) t.poison();
  std::vector<Tensor> expected = work.outputs;
  const Bound with_oracle(test.attributes,
                          test.oracle_inputs.empty() ? work.inputs : test.oracle_inputs, expected);
  const OpContract* contract = find_contract(*oracle, test.op);
  REQUIRE(contract != nullptr);
  {
    const Bound bound(test.attributes, work.inputs, work.outputs);
    Violation violation;
    const bool accepted = contract->check(bound.arguments, &violation);
    REQUIRE_MESSAGE(accepted, std::string(violation.rule)
                                  << ", operand " << violation.operand << ", expected "
                                  << violation.expected << ", found " << violation.found);
  }
  CHECK(find_kernel(*oracle, test.op, with_oracle.arguments)
            ->run(with_oracle.arguments, Team{})
            .ok());
  std::vector<Tensor> references[3];  // by family
  std::string best;
  Case given = work;
  if (!test.oracle_inputs.empty()) given.inputs = test.oracle_inputs;
  check_in_place(given, *find_kernel(*oracle, test.op, with_oracle.arguments), 1, expected);
  KernelsRun kernels_run;
  for (const KernelTable* table : runnable_tables()) {
    INFO("isa: ", std::string(table->isa));
    const KernelEntry* kernel =
        find_kernel(*table, test.op, Bound(test.attributes, work.inputs, work.outputs).arguments);
    REQUIRE_MESSAGE(kernel != nullptr, "no kernel");
    best = kernel->name;
    const ReducedPrecision precision = reduced_precision_of(*kernel);
    std::vector<Tensor> own;  // of a kernel of halves, whose order of sums is its own
    std::vector<Tensor>& reference =
        precision == ReducedPrecision::kNone ? references[family(*table)] : own;
    if (kernels_run.again(kernel, &references[family(*table)])) continue;
    for (const int way : ways_of_three()) {
      const int threads = 1 + way;
      CAPTURE(threads);
      std::vector<Tensor> outputs = work.outputs;
      const Bound bound(test.attributes, work.inputs, outputs);
      CHECK(run_team(*kernel, bound.arguments, threads).ok());
      check_guards(outputs);
      check_guards(work.inputs);
      if (reference.empty()) {
        reference = outputs;
        CHECK((precision == ReducedPrecision::kBf16 && !test.rounded_inputs.empty()
                   ? rounded_fault(test, outputs)
                   : first_fault(test, *table, outputs, expected, references[0], precision)) == "");
      } else {
        compare_bits(outputs, reference);
      }
      check_in_place(work, *kernel, threads, reference);
    }
  }
  check_emulated_gpu(
      test, work, references[0],
      contract->in_place
          ? contract->in_place(Bound(test.attributes, work.inputs, work.outputs).arguments)
          : 0);
  return best;
}

namespace {

/// In one order of threads, and in one of the variants that a row offers.
std::string gpu_fault(const Case& work, uint32_t serial, const std::vector<Tensor>& reference) {
  const int variants =
      gpu_variants(work.op, Bound(work.attributes, work.inputs, work.outputs).arguments);
  for (int k = 0; k < (variants > 1 ? 2 : 1); k++) {
    std::vector<Tensor> outputs = work.outputs;
    const Bound bound(work.attributes, work.inputs, outputs);
    Status status;
    const int variant = k == 0 ? -1 : int(serial % uint32_t(variants));
    if (!run_on_gpu(work.op, bound.arguments, serial % 5, &status, variant)) return "";
    if (!status.ok()) return "emulated GPU: ends with an error";
    std::string fault = guards_fault(outputs);
    if (fault.empty()) fault = guards_fault(work.inputs);
    if (fault.empty()) fault = bits_fault(outputs, reference);
    if (!fault.empty())
      return "emulated GPU, kernel variant " + std::to_string(variant) + ": " + fault;
  }
  return "";
}

}  // namespace

std::string check_combination(const Case& test, uint32_t serial, bool on_gpu, bool* refused) {
  INFO("case: ", test.name);
  const KernelTable* oracle = oracle_kernels();
  Case work = test;
  for (Tensor& t : work.outputs)
    if (t.present()) t.poison();
  const OpContract* contract = find_contract(*oracle, test.op);
  Violation violation;
  const Bound types(test.attributes, work.inputs, work.outputs);
  if (!contract->check(types.arguments, &violation)) {
    *refused = true;
    return "";
  }
  std::vector<Tensor> expected = work.outputs;
  const Bound with_oracle(test.attributes,
                          test.oracle_inputs.empty() ? work.inputs : test.oracle_inputs, expected);
  const KernelEntry* truth = find_kernel(*oracle, test.op, with_oracle.arguments);
  if (!truth) return "the oracle has no kernel for what the contract takes";
  if (!truth->run(with_oracle.arguments, Team{}).ok()) return "the oracle ends with an error";
  const uint32_t in_place = contract->in_place ? contract->in_place(types.arguments) : 0;
  std::vector<Tensor> references[3];  // by family
  uint32_t turn = serial;
  KernelsRun kernels_run;
  for (const KernelTable* table : runnable_tables()) {
    std::vector<Tensor>& reference = references[family(*table)];
    const std::string isa = std::string(table->isa) + ": ";
    std::vector<Tensor> outputs = work.outputs;
    const Bound bound(test.attributes, work.inputs, outputs);
    const KernelEntry* kernel = find_kernel(*table, test.op, bound.arguments);
    if (!kernel) return isa + "no kernel for what the contract takes";
    if (kernels_run.again(kernel, &reference)) continue;
    const int threads = 1 + int(turn++ % 3);
    if (!run_team(*kernel, bound.arguments, threads, 0xff).ok())
      return isa + kernel->name + " ends with an error";
    std::string fault = guards_fault(outputs);
    if (fault.empty()) fault = guards_fault(work.inputs);
    if (fault.empty()) fault = first_fault(test, *table, outputs, expected, references[0]);
    if (reference.empty()) reference = outputs;
    if (fault.empty()) fault = bits_fault(outputs, reference);
    const int aliased = int(turn % uint32_t(work.inputs.size() + 1));
    if (fault.empty() && aliased < int(work.inputs.size()) && overlaps(work, aliased, in_place))
      fault = aliased_fault(work, *kernel, aliased, threads, reference);
    if (!fault.empty())
      return isa + kernel->name + " on " + std::to_string(threads) +
             (threads > 1 ? " threads: " : " thread: ") + fault;
  }
  return on_gpu ? gpu_fault(work, serial, references[0]) : "";
}

void run_failing_case(const Case& test, Code code) {
  INFO("case: ", test.name);
  for (const KernelTable* table : runnable_tables()) {
    INFO("isa: ", std::string(table->isa));
    std::vector<Tensor> outputs = test.outputs;
    const Bound bound(test.attributes, test.inputs, outputs);
    Violation violation;
    const KernelEntry* kernel = find_kernel(*table, test.op, bound.arguments);
    REQUIRE(kernel != nullptr);
    REQUIRE(kernel->contract->check(bound.arguments, &violation));
    for (int threads = 1; threads <= 2; threads++)
      CHECK(run_team(*kernel, bound.arguments, threads).code() == code);
    check_guards(outputs);
  }
  std::vector<Tensor> outputs = test.outputs;
  const Bound bound(test.attributes, test.inputs, outputs);
  Status status;
  if (run_on_gpu(test.op, bound.arguments, 3, &status)) {
    CHECK(status.code() == code);
    check_guards(outputs);
  }
}

std::string refusal(const Case& test) {
  INFO("case: ", test.name);
  const OpContract* contract = find_contract(*oracle_kernels(), test.op);
  REQUIRE(contract != nullptr);
  const Bound bound(test.attributes, test.inputs, test.outputs);
  Violation violation;
  const bool accepted = contract->check(bound.arguments, &violation);
  CHECK_MESSAGE(!accepted, "the contract accepted it");
  return accepted ? "" : violation.rule;
}

}  // namespace ingot::conformance
