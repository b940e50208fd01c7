// SPDX-License-Identifier: Apache-2.0
// What a connection does for vectors of texts: each text is a run of the model, one behind another.
#include <boost/asio/post.hpp>

#include "tools/serve/http/connection.h"
#include "tools/serve/http/content_encoding.h"
#include "tools/serve/protocol/embeddings.h"

namespace ingot::serve {

template <class Stream>
void Connection<Stream>::embed() {
  boost::asio::post(settings_.workers->decode, [self = this->shared_from_this()] {
    const auto executor = self->stream_.get_executor();
    try {
      Job& job = *self->job_;
      decode_body(view(self->parser_->get()[boost::beast::http::field::content_encoding]),
                  std::min(self->service_.max_body, largest_completion(self->service_)),
                  &self->service_.jobs, &job);
      const std::string_view body(reinterpret_cast<const char*>(job.body.data()), job.body.size());
      self->embeddings_ =
          std::make_shared<Embeddings>(read_embeddings(self->service_.repository, body));
      boost::asio::post(executor, [self] { self->embed_next(false); });
    } catch (const ServeError& refused) {
      boost::asio::post(executor, [self, refused] { self->reply_error(refused); });
    } catch (const std::exception&) {
      boost::asio::post(executor, [self] {
        self->reply_error({Refusal::kBusy, "out of memory; try again later"});
      });
    }
  });
}

template <class Stream>
void Connection<Stream>::embed_next(bool has_run) {
  Embeddings& request = *embeddings_;
  try {
    if (has_run && job_->failed) refuse(job_->why, job_->error);
    if (has_run) add_embedding(EmbeddingModel::vector(*job_), &request);
    if (request.done == request.inputs.size()) {
      end_embeddings(&request);
      const std::string body = std::move(request.reply);
      embeddings_.reset();
      return reply({200, body});
    }
    EmbeddingModel::ask(request.inputs[request.done], job_.get());
    lend_job(request.model, on_embedded);
  } catch (const ServeError& refused) {
    embeddings_.reset();
    reply_error(refused);
  } catch (const std::bad_alloc&) {
    embeddings_.reset();
    self_.reset();
    reply_error({Refusal::kBusy, "out of memory; try again later"});
  }
}

template <class Stream>
void Connection<Stream>::on_embedded(void* user, Job*) {
  const auto self = std::move(static_cast<Connection*>(user)->self_);
  boost::asio::post(self->stream_.get_executor(), [self] { self->embed_next(true); });
}

template void Connection<PlainStream>::embed();
template void Connection<TlsStream>::embed();

}  // namespace ingot::serve
