// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/pack_run.cpp - PACK/run: what only a machine with a GPU can show, from a
// folder that needs a driver and nothing else.
//
//   run [--minutes N] [--out DIR] [--work DIR] [--state FILE] [PART...]
//   run --list
//
// Three files in DIR, whole at any moment: report.md, results.json, state.tar (logs, and what is
// done; --state goes on from it on another day or machine). Named parts are done first, again where
// they failed. Exit 0; 1: something failed, or no GPU can be used; 2: the pack is damaged; 64:
// wrong words; 128 + signal.
#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/cuda/gpu_pack/run_jobs.h"

namespace ingot::pack {
namespace {

struct Arguments {
  std::string pack, out = "gpu-results", work, state;
  int minutes = 5;
  std::vector<std::string> parts;
  bool lists = false;
};

bool parse(int argc, char** argv, Arguments* a) {
  if (const char* const folder = std::getenv("OUT"); folder && *folder) a->out = folder;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--list") {
      a->lists = true;
    } else if (word.rfind("--", 0) != 0) {
      a->parts.push_back(word);
    } else if (!value || !*value) {
      return false;
    } else {
      i++;
      if (word == "--pack")
        a->pack = value;
      else if (word == "--out")
        a->out = value;
      else if (word == "--work")
        a->work = value;
      else if (word == "--state")
        a->state = value;
      else if (word == "--minutes")
        a->minutes = std::atoi(value);
      else
        return false;
    }
  }
  return a->minutes > 0 && !a->pack.empty();
}

/// With every folder above it.
bool make_folder(const std::string& folder) {
  for (size_t at = 1; at <= folder.size(); at++)
    if (at == folder.size() || folder[at] == '/')
      if (mkdir(folder.substr(0, at).c_str(), 0777) != 0 && errno != EEXIST) return false;
  return access(folder.c_str(), W_OK) == 0;
}

uint64_t free_mib(const std::string& folder) {
  struct statvfs disk = {};
  return statvfs(folder.c_str(), &disk) == 0 ? uint64_t(disk.f_bavail) * disk.f_frsize >> 20 : 0;
}

std::string absolute(const std::string& path) {
  char here[4096];
  return path[0] == '/' || !getcwd(here, sizeof here) ? path : std::string(here) + "/" + path;
}

/// The first with room for networks, else the one with the most.
std::string choose_work(const Arguments& a, uint64_t* mib) {
  constexpr uint64_t kWanted = 1500;
  std::vector<std::string> places;
  const char* const temporary = std::getenv("TMPDIR");
  if (!a.work.empty())
    places = {absolute(a.work)};
  else
    for (const std::string& root :
         {std::string(temporary ? temporary : ""), std::string("/tmp"), std::string("/var/tmp"),
          std::string("/dev/shm"), a.pack, a.out})
      if (!root.empty()) places.push_back(root + "/ingot-gpu-work");
  std::string best;
  for (const std::string& place : places) {
    if (!make_folder(place + "/logs") || !make_folder(place + "/models")) continue;
    const uint64_t free = free_mib(place);
    if (best.empty() || free > *mib) best = place, *mib = free;
    if (free >= kWanted) break;
  }
  return best;
}

/// Runs a program for its output; `seconds` at most. -1: it did not end.
int ask(const std::vector<std::string>& words, double seconds, const std::string& log,
        std::string* text) {
  unlink(log.c_str());
  Child child(words, {}, log);
  for (;;) {
    const Child::State state = child.look();
    if (state != Child::State::kRuns) {
      *text = read_text(log, 64u << 10);
      return state == Child::State::kAbandoned || child.was_ended() ? -1 : child.exit_status();
    }
    if (child.seconds() > seconds || stop_signal) child.end();
    usleep(10'000);
  }
}

/// "name\tsm\texclusive\tlibrary" of gpu_runner --facts; else why there is none.
struct Gpu {
  bool is_there = false, is_exclusive = false;
  std::string name = "no GPU that this pack can use", sm, library, why;
};

Gpu find_gpu(const Results& results, const std::string& pack) {
  Gpu gpu;
  std::string text;
  const int start = std::atoi(option("START", "60").c_str());
  const int status =
      ask({pack + "/bin/gpu_runner", "--facts"}, start, results.work + "/logs/facts.log", &text);
  std::istringstream lines(text);
  std::string line, last, exclusive;
  while (std::getline(lines, line))
    if (!line.empty()) last = line;
  if (status != 0) {
    gpu.why = status < 0 ? "the driver did not start within " + std::to_string(start) + " s" : last;
    return gpu;
  }
  std::istringstream words(last);
  std::getline(words, gpu.name, '\t');
  std::getline(words, gpu.sm, '\t');
  std::getline(words, exclusive, '\t');
  std::getline(words, gpu.library, '\t');
  gpu.is_there = true, gpu.is_exclusive = exclusive == "1";
  return gpu;
}

/// One process that has a context, so that others need not start the driver: 1.5 to 3 s each.
class Holder {
 public:
  Holder(const Arguments& a, const Results& results, bool wanted)
      : log_(results.work + "/logs/holder.log") {
    if (!wanted) return;
    unlink(log_.c_str());
    child_ = std::make_unique<Child>(std::vector<std::string>{a.pack + "/bin/gpu_runner", "--hold"},
                                     Environment{}, log_);
    const Clock::time_point began = Clock::now();
    while (seconds_since(began) < 15 && child_->look() == Child::State::kRuns && !stop_signal &&
           read_text(log_).find("holds") == std::string::npos)
      usleep(10'000);
  }
  ~Holder() {
    if (!child_) return;
    child_->end();
    for (const Clock::time_point began = Clock::now();
         seconds_since(began) < 5 && child_->look() == Child::State::kRuns;)
      usleep(10'000);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  std::string log_;
  std::unique_ptr<Child> child_;
};

/// The first rung on which all of part ladder came out right.
std::string choose_rung(const Part& ladder, Results* results) {
  for (const char* rung : kRungs) {
    int right = 0, wrong = 0;
    std::string why;
    for (const Job& job : ladder.jobs) {
      const std::string end = std::string(".") + rung;
      if (job.name.size() < end.size() ||
          job.name.compare(job.name.size() - end.size(), end.size(), end) != 0)
        continue;
      const Outcome* const known = results->outcome("ladder", job.name);
      if (!known) continue;
      right += known->state == "done";
      if (known->state != "done") wrong++, why = job.name + ": " + known->note;
    }
    if (right && !wrong) {
      if (std::strcmp(rung, "full") != 0)
        results->retreats.push_back(std::string("from here on all parts run with "
                                                "INGOT_CUDA_GRAPHS=") +
                                    rung);
      return rung;
    }
    if (wrong) results->retreats.push_back(std::string("graphs '") + rung + "' do not: " + why);
  }
  return "full";
}

/// Of shards: which cases are done.
void forget_progress(const std::string& logs) {
  DIR* const folder = opendir(logs.c_str());
  while (const dirent* entry = folder ? readdir(folder) : nullptr) {
    const std::string name = entry->d_name;
    if (name.size() > 9 && name.rfind(".progress") == name.size() - 9)
      unlink((logs + "/" + name).c_str());
  }
  if (folder) closedir(folder);
}

const char* kLists[] = {"failures", "retreats"};
std::vector<std::string>* list_of(Results* results, int i) {
  return i ? &results->retreats : &results->failures;
}
void save_lists(Results* results) {
  for (int i = 0; i < 2; i++) {
    std::string text;
    std::vector<std::string> once;  // a case may say the same in several calls
    for (const std::string& line : *list_of(results, i))
      if (std::find(once.begin(), once.end(), line) == once.end()) once.push_back(line);
    *list_of(results, i) = once;
    for (const std::string& line : once) text += line + "\n";
    (void)write_whole(results->work + "/logs/" + kLists[i] + ".progress", text);
  }
}
void load_lists(Results* results) {
  for (int i = 0; i < 2; i++) {
    std::istringstream lines(read_text(results->work + "/logs/" + kLists[i] + ".progress"));
    for (std::string line; std::getline(lines, line);) list_of(results, i)->push_back(line);
  }
}

class Run {
 public:
  explicit Run(const Arguments& a) : a_(a) {}

  int go() {
    if (const int status = prepare()) return status;
    results_.call = "run --minutes " + std::to_string(a_.minutes);
    for (const std::string& part : a_.parts) results_.call += " " + part;
    write();
    const Gpu gpu = find_gpu(results_, a_.pack);
    take(gpu);
    const Part beside = plan_networks(setting_, networks_);
    Jobs jobs(&results_, beside);
    {
      const Holder holder(a_, results_, gpu.is_there && !gpu.is_exclusive);
      run_parts(gpu, &jobs);
      if (stop_signal) {
        results_.ended = "by signal " + std::to_string(stop_signal) + ", after " +
                         std::to_string(int(seconds_since(began_))) + " s";
        write();
      }
      jobs.end_all();
    }
    return end(gpu);
  }

 private:
  int prepare() {
    std::ifstream(a_.pack + "/made.txt") >> std::ws;
    std::getline(std::ifstream(a_.pack + "/made.txt"), results_.made);
    a_.out = absolute(a_.out);
    results_.out = a_.out;
    uint64_t mib = 0;
    if (!make_folder(a_.out) || free_mib(a_.out) < 1)
      std::fprintf(stderr, "pack: %s: %s; the report goes to the screen alone\n", a_.out.c_str(),
                   errno ? std::strerror(errno) : "no room");
    results_.work = choose_work(a_, &mib);
    if (results_.work.empty())
      return std::fprintf(stderr, "pack: no folder can be written to; name one with --work\n"), 1;
    name_parts();
    write();  // from here on there is a report
    std::string said;
    const int status = ask({a_.pack + "/bin/pack_tool", "check", a_.pack}, 60,
                           results_.work + "/logs/check.log", &said);
    std::fputs(said.c_str(), stderr);
    if (stop_signal) return fail_early("by signal " + std::to_string(stop_signal), 128);
    if (status) return results_.gpu = "the pack is damaged", fail_early(said, 2);
    if (mib < 400)
      results_.notes.push_back(results_.work + ": " + std::to_string(mib) +
                               " MiB are free, networks by seed want 1500: --work names another");
    results_.load(a_.state);
    load_lists(&results_);
    // Of another pack nothing is known here.
    const std::string of = results_.work + "/logs/made.progress", was = read_text(of);
    if (!was.empty() && was != results_.made) {
      results_.notes.push_back("what was done before is of another pack, and is done anew: " + was);
      results_.outcomes.clear(), results_.failures.clear(), results_.retreats.clear();
      forget_progress(results_.work + "/logs");
    }
    (void)write_whole(of, results_.made);
    results_.notes.push_back("works in " + results_.work + ", " + std::to_string(mib) +
                             " MiB free");
    return 0;
  }

  void name_parts() {
    const Setting none{a_.pack, results_.work, "", "", false, 1};
    for (const Part& part : plan_parts(none, {})) results_.parts.push_back({part.name, part.what});
    const Part beside = plan_networks(none, {});
    results_.parts.push_back({beside.name, beside.what});
  }

  int fail_early(const std::string& why, int status) {
    results_.ended = why;
    write();
    return status;
  }

  void take(const Gpu& gpu) {
    results_.gpu = gpu.name;
    results_.library = gpu.library;
    if (!gpu.library.empty()) results_.notes.push_back("driver: " + gpu.library);
    setting_ = {a_.pack, results_.work,    "",
                "",      gpu.is_exclusive, int(std::thread::hardware_concurrency())};
    const size_t sm = results_.made.find("sm_");
    setting_.architecture = results_.made.substr(sm, results_.made.find_first_of(" ,", sm) - sm);
    setting_.predicted_as = gpu.name.find("H200") != std::string::npos   ? "h200"
                            : gpu.name.find("H100") != std::string::npos ? "h100"
                            : gpu.name.find("Orin") != std::string::npos ? "orin-nano"
                            : setting_.architecture == "sm_0"            ? "sm_90"
                                                                         : setting_.architecture;
    networks_ = read_networks(setting_);
    parts_ = plan_parts(setting_, networks_);
    if (!gpu.is_there) {
      results_.notes.push_back(gpu.why);
      std::fprintf(stderr, "pack: %s: %s\n", results_.made.c_str(), gpu.why.c_str());
      if (gpu.why.find("device code") != std::string::npos) {
        results_.notes.push_back("make a pack for this GPU: ./dev gpu --pack ARCH");
        std::fprintf(stderr, "pack: make one for this GPU: ./dev gpu --pack ARCH\n");
      }
    }
    if (gpu.is_exclusive)
      results_.notes.push_back("the GPU is for one process at a time: nothing runs in parallel");
    std::printf("%s; %s\n", gpu.name.c_str(), results_.made.c_str());
  }

  bool is_asked(const Part& part) const {
    return a_.parts.empty() ||
           std::find(a_.parts.begin(), a_.parts.end(), part.name) != a_.parts.end();
  }

  void run_parts(const Gpu& gpu, Jobs* jobs) {
    double weights = 0;
    for (const Part& part : parts_) weights += is_asked(part) ? part.weight : 0;
    for (const Part& part : parts_) {
      PartState* const state = results_.part(part.name);
      if (part.name == "ladder" && !is_asked(part)) jobs->rung = choose_rung(part, &results_);
      if (!is_asked(part) || stop_signal) {
        if (results_.outcome(part.name, part.jobs.empty() ? "" : part.jobs[0].name))
          state->state = "done before";
        continue;
      }
      const double left = a_.minutes * 60 - seconds_since(began_) - 6;
      const double share = std::max(left * part.weight / weights, std::min(part.floor, left));
      weights -= part.weight;
      if (part.needs_gpu && !gpu.is_there) {
        state->state = "skipped", state->note = "no GPU";
      } else if (left < part.floor) {
        state->note = std::to_string(int(part.floor)) + " s are needed, " +
                      std::to_string(std::max(int(left), 0)) + " were left";
      } else {
        jobs->run(part, share, !a_.parts.empty());
        if (part.name == "ladder") jobs->rung = choose_rung(part, &results_);
      }
      std::printf("%-12s %s; %.1f s; %s\n", part.name.c_str(), state->state.c_str(), state->seconds,
                  state->note.c_str());
      std::fflush(stdout);
      write();
    }
  }

  int end(const Gpu& gpu) {
    std::string unfinished, failed;
    for (const PartState& part : results_.parts) {
      if (part.state.rfind("not", 0) == 0) unfinished += " " + part.name;
      if (part.state == "FAILED") failed += " " + part.name;
    }
    if (!stop_signal)
      results_.ended = "after " + std::to_string(int(seconds_since(began_))) + " s" +
                       (unfinished.empty() ? ", everything was done" : "");
    if (!gpu.is_there) unfinished.clear();
    if (!unfinished.empty())
      results_.notes.push_back("not finished:" + unfinished + "; next: run --minutes 9 --state " +
                               "state.tar" + unfinished);
    write();
    for (const std::string& line : results_.failures) std::printf("[fail] %s\n", line.c_str());
    for (const std::string& line : results_.retreats) std::printf("retreat: %s\n", line.c_str());
    if (!unfinished.empty()) std::printf("%s\n", results_.notes.back().c_str());
    if (!failed.empty()) std::printf("failed:%s\n", failed.c_str());
    if (!results_.problem.empty())
      std::printf("pack: results could not be written: %s; the report:\n%s\n",
                  results_.problem.c_str(), results_.report().c_str());
    std::printf("report: %s/report.md\n", results_.out.c_str());
    if (stop_signal) return 128 + int(stop_signal);
    return gpu.is_there && failed.empty() && results_.problem.empty() ? 0 : 1;
  }

  void write() {
    save_lists(&results_);
    collect_figures(networks_, &results_);
    (void)results_.write();
  }

  Arguments a_;
  Results results_;
  Setting setting_;
  std::vector<Network> networks_;
  std::vector<Part> parts_;
  const Clock::time_point began_ = Clock::now();
};

}  // namespace
}  // namespace ingot::pack

int main(int argc, char** argv) {
  using namespace ingot::pack;
  Arguments a;
  if (!parse(argc, argv, &a))
    return std::fprintf(stderr,
                        "usage: run [--minutes N] [--out DIR] [--work DIR] [--state FILE] "
                        "[PART...]; run --list has the parts\n"),
           64;
  const std::vector<Part> all = plan_parts({a.pack, "", "", "", false, 1}, {});
  for (const Part& part : all)
    if (a.lists) std::printf("%-12s %s\n", part.name.c_str(), part.what.c_str());
  if (a.lists) return 0;
  for (const std::string& name : a.parts)
    if (std::none_of(all.begin(), all.end(), [&](const Part& p) { return p.name == name; }))
      return std::fprintf(stderr, "pack: no part '%s'; run --list has them\n", name.c_str()), 64;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction action = {};
    action.sa_handler = [](int which) { stop_signal = which; };
    sigaction(signal, &action, nullptr);
  }
  setenv("INGOT_CUDA_DRIVER", "", 0);  // empty: the machine's; unset, the tests would name none
  signal(SIGPIPE, SIG_IGN);            // who reads what is printed may go
  signal(SIGXFSZ, SIG_IGN);            // a limit of files is an error of write()
  return Run(a).go();
}
