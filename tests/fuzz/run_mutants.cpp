// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/run_mutants.cpp - damaged .ingot files with sound hashes: opened, and what the
// validation accepts is run, twice, over arenas that hold different bytes; in the second each value
// has bytes of its own (INGOT_KEEP_VALUES), in the first they follow each other. Outputs and state
// must have the same bits: where they have not, what nobody wrote reached them, or what another
// value left.
//
//   run_mutants --expand FILE OUT           the file with every field in it, for mutants to change
//   run_mutants [--mutants N] [--seed S] [--from I] [--finds FOLDER] FILE...
//
// Mutant I of a file and a seed is always the same. Under MemorySanitizer the arena counts as never
// written. The last line counts.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "ingot/ingot.h"
#include "kernels/cpu/cpu_kernels.h"
#include "runtime/op/decoders.h"
#include "tests/fuzz/program_mutator.h"

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define INGOT_MSAN 1
#endif
#if __has_feature(memory_sanitizer) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define INGOT_SANITIZED 1
#endif
#endif

namespace {

using namespace ingot;
using fuzz::ProgramMutator;
using fuzz::Random;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kMaxArena = 1 << 20, kMaxSteps = 4096;  // beyond: not run
// then cut between two instructions, and not compared
constexpr uint64_t kMaxRunNs = 10000000000;
// of the processor's time, of 64 mutants: a finding
constexpr long kMaxMutantSeconds = 60;
constexpr int kRuns = 3;  // of a session: state goes on

struct Tally {
  uint64_t mutants = 0, accepted = 0, bounded = 0, large = 0, sessions = 0, runs = 0, compared = 0,
           slow = 0, finds = 0;
};

// For handlers, which find the mutant at hand here.
const Bytes* current_mutant = nullptr;
char current_name[256] = "";
const char* finds_folder = ".";

void keep_mutant(const char* why) {
  if (!current_mutant) return;
  char path[512];
  snprintf(path, sizeof path, "%s/%s.%s.ingot", finds_folder, current_name, why);
  FILE* out = fopen(path, "wb");
  if (!out) return;
  fwrite(current_mutant->data(), 1, current_mutant->size(), out);
  fclose(out);
  fprintf(stderr, "FIND %s: %s\n", why, path);
}
#ifdef INGOT_SANITIZED
void on_crash() { keep_mutant("crash"); }
#endif
void on_time(int) {
  keep_mutant("hang");
  _exit(1);
}
/// From now on; 0: no more.
void watch(long seconds) {
  const itimerval time = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &time, nullptr);
}

bool read_file(const char* path, Bytes* out) {
  FILE* in = fopen(path, "rb");
  if (!in) return false;
  uint8_t block[4096];
  size_t count;
  while ((count = fread(block, 1, sizeof block, in)) > 0)
    out->insert(out->end(), block, block + count);
  fclose(in);
  return true;
}

/// Exactly so many bytes, so that one too many shows.
struct Block {
  Block(uint64_t bytes, uint64_t alignment) : size(bytes) {
    if (posix_memalign(&data, size_t(alignment < 16 ? 16 : alignment), size_t(bytes ? bytes : 1)) !=
        0)
      abort();
  }
  ~Block() { free(data); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* data = nullptr;
  uint64_t size;
};

void fill(const Block& block, int which) {
  uint8_t* bytes = static_cast<uint8_t*>(block.data);
  Random random{uint64_t(which)};
  for (uint64_t i = 0; i < block.size; i++)
    bytes[i] = which == 0 ? 0xa5 : uint8_t(random.next() >> 24);
#ifdef INGOT_MSAN
  __msan_allocated_memory(block.data, size_t(block.size));
#endif
}

/// A number that is likely to matter: small, often zero; for indices mostly in range.
void make_number(Random* random, ingot_dtype dtype, uint8_t* to) {
  constexpr float kNumbers[] = {0, 0, 1, -1, 0.5f, 2, -2.5f, 3};
  constexpr uint16_t kHalves[] = {0, 0, 0x3c00, 0xbc00, 0x3800, 0x4000, 0xc100, 0x4200};
  constexpr uint16_t kBrains[] = {0, 0, 0x3f80, 0xbf80, 0x3f00, 0x4000, 0xc020, 0x4040};
  const uint64_t pick = random->below(8);
  const double wide = double(kNumbers[pick]);
  const int64_t whole =
      random->one_in(200) ? int64_t(random->below(40)) - 20 : int64_t(random->below(4));
  switch (dtype) {
    case INGOT_F32: memcpy(to, &kNumbers[pick], 4); break;
    case INGOT_F16: memcpy(to, &kHalves[pick], 2); break;
    case INGOT_BF16: memcpy(to, &kBrains[pick], 2); break;
    case INGOT_F64: memcpy(to, &wide, 8); break;
    case INGOT_BOOL: *to = uint8_t(whole & 1); break;
    default: memcpy(to, &whole, ingot_dtype_bytes(dtype)); break;
  }
}

template <class Visit>
void each_row(const ingot_tensor& tensor, Visit visit) {
  const int64_t width = int64_t(ingot_dtype_bytes(tensor.dtype));
  const int64_t length = tensor.rank ? tensor.dims[tensor.rank - 1] : 1;
  int64_t rows = 1;
  for (int i = 0; i + 1 < tensor.rank; i++) rows *= tensor.dims[i];
  for (int64_t r = 0; r < rows && length > 0; r++)
    visit(static_cast<uint8_t*>(tensor.data) + r * tensor.row_stride * width,
          size_t(length * width));
}

void write_input(const ingot_tensor& tensor, Random* random) {
  const size_t width = ingot_dtype_bytes(tensor.dtype);
  each_row(tensor, [&](uint8_t* row, size_t bytes) {
    for (size_t i = 0; i < bytes; i += width) make_number(random, tensor.dtype, row + i);
  });
}

/// What a caller sees of a tensor, with its extents; and where MemorySanitizer knows of a byte that
/// nobody wrote, that.
void append(const ingot_tensor& tensor, int filling, Bytes* out) {
  (void)filling;
  const uint8_t* dims = reinterpret_cast<const uint8_t*>(tensor.dims);
  out->insert(out->end(), dims, dims + size_t(tensor.rank) * sizeof(int64_t));
  each_row(tensor, [&](uint8_t* row, size_t bytes) {
#ifdef INGOT_MSAN
    if (__msan_test_shadow(row, bytes) >= 0) {
      out->push_back(uint8_t(filling));  // differs from the other run
      __msan_unpoison(row, bytes);
    }
#endif
    out->insert(out->end(), row, row + bytes);
  });
}

struct Program {
  ingot_model* model;
  ingot_model_summary summary;
  ingot_session_options options;
  uint64_t input_seed;
};

/// Everything that may be seen of a session over an arena filled so; false where there is none, or
/// a run was cut.
bool execute(const Program& p, const ingot_requirements& need, int filling, Bytes* seen,
             Tally* tally) {
  const Block arena(need.arena_bytes, need.arena_alignment);
  fill(arena, filling);
  ingot_session_options options = p.options;
  options.arena = arena.data;
  options.arena_bytes = arena.size;
  ingot_session* session = nullptr;
  if (ingot_session_create(p.model, &options, &session, nullptr) != INGOT_OK) return false;
  tally->sessions++;
  Random random(p.input_seed);
  ingot_tensor tensor;
  seen->clear();
  for (int run = 0; run < kRuns; run++) {
    for (uint32_t i = 0; i < p.summary.input_count; i++)
      if (ingot_session_input(session, i, &tensor) == INGOT_OK) write_input(tensor, &random);
    const ingot_code code = ingot_session_run_until(session, ingot_clock_ns() + kMaxRunNs, nullptr);
    if (code == INGOT_DEADLINE_EXCEEDED) {  // by the clock, which is another one in the other run
      tally->slow++;
      ingot_session_destroy(session);
      return false;
    }
    tally->runs += code == INGOT_OK;
    seen->push_back(uint8_t(code));
    if (code != INGOT_OK) {
      (void)ingot_session_reset_state(session, nullptr);  // unspecified, as outputs are
      continue;
    }
    for (uint32_t i = 0; i < p.summary.output_count; i++)
      if (ingot_session_output(session, i, &tensor) == INGOT_OK) append(tensor, filling, seen);
    for (uint32_t i = 0; i < p.summary.state_count; i++)
      if (ingot_session_state(session, i, &tensor) == INGOT_OK) append(tensor, filling, seen);
  }
  ingot_session_destroy(session);
  return true;
}

size_t look_at_golden(const ingot_model* model) {
  ingot_golden* golden = nullptr;
  if (ingot_golden_open(model, &golden, nullptr) != INGOT_OK) return 0;
  size_t sum = 0;
  for (uint32_t c = 0; c < ingot_golden_case_count(golden); c++) {
    ingot_golden_case shape;
    if (ingot_golden_case_at(golden, c, &shape) != INGOT_OK) continue;
    for (uint32_t i = 0; i < shape.input_count + shape.output_count; i++) {
      const char* name = "";
      ingot_tensor tensor;
      const bool is_input = i < shape.input_count;
      if ((is_input
               ? ingot_golden_input(golden, c, i, &name, &tensor)
               : ingot_golden_output(golden, c, i - shape.input_count, &name, &tensor)) != INGOT_OK)
        continue;
      sum += strlen(name);
      for (uint64_t k = 0; k < tensor.bytes; k++)
        sum += static_cast<const uint8_t*>(tensor.data)[k];
    }
  }
  ingot_golden_close(golden);
  return sum;
}

/// Low bounds, or a little above.
std::vector<ingot_binding> bind(const ingot_model* model, uint32_t count, Random* random) {
  std::vector<ingot_binding> bindings;
  for (uint32_t i = 0; i < count; i++) {
    ingot_symbol symbol;
    if (ingot_model_symbol(model, i, &symbol) != INGOT_OK) continue;
    const bool is_near_end = symbol.low > INT64_MAX - 8;
    bindings.push_back(
        {symbol.name, is_near_end ? symbol.low : symbol.low + int64_t(random->below(8))});
  }
  return bindings;
}

int faulty_op = 0;  // whose kernels do not write a byte of their first result

template <int op>
Status leave_a_byte(const OpArguments& a, const Team& team) {
  const KernelEntry* kernel = find_kernel(*cpu_kernels("scalar"), OpCode(op), a);
  if (!kernel) return Code::kInternal;
  if (op != faulty_op || !a.output_count || !a.outputs[0].data || a.outputs[0].elements() == 0)
    return kernel->run(a, team);
  // of the first element
  uint8_t& last = a.outputs[0].as<uint8_t>()[dtype_bytes(a.outputs[0].dtype) - 1];
  const uint8_t before = last;
  const Status status = kernel->run(a, team);
  last = before;
  return status;
}

/// The scalar kernels, with a fault where faulty_op says: what is to be found.
template <int... ops>
const ingot_kernel_table* faulty_kernels(std::integer_sequence<int, ops...>) {
  const KernelTable& real = *cpu_kernels("scalar");
  static const KernelEntry entries[] = {{OpCode(ops), "faulty", find_contract(real, OpCode(ops)),
                                         nullptr, leave_a_byte<ops>, decoder_of(OpCode(ops))}...};
  static const KernelTable table = {"faulty", entries, uint32_t(sizeof...(ops)), &real};
  return reinterpret_cast<const ingot_kernel_table*>(&table);
}

const ingot_kernel_table* pick_kernels(Random* random) {
  switch (random->below(4)) {
    case 0: return reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
    case 1: return reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar"));
    default: return reinterpret_cast<const ingot_kernel_table*>(cpu_kernels(nullptr));
  }
}

/// False: a finding. Without `kernels` any that there are.
bool try_mutant(const Bytes& file, Random* random, Tally* tally,
                const ingot_kernel_table* kernels = nullptr) {
  tally->mutants++;
  const Block memory(file.size(), 64);
  memcpy(memory.data, file.data(), file.size());
  ingot_open_options open = {};
  open.size = sizeof open;
  open.kernels = kernels ? kernels : pick_kernels(random);
  ingot_model* model = nullptr;
  if (ingot_model_open_memory(memory.data, memory.size, &open, &model, nullptr) != INGOT_OK)
    return true;
  tally->accepted++;
  (void)ingot_model_verify_hashes(model, nullptr);
  volatile size_t sink = look_at_golden(model);
  (void)sink;
  Program p = {};
  p.model = model;
  p.summary.size = sizeof p.summary;
  (void)ingot_model_summarize(model, &p.summary);
  p.input_seed = random->next();
  const std::vector<ingot_binding> bindings = bind(model, p.summary.symbol_count, random);
  p.options.size = sizeof p.options;
  p.options.device = "cpu";
  p.options.bindings = bindings.data();
  p.options.binding_count = bindings.size();
  p.options.threads = 1;
  p.options.arena_kind = INGOT_ARENA_CALLER;
  ingot_requirements need = {}, need_kept = {};
  need.size = need_kept.size = sizeof need;
  bool same = true;
  if (ingot_model_requirements(model, &p.options, &need, nullptr) == INGOT_OK) {
    tally->bounded++;
    Bytes one, other;
    Program kept = p;
    kept.options.flags = INGOT_KEEP_VALUES;
    if (ingot_model_requirements(model, &kept.options, &need_kept, nullptr) != INGOT_OK) {
      same = false;
    } else if (need.arena_bytes > kMaxArena || need_kept.arena_bytes > kMaxArena ||
               need.steps > kMaxSteps) {
      tally->large++;
    } else if (execute(p, need, 0, &one, tally) && execute(kept, need_kept, 1, &other, tally)) {
      same = one == other;
      tally->compared++;
    }
  }
  ingot_model_destroy(model);
  return same;
}

void print(const char* what, const Tally& t) {
  printf(
      "%s: %llu mutants, %llu accepted, %llu bound to dimensions, %llu too large to run, %llu "
      "runs, %llu compared, "
      "%llu "
      "cut for time, %llu findings\n",
      what, (unsigned long long)t.mutants, (unsigned long long)t.accepted,
      (unsigned long long)t.bounded, (unsigned long long)t.large, (unsigned long long)t.runs,
      (unsigned long long)t.compared, (unsigned long long)t.slow, (unsigned long long)t.finds);
  fflush(stdout);
}

void add(const Tally& from, Tally* to) {
  const uint64_t* a = &from.mutants;
  uint64_t* b = &to->mutants;
  for (size_t i = 0; i < sizeof(Tally) / sizeof(uint64_t); i++) b[i] += a[i];
}

/// MemorySanitizer ends the process where a byte that nobody wrote decides a branch.
#ifdef INGOT_MSAN
constexpr bool kEndsAtFaults = true;
#else
constexpr bool kEndsAtFaults = false;
#endif

/// With bindings and inputs that the file takes, a kernel that leaves a byte unwritten makes a
/// difference. Types that the oracle alone computes have no such kernel. Random indices are seldom
/// all in range, and a run that is refused shows nothing: hence so many tries.
bool finds_faults(const Bytes& file, Random* random) {
  Tally tally;
  const ingot_kernel_table* faulty =
      faulty_kernels(std::make_integer_sequence<int, kOpCodeCount>());
  for (int k = 0; k < 64 * kOpCodeCount; k++) {
    faulty_op = k % kOpCodeCount;
    if (!try_mutant(file, random, &tally, faulty)) return true;
  }
  return tally.runs == 0;
}

bool fuzz_file(const char* path, uint64_t seed, uint64_t from, uint64_t count, Tally* total) {
  Bytes file, mutant;
  if (!read_file(path, &file)) return fprintf(stderr, "%s: cannot be read\n", path), false;
  const char* slash = strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  Tally tally;
  Random first(1);
  for (int k = 0; k < 16 && tally.runs == 0; k++)
    if (!try_mutant(file, &first, &tally)) break;
  if (tally.runs == 0 || tally.compared == 0)
    return fprintf(stderr, "%s: does not open and run as it is\n", path), false;
  if (!kEndsAtFaults && !finds_faults(file, &first))
    return fprintf(stderr, "%s: kernels that leave a byte unwritten were not found out\n", path),
           false;
  tally = {};
  const ProgramMutator mutator(file);
  current_mutant = &mutant;
  for (uint64_t i = from; i < from + count; i++) {
    Random random(seed * 1000003 + i);
    mutator.mutate(&random, &mutant);
    snprintf(current_name, sizeof current_name, "%.*s.%llu.%llu", int(strcspn(name, ".")), name,
             (unsigned long long)seed, (unsigned long long)i);
    if (i % 64 == 0) watch(kMaxMutantSeconds);
    if (try_mutant(mutant, &random, &tally)) continue;
    tally.finds++;
    keep_mutant("differs");
  }
  watch(0);
  current_mutant = nullptr;
  print(name, tally);
  add(tally, total);
  return true;
}

int expand(const char* from, const char* to) {
  Bytes file;
  if (!read_file(from, &file)) return fprintf(stderr, "%s: cannot be read\n", from), 1;
  const Bytes whole = fuzz::with_all_fields(file);
  FILE* out = fopen(to, "wb");
  if (!out || fwrite(whole.data(), 1, whole.size(), out) != whole.size() || fclose(out) != 0)
    return fprintf(stderr, "%s: cannot be written\n", to), 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "--expand") == 0) return expand(argv[2], argv[3]);
  uint64_t count = 1000, seed = 1, from = 0;
  int files = 0;
#ifdef INGOT_SANITIZED
  __sanitizer_set_death_callback(on_crash);
#endif
  signal(SIGPROF, on_time);
  Tally total;
  bool is_sound = true;
  for (int i = 1; i < argc; i++) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--mutants") == 0)
      count = strtoull(value, nullptr, 10), i++;
    else if (strcmp(argv[i], "--seed") == 0)
      seed = strtoull(value, nullptr, 10), i++;
    else if (strcmp(argv[i], "--from") == 0)
      from = strtoull(value, nullptr, 10), i++;
    else if (strcmp(argv[i], "--finds") == 0)
      finds_folder = value, i++;
    else
      files++, is_sound = fuzz_file(argv[i], seed, from, count, &total) && is_sound;
  }
  char what[64];
  snprintf(what, sizeof what, "mutants of %d files", files);
  print(what, total);
  return is_sound && files > 0 && total.finds == 0 ? 0 : 1;
}
