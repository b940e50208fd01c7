// SPDX-License-Identifier: Apache-2.0
// tests/serve/server_process.h - `ingot serve` on a free port, and connections to it of bytes as a
// test wants them, also bytes that no client would send.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace serve_test {

/// Ends with the test.
class ServerProcess {
 public:
  explicit ServerProcess(std::vector<std::string> options);
  ~ServerProcess();
  uint16_t port() const { return port_; }
  int process() const { return process_; }
  /// What it wrote on standard output since it was ready. @pre it has ended
  std::string output() const;
  /// What it wrote on standard error, as far as it is there.
  std::string errors() const;
  /// SIGTERM; its exit code.
  int end();
  void signal_end() const;
  int wait();

 private:
  int process_ = -1, output_ = -1;
  uint16_t port_ = 0;
  std::string errors_;
};

class Connection {
 public:
  /// `buffer`: bytes that the system takes for who does not read; 0: megabytes.
  explicit Connection(uint16_t port, int buffer = 0);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void send(const std::string& bytes) const;
  void reset();  // closes it as a killed process does
  /// One whole answer with its head, or what came until the other side closed it.
  std::string answer();
  /// What comes up to these bytes, with them; or until the other side closed it.
  std::string until(const std::string& mark);
  /// Whether the other side closes it within these milliseconds.
  bool is_closed_within(int milliseconds);

 private:
  bool receive();

  int socket_ = -1;
  std::string received_;
};

/// "POST PATH" with a length; `more` are lines of the head.
std::string post(const std::string& path, const std::string& body, const std::string& more = "");
inline std::string get(const std::string& path, const std::string& more = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n";
}
/// Sends one request on a connection of its own and gives the answer.
std::string ask(uint16_t port, const std::string& request);
/// 200 of "HTTP/1.1 200 OK", or 0.
int status(const std::string& answer);

}  // namespace serve_test
