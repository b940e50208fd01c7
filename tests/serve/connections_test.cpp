// SPDX-License-Identifier: Apache-2.0
// `ingot serve` and its connections: clients that are slow, killed or never end, queues that are
// full, models that change meanwhile; and the end.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "tests/serve/batch_model.h"

using namespace serve_test;

TEST_CASE("serve: HEAD and the whole address, as balancers and proxies ask") {
  const Models models;
  ServerProcess server({models.root});
  Connection asks(server.port());
  asks.send("HEAD /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(status(asks.answer()) == 200);
  const std::string whole =
      ask(server.port(), "GET http://a/v2/models/batch HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(status(whole) == 200);
  CHECK(has(whole, "\"versions\":[\"1\"]"));
  CHECK(server.end() == 0);
}

TEST_CASE("serve: a body that is announced and does not come holds little memory") {
  const Models models;
  ServerProcess server(
      {models.root, "--max-bodies", "1M", "--max-body", "1M", "--request-seconds", "5"});
  std::vector<std::unique_ptr<Connection>> stalled;
  for (int i = 0; i < 8; i++) {
    stalled.push_back(std::make_unique<Connection>(server.port()));
    stalled.back()->send("POST " + kInfer +
                         " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{");
  }
  usleep(50000);
  CHECK(goes_on(server.port()));
  // One that comes in pieces arrives whole.
  const std::string padded = request_of(1) + std::string(300000, ' ');
  const std::string request = post(kInfer, padded);
  Connection slow(server.port());
  for (size_t at = 0; at < request.size(); at += 70000) slow.send(request.substr(at, 70000));
  CHECK(status(slow.answer()) == 200);
  CHECK(server.end() == 0);
}

TEST_CASE("serve: clients that are killed, slow, or never come to an end") {
  const Models models;
  ServerProcess server({models.root, "--request-seconds", "1", "--idle-seconds", "2"});
  Connection half_a_head(server.port()), half_a_body(server.port()), waits(server.port()),
      never_reads(server.port());
  half_a_head.send("POST " + kInfer + " HTT");
  const std::string whole = post(kInfer, request_of(1));
  half_a_body.send(whole.substr(0, whole.size() - 5));
  std::string many;
  for (int i = 0; i < 200; i++) many += get("/metrics");
  std::thread writes([&] {
    for (int i = 0; i < 200; i++) never_reads.send(many);
  });
  for (int i = 0; i < 50; i++) {
    Connection killed(server.port());
    killed.send(i % 2 ? whole : whole.substr(0, size_t(i)));
    killed.reset();
  }
  CHECK(goes_on(server.port()));
  CHECK(half_a_head.is_closed_within(20000));
  CHECK(half_a_body.is_closed_within(20000));
  CHECK(waits.is_closed_within(20000));
  writes.join();  // what it wrote was not all taken: it is closed
  CHECK(goes_on(server.port()));
  CHECK(server.end() == 0);
}

TEST_CASE("serve: full queues, late requests, too many connections") {
  const Models models;
  // One row waits for others a while; eight do not fit beside it and wait behind it.
  ServerProcess server(
      {models.root, "--batch-delay-us", "8000000", "--max-queue", "1", "--max-connections", "4"});
  Connection first(server.port()), second(server.port()), third(server.port());
  first.send(post(kInfer, request_of(1)));
  await(third, "running", 1);
  second.send(post(kInfer, request_of(8, "\"parameters\":{\"timeout\":5000},")));
  await(third, "queued", 1);
  third.send(post(kInfer, request_of(8)));
  const std::string busy = third.answer();
  CHECK(status(busy) == 429);
  CHECK(has(busy, "1 requests wait already"));
  CHECK(has(busy, "Retry-After"));
  CHECK(status(first.answer()) == 200);
  const std::string late = second.answer();
  CHECK(status(late) == 504);
  CHECK(has(late, "was over while it waited"));
  Connection fourth(server.port()), fifth(server.port());
  CHECK(fifth.is_closed_within(20000));
  CHECK(server.end() == 0);
}

TEST_CASE("serve: a client's error is no failure, and requests are counted by how long they took") {
  const Models models;
  ServerProcess server({models.root, "--access-log"});
  CHECK(goes_on(server.port()));
  CHECK(status(ask(server.port(), post(kInfer, "{}"))) == 400);
  const std::string told = ask(server.port(), get("/metrics"));
  CAPTURE(told);
  const std::string of = "{model=\"batch\",version=\"1\",";
  CHECK(has(told, "ingot_requests_total" + of + "result=\"invalid\"} 1\n"));
  CHECK(has(told, "ingot_requests_total" + of + "result=\"failed\"} 0\n"));
  CHECK(has(told, "ingot_request_duration_seconds_bucket" + of + "le=\"60\"} 1\n"));
  CHECK(has(told, "ingot_request_duration_seconds_bucket" + of + "le=\"+Inf\"} 1\n"));
  CHECK(has(ask(server.port(), get("/v2/models/batch/stats")), "\"fail\":{\"count\":0"));
  CHECK(server.end() == 0);
  const std::string log = server.output();
  CAPTURE(log);
  CHECK(has(log, " 127.0.0.1 \"POST /v2/models/batch/infer\" 200 "));
  CHECK(has(log, " 127.0.0.1 \"POST /v2/models/batch/infer\" 400 2 "));
}

TEST_CASE("serve: pages of the server's own host, and of one that is allowed, may post") {
  const Models models;
  ServerProcess server({models.root, "--allow-host", "models.example"});
  const std::string body = request_of(1);
  const auto asked = [&](const std::string& host, const std::string& origin) {
    return status(ask(server.port(), "POST " + kInfer + " HTTP/1.1\r\nHost: " + host +
                                         "\r\nOrigin: " + origin + "\r\nContent-Length: " +
                                         std::to_string(body.size()) + "\r\n\r\n" + body));
  };
  CHECK(asked("localhost:80", "http://localhost:80") == 200);
  CHECK(asked("models.example", "https://models.example") == 200);
  CHECK(asked("127.0.0.1", "https://Models.Example:8443") == 200);
  CHECK(asked("localhost", "http://localhost.models.example") == 403);
  CHECK(asked("other.example", "https://models.example") == 403);
}

TEST_CASE("serve: SIGTERM waits for what has begun") {
  const Models models;
  ServerProcess server({models.root, "--batch-delay-us", "2000000"});
  Connection begun(server.port()), waits(server.port());
  begun.send(post(kInfer, request_of(1)));
  await(waits, "running", 1);
  server.signal_end();
  const std::string answer = begun.answer();
  CHECK(status(answer) == 200);
  CHECK(has(answer, "Connection: close"));
  CHECK(server.wait() == 0);
}

TEST_CASE("serve: a model that is replaced, spoilt and removed while it is served") {
  const Models models;
  ServerProcess server({models.root, "--batch-delay-us", "1000000"});
  Connection before(server.port()), asks(server.port());
  before.send(post(kInfer, request_of(1)));
  await(asks, "running", 1);
  models.add();
  CHECK(status(ask(server.port(), post("/v2/repository/models/batch/load", ""))) == 200);
  const std::string old = before.answer();
  CHECK(has(old, "\"model_version\":\"1\""));
  CHECK(has(ask(server.port(), post(kInfer, request_of(1))), "\"model_version\":\"2\""));
  std::filesystem::create_directories(models.root + "/batch/3");
  cli_test::spill(models.root + "/batch/3/model.ingot", "no model");
  const std::string refused = ask(server.port(), post("/v2/repository/models/batch/load", ""));
  CHECK(status(refused) == 400);
  CHECK(has(refused, "version 3 cannot be loaded"));
  CHECK(has(ask(server.port(), post(kInfer, request_of(1))), "\"model_version\":\"2\""));
  std::filesystem::remove_all(models.root);
  CHECK(goes_on(server.port()));
  CHECK(status(ask(server.port(), post("/v2/repository/models/batch/unload", ""))) == 200);
  CHECK(status(ask(server.port(), post(kInfer, request_of(1)))) == 503);
  CHECK(server.end() == 0);
}

TEST_CASE("serve: a file that is cut short while it is served") {
  const Models models;
  const std::string file = models.root + "/batch/1/model.ingot";
  ServerProcess copied({models.root, "--map", "copy"});
  ServerProcess mapped({models.root});
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(file, 64);  // in place, as no command of ours does
  CHECK(status(ask(copied.port(), post(kInfer, request_of(1)))) == 200);
  ask(mapped.port(), post(kInfer, request_of(1)));
  mapped.signal_end();  // where it still runs
  mapped.wait();
  CHECK(has(mapped.errors(), "bus error: a model's file became shorter"));
  CHECK(has(mapped.errors(), "--map copy"));
}
