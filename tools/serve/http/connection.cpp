// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include "tools/serve/http/content_encoding.h"
#include "tools/serve/protocol/json_text.h"

namespace ingot::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr size_t kReadBytes = 16384;
// Of a body, before any of it has come: who says that much will come has sent nothing yet.
constexpr uint64_t kFirstBodyBytes = 65536;
constexpr uint64_t kMaxLingered = uint64_t{256} << 20;

/// Buffers that are written, by reference: a vector would be copied with each handler.
struct Pieces {
  using value_type = asio::const_buffer;
  using const_iterator = const asio::const_buffer*;
  const_iterator first, last;
  const_iterator begin() const { return first; }
  const_iterator end() const { return last; }
};

}  // namespace

template <class Stream>
Connection<Stream>::Connection(Stream&& stream, const ConnectionSettings& settings)
    : stream_(std::move(stream)), settings_(settings), service_(*settings.service) {
  service_.connections++;
}

template <class Stream>
Connection<Stream>::~Connection() {
  if (job_) service_.jobs.give_back(std::move(job_));
  service_.connections--;
  set_answering(false);
}

template <class Stream>
void Connection<Stream>::set_answering(bool answering) {
  if (answering != is_answering_) service_.answering += answering ? 1 : uint64_t(-1);
  is_answering_ = answering;
}

template <class Stream>
void Connection<Stream>::start() {
  if constexpr (std::is_same_v<Stream, TlsStream>) {
    socket().expires_after(settings_.request);
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [self = this->shared_from_this()](Code error) {
                              if (!error) self->wait_for_request();
                            });
  } else {
    wait_for_request();
  }
}

template <class Stream>
void Connection<Stream>::wait_for_request() {
  if (buffer_.size()) {
    read_header();
    return;
  }
  if (service_.repository.stops()) return;
  buffer_.shrink_to_fit();
  socket().expires_after(settings_.idle);
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = this->shared_from_this()](Code error, size_t bytes) {
                            if (error) return;
                            self->buffer_.commit(bytes);
                            self->read_header();
                          });
}

template <class Stream>
void Connection<Stream>::read_header() {
  parser_.emplace();
  parser_->header_limit(kMaxHeader);
  parser_->body_limit(boost::none);
  parser_->skip(true);  // the body is read here, into the job
  socket().expires_after(settings_.request);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = this->shared_from_this()](Code error, size_t) { self->on_header(error); });
}

template <class Stream>
void Connection<Stream>::on_header(Code error) {
  keeps_alive_ = false;
  if (error == http::error::header_limit)
    return reply({431, error_json("a header of more than 16,384 bytes")}, true);
  if (error == beast::error::timeout)
    return;  // half a header: its client is slow or gone, and the stream is closed
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    return reply({400, error_json("not HTTP/1: " + error.message())}, true);
  if (error) return;
  set_answering(true);
  began_ns_ = ingot_clock_ns();
  keeps_alive_ = parser_->keep_alive() && !service_.repository.stops();
  path_.clear();
  try {
    path_ = path_parts(view(parser_->get().target()));  // first: it says how a refusal looks
    check_head(parser_->get(), service_);
    if (!is_public(path_))
      service_.check_token(view(parser_->get()[http::field::authorization]),
                           view(parser_->get()["x-api-key"]));
    read_body();
  } catch (const ServeError& refused) {
    reply_error(refused, true);
  }
}

template <class Stream>
void Connection<Stream>::read_body() {
  const auto& request = parser_->get();
  const auto refuse_body = [this](int status, const char* text) {
    reply(refusal_reply(path_, status, text), true);
  };
  // Where a body ends, a proxy before the server must see as the server does: what they could read
  // in two ways is refused.
  if (request.find(http::field::transfer_encoding) != request.end()) {
    if (parser_->chunked()) return refuse_body(411, "a body in chunks: expected Content-Length");
    return refuse_body(501, "Transfer-Encoding: expected Content-Length alone");
  }
  const auto lengths = request.equal_range(http::field::content_length);
  for (auto line = lengths.first; line != lengths.second; ++line)
    if (line != lengths.first ||
        view(line->value()).find_first_not_of("0123456789") != std::string_view::npos)
      return refuse_body(400, "Content-Length: expected one number");
  const std::string_view encoding = view(request[http::field::content_encoding]);
  if (!is_known_encoding(encoding))
    return refuse_body(
        415, "a body in an encoding that is not supported: gzip, deflate and identity may be");
  const uint64_t bytes = parser_->content_length().value_or(0);
  if (bytes > service_.max_body)
    refuse(Refusal::kTooLarge, "a body of " + std::to_string(bytes) + " bytes, at most " +
                                   std::to_string(service_.max_body) +
                                   " are taken; see: ingot serve --max-body");
  refuse_long_body(bytes);
  const size_t here = std::min<uint64_t>(buffer_.size(), bytes);
  job_ = service_.jobs.take(std::min(bytes, std::max<uint64_t>(here, kFirstBodyBytes)));
  if (here) memcpy(job_->body.data(), buffer_.data().data(), here);
  buffer_.consume(here);
  if (here != bytes && request[http::field::expect] == "100-continue") {
    static constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue, sizeof kContinue - 1),
                      [self = this->shared_from_this(), here, bytes](Code error, size_t) {
                        if (!error) self->read_rest(bytes, here);
                      });
    return;
  }
  read_rest(bytes, here);
}

/// Of an inference: longer than any request to the model, before it is read.
template <class Stream>
void Connection<Stream>::refuse_long_body(uint64_t bytes) {
  constexpr uint64_t kAnyModel = uint64_t{1} << 20;
  if (bytes > kAnyModel && completion_of(path_) != Asked::kElse) {
    const uint64_t most = largest_completion(service_);
    if (bytes > most)
      refuse(Refusal::kTooLarge, "a body of " + std::to_string(bytes) + " bytes, at most " +
                                     std::to_string(most) + " are a request to any model here");
    return;
  }
  const auto path = bytes > kAnyModel && parser_->get().method() == http::verb::post
                        ? infer_path(path_)
                        : std::nullopt;
  if (!path) return;
  const auto model = service_.repository.find(path->model, path->version);
  const uint64_t most = std::max(kAnyModel, model->ports().largest_body());
  if (bytes <= most) return;
  model->count_refused(Refusal::kTooLarge);
  refuse(Refusal::kTooLarge, "a body of " + std::to_string(bytes) + " bytes, at most " +
                                 std::to_string(most) + " are a request to model '" +
                                 model->name() + "'");
}

template <class Stream>
void Connection<Stream>::read_rest(uint64_t bytes, size_t here) {
  if (here == bytes) return on_body();
  if (here == job_->body.size()) try {
      service_.jobs.grow_body(job_.get(), std::min(bytes, uint64_t{here} * 2));
    } catch (const ServeError& refused) {
      return reply_error(refused, true);
    }
  const size_t until = job_->body.size();
  asio::async_read(stream_, asio::buffer(job_->body.data() + here, until - here),
                   [self = this->shared_from_this(), bytes, until](Code error, size_t) {
                     if (!error) self->read_rest(bytes, until);
                   });
}

template <class Stream>
void Connection<Stream>::on_body() {
  socket().expires_never();
  try {
    const std::string_view method = view(parser_->get().method_string());
    const auto inference = method == "POST" ? infer_path(path_) : std::nullopt;
    if (inference) return infer(*inference);
    const Asked asked = method == "POST" ? completion_of(path_) : Asked::kElse;
    if (asked == Asked::kEmbeddings) return embed();
    if (asked != Asked::kElse) return complete(asked);
    decode_body(view(parser_->get()[http::field::content_encoding]), kMaxControlBody,
                &service_.jobs, job_.get());
    const std::string_view body(reinterpret_cast<const char*>(job_->body.data()),
                                job_->body.size());
    const Pace pace = pace_of(path_);
    if (pace == Pace::kAtOnce) return reply(answer(service_, method, path_, body));
    Workers& workers = *settings_.workers;
    answer_on(pace == Pace::kLoads ? workers.loads : workers.folder, method, body);
  } catch (const ServeError& refused) {
    reply_error(refused);
  } catch (const std::bad_alloc&) {
    self_.reset();
    reply_error({Refusal::kBusy, "out of memory; try again later"});
  }
}

template <class Stream>
void Connection<Stream>::answer_on(asio::thread_pool& pool, std::string_view method,
                                   std::string_view body) {
  asio::post(pool, [self = this->shared_from_this(), method, body] {
    Reply made = answer_or_refusal(self->service_, method, self->path_, body);
    asio::post(self->stream_.get_executor(), [self, made = std::move(made)] { self->reply(made); });
  });
}

/// Compressing takes some 20 ms of a thread, and the bytes are held twice.
constexpr size_t kMaxCompressed = size_t{1} << 20;

template <class Stream>
void Connection<Stream>::compress() {
  if (!parser_->is_header_done()) return;
  std::string accepted;  // lines of one name are one list
  const auto lines = parser_->get().equal_range(http::field::accept_encoding);
  for (auto line = lines.first; line != lines.second; ++line)
    accepted.append(view(line->value())).append(",");
  const char* const encoding = accepted_encoding(accepted);
  if (!encoding) return;
  std::vector<std::string_view> plain;
  size_t bytes = 0;
  for (size_t i = 1; i < pieces_.size(); i++) {
    plain.push_back({static_cast<const char*>(pieces_[i].data()), pieces_[i].size()});
    bytes += plain.back().size();
  }
  head_ += "Vary: Accept-Encoding\r\n";
  if (bytes > kMaxCompressed) return;
  try {
    packed_ = encode_body(encoding, plain);
  } catch (const std::bad_alloc&) {
    return;  // as it is
  }
  if (packed_.empty()) return;
  pieces_.resize(1);
  pieces_.push_back(asio::buffer(packed_));
  head_.append("Content-Encoding: ").append(encoding).append("\r\n");
}

template <class Stream>
void Connection<Stream>::begin_head(int status, const char* type) {
  if (service_.repository.stops()) keeps_alive_ = false;
  status_ = status;
  head_.clear();
  head_ += "HTTP/1.1 ";
  append_number(status, &head_);
  head_.append(" ").append(status_text(status)).append("\r\nContent-Type: ").append(type);
  head_ += "\r\n";
  compress();
  head_ += "Content-Length: ";
  append_number(asio::buffer_size(pieces_), &head_);
  head_ += keeps_alive_ ? "\r\n" : "\r\nConnection: close\r\n";
  if (status == 429 || status == 503) head_ += "Retry-After: 1\r\n";
  if (status == 401) head_ += "WWW-Authenticate: Bearer\r\n";
}

template <class Stream>
void Connection<Stream>::reply(const Reply& reply, bool reads_no_further) {
  make_reply(reply, reads_no_further);
  write();
}

template <class Stream>
void Connection<Stream>::make_reply(const Reply& reply, bool reads_no_further) {
  if (reads_no_further) keeps_alive_ = false;
  text_ = reply.body;
  pieces_.assign({{}, asio::buffer(text_)});
  begin_head(reply.status, reply.type);
  if (parser_->is_header_done() && parser_->get().method() == http::verb::head) pieces_.resize(1);
}

template <class Stream>
void Connection<Stream>::reply_error(const ServeError& error, bool reads_no_further) {
  reply(refusal_reply(path_, error), reads_no_further);
}

template <class Stream>
void Connection<Stream>::write() {
  head_ += "\r\n";
  pieces_[0] = asio::buffer(head_);
  if (service_.access_log) log(asio::buffer_size(pieces_) - head_.size());
  socket().expires_after(settings_.request);
  const Pieces pieces{pieces_.data(), pieces_.data() + pieces_.size()};
  asio::async_write(stream_, pieces, [self = this->shared_from_this()](Code error, size_t) {
    if (!error) self->on_written();
  });
}

template <class Stream>
void Connection<Stream>::log(uint64_t answer_bytes) {
  AccessLine line;
  Code unknown;
  const auto client = socket().socket().remote_endpoint(unknown);
  line.client = unknown ? "-" : client.address().to_string();
  line.method = line.target = "-";
  if (parser_->is_header_done()) {
    line.method = std::string(view(parser_->get().method_string()));
    line.target = std::string(view(parser_->get().target()));
    line.request_bytes = parser_->content_length().value_or(0);
    line.duration_ns = ingot_clock_ns() - began_ns_;
  }
  line.status = status_;
  line.answer_bytes = answer_bytes;
  service_.access_log->write(line);
}

template <class Stream>
void Connection<Stream>::on_written() {
  set_answering(false);
  if (job_) service_.jobs.give_back(std::move(job_));
  for (std::string* text : {&text_, &packed_})
    if (text->capacity() > kReadBytes) std::string().swap(*text);
  if (keeps_alive_ && !service_.repository.stops()) return wait_for_request();
  Code ignored;
  socket().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  buffer_.clear();
  socket().expires_after(std::chrono::seconds(5));
  linger();
}

template <class Stream>
void Connection<Stream>::linger() {
  socket().async_read_some(buffer_.prepare(65536),
                           [self = this->shared_from_this()](Code error, size_t bytes) {
                             self->lingered_bytes_ += bytes;
                             if (!error && self->lingered_bytes_ < kMaxLingered) self->linger();
                           });
}

template class Connection<PlainStream>;
template class Connection<TlsStream>;

}  // namespace ingot::serve
