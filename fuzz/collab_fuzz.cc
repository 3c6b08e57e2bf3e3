// SPDX-License-Identifier: Apache-2.0
// Any bytes through the decoder of collab: see run().
#include "codec_fuzz.h"
#include "dialect/dialect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const bool lenient : {false, true}) {
    parley::fuzz::run(parley::dialect::Dialect::collab, bytes, lenient);
  }
  return 0;
}
