// SPDX-License-Identifier: Apache-2.0
// Any text: what is found lies in it, in order, and none overlaps another.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/secrets/secrets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parley;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t behind = 0;
  for (const base::Secret& secret : base::find_secrets(text)) {
    CHECK(secret.kind < base::SecretKind::count);
    CHECK(secret.at >= behind);
    CHECK(secret.size > 0);
    CHECK(secret.size <= text.size() - secret.at);
    behind = secret.at + secret.size;
  }
  const size_t half = size / 2;
  base::Looks looks;
  (void)base::secret_in_member(text.substr(0, half), text.substr(half), looks);
  return 0;
}
