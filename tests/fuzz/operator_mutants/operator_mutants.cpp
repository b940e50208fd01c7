// SPDX-License-Identifier: Apache-2.0
// operator_mutants FAMILY [--count N] [--first N] [--seconds S] [--show] FILE.. - mutants of single
// operators by rank, shape, type and attribute, through the importers and the whole conversion:
// each ends with a result or a refusal. FAMILY: onnx or contrib (FILE: onnx_templates.txt), tflite
// (FILE: tflite_templates.txt), aten (tests/import/aten/argument_rows.inc is built in), gguf (a
// language model of each architecture); files (FILE..: sources as they are). --show: why each that
// is refused is. Exit 1 and a line for each finding; a sanitizer's report ends the program behind a
// line with the mutant, which --first N --count 1 makes again.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>

#include "tests/fuzz/operator_mutants/mutation.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"

namespace ingot::mutants {
namespace {

char current[512];
constexpr unsigned kMaxSeconds = 120;  // of the processor for one mutant, sanitized, unoptimized

void report_death() {
  (void)!write(STDOUT_FILENO, "\nFINDING in ", 12);
  (void)!write(STDOUT_FILENO, current, strlen(current));
  (void)!write(STDOUT_FILENO, "\n", 1);
}
void on_signal(int number) {
  report_death();
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void tell(const std::string& what) { snprintf(current, sizeof current, "%s", what.c_str()); }

}  // namespace ingot::mutants

extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace {

using namespace ingot;

struct Options {
  std::string family;
  uint64_t first = 0, count = UINT64_MAX;
  double seconds = 1e9;
  std::vector<std::string> files;
  bool shows = false;  // what is refused, and why
};

/// SIGPROF after so many seconds; 0: none.
void limit_processor_time(unsigned seconds) {
  const itimerval limit{{0, 0}, {time_t(seconds), 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

/// "" where it ended as it has to.
std::string run_one(const Options& o, uint64_t index, uint64_t* converted) {
  try {
    const host::WorkBudget budget("mutant", 4096);
    if (o.family == "files") {
      mutants::tell(o.files[index]);
      (void)convert::convert_source(o.files[index], {});
    } else if (o.family == "tflite")
      mutants::try_tflite(index);
    else if (o.family == "aten")
      mutants::try_aten(index);
    else if (o.family == "gguf")
      mutants::try_gguf(index);
    else
      mutants::try_onnx(index, o.family == "contrib");
    ++*converted;
    return "";
  } catch (const graph::ConversionError& error) {
    if (o.shows) printf("%s: %d: %s\n", mutants::current, error.exit_code, error.message.c_str());
    return error.exit_code == 8 ? "exit 8: " + error.message : "";
  } catch (const host::Failure& failure) {
    if (o.shows)
      printf("%s: %d: %s\n", mutants::current, int(failure.exit()), failure.message().c_str());
    return failure.exit() == host::Exit::kInternal ? "exit 8: " + failure.message() : "";
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    const char* const next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--count")
      o.count = strtoull(next, nullptr, 10), i++;
    else if (word == "--first")
      o.first = strtoull(next, nullptr, 10), i++;
    else if (word == "--seconds")
      o.seconds = atof(next), i++;
    else if (word == "--show")
      o.shows = true;
    else if (o.family.empty())
      o.family = word;
    else
      o.files.push_back(word);
  }
  if (o.family == "files") o.count = o.files.size(), o.shows = true;
  size_t read = 1;
  const std::string templates = o.files.empty() ? "" : o.files[0];
  if (o.family == "tflite") read = mutants::read_tflite_templates(templates);
  if (o.family == "onnx" || o.family == "contrib") read = mutants::read_onnx_templates(templates);
  if (read == 0) {
    fprintf(stderr, "operator_mutants: nothing to start from; see the head of its source\n");
    return 2;
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(mutants::report_death);
  for (const int number : {SIGABRT, SIGFPE, SIGPROF}) signal(number, mutants::on_signal);
  std::map<std::string, int> findings;
  timespec began, now;
  clock_gettime(CLOCK_MONOTONIC, &began);
  uint64_t done = 0, converted = 0;
  for (; done < o.count; done++) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (double(now.tv_sec - began.tv_sec) > o.seconds) break;
    limit_processor_time(mutants::kMaxSeconds);
    const std::string found = run_one(o, o.first + done, &converted);
    limit_processor_time(0);
    if (found.empty()) continue;
    if (findings[found.substr(0, 60)]++ < 3)
      printf("FINDING in %s: %s\n", mutants::current, found.c_str());
  }
  printf("%s: %llu mutants, %llu converted, %zu kinds of findings\n", o.family.c_str(),
         static_cast<unsigned long long>(done), static_cast<unsigned long long>(converted),
         findings.size());
  return findings.empty() ? 0 : 1;
}
