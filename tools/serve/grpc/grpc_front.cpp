// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/grpc/grpc_front.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <sstream>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/serve/grpc/grpc_service.h"

namespace ingot::serve {
namespace {

std::string text_of_file(const std::string& path) {
  host::InputStream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::shared_ptr<grpc::ServerCredentials> credentials(const GrpcSettings& settings) {
  if (settings.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {text_of_file(settings.key), text_of_file(settings.certificate)});
  return grpc::SslServerCredentials(options);
}

}  // namespace

class GrpcFront::Listener {
 public:
  Listener(Service& service, Workers& workers, const GrpcSettings& settings)
      : calls_(service, workers) {
    const bool is_v6 = settings.address.find(':') != std::string::npos;
    host_ = is_v6 ? "[" + settings.address + "]" : settings.address;
    const std::string at = host_ + ":" + std::to_string(settings.port);
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota("ingot-serve");
    quota.Resize(size_t(settings.body_bytes));
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(
        int(std::min<uint64_t>(service.max_body + 65536, uint64_t{1} << 30)));
    builder.SetMaxSendMessageSize(-1);
    // the library inflates a message without a limit
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    // another server on the port is an error, and not another half of the calls
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(at, credentials(settings), &port_);
    builder.RegisterService(&calls_);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0)
      host::fail(
          host::Exit::kUnavailable,
          at + ": cannot be listened on for gRPC; another: ingot serve --grpc-port PORT, none: "
               "--no-grpc");
  }

  std::string url() const { return "grpc://" + host_ + ":" + std::to_string(port_); }
  void stop() {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_->Wait();
  }

 private:
  GrpcService calls_;
  std::string host_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

GrpcFront::GrpcFront(Service& service, Workers& workers, const GrpcSettings& settings)
    : listener_(std::make_unique<Listener>(service, workers, settings)) {}
GrpcFront::~GrpcFront() = default;
std::string GrpcFront::url() const { return listener_->url(); }
void GrpcFront::stop() { listener_->stop(); }

}  // namespace ingot::serve
