// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace parley::net {

// Goes with bytes to a connection and reports once what became of them: either all of them were
// handed to the operating system, or they never will be. Destroying the last copy without
// `end(true)` reports that they were lost. Bytes that the system has may still not reach the peer:
// only the peer could say that. On the server's thread.
class WriteReport {
 public:
  using Ended = std::function<void(bool is_written)>;

  explicit WriteReport(Ended ended) : ended_(std::move(ended)) {}
  ~WriteReport() { end(false); }
  WriteReport(const WriteReport&) = delete;
  WriteReport& operator=(const WriteReport&) = delete;

  // Tells it; does nothing from the second time on.
  void end(bool is_written) {
    if (const Ended ended = std::exchange(ended_, nullptr)) {
      ended(is_written);
    }
  }

 private:
  Ended ended_;
};

using Report = std::shared_ptr<WriteReport>;  // never null

}  // namespace parley::net
