// SPDX-License-Identifier: Apache-2.0
// What a connection does for inferences: a job that it lends to a model until it has ended.
#include <poll.h>

#include <boost/asio/post.hpp>

#include "tools/serve/http/connection.h"
#include "tools/serve/http/content_encoding.h"
#include "tools/serve/protocol/infer_reply.h"
#include "tools/serve/protocol/infer_request.h"
#include "tools/serve/protocol/json_text.h"

namespace ingot::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

// Longer ones are decoded and written by threads of their own.
constexpr size_t kShortJson = 16384;
// After a client closed its side, for those that send a request, close it and still read.
constexpr uint64_t kHalfClosedNs = 250000000;

}  // namespace

template <class Stream>
bool Connection<Stream>::decodes_apart() const {
  const auto& request = parser_->get();
  if (!request[http::field::content_encoding].empty()) return true;
  if (job_->body.size() <= kShortJson) return false;
  return json_bytes(request, job_->body.size()) > kShortJson;
}

template <class Stream>
void Connection<Stream>::infer(const InferPath& path) {
  std::shared_ptr<ServedModel> model = service_.repository.find(path.model, path.version);
  if (!decodes_apart()) return submit(model);
  asio::post(settings_.workers->decode, [self = this->shared_from_this(), model] {
    ServeError error(Refusal::kBusy, "out of memory; try again later");
    try {
      return self->submit(model);
    } catch (const ServeError& refused) {
      error = refused;
    } catch (const std::exception&) {
      self->self_.reset();
    }
    asio::post(self->stream_.get_executor(), [self, error] { self->reply_error(error); });
  });
}

template <class Stream>
void Connection<Stream>::submit(const std::shared_ptr<ServedModel>& model) {
  try {
    const auto& request = parser_->get();
    decode_body(view(request[http::field::content_encoding]),
                std::min(service_.max_body, model->ports().largest_body()), &service_.jobs,
                job_.get());
    read_infer_request(json_bytes(request, job_->body.size()), service_.shared(), job_.get(),
                       &model->ports());
  } catch (const ServeError& refused) {
    model->count_refused(refused.why());
    throw;
  }
  lend_job(model, on_ended);
}

template <class Stream>
void Connection<Stream>::lend_job(const std::shared_ptr<ServedModel>& model,
                                  void (*ended)(void*, Job*)) {
  job_->served = model;
  job_->user = this;
  job_->ended = ended;
  job_->is_gone = is_gone;
  job_->abandoned = on_abandoned;
  job_->discard = JobPool::discard;
  job_->pool = &service_.jobs;
  closed_ns_ = 0;
  self_ = this->shared_from_this();
  try {
    model->submit(job_.get());
  } catch (const ServeError& refused) {
    self_.reset();
    model->count_refused(refused.why());
    throw;
  }
}

/// While a model has the job nothing reads the connection, which therefore stays open here.
template <class Stream>
bool Connection<Stream>::is_gone(void* user) {
  Connection& self = *static_cast<Connection*>(user);
  pollfd peer = {self.socket().socket().native_handle(), POLLRDHUP, 0};
  if (poll(&peer, 1, 0) <= 0) return false;
  if (peer.revents & (POLLERR | POLLHUP | POLLNVAL)) return true;
  const uint64_t now = ingot_clock_ns();
  if (!self.closed_ns_) self.closed_ns_ = now;
  return now - self.closed_ns_ >= kHalfClosedNs;
}

template <class Stream>
void Connection<Stream>::on_ended(void* user, Job*) {
  const auto self = std::move(static_cast<Connection*>(user)->self_);
  const auto executor = self->stream_.get_executor();
  if (!self->encodes_apart()) {
    asio::post(executor, [self] {
      self->make_inference();
      self->write();
    });
    return;
  }
  asio::post(self->settings_.workers->decode, [self, executor] {
    self->make_inference();
    asio::post(executor, [self] { self->write(); });
  });
}

/// The job is the model's: it is not looked at here any more.
template <class Stream>
void Connection<Stream>::on_abandoned(void* user) {
  const auto self = std::move(static_cast<Connection*>(user)->self_);
  asio::post(self->stream_.get_executor(), [self] {
    (void)self->job_.release();
    self->reply_error({Refusal::kDeadline,
                       "the run did not stop at its deadline; it is in one long instruction"});
  });
}

template <class Stream>
bool Connection<Stream>::encodes_apart() const {
  if (job_->failed) return false;
  uint64_t json = 0, all = 0;
  for (const OutputTensor& output : job_->outputs) {
    all += output.elements.size();
    if (!output.is_binary) json += output.elements.size();
  }
  return json > kShortJson ||
         (all > kShortJson && !parser_->get()[http::field::accept_encoding].empty());
}

template <class Stream>
void Connection<Stream>::make_inference() {
  const auto refuse_by = [this](Refusal why, const std::string& text) {
    make_reply({status_of(why), error_json(text)});
  };
  if (job_->failed) return refuse_by(job_->why, job_->error);
  text_.clear();
  try {
    write_infer_reply(*job_, &text_);
  } catch (const ServeError& refused) {
    return refuse_by(refused.why(), refused.text());
  } catch (const std::bad_alloc&) {
    return refuse_by(Refusal::kBusy, "out of memory; try again later");
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
}

template void Connection<PlainStream>::infer(const InferPath&);
template void Connection<TlsStream>::infer(const InferPath&);
template void Connection<PlainStream>::lend_job(const std::shared_ptr<ServedModel>&,
                                                void (*)(void*, Job*));
template void Connection<TlsStream>::lend_job(const std::shared_ptr<ServedModel>&,
                                              void (*)(void*, Job*));
template bool Connection<PlainStream>::is_gone(void*);
template bool Connection<TlsStream>::is_gone(void*);

}  // namespace ingot::serve
