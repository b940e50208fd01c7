// SPDX-License-Identifier: Apache-2.0
// threads.cpp - everything in which threads of the library and of the program meet. Compiled with
// -fsanitize=thread and linked with a library that is not: ThreadSanitizer has to see the order
// that the library gives, and says nothing.
//   threads FILE        prints "ingot VERSION: N runs"
//   threads FILE race   two threads write the same word in an executor: it has to be reported
#include <ingot/cpu.h>
#include <ingot/pipeline.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <ingot/ingot.hpp>
#include <thread>
#include <vector>

namespace {

const ingot_binding kBatch{"n", 8};
int runs = 0;
bool is_racing = false;
volatile int raced = 0;

ingot_session_options options_of(int threads) {
  ingot_session_options options = ingot::session_options();
  options.bindings = &kBatch, options.binding_count = 1;
  options.threads = threads;
  return options;
}

[[noreturn]] void fail(const ingot::Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  std::exit(2);
}
template <class R>
auto take(R result) {
  if (!result) fail(result.error());
  return std::move(result.value());
}
void check(ingot_code code, const ingot::Error& error) {
  if (code != INGOT_OK) fail(error);
}

/// Writes inputs and reads outputs in instrumented code, by words and by memcpy().
void run_some(ingot::Session& session, int times) {
  std::vector<float> copied;
  for (int i = 0; i < times; i++) {
    for (float& x : session.input<float>("image").value()) x = float(i);
    if (auto ran = session.run(); !ran) fail(ran.error());
    const auto digit = session.output<float>("digit").value();
    copied.resize(digit.size);
    std::memcpy(copied.data(), digit.data, digit.size * sizeof(float));
    if (!(copied[0] == copied[0])) std::exit(3);
  }
}

void* allocate(void* counted, size_t bytes, size_t alignment) {
  ++*static_cast<std::atomic<int>*>(counted);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void release(void*, void* pointer, size_t) { std::free(pointer); }

/// The program's own threads, which call into the library.
void parallel(void*, void (*body)(void*, int32_t), void* argument, int32_t n) {
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < n; i++)
    threads.emplace_back([=] {
      if (is_racing) raced = i;
      body(argument, i);
    });
  for (std::thread& thread : threads) thread.join();
}

void own_threads(const ingot::Model& model) {
  for (int i = 0; i < 3; i++) {  // memory of one session is the next one's
    auto session = take(model.session(options_of(4)));
    run_some(session, 20);
    runs += 20;
  }
}

void shared_pool(const ingot::Model& model) {
  ingot_pool_options settings = ingot::pool_options();
  settings.threads = 3;
  for (uint32_t limits : {0u, uint32_t(INGOT_POOL_SPIN)}) {
    settings.flags = limits;
    const auto pool = take(ingot::Pool::create(settings));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
      threads.emplace_back([&] {
        ingot_session_options options = options_of(0);
        options.pool = pool.get();
        auto session = take(model.session(options));
        run_some(session, 30);
      });
    for (std::thread& thread : threads) thread.join();
    runs += 90;
  }
}

/// What a thread of the library's wrote before the program's function was called.
void started(const ingot::Model& model) {
  ingot_session_options options = options_of(2);
  options.flags = INGOT_ASYNC;
  auto session = take(model.session(options));
  std::atomic<int> cancelled{0};
  for (int i = 0; i < 20; i++) {
    for (float& x : session.input<float>("image").value()) x = float(i);
    int told = 0;
    ingot::Error error;
    check(ingot_session_start_with(
              session.get(), 0, [](void* user) { ++*static_cast<int*>(user); }, &told, &error),
          error);
    std::thread canceller;
    if (i % 5 == 4) canceller = std::thread([&] { ingot_session_cancel(session.get()); });
    if (auto ran = session.wait(); !ran) cancelled++;
    if (canceller.joinable()) canceller.join();
    if (told != 1) std::exit(4);
    (void)session.run();  // takes a cancel that came late
    volatile float first = session.output<float>("digit").value()[0];
    (void)first;
  }
  runs += 40;
}

void pipeline(const ingot::Model& model, bool has_loader) {
  const ingot_session_options inner = options_of(2);
  ingot_pipeline_options options = INGOT_INIT(ingot_pipeline_options);
  options.session = &inner;
  options.depth = 3;
  if (has_loader)
    options.loader = [](void*, ingot_pipeline* p, uint64_t item) -> int32_t {
      ingot_tensor image;
      (void)ingot_pipeline_input(p, 0, &image);
      for (uint64_t i = 0; i < image.bytes / 4; i++) static_cast<float*>(image.data)[i] = 1;
      return item == 20;
    };
  else
    options.flags = INGOT_PIPELINE_TWO_THREADS;
  ingot_pipeline* p = nullptr;
  ingot::Error error;
  check(ingot_pipeline_create(model.get(), &options, &p, &error), error);
  std::thread producer;
  if (!has_loader)
    producer = std::thread([&] {
      for (int i = 0; i < 20; i++) {
        ingot_tensor image;
        if (ingot_pipeline_acquire(p, nullptr) || ingot_pipeline_input(p, 0, &image)) break;
        for (uint64_t j = 0; j < image.bytes / 4; j++)
          static_cast<float*>(image.data)[j] = float(i);
        if (ingot_pipeline_push(p, nullptr)) break;
      }
      (void)ingot_pipeline_finish(p);
    });
  uint64_t item;
  while (ingot_pipeline_pop(p, &item, nullptr) == INGOT_OK) {
    ingot_tensor digit;
    check(ingot_pipeline_output(p, 0, &digit), error);
    volatile float first = static_cast<float*>(digit.data)[0];
    (void)first;
    (void)ingot_pipeline_release(p, nullptr);
    runs++;
  }
  if (producer.joinable()) producer.join();
  ingot_pipeline_destroy(p);
}

void executor(const ingot::Model& model) {
  const ingot_executor own{nullptr, parallel};
  ingot_session_options options = options_of(4);
  options.executor = &own;
  auto session = take(model.session(options));
  run_some(session, 10);
  runs += 10;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  is_racing = argc > 2;
  std::atomic<int> allocations{0};
  const ingot_allocator allocator{&allocations, allocate, release};
  ingot_open_options open = ingot::open_options(ingot_cpu_kernels(nullptr));
  open.allocator = &allocator;
  const auto model = take(ingot::Model::open(argv[1], open));
  executor(model);
  if (is_racing) return 0;
  own_threads(model);
  shared_pool(model);
  started(model);
  for (bool has_loader : {false, true}) pipeline(model, has_loader);
  std::vector<std::thread> threads;  // requirements() and create() share the model's workspace
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; i++) {
        auto session = take(model.session(options_of(1 + i % 2)));
        run_some(session, 2);
      }
    });
  for (std::thread& thread : threads) thread.join();
  runs += 40;
  std::printf("ingot %s: %d runs\n", ingot_version(), runs);
}
