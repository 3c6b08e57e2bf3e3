// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/machine/tables.h"
#include "lib/json.h"

namespace parley::edge::tools {

// Answers of the API in the words of the tools: what a model needs of them, and nothing that it
// would pay for in vain. Each is a JSON object, as the output schema of its tool says.

std::string inbox_reply(lib::Json inbox, bool waited);
// What the sender wrote is in the member `message`, and nothing else is; what the broker says of it
// stands beside. `provenance` and `delivery` are the headers of those names; may be empty.
std::string message_reply(lib::Json message, std::string_view provenance,
                          std::string_view delivery = {});
std::string receipt_reply(lib::Json receipt);
std::string published_reply(lib::Json receipt);
// What was answered, of a response in flow.
std::string answer_reply(lib::Json answered);
// The same of a human, in few words.
std::string human_reply(lib::Json answered);
// The same of an approval, as it stands now.
std::string approval_reply(lib::Json approval);
std::string thread_reply(lib::Json thread);
std::string session_reply(lib::Json answered);
std::string agents_reply(lib::Json agents);

// Parts of `status`: who one is, and what is not finished.
std::string self_reply(lib::Json agent);
std::string tasks_reply(lib::Json tasks);

// What a model reads of a refusal: the code, what was wrong with which argument, what to do by
// tools. `to` is the tool's name for the receiver.
std::string refusal(const base::Error& error, std::string_view to = "to");
// The refusal of a message that was taken and reaches nobody, or that was not sent once more; empty
// where it reaches someone. The tables are those of the sender's workspace.
std::string undelivered(lib::Json receipt, const core::Tables& tables);

// The text, the number of a member; empty, 0 where there is none.
std::string text_of(lib::Json object, std::string_view key);
uint64_t number_of(lib::Json object, std::string_view key);

}  // namespace parley::edge::tools
