// SPDX-License-Identifier: Apache-2.0
// Requests over many connections at once, every answer compared: none may be lost, none wrong.
//   load_client PORT CONNECTIONS REQUESTS FILE
// FILE has the requests in turns: the number of them, then of each its bytes and the bytes that the
// answer's body has to end in, each behind its length (u32). Prints a line of JSON.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Call {
  std::string request, expected;
};

std::string read_block(std::ifstream& file) {
  uint32_t bytes = 0;
  file.read(reinterpret_cast<char*>(&bytes), 4);
  std::string block(bytes, '\0');
  file.read(block.data(), bytes);
  return block;
}

std::vector<Call> read_calls(const char* path) {
  std::ifstream file(path, std::ios::binary);
  uint32_t count = 0;
  file.read(reinterpret_cast<char*>(&count), 4);
  std::vector<Call> calls(count);
  for (Call& call : calls) call.request = read_block(file), call.expected = read_block(file);
  if (!file || calls.empty()) {
    fprintf(stderr, "load_client: %s: cannot be read\n", path);
    exit(1);
  }
  return calls;
}

uint64_t now_ns() {
  using namespace std::chrono;
  return uint64_t(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

class Load {
 public:
  Load(uint16_t port, size_t connections, size_t requests, std::vector<Call> calls)
      : calls_(std::move(calls)), wanted_(requests), port_(port), connections_(connections) {
    micros_.reserve(requests);
  }
  bool run();

 private:
  struct Connection {
    int socket = -1;
    size_t call = 0, sent = 0;
    uint64_t began = 0;
    std::string answer;
    bool is_busy = false;
  };
  void open(Connection& c);
  void begin(Connection& c);
  void send(Connection& c);
  void receive(Connection& c);
  void lose(Connection& c);
  /// Bytes of the whole answer, or 0 while its head is not there.
  static size_t answer_bytes(const std::string& answer);

  std::vector<Call> calls_;
  std::vector<Connection> all_;
  std::vector<uint32_t> micros_;
  size_t wanted_, begun_ = 0, ended_ = 0, right_ = 0, wrong_ = 0, lost_ = 0;
  uint16_t port_;
  size_t connections_;
  int epoll_ = -1;
  std::string first_wrong_;
};

void Load::open(Connection& c) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  c.socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(c.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    perror("load_client: connect");
    exit(1);
  }
  const int on = 1;
  setsockopt(c.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(c.socket, F_SETFL, O_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &c;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, c.socket, &event);
}

void Load::begin(Connection& c) {
  c.is_busy = begun_ < wanted_;
  if (!c.is_busy) return;
  c.call = begun_++ % calls_.size();
  c.sent = 0;
  c.answer.clear();
  c.began = now_ns();
  send(c);
}

void Load::send(Connection& c) {
  const std::string& request = calls_[c.call].request;
  while (c.sent < request.size()) {
    const ssize_t put =
        ::send(c.socket, request.data() + c.sent, request.size() - c.sent, MSG_NOSIGNAL);
    if (put <= 0) break;
    c.sent += size_t(put);
  }
  epoll_event event{};
  event.events = c.sent < request.size() ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &c;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, c.socket, &event);
}

size_t Load::answer_bytes(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n");
  if (head == std::string::npos) return 0;
  const char* name = strcasestr(answer.c_str(), "\r\ncontent-length:");
  return head + 4 + (name ? strtoull(name + 17, nullptr, 10) : 0);
}

void Load::lose(Connection& c) {
  close(c.socket);
  lost_ += c.is_busy, ended_ += c.is_busy;
  open(c);
  begin(c);
}

void Load::receive(Connection& c) {
  char bytes[65536];
  for (;;) {
    const ssize_t got = recv(c.socket, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) return lose(c);
    c.answer.append(bytes, size_t(got));
  }
  const size_t whole = answer_bytes(c.answer);
  if (!whole || c.answer.size() < whole) return;
  const std::string& expected = calls_[c.call].expected;
  const bool is_right = c.answer.compare(0, 12, "HTTP/1.1 200") == 0 && whole >= expected.size() &&
                        c.answer.compare(whole - expected.size(), expected.size(), expected) == 0;
  if (!is_right && first_wrong_.empty()) first_wrong_ = c.answer.substr(0, 400);
  (is_right ? right_ : wrong_)++;
  ended_++;
  micros_.push_back(uint32_t((now_ns() - c.began) / 1000));
  begin(c);
}

bool Load::run() {
  epoll_ = epoll_create1(0);
  all_.resize(connections_);
  const uint64_t began = now_ns();
  for (Connection& c : all_) open(c), begin(c);
  while (ended_ < wanted_) {
    epoll_event events[64];
    const int count = epoll_wait(epoll_, events, 64, 30000);
    if (count == 0) break;  // half a minute without an answer
    for (int i = 0; i < count; i++) {
      Connection& c = *static_cast<Connection*>(events[i].data.ptr);
      if (events[i].events & EPOLLOUT) send(c);
      if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(c);
    }
  }
  const double seconds = double(now_ns() - began) / 1e9;
  lost_ += wanted_ - ended_;
  std::sort(micros_.begin(), micros_.end());
  const auto at = [&](double share) {
    return micros_.empty()
               ? 0
               : micros_[std::min(micros_.size() - 1, size_t(share * double(micros_.size())))];
  };
  printf(
      "{\"right\": %zu, \"wrong\": %zu, \"lost\": %zu, \"seconds\": %.3f, \"per_second\": %.0f, "
      "\"p50_us\": %u, \"p99_us\": %u, \"max_us\": %u}\n",
      right_, wrong_, lost_, seconds, double(right_) / seconds, at(0.5), at(0.99), at(1));
  if (!first_wrong_.empty()) fprintf(stderr, "load_client: %s\n", first_wrong_.c_str());
  return !wrong_ && !lost_;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "load_client PORT CONNECTIONS REQUESTS FILE\n");
    return 2;
  }
  Load load(uint16_t(atoi(argv[1])), strtoull(argv[2], nullptr, 10), strtoull(argv[3], nullptr, 10),
            read_calls(argv[4]));
  return load.run() ? 0 : 1;
}
