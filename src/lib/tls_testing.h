// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <string>

#include "base/check.h"

namespace parley::lib {

// For tests only: writes a new key and a certificate of its own for localhost and 127.0.0.1, good
// for an hour, as PEM files.
inline void write_test_certificate(const std::string& certificate_file,
                                   const std::string& key_file) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  CHECK(key != nullptr);
  X509* certificate = X509_new();
  CHECK(certificate != nullptr);
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  CHECK(names != nullptr);
  X509_add_ext(certificate, names, -1);
  X509_EXTENSION_free(names);
  CHECK(X509_sign(certificate, key, EVP_sha256()) != 0);
  std::FILE* out = std::fopen(certificate_file.c_str(), "w");
  CHECK(out != nullptr);
  PEM_write_X509(out, certificate);
  std::fclose(out);
  out = std::fopen(key_file.c_str(), "w");
  CHECK(out != nullptr);
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace parley::lib
