// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu_pack/run_jobs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace ingot::pack {

volatile std::sig_atomic_t stop_signal = 0;

namespace {

constexpr size_t kOutputMost = 48u << 20;  // a process that says more is ended
constexpr int kCrashes = 6;                // of one shard, one after the other

size_t size_of(const std::string& path) {
  struct stat s = {};
  return stat(path.c_str(), &s) == 0 ? size_t(s.st_size) : 0;
}

std::string log_of(const Results& results, const Part& part, const Job& job) {
  std::string name = part.name + "." + job.name + ".log";
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') c = '_';
  return results.work + "/logs/" + name;
}

/// The last line that says something; of "[fail]" the first.
std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("[fail]", 0) == 0) return line;
    if (!line.empty() && line[0] != '=') last = line;
  }
  return last.substr(0, 300);
}

std::string first_skip(const std::string& text) {
  const size_t at = text.find("[skip]");
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at).substr(0, 200);
}

/// "12 NAME" of the case that began last and has not ended; "".
std::string open_case(const std::string& progress) {
  std::istringstream lines(progress);
  std::string open;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("begin ", 0) == 0) open = line.substr(6);
    if (line.rfind("end ", 0) == 0) open.clear();
  }
  return open;
}

std::pair<int, int> cases_of(const std::string& progress) {  // all, failed
  std::istringstream lines(progress);
  std::pair<int, int> count;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("end ", 0) == 0) {
      count.first++;
      count.second += line.find(" failed ") != std::string::npos;
    }
  return count;
}

}  // namespace

bool Jobs::is_ready(const Job& job, bool* never) const {
  *never = false;
  bool ready = true;
  for (const std::string& file : job.needs) {
    if (access(file.c_str(), R_OK) == 0) continue;
    ready = false;
    const auto makes = [&](const Job* other) {
      return other != &job &&
             std::find(other->words.begin(), other->words.end(), file) != other->words.end();
    };
    bool comes = std::any_of(waiting_beside_.begin(), waiting_beside_.end(), makes);
    for (const Running& r : running_beside_) comes = comes || makes(r.job);
    *never = *never || !comes;  // whoever makes it has failed
  }
  return ready;
}

void Jobs::begin(const Part& part, const Job& job, size_t rung_of_job) {
  Running r{&part, &job, nullptr, log_of(results_, part, job), "", "", rung_of_job};
  Environment environment = job.environment;
  const std::string graphs = rung_of_job ? kRungs[rung_of_job] : rung;
  if (part.needs_gpu && graphs != "full" && part.name != "ladder")
    environment.push_back({"INGOT_CUDA_GRAPHS", graphs});
  if (rung_of_job) {
    std::ofstream(r.log, std::ios::app) << "== again with INGOT_CUDA_GRAPHS=" << graphs << "\n";
  } else if (job.progress.empty()) {
    unlink(r.log.c_str());
  }
  r.child = std::make_unique<Child>(job.words, environment, r.log);
  (&part == &beside_ ? running_beside_ : running_).push_back(std::move(r));
}

void Jobs::begin_beside() {
  for (size_t i = 0; i < waiting_beside_.size();) {
    if (int(running_beside_.size()) >= beside_.parallel) return;
    const Job& job = *waiting_beside_[i];
    bool never = false;
    const bool ready = is_ready(job, &never);
    const bool is_made = job.words.size() > 3 && [&] {  // -o FILE of an earlier call
      for (size_t w = 0; w + 1 < job.words.size(); w++)
        if (job.words[w] == "-o") return access(job.words[w + 1].c_str(), R_OK) == 0;
      return false;
    }();
    if (!ready && !never) {
      i++;
      continue;
    }
    waiting_beside_.erase(waiting_beside_.begin() + std::ptrdiff_t(i));
    if (is_made) continue;
    if (never)
      results_.add({beside_.name, job.name, "skipped", 0, 0, "what it needs was not made"});
    else
      begin(beside_, job, 0);
  }
}

void Jobs::watch(Running* r, bool is_over) {
  const std::string& progress = r->job->progress;
  if (!progress.empty()) {
    const size_t bytes = size_of(progress);
    if (bytes != r->progress_bytes) r->progress_bytes = bytes, r->progress_at = Clock::now();
    const double stall = std::atof(option("STALL", "30").c_str());
    if (!r->child->was_ended() && seconds_since(r->progress_at) > stall) {
      r->why_ended = "stalled";
      r->child->end();
    }
  }
  if (r->child->was_ended()) return;
  if (is_over || r->child->seconds() > r->job->limit) {
    r->why_ended = is_over ? "its part's time was over"
                           : "it took more than " + std::to_string(int(r->job->limit)) + " s";
    r->child->end();
  } else if (size_of(r->log) > kOutputMost) {
    r->why_ended = "it printed more than 48 MiB";
    r->child->end();
    if (truncate(r->log.c_str(), off_t(1u << 20)) != 0) unlink(r->log.c_str());
  }
}

/// True: the shard goes on with what is left of it.
bool Jobs::finish_shard(const Running& r, Child::State state, Outcome* outcome) {
  const std::string progress = read_text(r.job->progress), open = open_case(progress);
  const auto [cases, failed] = cases_of(progress);
  outcome->note = std::to_string(cases) + " cases, " + std::to_string(failed) + " failed";
  const bool is_cut = !r.why_ended.empty() && r.why_ended != "stalled";
  if (is_cut) {
    if (!open.empty())
      std::ofstream(r.job->progress, std::ios::app) << "cut " << std::atoi(open.c_str()) << "\n";
    outcome->state = "unfinished";
    return false;
  }
  const bool is_over = state == Child::State::kEnded && r.why_ended.empty();
  if (is_over && (outcome->exit == 0 || outcome->exit == 1)) {
    crashes_[r.log] = 0;
    outcome->state = outcome->exit || failed ? "failed" : "done";
    return false;
  }
  const std::string log = read_text(r.log, 256u << 10);
  if (is_over && outcome->exit == 77) {
    outcome->state = "skipped", outcome->note = first_skip(log);
    return false;
  }
  const size_t last_fail = log.rfind("[fail]");
  results_.failures.push_back(
      r.part->name + ": case " + (open.empty() ? "unknown" : open) +
      (r.why_ended == "stalled" ? " did not end"
                                : " ended its process, exit " + std::to_string(outcome->exit)) +
      (last_fail == std::string::npos ? "" : ": " + last_line(log.substr(last_fail))));
  outcome->state = "failed";
  if (state == Child::State::kAbandoned) {
    results_.notes.push_back("process " + std::to_string(r.child->pid()) +
                             " could not be ended and was left: " + r.part->name + ", case " +
                             open);
    outcome->state = "abandoned";
  }
  // What it said of its case is told; the next process has a log to itself again.
  std::ofstream(r.log, std::ios::app) << "\n== again, without that case\n";
  return !open.empty() && ++crashes_[r.log] < kCrashes;
}

/// Again with less of the driver's graphs, as long as there is less.
void Jobs::retreat(const Running& r, Outcome* outcome) {
  const size_t count = std::size(kRungs);
  size_t now = r.rung;
  for (size_t i = 0; !now && i < count; i++)
    if (rung == kRungs[i]) now = i;
  const std::string where = r.part->name + " " + r.job->name + ": graphs '" + kRungs[now] + "' ";
  if (outcome->state == "done") {
    if (r.rung) {
      results_.retreats.push_back(where + "do");
      outcome->note = std::string("with INGOT_CUDA_GRAPHS=") + kRungs[now];
    }
    return;
  }
  results_.retreats.push_back(where + "do not: " + outcome->note);
  if (now + 1 < count)
    retry_.push_back({r.job, now + 1});
  else
    results_.retreats.push_back(r.part->name + " " + r.job->name +
                                ": fails without graphs, too: it is not the graph");
}

void Jobs::finish(Running* r, Child::State state) {
  Outcome outcome{r->part->name,           r->job->name,        "done",
                  r->child->exit_status(), r->child->seconds(), ""};
  const std::string text = read_text(r->log, 256u << 10);
  if (!r->job->progress.empty()) {
    if (const bool goes_on = finish_shard(*r, state, &outcome); goes_on && !stop_signal)
      waiting_.push_front(r->job);
    if (outcome.exit == 1)
      for (const std::string& line : read_failures(text))
        results_.failures.push_back(r->part->name + ": " + line);
    results_.add(outcome);
    return;
  }
  outcome.note = first_skip(text);
  if (state == Child::State::kAbandoned) {
    outcome.state = "abandoned";
    outcome.note = "process " + std::to_string(r->child->pid()) +
                   " cannot be ended: it was left; " + r->why_ended;
    results_.notes.push_back(r->part->name + " " + r->job->name + ": " + outcome.note);
  } else if (!r->why_ended.empty()) {
    outcome.state = "unfinished";
    outcome.note = r->why_ended;
  } else if (outcome.exit == r->job->skipped_exit) {
    outcome.state = "skipped";
  } else if (outcome.exit != 0 && outcome.exit != r->job->nothing_exit) {
    outcome.state = "failed";
    outcome.note = "exit " + std::to_string(outcome.exit) + ": " + last_line(text);
    results_.failures.push_back(outcome.part + " " + outcome.job + ": " + outcome.note);
    for (const std::string& line : read_failures(text))
      results_.failures.push_back(r->part->name + ": " + line);
  }
  if (r->job->retreats && r->why_ended.empty() && (outcome.state == "failed" || r->rung))
    retreat(*r, &outcome);
  results_.add(outcome);
}

void Jobs::look(std::vector<Running>* running, bool is_over) {
  for (size_t i = 0; i < running->size();) {
    Running& r = (*running)[i];
    watch(&r, is_over);
    const Child::State state = r.child->look();
    if (state == Child::State::kRuns) {
      i++;
      continue;
    }
    Running ended = std::move(r);
    running->erase(running->begin() + std::ptrdiff_t(i));
    finish(&ended, state);
  }
}

void Jobs::note_part(const Part& part, PartState* to) const {
  std::map<std::string, int> states;
  std::string skip;
  to->logs.clear();
  for (const Job& job : part.jobs) {
    const Outcome* const known = results_.outcome(part.name, job.name);
    states[known ? known->state : "not begun"]++;
    if (known && known->state == "skipped" && skip.empty()) skip = known->note;
    const std::string log = log_of(results_, part, job);
    if (size_of(log)) to->logs.push_back(log);
  }
  to->state = states.count("failed") || states.count("abandoned") ? "FAILED"
              : states.count("unfinished")                        ? "not finished"
              : states.count("not begun")                         ? "not finished"
              : states.count("done")                              ? "done"
                                                                  : "skipped";
  to->note.clear();
  for (const auto& [state, count] : states)
    to->note += (to->note.empty() ? "" : ", ") + std::to_string(count) + " " + state;
  if (!skip.empty()) to->note += "; " + skip;
}

void Jobs::run(const Part& part, double seconds, bool again) {
  const Clock::time_point began = Clock::now();
  PartState* const state = results_.part(part.name);
  const double before = state->seconds;
  waiting_.clear(), retry_.clear();
  for (const Job& job : part.jobs) {
    const Outcome* const known = results_.outcome(part.name, job.name);
    if (known && (known->state == "done" || (known->state == "failed" && !again))) continue;
    if (job.skip.empty())
      waiting_.push_back(&job);
    else
      results_.add({part.name, job.name, "skipped", 0, 0, "[skip] " + job.skip});
  }
  state->state = "runs";
  while (!running_.empty() || !waiting_.empty() || !retry_.empty()) {
    const bool is_over = seconds_since(began) >= seconds || stop_signal;
    begin_beside();
    look(&running_beside_, stop_signal != 0);
    look(&running_, is_over);
    if (is_over && running_.empty()) break;
    for (; !is_over && !retry_.empty() && int(running_.size()) < part.parallel;
         retry_.erase(retry_.begin()))
      begin(part, *retry_[0].first, retry_[0].second);
    for (size_t i = 0; !is_over && i < waiting_.size() && int(running_.size()) < part.parallel;) {
      const Job& job = *waiting_[i];
      bool never = false;
      const bool ready = is_ready(job, &never);
      if (!ready && !never) {
        i++;
        continue;
      }
      waiting_.erase(waiting_.begin() + std::ptrdiff_t(i));
      if (ready)
        begin(part, job, 0);
      else
        results_.add({part.name, job.name, "skipped", 0, 0, "its network was not made"});
    }
    if (seconds_since(written_) > 10) {
      state->seconds = before + seconds_since(began);
      note_part(part, state);
      state->state = "runs";
      (void)results_.write();
      written_ = Clock::now();
    }
    usleep(20'000);
  }
  state->seconds = before + seconds_since(began);
  note_part(part, state);
}

void Jobs::end_all() {
  for (auto* all : {&running_, &running_beside_})
    for (Running& r : *all) {
      if (r.why_ended.empty()) r.why_ended = "the call ended";
      r.child->end();
    }
  const Clock::time_point began = Clock::now();
  while ((!running_.empty() || !running_beside_.empty()) && seconds_since(began) < 6) {
    look(&running_, false);
    look(&running_beside_, false);
    usleep(20'000);
  }
  if (PartState* const state = results_.part(beside_.name)) note_part(beside_, state);
}

}  // namespace ingot::pack
