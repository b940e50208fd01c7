// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/options/serve_options.h"

#include "runtime/include/ingot/ingot.h"

namespace ingot::serve {

const char* const kServeSummary =
    "Serve a repository of models over HTTP and gRPC (KServe v2, OpenAI)";
const char* const kServeExamples =
    "  ingot registry add digits.ingot digits --root models && ingot serve models\n"
    "  ingot serve models --tag prod --max-batch 32 --batch-delay-us 500\n"
    "  ingot serve models --address 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --token-file "
    "token\n"
    "  curl localhost:8000/v2/models/digits";

void declare_serve_options(CLI::App* command, ServeOptions* options) {
  const auto text = [&](const char* name, std::string& value, const char* help, const char* type) {
    return command->add_option(name, value, help)->type_name(type);
  };
  const auto number = [&](const char* name, uint32_t& value, uint32_t low, uint32_t high,
                          const char* help, const char* type = "N") {
    const std::string range = std::to_string(low) + " to " + std::to_string(high);
    command->add_option(name, value, std::string(help) + "; " + range)
        ->type_name(type)
        ->check(CLI::Range(low, high).description(""))
        ->capture_default_str();
  };
  ServeOptions& o = *options;
  text("REPOSITORY", o.repository,
       "the folder: NAME/VERSION/model.ingot, as ingot registry keeps it; or one model of "
       "INGOT_REGISTRY: registry:NAME@TAG",
       "")
      ->required()
      ->envname("INGOT_REGISTRY");
  text("--tag", o.tag,
       "the version that a request without one means, by tag or number, else the highest", "TAG");
  text("--device", o.device, "where models run: auto, cpu, cuda, cuda:N", "DEVICE")
      ->capture_default_str();
  text("--map", o.map,
       "share: weights are mapped from the files; copy: for files that others may write",
       "share|copy")
      ->check(CLI::IsMember({"share", "copy"}).description(""))
      ->capture_default_str();
  number("--threads", o.threads, 0, INGOT_MAX_THREADS,
         "threads of one run; auto or 0: chosen for each model", "N|auto");
  command->get_option("--threads")->transform([](const std::string& threads) {
    return threads == "auto" ? std::string("0") : threads;
  });
  number("--instances", o.instances, 0, 64,
         "runs of one model at once, each with an arena; 0: 1, and none of a language model with "
         "slots");
  number("--max-batch", o.max_batch, 1, 65536,
         "rows that one run computes at most, of models whose first dimension is dynamic");
  number("--batch-delay-us", o.batch_delay_us, 0, 10000000,
         "how long a request waits for others, in microseconds; 0: those that wait already");
  command->add_flag("--no-batching", o.no_joining, "compute each request by itself");
  number("--max-queue", o.max_queue, 1, 1000000,
         "requests that wait for a model; more are refused");
  number("--max-run-seconds", o.max_run_seconds, 1, 86400,
         "how long one run may take; it is stopped then, and its requests get 504", "S");
  command
      ->add_option(
          "--max-run-steps", o.max_run_steps,
          "instructions that a run may have at most, loops as often as their bounds allow; "
          "models with more, or without a bound, are not loaded; 0: any")
      ->type_name("N")
      ->capture_default_str();
  number("--max-sequences", o.max_sequences, 1, 1000000,
         "sequences of a model with state that have not ended; more are refused");
  number("--sequence-idle-seconds", o.sequence_idle_seconds, 1, 86400,
         "a sequence without requests is dropped after this time", "S");
  number("--slots", o.slots, 0, 64,
         "answers of a language model at once, each with caches of its own; 0: no /v1 paths");
  number("--lookup", o.lookup, 0, 63,
         "tokens that look-up proposes for a run at most, of those that the model's file was "
         "converted for; 0: none");
  number("--max-queued-answers", o.max_queued_answers, 1, 100000,
         "requests that wait for a slot; more are refused");
  number("--max-answer-seconds", o.max_answer_seconds, 1, 86400,
         "from a request to the last token of its answer", "S");
  text("--address", o.address, "address to listen on", "ADDRESS")->capture_default_str();
  number("--http-port", o.http_port, 0, 65535, "0: one that is free, which is printed", "PORT");
  number("--grpc-port", o.grpc_port, 0, 65535, "as --http-port", "PORT");
  command->add_flag("--no-grpc", o.no_grpc, "HTTP alone");
  text("--tls-cert", o.certificate, "encrypt with this chain of certificates", "CERT.pem");
  text("--tls-key", o.key, "the certificate's private key", "KEY.pem");
  text("--token-file", o.token_file, "ask for the bearer token that the file has", "TOKEN.txt");
  command->add_flag("--insecure", o.insecure,
                    "listen beyond this machine without a token and without TLS: whoever reaches "
                    "it may run, load and unload models");
  command
      ->add_option(
          "--allow-host", o.allowed_hosts,
          "a name of the server, whose pages may ask too; addresses and local names need none "
          "(repeatable)")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command->add_flag("--access-log", o.access_log, "a line of each request on standard output");
  command->add_flag("--shared-memory", o.shared_memory,
                    "let clients name shared memory of this machine that the server may open");
  text("--max-body", o.max_body, "bytes of one request", "BYTES")->capture_default_str();
  text("--max-bodies", o.max_bodies, "bytes of all requests at once", "BYTES")
      ->capture_default_str();
  number("--max-connections", o.max_connections, 1, 1000000,
         "connections at once; more are closed");
  number("--idle-seconds", o.idle_seconds, 1, 86400,
         "a connection without a request is closed after this time", "S");
  number("--request-seconds", o.request_seconds, 1, 3600,
         "time to receive a request, and to send its answer", "S");
  number("--drain-seconds", o.drain_seconds, 0, 3600,
         "how long SIGTERM waits for requests that have begun", "S");
  number("--io-threads", o.io_threads, 1, 64, "threads that read and write connections");
}

}  // namespace ingot::serve
