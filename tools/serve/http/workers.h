// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/workers.h - threads for what would hold up the ones that read and write
// connections: each kind has its own, so that none waits for another.
#pragma once
#include <boost/asio/thread_pool.hpp>

namespace ingot::serve {

struct Workers {
  boost::asio::thread_pool loads{4};   // models that are loaded, each of another name
  boost::asio::thread_pool folder{1};  // the index, which reads the repository's folder
  boost::asio::thread_pool decode{2};  // long bodies and answers: compression, JSON
};

}  // namespace ingot::serve
