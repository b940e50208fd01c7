#include "tools/serve/http/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include "tools/serve/http/content_encoding.h"
#include "tools/serve/protocol/infer_reply.h"
#include "tools/serve/protocol/infer_request.h"
#include "tools/serve/protocol/json_text.h"

namespace ingot::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr size_t kMaxHeader = 16384;
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

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// A number of digits alone. @throws ServeError kInvalid
uint64_t header_number(std::string_view text, const char* name) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(Refusal::kInvalid, std::string(name) + ": expected a number");
  return number;
}

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
  keeps_alive_ = parser_->keep_alive() && !service_.repository.stops();
  try {
    path_ = path_parts(view(parser_->get().target()));
    if (!is_public(path_)) service_.check_token(view(parser_->get()[http::field::authorization]));
    read_body();
  } catch (const ServeError& refused) {
    reply_error(refused.why(), refused.text(), true);
  }
}

template <class Stream>
void Connection<Stream>::read_body() {
  const auto& request = parser_->get();
  // Where a body ends, a proxy before the server must see as the server does: what they could read
  // in two ways is refused.
  if (request.find(http::field::transfer_encoding) != request.end()) {
    if (parser_->chunked())
      return reply({411, error_json("a body in chunks: expected Content-Length")}, true);
    return reply({501, error_json("Transfer-Encoding: expected Content-Length alone")}, true);
  }
  const auto lengths = request.equal_range(http::field::content_length);
  for (auto line = lengths.first; line != lengths.second; ++line)
    if (line != lengths.first ||
        view(line->value()).find_first_not_of("0123456789") != std::string_view::npos)
      return reply({400, error_json("Content-Length: expected one number")}, true);
  const std::string_view encoding = view(request[http::field::content_encoding]);
  if (!is_known_encoding(encoding))
    return reply({415, error_json("a body in an encoding that is not supported: gzip, deflate and "
                                  "identity may be")},
                 true);
  const uint64_t bytes = parser_->content_length().value_or(0);
  if (bytes > service_.max_body)
    refuse(Refusal::kTooLarge, "a body of " + std::to_string(bytes) + " bytes, at most " +
                                   std::to_string(service_.max_body) +
                                   " are taken; see: ingot serve --max-body");
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

template <class Stream>
void Connection<Stream>::read_rest(uint64_t bytes, size_t here) {
  if (here == bytes) return on_body();
  if (here == job_->body.size()) try {
      service_.jobs.grow_body(job_.get(), std::min(bytes, uint64_t{here} * 2));
    } catch (const ServeError& refused) {
      return reply_error(refused.why(), refused.text(), true);
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
    decode_body(view(parser_->get()[http::field::content_encoding]), service_.max_body,
                &service_.jobs, job_.get());
    const std::string_view method = view(parser_->get().method_string());
    const auto inference = method == "POST" ? infer_path(path_) : std::nullopt;
    if (inference) return infer(*inference);
    const std::string_view body(reinterpret_cast<const char*>(job_->body.data()),
                                job_->body.size());
    if (!is_slow(path_)) return reply(answer(service_, method, path_, body));
    asio::post(*settings_.slow, [self = this->shared_from_this(), method, body] {
      Reply made;
      try {
        made = answer(self->service_, method, self->path_, body);
      } catch (const ServeError& refused) {
        made = {status_of(refused.why()), error_json(refused.text())};
      } catch (const std::exception& failure) {
        made = {500, error_json(failure.what())};
      }
      asio::post(self->stream_.get_executor(),
                 [self, made = std::move(made)] { self->reply(made); });
    });
  } catch (const ServeError& refused) {
    reply_error(refused.why(), refused.text());
  } catch (const std::bad_alloc&) {
    self_.reset();
    reply_error(Refusal::kBusy, "out of memory; try again later");
  }
}

template <class Stream>
void Connection<Stream>::infer(const InferPath& path) {
  std::shared_ptr<ServedModel> model = service_.repository.find(path.model, path.version);
  try {
    const auto& request = parser_->get();
    const auto found = request.find("Inference-Header-Content-Length");
    const uint64_t json_bytes =
        found == request.end()
            ? job_->body.size()
            : header_number(view(found->value()), "Inference-Header-Content-Length");
    read_infer_request(json_bytes, service_.shared(), job_.get());
    job_->served = model;
    job_->user = this;
    job_->ended = on_ended;
    self_ = this->shared_from_this();
    model->submit(job_.get());
  } catch (const ServeError& refused) {
    self_.reset();
    model->count_refused(refused.why());
    throw;
  }
}

template <class Stream>
void Connection<Stream>::on_ended(void* user, Job*) {
  Connection* const connection = static_cast<Connection*>(user);
  asio::post(connection->stream_.get_executor(),
             [self = std::move(connection->self_)] { self->write_inference(); });
}

template <class Stream>
void Connection<Stream>::write_inference() {
  if (job_->failed) return reply_error(job_->why, job_->error);
  text_.clear();
  try {
    write_infer_reply(*job_, &text_);
  } catch (const ServeError& refused) {
    return reply_error(refused.why(), refused.text());
  }
  pieces_.assign({{}, asio::buffer(text_)});
  for (const OutputTensor& output : job_->outputs)
    if (follows_json(output)) pieces_.push_back(asio::buffer(output.elements));
  const bool has_binary = pieces_.size() > 2;
  begin_head(200, has_binary ? "application/octet-stream" : "application/json");
  if (has_binary) {
    head_ += "Inference-Header-Content-Length: ";
    append_number(text_.size(), &head_);
    head_ += "\r\n";
  }
  write();
}

/// Others wait while a body is compressed, some 20 ms, and its bytes are held twice.
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
  if (reads_no_further) keeps_alive_ = false;
  text_ = reply.body;
  pieces_.assign({{}, asio::buffer(text_)});
  begin_head(reply.status, reply.type);
  if (parser_->is_header_done() && parser_->get().method() == http::verb::head) pieces_.resize(1);
  write();
}

template <class Stream>
void Connection<Stream>::reply_error(Refusal why, const std::string& text, bool reads_no_further) {
  reply({status_of(why), error_json(text)}, reads_no_further);
}

template <class Stream>
void Connection<Stream>::write() {
  head_ += "\r\n";
  pieces_[0] = asio::buffer(head_);
  socket().expires_after(settings_.request);
  const Pieces pieces{pieces_.data(), pieces_.data() + pieces_.size()};
  asio::async_write(stream_, pieces, [self = this->shared_from_this()](Code error, size_t) {
    if (!error) self->on_written();
  });
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
