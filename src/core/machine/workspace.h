// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/tables.h"
#include "core/model/effect.h"
#include "core/model/entry.h"
#include "core/model/outcome.h"

namespace parley::core {

// One workspace: its tables, and the order in which things happen to them. What a command does is
// in the room of its concern (`on(Context&, ...)`). Isolated by construction: it sees no other.
// What changes it is total and deterministic.
class Workspace {
 public:
  Workspace(WorkspaceId id, std::string_view name, uint64_t hash_seed);

  // Lets time pass up to the entry's, then does what it asks. Appends to `effects`.
  Outcome apply(const Entry& entry, std::vector<Effect>& effects);

  // Lets time pass: ends leases and delays, expires messages, forgets what is old. Does a bounded
  // part of it when much is due at once; next_deadline() then still says so.
  void advance(Time now, std::vector<Effect>& effects);

  // A life of a node is over. Its streams close, and what they held waits again; who waited by way
  // of it for a lock or an answer waits no more; the broadcasts that it kept in memory end.
  void end_node_life(uint64_t life, Time now, std::vector<Effect>& effects);

  // Why `apply` would refuse the entry, if that is certain and would leave nothing behind; none
  // when it must be applied to find out.
  std::optional<Error> admit(const Entry& entry) const;

  // Why the entry would be refused because its actor has had too much stored already. As certain as
  // `admit`, and also while others of the actor's entries are on their way: those can only add, and
  // `ahead` is what they have (`stored_bytes`).
  std::optional<Error> over_budget(const Entry& entry, uint64_t ahead) const;

  // Makes the first admin, who can then register others.
  void add_admin(const TokenHash& token, Time now);

  // When there is work next; time_max when there is none.
  Time next_deadline() const;

  WorkspaceId id() const { return id_; }
  const std::string& name() const { return name_; }
  const Tables& tables() const { return t_; }

  // The whole state in its one canonical form; `decode` is for a workspace that is new, and false
  // when the bytes are no such state.
  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  std::expected<AgentRef, Error> actor_of(const Entry& entry) const;

  WorkspaceId id_;
  std::string name_;
  Tables t_;
};

}  // namespace parley::core
