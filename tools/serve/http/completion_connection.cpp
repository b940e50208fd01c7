// SPDX-License-Identifier: Apache-2.0
// What a connection does for answers of a language model: one document, or events in chunks while
// the answer is made.
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "tools/serve/http/completion.h"
#include "tools/serve/http/connection.h"
#include "tools/serve/http/content_encoding.h"
#include "tools/serve/protocol/messages_reply.h"

namespace ingot::serve {
namespace {

namespace asio = boost::asio;

constexpr auto kLook = std::chrono::milliseconds(50);

void append_chunk(const std::string& text, bool is_chunked, std::string* out) {
  if (!is_chunked) {
    *out += text;
    return;
  }
  char size[24];
  snprintf(size, sizeof size, "%zx\r\n", text.size());
  out->append(size).append(text).append("\r\n");
}

}  // namespace

template <class Stream>
void Connection<Stream>::complete(Asked asked) {
  const auto self = this->shared_from_this();
  const auto executor = stream_.get_executor();
  has_head_ = is_sending_ = false;
  sent_bytes_ = closed_ns_ = 0;
  asio::post(settings_.workers->decode, [self, executor, asked] {
    const auto reject = [&](const ServeError& error) {
      asio::post(executor, [self, error] { self->reply_error(error); });
    };
    try {
      const auto task = std::make_shared<Completion>(
          asked, [self, executor] { asio::post(executor, [self] { self->send_completion(); }); });
      const auto model = self->read_completion_body(task.get());
      if (task->form.counts_tokens) {
        asio::post(executor, [self, task] {
          self->reply({200, token_count(task->request.prompt.size())});
        });
        return;
      }
      task->open(&model->language()->text());
      self->service_.jobs.give_back(std::move(self->job_));  // the body is read
      self->completion_ = task;
      self->language_ = model;
      try {
        model->language()->submit(task);
      } catch (const ServeError& refused) {
        self->completion_.reset();
        self->language_.reset();
        model->language()->count_refused(refused.why());
        throw;
      }
      asio::post(executor, [self] { self->watch_client(); });
    } catch (const ServeError& refused) {
      reject(refused);
    } catch (const std::exception&) {
      reject({Refusal::kBusy, "out of memory; try again later"});
    }
  });
}

template <class Stream>
std::shared_ptr<ServedModel> Connection<Stream>::read_completion_body(Completion* task) {
  decode_body(view(parser_->get()[boost::beast::http::field::content_encoding]),
              std::min(service_.max_body, largest_completion(service_)), &service_.jobs,
              job_.get());
  const std::string_view body(reinterpret_cast<const char*>(job_->body.data()), job_->body.size());
  return read_completion(service_.repository, body, &task->form, &task->request);
}

/// Looks whether the client is still there, as long as its answer is made.
template <class Stream>
void Connection<Stream>::watch_client() {
  if (!completion_) return;
  if (is_gone(this)) completion_->give_up();
  if (!look_) look_.emplace(stream_.get_executor());
  look_->expires_after(kLook);
  look_->async_wait([self = this->shared_from_this()](Code error) {
    if (!error) self->watch_client();
  });
}

template <class Stream>
void Connection<Stream>::end_completion() {
  completion_.reset();
  language_.reset();
  if (look_) look_->cancel();
}

/// The slot has more of the answer. While a piece is on its way, its end looks again.
template <class Stream>
void Connection<Stream>::send_completion() {
  if (!completion_ || is_sending_) return;
  const bool streams = completion_->form.streams;
  const Completion::State state = completion_->take(&text_);
  if (!has_head_ && state.has_failed) {
    end_completion();
    return reply_error({state.why, state.error});
  }
  if (!streams && state.has_ended) {
    end_completion();
    const std::string body = std::move(text_);
    return reply({200, body});
  }
  if (!streams || (text_.empty() && !state.has_ended)) return;
  if (state.has_failed) {
    text_ += error_event(completion_->form, status_of(state.why), state.error);
    keeps_alive_ = false;
  }
  send_events(state.has_ended);
}

template <class Stream>
void Connection<Stream>::send_events(bool is_last) {
  const bool is_chunked = parser_->get().version() >= 11;
  keeps_alive_ = keeps_alive_ && is_chunked;
  head_.clear();
  if (!has_head_) {
    status_ = 200;
    head_ = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n";
    if (is_chunked) head_ += "Transfer-Encoding: chunked\r\n";
    head_ += keeps_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
    has_head_ = true;
  }
  sent_bytes_ += text_.size();
  if (!text_.empty()) append_chunk(text_, is_chunked, &head_);
  if (is_last && is_chunked) head_ += "0\r\n\r\n";
  if (is_last) {
    end_completion();
    if (service_.access_log) log(sent_bytes_);
  }
  is_sending_ = true;
  socket().expires_after(settings_.request);
  asio::async_write(stream_, asio::buffer(head_),
                    [self = this->shared_from_this(), is_last](Code error, size_t) {
                      self->on_events_sent(bool(error), is_last);
                    });
}

template <class Stream>
void Connection<Stream>::on_events_sent(bool has_failed, bool is_last) {
  is_sending_ = false;
  if (has_failed) {  // closed, or not read for as long as an answer may take to leave
    if (completion_) completion_->give_up();
    return end_completion();
  }
  socket().expires_never();
  if (is_last) return on_written();
  send_completion();
}

template void Connection<PlainStream>::complete(Asked);
template void Connection<TlsStream>::complete(Asked);

}  // namespace ingot::serve
