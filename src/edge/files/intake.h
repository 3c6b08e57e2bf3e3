// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "edge/api/context.h"
#include "edge/files/jobs.h"
#include "edge/files/options.h"
#include "lib/json.h"

namespace parley::edge::files {

// Whose box a file was found in: an agent of squad, or people, or everyone.
struct BoxOwner {
  BoxKind kind = BoxKind::agent;
  std::string name;  // of the agent
};

// Sends what agents put into the tree, as a request over HTTP by the named sender would: the same
// checks, the same limits, the same screening for secrets. Who is named must be one whose word the
// owner of the file may say. A file is sent again after a crash; its id, or where it has none the
// file itself, makes that one message. An answer may be found before the question that its sender
// has read and archived: it waits for that a while. On the server's thread.
class Intake {
 public:
  struct Host {
    std::function<void(Job)> work;
    // The file is the message `seq` now. It may stay as it is if it says the same as the broker
    // would.
    std::function<void(const Found& found, base::Seq seq, bool may_stay)> taken;
  };
  Intake(Context& context, const Options& options, Host host);

  // Answers with a job, perhaps before this returns.
  void take(Found found, const BoxOwner& owner);

 private:
  std::expected<Principal, base::Error> sender_of(const Found& found, const BoxOwner& owner,
                                                  lib::Json message) const;
  std::optional<base::Seq> known(const Found& found, const BoxOwner& owner,
                                 lib::Json message) const;
  bool comes_early(const Found& found, const Principal& sender, lib::Json message);
  void postpone(const Found& found, base::Duration pause);
  void finish(const Found& found, const core::Outcome& outcome);
  bool may_stay(const Found& found, base::Seq seq);
  void refuse(const Found& found, const base::Error& error);

  Context& context_;
  const Options& options_;
  const Host host_;
  const uint32_t own_uid_;
  std::map<std::string, base::Time> early_;  // by file: since when it waits for its question
  lib::JsonDocument document_;               // of the file; a codec reads in the context's
};

}  // namespace parley::edge::files
