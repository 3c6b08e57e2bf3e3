// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/secrets/secrets.h"
#include "core/model/envelope.h"
#include "core/model/rules.h"
#include "lib/json.h"

// What becomes of passwords, keys and tokens in what clients send (SP-11): base/secrets finds them,
// the policy of the workspace decides. All that reaches the journal passes here first, but for
// private flags, which moderators alone can see, and for registrations, whose webhooks may need
// one.
namespace parley::edge {

// A JSON value as the policy lets it pass.
struct Screened {
  lib::Json value;
  std::vector<std::string> warnings{};            // kind and place of each, never the secret
  std::unique_ptr<lib::JsonDocument> document{};  // of the value, where it was written anew
};

// Looks at all strings, names of members too, in the form that their readers see. Fails with
// secret_found and the place of the first one where the policy is to refuse; with
// payload_too_large where there is no room for what stands in place of them. Where the looks do not
// suffice, a warning says so; what may have no secret is refused then with secret_found.
std::expected<Screened, base::Error> screened(lib::Json value, core::SecretsPolicy policy,
                                              base::Looks& looks);

// A name that cannot be written in another way: secret_found where there is one in it, unless the
// policy lets it pass.
std::expected<void, base::Error> screen_name(std::string_view name, core::SecretsPolicy policy);

// Of a message that was written anew: secret_found where a name in it was, such as its id or that
// of its thread. Two that are not the same would have one name.
std::expected<void, base::Error> screen_names(const core::Envelope& envelope);

// The JSON text of a value without secrets, whatever the policy is: for what is kept of a message
// that is refused. Looks only at what stands in its first `bytes_max` bytes, and may end anywhere
// behind them; before them where the looks end, and a little where a secret was taken out.
std::string text_without_secrets(lib::Json value, size_t bytes_max, base::Looks& looks);

}  // namespace parley::edge
