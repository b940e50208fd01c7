// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/connection.h - one connection: reads a request, has it answered, writes the
// answer, and begins anew. It owns itself while it waits for anything.
#pragma once
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/serve/core/service.h"
#include "tools/serve/http/request_head.h"
#include "tools/serve/http/routes.h"
#include "tools/serve/http/workers.h"

namespace ingot::serve {

class Completion;
struct Embeddings;

using PlainStream = boost::beast::tcp_stream;
using TlsStream = boost::asio::ssl::stream<boost::beast::tcp_stream>;

/// What all connections of a front share.
struct ConnectionSettings {
  Service* service = nullptr;
  Workers* workers = nullptr;
  std::chrono::seconds idle{300}, request{30};
};

template <class Stream>
class Connection : public std::enable_shared_from_this<Connection<Stream>> {
 public:
  Connection(Stream&& stream, const ConnectionSettings& settings);
  ~Connection();
  void start();

 private:
  using Code = boost::system::error_code;

  boost::beast::tcp_stream& socket() { return boost::beast::get_lowest_layer(stream_); }
  void wait_for_request();
  void read_header();
  void on_header(Code error);
  /// Answers what needs no body, or begins to read it.
  void read_body();
  void refuse_long_body(uint64_t bytes);
  /// The rest of a body of so many bytes; memory is taken as they come.
  void read_rest(uint64_t bytes, size_t here);
  void on_body();
  /// A call on its own thread, whose answer is written by the connection's.
  void answer_on(boost::asio::thread_pool& pool, std::string_view method, std::string_view body);
  void infer(const InferPath& path);
  /// Decodes the body and gives it to the model. @throws ServeError
  void submit(const std::shared_ptr<ServedModel>& model);
  /// The job is the model's until it calls `ended`. @throws ServeError
  void lend_job(const std::shared_ptr<ServedModel>& model, void (*ended)(void*, Job*));
  bool decodes_apart() const;
  static void on_ended(void* user, Job* job);
  static bool is_gone(void* user);
  static void on_abandoned(void* user);
  /// Whether the answer takes long to be written as JSON, or to be compressed.
  bool encodes_apart() const;
  /// Of the job's outputs, or of why it failed.
  void make_inference();
  void make_reply(const Reply& reply, bool reads_no_further = false);
  void reply(const Reply& reply, bool reads_no_further = false);
  void reply_error(const ServeError& error, bool reads_no_further = false);
  /// Of the answer in pieces_, whose first is kept for the head; the body is compressed here where
  /// the client asks for it.
  void begin_head(int status, const char* type);
  void compress();
  void write();
  void log(uint64_t answer_bytes);
  void on_written();
  /// Reads what the client still sends, for a while, so that it gets to read the answer.
  void linger();
  void set_answering(bool answering);
  // Of a language model: completion_connection.cpp.
  void complete(Asked asked);
  std::shared_ptr<ServedModel> read_completion_body(Completion* task);
  void watch_client();
  void send_completion();
  void send_events(bool is_last);
  void on_events_sent(bool has_failed, bool is_last);
  void end_completion();
  // Of an embedding model: embeddings_connection.cpp.
  void embed();
  /// Takes the vector of the job, where it has run, and runs the next.
  void embed_next(bool has_run);
  static void on_embedded(void* user, Job* job);

  Stream stream_;
  const ConnectionSettings& settings_;
  Service& service_;
  boost::beast::flat_buffer buffer_;
  std::optional<HeadParser> parser_;
  std::vector<std::string> path_;
  std::unique_ptr<Job> job_;
  std::shared_ptr<Connection> self_;  // while a model has the job
  bool keeps_alive_ = false, is_answering_ = false;
  uint64_t began_ns_ = 0, closed_ns_ = 0;  // of the request; when its client closed its side
  int status_ = 0;
  std::string head_, text_, packed_;
  std::vector<boost::asio::const_buffer> pieces_;
  uint64_t lingered_bytes_ = 0;
  std::shared_ptr<Completion> completion_;  // while a slot has it
  std::shared_ptr<ServedModel> language_;   // that it is of
  std::optional<boost::asio::steady_timer> look_;
  bool has_head_ = false, is_sending_ = false;  // of events
  uint64_t sent_bytes_ = 0;
  std::shared_ptr<Embeddings> embeddings_;
};

}  // namespace ingot::serve
