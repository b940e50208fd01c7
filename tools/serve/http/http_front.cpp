// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/http/http_front.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "tools/files/failure.h"
#include "tools/serve/http/connection.h"
#include "tools/serve/http/tls.h"

namespace ingot::serve {

namespace asio = boost::asio;
using asio::ip::tcp;

class HttpFront::Listener {
 public:
  Listener(asio::io_context& loop, Workers& workers, Service& service, const HttpSettings& settings)
      : loop_(loop),
        service_(service),
        max_connections_(settings.max_connections),
        strand_(asio::make_strand(loop)),
        acceptor_(strand_),
        pause_(strand_) {
    if (!settings.certificate.empty())
      tls_.emplace(tls_context(settings.certificate, settings.key));
    shared_.service = &service;
    shared_.workers = &workers;
    shared_.idle = std::chrono::seconds(settings.idle_seconds);
    shared_.request = std::chrono::seconds(settings.request_seconds);
    listen(settings);
    accept();
  }

  std::string url() const {
    const tcp::endpoint at = acceptor_.local_endpoint();
    const std::string address =
        at.address().is_v6() ? "[" + at.address().to_string() + "]" : at.address().to_string();
    return (tls_ ? "https://" : "http://") + address + ":" + std::to_string(at.port());
  }

  void stop() {
    asio::post(strand_, [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
    });
  }

 private:
  void listen(const HttpSettings& settings) {
    const std::string where = settings.address + " port " + std::to_string(settings.port) + ": ";
    boost::system::error_code error;
    const auto address = asio::ip::make_address(settings.address, error);
    if (error)
      host::fail(host::Exit::kUsage, "--address " + settings.address +
                                         ": expected an address as 127.0.0.1, 0.0.0.0 or ::");
    const tcp::endpoint at(address, settings.port);
    acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      host::fail(host::Exit::kUnavailable, where + "cannot be listened on: " + error.message() +
                                               "; another: ingot serve --http-port PORT");
  }

  void accept() {
    acceptor_.async_accept(asio::make_strand(loop_),
                           [this](boost::system::error_code error, tcp::socket socket) {
                             if (!acceptor_.is_open()) return;
                             if (error) return pause();
                             accept();
                             take(std::move(socket));
                           });
  }

  /// Descriptors or memory have run out: connections that wait are taken when there are some again.
  void pause() {
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([this](boost::system::error_code error) {
      if (!error && acceptor_.is_open()) accept();
    });
  }

  void take(tcp::socket socket) {
    if (service_.connections >= max_connections_) {
      service_.refused_connections++;
      return;  // which closes it
    }
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    boost::beast::tcp_stream stream(std::move(socket));
    if (tls_)
      std::make_shared<Connection<TlsStream>>(TlsStream(std::move(stream), *tls_), shared_)
          ->start();
    else
      std::make_shared<Connection<PlainStream>>(std::move(stream), shared_)->start();
  }

  asio::io_context& loop_;
  Service& service_;
  const uint64_t max_connections_;
  // Threads share the loop: what accepts, pauses and closes is one at a time.
  asio::strand<asio::io_context::executor_type> strand_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::optional<asio::ssl::context> tls_;
  ConnectionSettings shared_;
};

HttpFront::HttpFront(asio::io_context& loop, Workers& workers, Service& service,
                     const HttpSettings& settings)
    : listener_(std::make_unique<Listener>(loop, workers, service, settings)) {}
HttpFront::~HttpFront() = default;
std::string HttpFront::url() const { return listener_->url(); }
void HttpFront::stop() { listener_->stop(); }

}  // namespace ingot::serve
