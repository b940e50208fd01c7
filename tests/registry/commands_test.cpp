// SPDX-License-Identifier: Apache-2.0
// `ingot registry` as a script uses it, and "registry:NAME@TAG" where a file is read.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "ingot/cpu.h"
#include "ingot/ingot.hpp"
#include "tests/cli/command_line.h"

using namespace cli_test;
namespace fs = std::filesystem;

namespace {

struct Models {
  Folder folder;
  std::string root = folder / "registry", batch = converted(folder, "batch"),
              linear = converted(folder, "linear");
  RunOptions in;
  Models() { in.environment = {{"INGOT_REGISTRY", root}}; }
  Ran operator()(std::vector<std::string> words) const {
    words.insert(words.begin(), "registry");
    return run(words, in);
  }
  void must(const std::vector<std::string>& words) const {
    const Ran ran = (*this)(words);
    CAPTURE(ran.err);
    REQUIRE(ran.exit == 0);
  }
  nlohmann::json list() const { return nlohmann::json::parse((*this)({"list", "--json"}).out); }
};

}  // namespace

TEST_CASE("registry: versions, tags, metrics, and back again") {
  const Models r;
  r.must(
      {"add", r.batch, "net", "--tag", "canary", "--metric", "accuracy=98.7", "--note", "first"});
  r.must({"add", r.linear, "net"});
  r.must({"promote", "net@canary", "prod"});
  r.must({"tag", "net@2", "prod"});
  nlohmann::json list = r.list();
  REQUIRE(list.size() == 2);
  CHECK(list[0]["tags"] == nlohmann::json({"canary"}));
  CHECK(list[1]["tags"] == nlohmann::json({"prod"}));
  CHECK(list[0]["metrics"]["accuracy"] == "98.7");
  CHECK(list[0]["note"] == "first");
  CHECK(list[0]["source"]["source"] == "batch.onnx");
  CHECK(slurp(list[0]["path"]) == slurp(r.batch));
  const Ran shown = r({"show", "net"});
  CHECK(has(shown.out, "metric accuracy"));
  CHECK(has(shown.out, "batch.onnx"));
  CHECK(has(shown.out, "linear.onnx"));

  CHECK(has(r({"rollback", "net@prod"}).out, "back to version 1, was 2"));
  CHECK(r({"path", "net@prod"}).out == r.root + "/net/1/model.ingot\n");
  const Ran again = r({"rollback", "net@prod"});
  CHECK(again.exit == 5);
  CHECK(has(again.err, "nothing to go back to"));

  r.must({"pin", "net@2"});
  const Ran pinned = r({"remove", "net@2"});
  CHECK(pinned.exit == 5);
  CHECK(has(pinned.err, "a pin"));
  r.must({"unpin", "net@2"});
  r.must({"remove", "net@2"});
  const Ran tagged = r({"remove", "net@1"});
  CHECK(tagged.exit == 5);
  CHECK(has(tagged.err, "tag canary, tag prod"));
  r.must({"add", r.linear, "net"});
  CHECK(r.list()[1]["version"] == 3);  // the number of what was removed is not given again
  r.must({"verify"});
}

TEST_CASE("registry: equal bytes are stored once, read only") {
  const Models r;
  r.must({"add", r.batch, "net"});
  const Ran second = r({"add", r.batch, "other"});
  CHECK(has(second.out, "stored once"));
  struct stat a = {}, b = {};
  REQUIRE(stat((r.root + "/net/1/model.ingot").c_str(), &a) == 0);
  REQUIRE(stat((r.root + "/other/1/model.ingot").c_str(), &b) == 0);
  CHECK(a.st_ino == b.st_ino);
  CHECK((a.st_mode & 0222) == 0);
  r.must({"remove", "net@1"});
  CHECK(slurp(r.root + "/other/1/model.ingot") == slurp(r.batch));
  r.must({"verify"});
}

TEST_CASE("registry: versions with the same weights, whatever their records say of them") {
  const Models r;
  const std::string other = r.folder / "other.ingot";
  int made = 0;
  const auto add_other = [&] {  // the same weights each time, and bytes that are not there yet
    REQUIRE(run({"convert", std::string(INGOT_CLI_DATA) + "/linear.onnx", "-o", other, "--metadata",
                 "build=" + std::to_string(made++)})
                .exit == 0);
    r.must({"add", other, "net"});
    CHECK(slurp(r.root + "/net/" + std::to_string(made + 1) + "/model.ingot") == slurp(other));
  };
  const auto record = [&](const char* version) {
    return nlohmann::json::parse(slurp(r.root + "/net/" + version + "/record.json"));
  };
  r.must({"add", r.linear, "net"});
  const nlohmann::json first = record("1");
  REQUIRE(first["parts"].size() == 1);
  CHECK(first["parts"][0]["sha256"].get<std::string>().size() == 64);
  // where the file system shares blocks (tests/registry/shared_blocks.sh), these are places that do
  // not have the bytes
  for (const char* offset : {"0", "4096", "18446744073709551615", "\"x\"", "-1", "null"}) {
    CAPTURE(offset);
    nlohmann::json lie = first;
    lie["parts"][0]["offset"] = nlohmann::json::parse(offset);
    spill(r.root + "/net/1/record.json", lie.dump());
    add_other();
  }
  for (const char* parts : {"3", "[]", "[3]", "[{}]", "{\"sha256\": 1}"}) {
    CAPTURE(parts);
    nlohmann::json lie = first;
    lie["parts"] = nlohmann::json::parse(parts);
    spill(r.root + "/net/1/record.json", lie.dump());
    add_other();
  }
  spill(r.root + "/net/1/record.json", first.dump());
  CHECK(record("2")["parts"][0]["sha256"] == first["parts"][0]["sha256"]);
  r.must({"verify"});
}

TEST_CASE("registry: commands and the C interface open what a tag means") {
  const Models r;
  r.must({"add", r.batch, "net", "--tag", "prod"});
  CHECK(run({"verify", "registry:net@prod"}, r.in).exit == 0);
  CHECK(run({"inspect", "registry:net@1"}, r.in).exit == 0);
  const Ran unknown = run({"inspect", "registry:net@prd"}, r.in);
  CHECK(unknown.exit == 5);
  CHECK(has(unknown.err, "its tags: prod"));

  REQUIRE(setenv("INGOT_REGISTRY", r.root.c_str(), 1) == 0);
  const auto opens = [](const char* path) {
    const ingot::Result<ingot::Model> model = ingot::Model::open(path, ingot_cpu_kernels(nullptr));
    return model.ok() ? INGOT_OK : model.error().code;
  };
  CHECK(opens("registry:net@prod") == INGOT_OK);
  CHECK(opens("registry:net@1") == INGOT_OK);
  const std::string endless = "registry:net@" + std::string(5000, 'x');
  for (const char* wrong :
       {"registry:net@2", "registry:net@none", "registry:net", "registry:@prod",
        "registry:../net@prod", "registry:net@../1", "registry:", endless.c_str()})
    CHECK(opens(wrong) == INGOT_FILE_OPEN);
  for (const char* absent : {"registry:net@2", "registry:net@none", "registry:nett@prod"})
    CHECK(has(ingot::Model::open(absent, ingot_cpu_kernels(nullptr)).error().text(),
              "INGOT_REGISTRY has no such model, version or tag"));
  unsetenv("INGOT_REGISTRY");
  CHECK(opens("registry:net@prod") == INGOT_FILE_OPEN);
}

TEST_CASE("registry: what is wrong is one line, and nothing is made of it") {
  const Models r;
  const auto refused = [&](const std::vector<std::string>& words, int exit, const char* part) {
    const Ran ran = r(words);
    CAPTURE(words[0]);
    CAPTURE(ran.err);
    CHECK(ran.exit == exit);
    CHECK(is_one_error_line(ran.err));
    CHECK(has(ran.err, part));
  };
  refused({"list"}, 7, "no registry is there");
  refused({"tag", "net@1", "prod"}, 7, "no registry is there");
  CHECK_FALSE(fs::exists(r.root));
  r.must({"add", r.batch, "net"});
  spill(r.folder / "broken", slurp(r.batch).substr(0, 1000));
  refused({"add", r.folder / "broken", "net"}, 2, "broken");
  refused({"add", r.folder / "none", "net"}, 7, "none");
  refused({"add", r.batch, "../net"}, 1, "model name '../net'");
  refused({"add", r.batch, ".hidden"}, 1, "no dot first");
  refused({"add", r.batch, "net", "--tag", "3"}, 1, "a letter first");
  refused({"add", r.batch, "net", "--metric", "accuracy"}, 1, "NAME=VALUE");
  refused({"add", r.batch, "net", "--metric", "a=1", "--metric", "a=2"}, 1, "is given twice");
  refused({"tag", "net@1", std::string(100000, 'a')}, 1, "aaa...'");
  refused({"add", r.batch}, 1, "expected: ingot registry add FILE NAME");
  refused({"tag", "net@2", "prod"}, 5, "has no version 2");
  refused({"tag", "nett@1", "prod"}, 5, "did you mean 'net'");
  refused({"promote", "net@canary", "prod"}, 5, "its tags: none");
  refused({"promote", "net@1", "prod"}, 1, "expected NAME@TAG");
  refused({"remove", "net@prod"}, 1, "expected NAME@VERSION");
  refused({"remove", "net@007"}, 1, "a letter first");
  refused({"lst"}, 1, "did you mean 'list'");
  refused({"list", "--tag", "prod"}, 1, "are for add");
  CHECK(r.list().size() == 1);

  const std::string at = r.root + "/net/1/";
  const std::string bytes = slurp(at + "model.ingot"), record = slurp(at + "record.json");
  chmod((at + "model.ingot").c_str(), 0644);
  std::string changed = bytes;
  changed.back() = char(changed.back() ^ 1);
  spill(at + "model.ingot", changed);
  refused({"verify"}, 2, "net/1/model.ingot: expected");
  spill(at + "model.ingot", bytes);
  for (const char* text : {"", "{", "[]", "{\"sha256\": 3, \"bytes\": 1}", "{\"bytes\": -1}"}) {
    spill(at + "record.json", text);
    refused({"verify"}, 2, "record.json");
    // It is listed and opened; no tag is pointed to it.
    CHECK(has(r({"list"}).out, "record.json"));
    CHECK(has(r.list()[0]["fault"].get<std::string>(), "record.json"));
    CHECK(r({"path", "net@1"}).out == r.root + "/net/1/model.ingot\n");
    refused({"tag", "net@1", "prod"}, 2, "add its file anew");
  }
  r.must({"add", r.batch, "other"});  // what is wrong with one model is not another's
  spill(at + "record.json", record);
  fs::create_directories(r.root + "/net/tags");
  fs::create_symlink("../9", r.root + "/net/tags/gone");
  refused({"verify"}, 2, "tags/gone: points to no version");
  fs::remove(r.root + "/net/tags/gone");
  // a version that was made by hand: others go on, and it can be removed
  fs::create_directories(r.root + "/net/7");
  fs::copy_file(r.batch, r.root + "/net/7/model.ingot");
  const Ran added = r({"add", r.batch, "net", "--tag", "prod"});
  CHECK(added.exit == 0);
  CHECK(has(added.out, "net@8"));
  refused({"verify"}, 2, "net/7/record.json");
  r.must({"tag", "net@1", "prod"});
  r.must({"remove", "net@7"});
  r.must({"remove", "net@8"});
  r.must({"untag", "net@prod"});
  r.must({"verify"});
  // a model's folder that lies elsewhere
  const std::string elsewhere = r.folder / "elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directory_symlink(elsewhere, r.root + "/linked");
  refused({"add", r.batch, "linked"}, 3, "linked: is a link to another folder");
  CHECK(fs::is_empty(elsewhere));
  CHECK(fs::is_symlink(r.root + "/linked"));
  fs::remove(r.root + "/linked");
  // a folder that a change would empty
  const std::string kept = r.folder / "kept";
  fs::create_directories(kept);
  spill(kept + "/file", "kept");
  fs::remove_all(r.root + "/.changes");
  fs::create_directory_symlink(kept, r.root + "/.changes");
  refused({"add", r.batch, "net"}, 3, ".changes: is a link");
  CHECK(slurp(kept + "/file") == "kept");
  fs::remove(r.root + "/.changes");
  // a history that anybody wrote
  spill(r.root + "/net/history.jsonl", "{\"version\": 18446744073709551615}\n");
  refused({"add", r.batch, "net"}, 5, "has no number left");
  spill(r.root + "/net/history.jsonl", "garbage\n{\"do\": 3, \"version\": 1}\n{\"ver");
  r.must({"add", r.batch, "net"});
  r.must({"verify"});
}
