// SPDX-License-Identifier: Apache-2.0
// The program ingot-serve, which `ingot serve` starts: a server of its own, so that the command
// line needs neither its libraries nor its size.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/files/visible_text.h"
#include "tools/serve/core/service.h"
#include "tools/serve/http/http_front.h"
#ifdef INGOT_HAVE_GRPC
#include "tools/serve/grpc/grpc_front.h"
#endif
#include "tools/serve/options/serve_options.h"
#include "tools/session/arguments.h"

namespace ingot::serve {
namespace {

namespace asio = boost::asio;
using host::Exit;
using host::one_line;

int complain(Exit exit, const std::string& message) {
  fprintf(stderr, "ingot: %s\n", one_line(message).c_str());
  return int(exit);
}

ModelSettings model_settings(const ServeOptions& o) {
  ModelSettings settings;
  settings.session.device = o.device;
  settings.session.threads = int32_t(o.threads);
  settings.map = o.map == "copy" ? INGOT_MAP_COPY : INGOT_MAP_SHARE;
  settings.max_rows = o.max_batch;
  settings.instances = o.instances;
  settings.max_queued = o.max_queue;
  settings.session.max_run_ns = uint64_t{o.max_run_seconds} * 1000000000u;
  if (o.max_run_steps) settings.session.max_steps = o.max_run_steps;
  settings.slots.count = o.slots;
  settings.slots.lookup = o.lookup;
  settings.slots.max_queued = o.max_queued_answers;
  settings.slots.max_answer_ns = uint64_t{o.max_answer_seconds} * 1000000000u;
  settings.delay_ns = uint64_t{o.batch_delay_us} * 1000;
  settings.joins = !o.no_joining;
  settings.max_sequences = o.max_sequences;
  settings.sequence_idle_ns = uint64_t{o.sequence_idle_seconds} * 1000000000u;
  return settings;
}

HttpSettings http_settings(const ServeOptions& o) {
  if (o.certificate.empty() != o.key.empty())
    host::fail(Exit::kUsage, "--tls-cert and --tls-key: expected both or none");
  HttpSettings settings;
  settings.address = o.address;
  settings.port = uint16_t(o.http_port);
  settings.certificate = o.certificate;
  settings.key = o.key;
  settings.max_connections = o.max_connections;
  settings.idle_seconds = int(o.idle_seconds);
  settings.request_seconds = int(o.request_seconds);
  return settings;
}

#ifdef INGOT_HAVE_GRPC
GrpcSettings grpc_settings(const ServeOptions& o) {
  GrpcSettings settings;
  settings.address = o.address;
  settings.port = uint16_t(o.grpc_port);
  settings.certificate = o.certificate;
  settings.key = o.key;
  settings.body_bytes = cli::parse_bytes("--max-bodies", o.max_bodies);
  return settings;
}
#endif

std::string read_token(const std::string& path) {
  if (path.empty()) return "";
  host::InputStream file(path);
  if (!file) host::fail(Exit::kUnavailable, path + ": cannot be read: " + std::strerror(errno));
  std::string token;
  if (!std::getline(file, token))
    host::fail(Exit::kUnavailable, path + ": no token can be read from it: expected one line");
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.size() < 8)
    host::fail(Exit::kMismatch, path + ": a token of " + std::to_string(token.size()) +
                                    " characters, expected at least 8");
  return token;
}

/// What is served: all models of a folder, or one by "registry:NAME@TAG".
struct Source {
  std::string root, tag, only;
};

Source source_of(const ServeOptions& o) {
  static constexpr char kRegistry[] = "registry:";
  if (o.repository.rfind(kRegistry, 0) != 0) return {o.repository, o.tag, ""};
  const std::string what = o.repository.substr(sizeof kRegistry - 1);
  const size_t at = what.find('@');
  if (at == std::string::npos || at == 0 || at + 1 == what.size())
    host::fail(Exit::kUsage, o.repository + ": expected registry:NAME@TAG or a folder");
  if (!o.tag.empty()) host::fail(Exit::kUsage, o.repository + ": expected no --tag beside it");
  const char* const root = getenv("INGOT_REGISTRY");
  if (!root || !*root)
    host::fail(Exit::kUsage, o.repository + ": the variable INGOT_REGISTRY names no folder");
  return {root, what.substr(at + 1), what.substr(0, at)};
}

/// What is not loaded then goes on loading while the rest is served.
constexpr double kMaxStartSeconds = 60;

/// One that was asked for by name is there, or the server does not begin.
void load_models(Repository& repository, const Source& source) {
  try {
    repository.load_all(source.only, kMaxStartSeconds);
    if (!source.only.empty()) repository.find(source.only, source.tag);
  } catch (const ServeError& error) {
    host::fail(source.only.empty() ? Exit::kUnavailable : Exit::kMismatch, error.text());
  }
}

/// Weights are pages of their file: where it becomes shorter, or its disk fails, reading them is a
/// signal. The line says so before it ends the process, as it would have without a handler.
void say_bus_error(int) {
  static constexpr char kLine[] =
      "ingot: serve: bus error: a model's file became shorter while it was served, or its disk "
      "failed; replace files by renaming, as ingot registry does, or serve with --map copy\n";
  const ssize_t ignored = write(STDERR_FILENO, kLine, sizeof kLine - 1);
  (void)ignored;
}

void install_bus_error_line() {
  struct sigaction action {};
  action.sa_handler = say_bus_error;
  action.sa_flags = int(SA_RESETHAND);
  sigaction(SIGBUS, &action, nullptr);
}

/// As many descriptors as connections, where the system allows it.
void raise_descriptor_limit(uint64_t connections) {
  rlimit limit{};
  const rlim_t wanted = connections + 256;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
    fprintf(
        stderr,
        "note: --max-connections %llu, and the system allows %llu open files; see: ulimit -Hn\n",
        static_cast<unsigned long long>(connections),
        static_cast<unsigned long long>(limit.rlim_cur));
}

/// Quiet: what is not as asked for alone.
void print_models(const Repository& repository, bool is_quiet) {
  const std::vector<ModelState> models = repository.index();
  if (models.empty() && !is_quiet)
    fprintf(stderr, "note: %s has no models, which would be NAME/VERSION/model.ingot\n",
            repository.root().c_str());
  for (const ModelState& state : models) {
    if (state.version.empty()) continue;  // it was not asked for
    if (!state.is_ready) {
      fprintf(stderr, "%s\n",
              one_line(state.name + " " + state.version + ": not ready: " + state.reason).c_str());
      continue;
    }
    if (is_quiet && state.reason.empty()) continue;
    const auto served = repository.find(state.name, state.version);
    const int64_t rows = served->ports().max_rows();
    std::string runs = ", each request in a run of its own";
    if (!served->has_instances()) runs = "";
    if (served->joins()) runs = ", up to " + std::to_string(rows) + " rows of requests in a run";
    fprintf(stderr, "%s %s: ready%s%s%s\n", one_line(state.name).c_str(), state.version.c_str(),
            runs.c_str(), state.reason.empty() ? "" : "; ", one_line(state.reason).c_str());
    if (const LanguageModel* const language = served->language()) {
      const AnswerStatistics now = language->statistics();
      fprintf(stderr, "%s %s: %llu answers at once, each of %llu tokens; they take %llu bytes\n",
              one_line(state.name).c_str(), state.version.c_str(),
              static_cast<unsigned long long>(now.slots),
              static_cast<unsigned long long>(language->context()),
              static_cast<unsigned long long>(now.bytes));
    }
  }
}

/// What one connection throws (memory has run out) ends that connection and not the server.
void run_connections(asio::io_context& loop) {
  for (;;) {
    try {
      loop.run();
      return;
    } catch (const std::exception& error) {
      fprintf(stderr, "a connection was closed: %s\n", error.what());
    }
  }
}

/// Returns when a signal has come and what had begun has ended.
int run(asio::io_context& loop, asio::signal_set& signals, Service& service, HttpFront& http,
        const ServeOptions& o, bool is_quiet) {
  // Threads share the loop: the signal and the clock are handled one at a time.
  const auto strand = asio::make_strand(loop);
  asio::steady_timer tick(strand);
  uint64_t drain_until = 0;
  int exit = 0;
  signals.async_wait(asio::bind_executor(strand, [&](boost::system::error_code error, int) {
    if (error) return;
    if (!is_quiet) fprintf(stderr, "shutting down: draining requests\n");
    http.stop();
    drain_until = ingot_clock_ns() + uint64_t{o.drain_seconds} * 1000000000u;
    service.repository.stop_taking();
    tick.cancel();
  }));
  std::function<void(boost::system::error_code)> on_tick = [&](boost::system::error_code) {
    service.repository.destroy_unused();
    const bool ends = service.repository.stops();
    if (ends && service.answering == 0) return loop.stop();
    if (ends && ingot_clock_ns() >= drain_until) {
      fprintf(stderr, "shutting down: %llu requests had not ended after --drain-seconds %u\n",
              static_cast<unsigned long long>(service.answering.load()), o.drain_seconds);
      exit = int(Exit::kUnavailable);
      return loop.stop();
    }
    tick.expires_after(std::chrono::milliseconds(ends ? 10 : 1000));
    tick.async_wait(on_tick);
  };
  asio::post(strand, [&] { on_tick({}); });
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i < o.io_threads; i++) threads.emplace_back([&] { run_connections(loop); });
  run_connections(loop);
  for (std::thread& thread : threads) thread.join();
  return exit;
}

/// Models are tried when they are loaded: beyond this machine, strangers need a token, or at least
/// to know the certificate's name.
void refuse_open_door(const ServeOptions& o, bool is_quiet) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(o.address, error);
  if (error || address.is_loopback() || !o.token_file.empty() || !o.certificate.empty()) return;
  if (!o.insecure)
    host::fail(Exit::kUsage, "--address " + o.address +
                                 ": reached from other machines without a token and without TLS; "
                                 "give --token-file or --tls-cert and --tls-key, or allow it: "
                                 "--insecure");
  if (!is_quiet)
    fprintf(stderr, "warning: --insecure: whoever reaches %s may run, load and unload models\n",
            o.address.c_str());
}

void configure(Service& service, const ServeOptions& o) {
  service.max_body = cli::parse_bytes("--max-body", o.max_body);
  service.token = read_token(o.token_file);
  service.has_shared_memory = o.shared_memory;
  service.hosts.allowed = o.allowed_hosts;
  service.hosts.checks = o.token_file.empty() && o.certificate.empty();
  if (o.access_log) service.access_log = std::make_unique<AccessLog>(STDOUT_FILENO);
}

/// Loads models while connections are answered already. @return what ends the server
std::optional<host::Failure> start(Service& service, const Source& source,
                                   const std::vector<std::string>& urls, bool is_quiet) {
  try {
    load_models(service.repository, source);
  } catch (const host::Failure& failure) {
    return failure;
  }
  if (service.repository.stops()) return std::nullopt;
  print_models(service.repository, is_quiet);
  for (const std::string& url : urls) printf("%s\n", url.c_str());
  printf("ready\n");
  fflush(stdout);
  return std::nullopt;
}

int serve(const ServeOptions& o, bool is_quiet) {
  signal(SIGPIPE, SIG_IGN);
  install_bus_error_line();
  raise_descriptor_limit(o.max_connections);
  refuse_open_door(o, is_quiet);
  const Source source = source_of(o);
  Service service(source.root, source.tag, model_settings(o),
                  cli::parse_bytes("--max-bodies", o.max_bodies));
  configure(service, o);
  asio::io_context loop(int(o.io_threads));
  Workers workers;  // ends before the loop does, to which it hands answers
  HttpFront http(loop, workers, service, http_settings(o));
  // before it says that it is ready: who reads that may end it at once
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  std::vector<std::string> urls = {http.url()};
#ifdef INGOT_HAVE_GRPC
  setenv("GRPC_VERBOSITY", "NONE", 0);  // what it cannot do, it says here, in one line
  std::optional<GrpcFront> grpc;
  if (!o.no_grpc) grpc.emplace(service, workers, grpc_settings(o));
  if (grpc) urls.push_back(grpc->url());
#else
  if (!o.no_grpc && !is_quiet) fprintf(stderr, "note: this build has no gRPC: HTTP alone\n");
#endif
  std::optional<host::Failure> failed;
  std::thread starts([&] {
    failed = start(service, source, urls, is_quiet);
    if (failed) loop.stop();
  });
  const int exit = run(loop, signals, service, http, o, is_quiet);
  // What still runs keeps the memory that it runs in.
  fflush(stdout);
  const bool goes_on = service.repository.is_loading() || service.repository.is_stuck();
  if (exit || (service.repository.stops() && goes_on)) _exit(exit);
  starts.join();
  service.repository.stop_taking();
  // A thread of a model that has handed over an answer may still be in the loop's queue.
  service.repository.end_threads();
#ifdef INGOT_HAVE_GRPC
  if (grpc) grpc->stop();
#endif
  if (failed) throw host::Failure(*failed);
  return exit;
}

int parse_and_serve(int argc, char** argv) {
  CLI::App app(kServeSummary, "ingot serve");
  app.footer("Examples:\n" + std::string(kServeExamples));
  ServeOptions options;
  declare_serve_options(&app, &options);
  bool is_quiet = false;
  app.add_flag("-q,--quiet", is_quiet, "print errors alone");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return complain(Exit::kUsage,
                    "serve: " + std::string(error.what()) + "; see: ingot serve --help");
  }
  return serve(options, is_quiet);
}

}  // namespace
}  // namespace ingot::serve

int main(int argc, char** argv) {
  using namespace ingot;
  try {
    return serve::parse_and_serve(argc, argv);
  } catch (const host::Failure& failure) {
    return serve::complain(failure.exit(), "serve: " + failure.message());
  } catch (const std::bad_alloc&) {
    return serve::complain(host::Exit::kUnavailable, "serve: out of memory");
  } catch (const std::exception& error) {
    return serve::complain(host::Exit::kInternal, std::string("serve: internal error: ") +
                                                      error.what() + "; please report it");
  }
}
