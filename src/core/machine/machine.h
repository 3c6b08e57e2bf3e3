// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/workspace.h"
#include "core/model/effect.h"
#include "core/model/entry.h"
#include "core/model/outcome.h"

namespace parley::core {

// All state of one journal, and the only thing that changes it: `apply`. Deterministic: machines
// that applied the same entries are equal, on every node and after every restart. Total: every
// entry has an outcome. Not thread-safe.
class Machine {
 public:
  // The seed is for look-up tables only and changes nothing that can be seen: a secret one keeps
  // senders from choosing ids that collide.
  explicit Machine(uint64_t hash_seed = 0);

  // Applies the next entry. Its effects are appended. An entry whose command was applied before
  // (its id says so) changes nothing; see `was_applied`.
  Outcome apply(const Entry& entry, std::vector<Effect>& effects);

  // Why `apply` would refuse an entry with this time, if that is certain by the present state; none
  // when it must be applied to find out. An entry that is refused here changes nothing but what is
  // known of its command's id, so it need not be written. Its place and id do not matter.
  std::optional<Error> admit(const Entry& entry) const;

  // The same of an actor that has had too much stored: see Workspace::over_budget.
  std::optional<Error> over_budget(const Entry& entry, uint64_t ahead) const;

  // When a Tick is due; time_max when none is.
  Time next_deadline() const;

  Seq seq() const { return seq_; }  // of the newest entry
  Time time() const { return time_; }

  // nullptr when there is none with this number.
  const Workspace* find(WorkspaceId id) const;
  const std::map<WorkspaceId, Workspace>& workspaces() const { return workspaces_; }

  // True if the command was applied already, so that appending it again would change nothing.
  bool was_applied(const CommandId& id) const;

  // The origin of a node's present life; 0 when it never started. A later life has a greater one,
  // and with it nothing of the earlier ones is applied any more.
  uint64_t life_of(std::string_view node) const;

  // The state as bytes, and a machine from such bytes; an error when they are damaged or of
  // another version. The digest is the same for equal states.
  std::string snapshot() const;
  static std::expected<Machine, Error> restore(std::string_view bytes, uint64_t hash_seed = 0);
  uint64_t digest() const;

  // Places of messages whose bodies are still needed, ascending.
  std::vector<Seq> live() const;

  static constexpr size_t origins_max = 1'024;
  static constexpr size_t nodes_max = 256;
  static constexpr size_t workspaces_max = 1'024;

 private:
  // The newest command of a node's life. Commands of one life come in order, so one number tells
  // all that were applied.
  struct Origin {
    uint64_t number = 0;
    Seq seen;
  };

  bool first_time(const Entry& entry);
  void forget_origins();
  void end_life(uint64_t origin);
  Outcome on_start(const Entry& entry, const StartNode& command, std::vector<Effect>& effects);
  Outcome on_add(const Entry& entry, const AddWorkspace& command);
  void on_tick(Time now, std::vector<Effect>& effects);

  uint64_t hash_seed_;
  Seq seq_;
  Time time_;
  std::map<uint64_t, Origin> origins_;
  std::map<std::string, uint64_t, std::less<>> nodes_;  // name to the origin of its present life
  std::map<WorkspaceId, Workspace> workspaces_;
};

}  // namespace parley::core
