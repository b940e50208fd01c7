// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/server_process.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/cli/command_line.h"

namespace serve_test {

ServerProcess::ServerProcess(std::vector<std::string> options) {
  int output[2];
  REQUIRE(pipe(output) == 0);
  char errors[] = "/tmp/ingot-serve-errors-XXXXXX";
  const int error_file = mkstemp(errors);
  errors_ = errors;
  options.insert(options.begin(), {INGOT_BINARY, "serve"});
  options.insert(options.end(), {"--http-port", "0", "--no-grpc"});
  std::vector<char*> words;
  for (std::string& option : options) words.push_back(option.data());
  words.push_back(nullptr);
  process_ = fork();
  REQUIRE(process_ >= 0);
  if (process_ == 0) {
    dup2(output[1], 1), dup2(error_file, 2);
    close(output[0]), close(output[1]);
    execv(words[0], words.data());
    _exit(127);
  }
  close(output[1]), close(error_file);
  output_ = output[0];
  std::string text;
  char bytes[256];
  for (ssize_t got;
       text.find("ready\n") == std::string::npos && (got = read(output_, bytes, sizeof bytes)) > 0;)
    text.append(bytes, size_t(got));
  CAPTURE(this->errors());
  const size_t at = text.find("://127.0.0.1:");
  REQUIRE(at != std::string::npos);
  port_ = uint16_t(atoi(text.c_str() + at + 13));
}

ServerProcess::~ServerProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  close(output_);
  unlink(errors_.c_str());
}

std::string ServerProcess::output() const {
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = read(output_, bytes, sizeof bytes)) > 0;)
    text.append(bytes, size_t(got));
  return text;
}

std::string ServerProcess::errors() const { return cli_test::slurp(errors_); }

void ServerProcess::signal_end() const { kill(process_, SIGTERM); }

int ServerProcess::wait() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int ServerProcess::end() {
  signal_end();
  const int code = wait();
  if (code) MESSAGE("ingot serve: exit code " << code << "; it wrote: " << errors());
  return code;
}

Connection::Connection(uint16_t port, int buffer) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (buffer) REQUIRE(setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer) == 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

Connection::~Connection() {
  if (socket_ >= 0) close(socket_);
}

void Connection::send(const std::string& bytes) const {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t put = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (put <= 0) return;  // the other side closed it, which the answer tells
    sent += size_t(put);
  }
}

void Connection::reset() {
  const linger now = {1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(socket_);
  socket_ = -1;
}

std::string Connection::answer() {
  for (;;) {
    const size_t head = received_.find("\r\n\r\n");
    if (head != std::string::npos) {
      const char* name = strcasestr(received_.c_str(), "\r\ncontent-length:");
      const size_t whole = head + 4 + (name ? strtoull(name + 17, nullptr, 10) : 0);
      if (received_.size() >= whole) {
        std::string one = received_.substr(0, whole);
        received_.erase(0, whole);
        return one;
      }
    }
    if (!receive()) return received_;
  }
}

std::string Connection::until(const std::string& mark) {
  for (size_t from = 0;;) {
    const size_t at = received_.find(mark, from);
    if (at != std::string::npos) {
      std::string one = received_.substr(0, at + mark.size());
      received_.erase(0, one.size());
      return one;
    }
    from = received_.size() - std::min(received_.size(), mark.size());
    if (!receive()) return received_;
  }
}

bool Connection::receive() {
  pollfd wait = {socket_, POLLIN, 0};
  char bytes[65536];
  const ssize_t got = poll(&wait, 1, 20000) == 1 ? recv(socket_, bytes, sizeof bytes, 0) : -1;
  if (got > 0) received_.append(bytes, size_t(got));
  return got > 0;
}

bool Connection::is_closed_within(int milliseconds) {
  pollfd wait = {socket_, POLLIN, 0};
  char byte;
  while (poll(&wait, 1, milliseconds) == 1)
    if (recv(socket_, &byte, 1, 0) <= 0) return true;
  return false;
}

std::string post(const std::string& path, const std::string& body, const std::string& more) {
  return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string ask(uint16_t port, const std::string& request) {
  Connection connection(port);
  connection.send(request);
  return connection.answer();
}

int status(const std::string& answer) {
  return answer.rfind("HTTP/1.1 ", 0) == 0 ? atoi(answer.c_str() + 9) : 0;
}

}  // namespace serve_test
