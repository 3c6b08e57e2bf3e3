// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct ssl_ctx_st;
struct ssl_st;

namespace parley::lib {

// A wall around OpenSSL.

// What came of an attempt to move bytes without waiting.
struct IoResult {
  enum class Status : uint8_t {
    done,         // `bytes` were moved, at least one
    wants_read,   // again once the socket can be read
    wants_write,  // again once it can be written
    ended,        // the peer has ended its side
    failed,
  };
  Status status = Status::failed;
  size_t bytes = 0;
};

// Certificates and settings, shared by many streams; TLS 1.2 or newer.
class TlsContext {
 public:
  // The error names the file and what is wrong with it: not readable, no PEM, key of another
  // certificate.
  static std::expected<TlsContext, base::Error> server(const std::string& certificate_file,
                                                       const std::string& key_file);
  // Trusts `trusted_file` (PEM), or what the system trusts when it is empty.
  static std::expected<TlsContext, base::Error> client(const std::string& trusted_file);

 private:
  friend class TlsStream;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// TLS over a non-blocking socket, which it does not own. Never raises SIGPIPE.
class TlsStream {
 public:
  // A server's end.
  TlsStream(const TlsContext& context, int socket);
  // A client's end, which wants a certificate for `host`, a name or an address.
  TlsStream(const TlsContext& context, int socket, const std::string& host);

  // To be called until it is done; reading and writing does the same by itself.
  IoResult handshake();
  IoResult read(char* to, size_t size);
  // May take a part. After wants_read or wants_write the same bytes must come first again.
  IoResult write(std::string_view bytes);
  // Tells the peer that nothing more comes. Once, and without waiting.
  void end();

  // What OpenSSL says about the last failure, such as that a certificate is not trusted.
  std::string failure() const;

 private:
  struct Free {
    void operator()(ssl_st* stream) const;
  };
  IoResult result(int outcome, size_t bytes);

  std::unique_ptr<ssl_st, Free> stream_;
  std::string failure_;
};

// SHA-1 as base64: the handshake of WebSocket wants it. Not for secrets.
std::string sha1_base64(std::string_view bytes);

}  // namespace parley::lib
