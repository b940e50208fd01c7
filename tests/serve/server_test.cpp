// SPDX-License-Identifier: Apache-2.0
// `ingot serve` as requests meet it: every refusal has its number and its line, and the server goes
// on.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include "tests/serve/batch_model.h"

using namespace serve_test;

TEST_CASE("serve: what is wrong with a request has a number and a line") {
  const Models models;
  ServerProcess server({models.root, "--max-body", "4000"});
  const std::string good = request_of(1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return post(kInfer, text);
  };
  struct Case {
    std::string request;
    int status;
    const char* text;
  };
  const Case cases[] = {
      {post(kInfer, ""), 400, "not JSON"},
      {post(kInfer, "[]"), 400, "expected an object"},
      {post(kInfer, "{"), 400, "not JSON"},
      {post(kInfer, "{}"), 400, "0 inputs, expected 1: 'x'"},
      {post(kInfer, "null"), 400, "expected an object"},
      {post(kInfer, "\"x\""), 400, "expected an object"},
      {post(kInfer, "{\"inputs\":7}"), 400, "'inputs' is no array"},
      {post(kInfer, "{\"inputs\":[7]}"), 400, "an element of 'inputs' is no object"},
      {with("\"inputs\"", "\"inputs\":[],\"inputs\""), 400, "'inputs' is there twice"},
      {with("\"x\"", "3"), 400, "'name': expected a text"},
      {with("[0,1,2,3]", "[0,1,2,null]"), 400, "null among its elements"},
      {with("[0,1,2,3]", "[0,1,2,1e39]"), 400, "element 1e+39 does not fit FP32"},
      {with("\"data\":[0,1,2,3]", "\"parameters\":{\"binary_data_size\":\"16\"}"), 400,
       "'binary_data_size': expected an integer from 0"},
      {with("\"data\":[0,1,2,3]", "\"parameters\":{\"binary_data_size\":18446744073709551632}"),
       400, "'binary_data_size': expected an integer from 0"},
      {post(kInfer, request_of(1, "\"parameters\":{\"timeout\":\"x\"},")), 400,
       "'timeout': expected an integer from 0"},
      {post(kInfer, request_of(1, "\"parameters\":{\"sequence_start\":1},")), 400,
       "'sequence_start': expected true or false"},
      {post(kInfer, request_of(1, "\"outputs\":1,")), 400, "'outputs' is no array"},
      {post(kInfer, "{\"inputs\":{}}"), 400, "'inputs' is no array"},
      {post(kInfer, "{\"a\":" + std::string(2000, '[')), 400, "nested more than 24 deep"},
      {with("\"x\"", "\"z\""), 400, "input 'z' is unknown; there are 'x'"},
      {with("FP32", "FP33"), 400, "type 'FP33' is unknown"},
      {with("FP32", "BYTES"), 501, "input 'x': strings (BYTES) are not supported"},
      {with("FP32", "INT32"), 400, "type INT32, expected FP32"},
      {with("[1,4]", "[4]"), 400, "shape [4], expected [-1,4]"},
      {with("[1,4]", "[2,4]"), 400, "16 bytes, expected 32"},
      {with("[1,4]", "[1,-4]"), 400, "a negative or too large extent"},
      {with("[1,4]", "[0,4]"), 400, "more elements than its shape [0,4] has"},
      {with("[1,4]", "[9223372036854775807,9223372036854775807]"), 400, "expected [-1,4]"},
      {with("[1,4]", "[1,4,1,1,1,1,1,1,1]"), 400, "more than 8 dimensions"},
      {with("[1,4]", "[1.5,4]"), 400, "an extent of a shape is no integer"},
      {with("[0,1,2,3]", "[0,1,2]"), 400, "12 bytes, expected 16"},
      {with("[0,1,2,3]", "[0,1,2,3,4]"), 400, "more elements than its shape"},
      {with("[0,1,2,3]", "[0,1,2,\"3\"]"), 400, "a string among its elements"},
      {with("[0,1,2,3]", "[0,1,2,true]"), 400, "an element is true or false, expected FP32"},
      {with("\"data\":[0,1,2,3]", "\"parameters\":{}"), 400, "no elements"},
      {with("\"data\"", "\"parameters\":{\"binary_data_size\":9},\"data\""), 400,
       "more than one way"},
      {with("\"data\":[0,1,2,3]", "\"parameters\":{\"binary_data_size\":16}"), 400,
       "0 bytes are left"},
      {with("\"data\":[0,1,2,3]", "\"parameters\":{\"binary_data_size\":-1}"), 400, "is negative"},
      {with("\"data\":[0,1,2,3]", "\"parameters\":{\"shared_memory_region\":\"r\"}"), 501,
       "--shared-memory"},
      {post(kInfer, good + "1234",
            "Inference-Header-Content-Length: " + std::to_string(good.size()) + "\r\n"),
       400, "4 bytes of the body belong to no input"},
      {post(kInfer, good, "Inference-Header-Content-Length: 9999\r\n"), 400, "the body has"},
      {post(kInfer, good, "Inference-Header-Content-Length: no\r\n"), 400, "expected a number"},
      {post(kInfer, request_of(9)), 400, "served are 0 to 8; see: ingot serve --max-batch"},
      {post(kInfer, request_of(1, "\"outputs\":[{\"name\":\"q\"}],")), 400,
       "output 'q' is unknown"},
      {post(kInfer, request_of(1, "\"parameters\":{\"sequence_id\":3},")), 501, "keeps none"},
      {post("/v2/models/none/infer", good), 404, "model 'none' is unknown"},
      {post("/v2/models/%2e%2e/infer", good), 404, "unknown"},
      {post("/v2/models/batch/versions/9/infer", good), 404, "version 9 is not served"},
      {post("/v2/models/batch/versions/prod/infer", good), 404, "no version or tag 'prod'"},
      {post("/v2/models/%zz/infer", good), 400, "two digits"},
      {get("/v2/nothing"), 404, "no such path"},
      {get("/"), 404, "no such path"},
      {get(kInfer), 405, "expected POST"},
      {post("/v2/health/live", ""), 405, "expected GET"},
      {get("/v2/repository/models/batch/unload"), 405, "expected POST"},
      {get("/v2/systemsharedmemory/region/r/register"), 405, "expected POST"},
      {post("/v2/systemsharedmemory/status", ""), 405, "expected GET"},
      {"DELETE /v2 HTTP/1.1\r\nHost: a\r\n\r\n", 405, "expected GET"},
      {post(kInfer, std::string(4001, ' ')), 413, "at most 4000"},
      {"POST " + kInfer + " HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
       400, "not HTTP/1"},
      {"POST " + kInfer + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       411, "Content-Length"},
      {post(kInfer, good, "Transfer-Encoding: gzip\r\n"), 501, "expected Content-Length alone"},
      {post(kInfer, good, "Transfer-Encoding: chunked, identity\r\n"), 501,
       "expected Content-Length alone"},
      {"POST " + kInfer + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\n{}", 400, ""},
      {post(kInfer, good, "Content-Encoding: br\r\n"), 415, "encoding"},
      {post(kInfer, good, "Content-Encoding: gzip\r\n"), 400, "neither gzip nor deflate"},
      {post(kInfer, "\x1f\x8b\x08", "Content-Encoding: gzip\r\n"), 400, "cut off"},
      {post(kInfer, bomb(), "Content-Encoding: gzip\r\n"), 413, "more than 4000 bytes"},
      {get("/v2", "A: " + std::string(20000, 'a') + "\r\n"), 431, "16,384"},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400, "not HTTP/1"},
      {"GARBAGE\r\n\r\n", 400, "not HTTP/1"},
      {"GET /v2 HTTP/1.1\r\n\r\n", 400, "Host: expected one line, found none"},
      {"GET /v2 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "Host: expected one line"},
      {"GET http://b/v2 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "Host: another than"},
      {"GET /v2 HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, "--allow-host"},
      {"GET /v2 HTTP/1.1\r\nHost: evil@localhost\r\n\r\n", 403, "--allow-host"},
      {get("/v2", "X: a\r\n b\r\n"), 400, "not HTTP/1"},
      {"POST " + kInfer + " HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 2\r\n\r\n{}", 400,
       "not HTTP/1"},
      {get("/v2", "X: a\r\n \r\n"), 400, "not HTTP/1"},
      {post(kInfer, good, "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"), 400,
       "Content-Encoding: expected one line"},
      {post("/v2/repository/models/batch/unload", "", "Origin: http://evil.example\r\n"), 403,
       "Origin: a page of another site"},
      {post("/v2/repository/models/batch/unload", "", "Origin: null\r\n"), 403, "Origin"},
      {post(kInfer, good, "Sec-Fetch-Site: cross-site\r\n"), 403, "Origin"},
      {post(kInfer,
            request_of(1, "\"parameters\":{\"sequence_id\":\"" + std::string(300, 's') + "\"},")),
       400, "sequence_id: 300 bytes, expected at most 256"},
      {post("/v2/repository/models/batch/load", "{\"parameters\":{\"config\":\"{}\"}}"), 501,
       "load"},
      {post("/v2/repository/models/none/load", ""), 404, "no such folder"},
      {post("/v2/repository/models/.changes/unload", ""), 404, "unknown"},
      {post("/v2/repository/index", "7"), 400, "no JSON object"},
      {post("/v2/repository/index", "{\"ready\":3}"), 400, "'ready': expected true or false"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.request.substr(0, 300));
    const std::string answer = ask(server.port(), c.request);
    CAPTURE(answer);
    CHECK(status(answer) == c.status);
    CHECK(has(answer, c.text));
    CHECK(has(answer, "{\"error\":\""));
  }
  CHECK(goes_on(server.port()));
  CHECK(server.end() == 0);
}

TEST_CASE("serve: the elements may come before what they are, nested or flat") {
  const Models models;
  ServerProcess server({models.root});
  const std::string expected = ask(server.port(), post(kInfer, request_of(2)));
  REQUIRE(status(expected) == 200);
  const std::string turned =
      "{\"inputs\":[{\"data\":[[0,1,2,3],[4,5,6.0,0e0]],\"shape\":[2,4],\"datatype\":\"FP32\","
      "\"name\":\"x\"}]}";
  CHECK(ask(server.port(), post(kInfer, turned)) == expected);
  Connection two(server.port());  // one request behind the other without waiting
  two.send(post(kInfer, turned) + post(kInfer, turned, "Connection: close\r\n"));
  CHECK(two.answer() == expected);
  const std::string last = two.answer();
  CHECK(status(last) == 200);
  CHECK(has(last, "Connection: close"));
  CHECK(two.is_closed_within(20000));
}

TEST_CASE("serve: models on a GPU, the one of tests: requests that are joined have the same bits") {
#ifdef INGOT_FAKE_CUDA
  const Models models;
  const std::vector<std::string> on_gpu = {
      models.root, "--device", "cuda", "--max-batch", "6", "--batch-delay-us", "10000000"};
  std::vector<std::string> expected;
  {
    const ServerProcess server({models.root});
    for (int rows = 1; rows <= 3; rows++)
      expected.push_back(ask(server.port(), post(kInfer, request_of(rows))));
  }
  {
    REQUIRE(setenv("INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA, 1) == 0);
    const ServerProcess server(on_gpu);
    unsetenv("INGOT_CUDA_DRIVER");
    std::vector<std::string> answers(expected.size());
    std::vector<std::thread> clients;
    for (size_t i = 0; i < answers.size(); i++)
      clients.emplace_back([&server, &answers, i] {
        answers[i] = ask(server.port(), post(kInfer, request_of(int(i) + 1)));
      });
    for (std::thread& client : clients) client.join();
    CHECK(answers == expected);
    const std::string told = ask(server.port(), get("/v2/models/batch/stats"));
    CAPTURE(told);
    CHECK(has(told, "\"inference_count\":6"));
    CHECK(!has(told, "\"execution_count\":3"));  // fewer runs than requests
  }
#else
  std::cout << "[skip] serve: the driver of tests is not built\n";
#endif
}

TEST_CASE("serve: an answer is compressed where its client asks for it") {
  const Models models;
  const ServerProcess server({models.root});
  const auto answer = [&](const std::string& request) { return ask(server.port(), request); };
  const auto body = [](const std::string& text) { return text.substr(text.find("\r\n\r\n") + 4); };
  const std::string plain = answer(post(kInfer, request_of(8)));
  REQUIRE(status(plain) == 200);
  struct Case {
    const char* accepted;
    const char* encoding;  // of the answer
  };
  const Case cases[] = {
      {"gzip", "gzip"},
      {"deflate", "deflate"},
      {"br, gzip", "gzip"},
      {"br, GZip", "gzip"},
      {"br\r\nAccept-Encoding: gzip", "gzip"},
      {"deflate;q=0.9 , gzip; q=1.0", "gzip"},
      {"gzip;q=0.25,deflate", "deflate"},
      {"", nullptr},
      {",;,;q=,", nullptr},
      {"identity", nullptr},
      {"identity;q=1, gzip;q=0.5", nullptr},
      {"br", nullptr},
      {"gzip;q=0", nullptr},
      {"gzip;q=2", nullptr},
      {"gzip;q=nan", nullptr},
      {"gzip;q=1;x=2", nullptr},
  };
  const cli_test::Folder folder;
  for (const Case& each : cases) {
    CAPTURE(each.accepted);
    const std::string line = "Accept-Encoding: " + std::string(each.accepted) + "\r\n";
    const std::string text = answer(post(kInfer, request_of(8), line));
    CHECK(status(text) == 200);
    CHECK(has(text, "Content-Encoding: ") == (each.encoding != nullptr));
    if (!each.encoding) {
      CHECK(body(text) == body(plain));
      continue;
    }
    CHECK(has(text, "Content-Encoding: " + std::string(each.encoding) + "\r\n"));
    CHECK(body(text).size() < body(plain).size());
    if (each.encoding != std::string("gzip")) continue;  // deflate: tests/serve/triton_client.py
    const std::string packed = folder / "answer.gz", file = folder / "answer";
    std::ofstream(packed, std::ios::binary) << body(text);
    REQUIRE(std::system(("gzip -dc " + packed + " >" + file).c_str()) == 0);
    CHECK(cli_test::slurp(file) == body(plain));
  }
  // A refusal is an answer too; what would not get smaller is left as it is.
  const std::string asks = "Accept-Encoding: gzip\r\n";
  CHECK(status(answer(post(kInfer, "{}", asks))) == 400);
  CHECK(!has(answer(get("/v2/health/live", asks)), "Content-Encoding"));
  CHECK(has(answer(get("/metrics", asks)), "Content-Encoding: gzip"));
}

TEST_CASE("serve: a tag that points nowhere is reported, for each model that lacks it") {
  const Models models;
  const std::string tags = models.root + "/batch/tags";
  std::filesystem::create_directories(tags);
  std::filesystem::create_symlink("../9", tags + "/prod");
  const char* line = "tag 'prod' points to nothing; requests without a version get this one";
  ServerProcess server({models.root, "--tag", "prod"});
  CHECK(has(server.errors(), line));
  CHECK(has(ask(server.port(), post("/v2/repository/index", "")), line));
  std::filesystem::remove(tags + "/prod");
  std::filesystem::create_symlink("../1", tags + "/prod");
  CHECK(status(ask(server.port(), post("/v2/repository/models/batch/load", ""))) == 200);
  CHECK(!has(ask(server.port(), post("/v2/repository/index", "")), "points to nothing"));
  CHECK(!has(ServerProcess({models.root, "--tag", "prod"}).errors(), "points to nothing"));
  CHECK(!has(ServerProcess({models.root}).errors(), "points to nothing"));
}

TEST_CASE("serve: one model of a registry, by its tag or version") {
  const Models models;
  models.add();
  const std::string batch = models.root + "/batch";
  std::filesystem::create_directories(batch + "/tags");
  std::filesystem::create_symlink("../1", batch + "/tags/prod");
  std::filesystem::copy(batch, models.root + "/other", std::filesystem::copy_options::recursive);
  REQUIRE(setenv("INGOT_REGISTRY", models.root.c_str(), 1) == 0);
  for (const std::string what : {"registry:batch@prod", "registry:batch@1"}) {
    const ServerProcess server({what});
    CAPTURE(what);
    CHECK(has(ask(server.port(), post(kInfer, request_of(1))), "\"model_version\":\"1\""));
    CHECK(status(ask(server.port(), get("/v2/models/other"))) == 404);
    CHECK(!has(server.errors(), "other"));
  }
  const auto refused = [](std::vector<std::string> words, int exit, const char* text) {
    words.insert(words.begin(), {"serve", "--http-port", "0"});
    const cli_test::Ran ran = cli_test::run(words);
    CAPTURE(ran.err);
    CHECK(ran.exit == exit);
    CHECK(has(ran.err, text));
  };
  refused({"registry:batch@canary"}, 5, "model 'batch' has no version or tag 'canary'");
  refused({"registry:batch@3"}, 5, "model 'batch' version 3 is not served");
  refused({"registry:none@prod"}, 5, "model 'none': no such folder");
  refused({"registry:batch"}, 1, "expected registry:NAME@TAG or a folder");
  refused({"registry:batch@prod", "--tag", "prod"}, 1, "expected no --tag");
  unsetenv("INGOT_REGISTRY");
  refused({"registry:batch@prod"}, 1, "the variable INGOT_REGISTRY names no folder");
}

TEST_CASE("serve: quiet, and a folder without models") {
  const cli_test::Folder folder;
  CHECK(has(ServerProcess({folder.path()}).errors(), "has no models"));
  CHECK(ServerProcess({folder.path(), "-q"}).errors().empty());
  const Models models;
  CHECK(has(ServerProcess({models.root}).errors(), "batch 1: ready"));
  ServerProcess quiet({models.root, "-q"});
  CHECK(quiet.end() == 0);
  CHECK(quiet.errors().empty());
}

TEST_CASE("serve: tokens") {
  const Models models;
  const std::string file = models.folder / "token";
  cli_test::spill(file, "secret-token\n");
  ServerProcess server({models.root, "--token-file", file});
  const std::string body = request_of(1);
  CHECK(status(ask(server.port(), post(kInfer, body))) == 401);
  CHECK(status(ask(server.port(), post(kInfer, body, "Authorization: Bearer secret-tokem\r\n"))) ==
        401);
  CHECK(status(ask(server.port(), post(kInfer, body, "Authorization: Bearer \r\n"))) == 401);
  CHECK(status(ask(server.port(), get("/metrics"))) == 401);
  CHECK(status(ask(server.port(), get("/v2/health/live"))) == 200);
  CHECK(status(ask(server.port(), post(kInfer, body, "Authorization: Bearer secret-token\r\n"))) ==
        200);
}

TEST_CASE("serve: what it cannot begin with is one line and a number") {
  const Models models;
  ServerProcess other({models.root});
  const auto refused = [&](std::vector<std::string> words, int exit, const char* text) {
    words.insert(words.begin(), "serve");
    const cli_test::Ran ran = cli_test::run(words);
    CAPTURE(ran.err);
    CHECK(ran.exit == exit);
    CHECK(has(ran.err, text));
    CHECK(ran.out.empty());
  };
  refused({models.root, "--http-port", std::to_string(other.port())}, 7, "cannot be listened on");
  refused({models.folder / "none", "--http-port", "0"}, 7, "cannot be read as a folder");
  refused({models.file, "--http-port", "0"}, 7,
          "Not a directory; expected NAME/VERSION/model.ingot");
  refused({models.root, "--address", "nowhere"}, 1, "expected an address");
  for (const char* everyone : {"0.0.0.0", "::"})
    refused({models.root, "--http-port", "0", "--address", everyone}, 1,
            "reached from other machines without a token and without TLS");
  refused({models.root, "--tls-cert", "a.pem"}, 1, "expected both or none");
  const std::string none = models.folder / "none", empty = models.folder / "empty";
  cli_test::spill(empty, "");
  refused({models.root, "--token-file", none}, 7, "none: cannot be read: No such file");
  refused({models.root, "--token-file", empty}, 7, "no token can be read");
  refused({models.root, "--max-batch", "0"}, 1, "--max-batch");
  refused({models.root, "--tls-cert", none, "--tls-key", none}, 7,
          "none: cannot be read: No such file");
  refused({models.root, "--tls-cert", models.file, "--tls-key", models.file}, 7,
          "no certificate in PEM can be read from it: no start line");
  const std::string alone = models.folder / "ingot";
  std::filesystem::copy_file(INGOT_BINARY, alone);
  const std::string said = models.folder / "said";
  CHECK(std::system((alone + " serve models 2>" + said).c_str()) == 4 << 8);
  CHECK(has(cli_test::slurp(said), "install the package ingot-serve"));
  const std::string certificate = models.folder / "cert.pem", key = models.folder / "key.pem";
  const auto made = [&](const std::string& validity) {
    return std::system(
               ("cd " + models.folder.path() +
                " && openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem "
                "-out request.pem 2>/dev/null && openssl x509 -req -in request.pem -signkey "
                "key.pem -out cert.pem " +
                validity + " 2>/dev/null")
                   .c_str()) == 0;
  };
  if (!made("-days 1")) {
    MESSAGE("[skip] no openssl command: certificates");
    return;
  }
  ServerProcess secret({models.root, "--tls-cert", certificate, "--tls-key", key});
  const std::string asks =
      "printf 'GET /v2 HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n'";
  CHECK(std::system((asks + " | openssl s_client -quiet -ign_eof -connect 127.0.0.1:" +
                     std::to_string(secret.port()) + " 2>/dev/null | grep -q '^HTTP/1.1 200 OK'")
                        .c_str()) == 0);
  CHECK(!goes_on(secret.port()));  // it is not plain HTTP
  const std::string other_key = models.folder / "other.pem";
  std::filesystem::rename(key, other_key);
  REQUIRE(made("-days 1"));
  refused({models.root, "--tls-cert", certificate, "--tls-key", other_key}, 7,
          "can be read from it: key values mismatch");
  // OpenSSL takes days that are past, or from 3.4 on two dates.
  REQUIRE((made("-days -1") || made("-not_before 20200101000000Z -not_after 20200102000000Z")));
  refused({models.root, "--tls-cert", certificate, "--tls-key", key}, 5, "the certificate expired");
}
