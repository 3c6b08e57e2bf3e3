// SPDX-License-Identifier: Apache-2.0
#include "lib/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>

#include "base/check.h"

namespace parley::lib {

namespace {

using base::Code;
using base::Error;

// The oldest error of OpenSSL's queue, which names the cause; the queue is empty afterwards.
std::string take_openssl_error() {
  const unsigned long number = ERR_get_error();
  ERR_clear_error();
  if (number == 0) {
    return "no reason given";
  }
  const char* reason = ERR_reason_error_string(number);
  return reason != nullptr ? reason : "error " + std::to_string(number);
}

std::unexpected<Error> refuse(std::string detail) {
  return std::unexpected(Error{Code::bad_request, std::move(detail), {}});
}

// Said before OpenSSL tries, whose words for a missing file help nobody.
std::expected<void, Error> check_readable(const char* what, const std::string& file) {
  if (!std::ifstream(file).is_open()) {
    return refuse("cannot read the " + std::string(what) + " \"" + file +
                  "\": " + std::strerror(errno));
  }
  return {};
}

// A BIO over a socket that never raises SIGPIPE, as OpenSSL's own does.
int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

bool is_would_block(int number) { return number == EAGAIN || number == EWOULDBLOCK; }

int bio_write(BIO* bio, const char* from, size_t size, size_t* written) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(socket_of(bio), from, size, MSG_NOSIGNAL);
  if (sent < 0) {
    if (is_would_block(errno) || errno == EINTR) {
      BIO_set_retry_write(bio);
    }
    return 0;
  }
  *written = static_cast<size_t>(sent);
  return 1;
}

int bio_read(BIO* bio, char* to, size_t size, size_t* read) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(socket_of(bio), to, size, 0);
  if (got <= 0) {
    if (got < 0 && (is_would_block(errno) || errno == EINTR)) {
      BIO_set_retry_read(bio);
    }
    return 0;
  }
  *read = static_cast<size_t>(got);
  return 1;
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* bio_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    CHECK(made != nullptr);
    BIO_meth_set_write_ex(made, bio_write);
    BIO_meth_set_read_ex(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

SSL* make_stream(SSL_CTX* context, int socket) {
  SSL* stream = SSL_new(context);
  CHECK(stream != nullptr);
  BIO* bio = BIO_new(bio_method());
  CHECK(bio != nullptr);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(stream, bio, bio);
  return stream;
}

SSL_CTX* make_context(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new(method);
  CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // Of TLS 1.2 only what keeps old traffic secret when a key is lost, and has no padding to guess.
  CHECK(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // RELEASE_BUFFERS: an idle connection costs no 34 KiB of buffers.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  return context;
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void TlsStream::Free::operator()(ssl_st* stream) const { SSL_free(stream); }

std::expected<TlsContext, Error> TlsContext::server(const std::string& certificate_file,
                                                    const std::string& key_file) {
  if (auto readable = check_readable("TLS certificate", certificate_file); !readable) {
    return std::unexpected(readable.error());
  }
  if (auto readable = check_readable("TLS key", key_file); !readable) {
    return std::unexpected(readable.error());
  }
  TlsContext made;
  made.context_.reset(make_context(TLS_server_method()));
  SSL_CTX* context = made.context_.get();
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return refuse("\"" + certificate_file +
                  "\" is not a TLS certificate in PEM form: " + take_openssl_error());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long number = ERR_peek_error();
    if (ERR_GET_REASON(number) == X509_R_KEY_VALUES_MISMATCH) {
      ERR_clear_error();
      return refuse("the key \"" + key_file + "\" does not belong to the certificate \"" +
                    certificate_file + "\"");
    }
    return refuse("\"" + key_file + "\" is not a private key in PEM form without a passphrase: " +
                  take_openssl_error());
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    ERR_clear_error();
    return refuse("the key \"" + key_file + "\" does not belong to the certificate \"" +
                  certificate_file + "\"");
  }
  return made;
}

std::expected<TlsContext, Error> TlsContext::client(const std::string& trusted_file) {
  TlsContext made;
  made.context_.reset(make_context(TLS_client_method()));
  SSL_CTX* context = made.context_.get();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ERR_clear_error();
  if (trusted_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return made;
  }
  if (auto readable = check_readable("trusted certificates", trusted_file); !readable) {
    return std::unexpected(readable.error());
  }
  if (SSL_CTX_load_verify_file(context, trusted_file.c_str()) != 1) {
    return refuse("\"" + trusted_file +
                  "\" holds no certificates in PEM form: " + take_openssl_error());
  }
  return made;
}

TlsStream::TlsStream(const TlsContext& context, int socket)
    : stream_(make_stream(context.context_.get(), socket)) {
  SSL_set_accept_state(stream_.get());
}

TlsStream::TlsStream(const TlsContext& context, int socket, const std::string& host)
    : stream_(make_stream(context.context_.get(), socket)) {
  SSL* stream = stream_.get();
  // An address is checked against the certificate's addresses, and is not sent as a name.
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream), host.c_str()) != 1) {
    ERR_clear_error();
    SSL_set_tlsext_host_name(stream, host.c_str());
    SSL_set1_host(stream, host.c_str());
  }
  SSL_set_connect_state(stream);
}

IoResult TlsStream::result(int outcome, size_t bytes) {
  using Status = IoResult::Status;
  if (outcome == 1) {
    return {Status::done, bytes};
  }
  switch (SSL_get_error(stream_.get(), outcome)) {
    case SSL_ERROR_WANT_READ:
      return {Status::wants_read};
    case SSL_ERROR_WANT_WRITE:
      return {Status::wants_write};
    case SSL_ERROR_ZERO_RETURN:
      return {Status::ended};
    default:
      break;
  }
  const long verified = SSL_get_verify_result(stream_.get());
  failure_ = verified != X509_V_OK ? X509_verify_cert_error_string(verified) : take_openssl_error();
  ERR_clear_error();
  return {Status::failed};
}

IoResult TlsStream::handshake() {
  ERR_clear_error();
  return result(SSL_do_handshake(stream_.get()), 0);
}

IoResult TlsStream::read(char* to, size_t size) {
  ERR_clear_error();
  size_t bytes = 0;
  const int outcome = SSL_read_ex(stream_.get(), to, size, &bytes);
  return result(outcome, bytes);
}

IoResult TlsStream::write(std::string_view bytes) {
  ERR_clear_error();
  size_t written = 0;
  const int outcome = SSL_write_ex(stream_.get(), bytes.data(), bytes.size(), &written);
  return result(outcome, written);
}

void TlsStream::end() {
  ERR_clear_error();
  if (SSL_is_init_finished(stream_.get())) {
    SSL_shutdown(stream_.get());
  }
  ERR_clear_error();
}

std::string TlsStream::failure() const { return failure_; }

std::string sha1_base64(std::string_view bytes) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::array<unsigned char, 4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1> text;
  const int size = EVP_EncodeBlock(text.data(), digest.data(), digest.size());
  return {reinterpret_cast<const char*>(text.data()), static_cast<size_t>(size)};
}

}  // namespace parley::lib
