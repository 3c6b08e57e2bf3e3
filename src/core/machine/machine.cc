// SPDX-License-Identifier: Apache-2.0
#include "core/machine/machine.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "base/check.h"
#include "base/hash.h"
#include "core/machine/rooms.h"
#include "core/machine/snapshot.h"
#include "core/model/refusal.h"
#include "core/model/wire.h"

namespace parley::core {

namespace {

using base::Code;

// What the machine does itself, for all workspaces.
bool is_for_machine(const Command& command) {
  return std::holds_alternative<Tick>(command) || std::holds_alternative<StartNode>(command) ||
         std::holds_alternative<AddWorkspace>(command);
}

// A token names one principal in one workspace.
bool has_token_of_another(const std::map<WorkspaceId, Workspace>& workspaces, const Entry& entry) {
  const auto* const add = std::get_if<Register>(&entry.command);
  return add != nullptr && std::ranges::any_of(workspaces, [&](const auto& item) {
           return item.first != entry.workspace &&
                  item.second.tables().agents.find_token(add->token) != none;
         });
}

}  // namespace

Machine::Machine(uint64_t hash_seed) : hash_seed_(hash_seed) {
  workspaces_.try_emplace(workspace_first, workspace_first, "default", hash_seed);
}

Outcome Machine::apply(const Entry& entry, std::vector<Effect>& effects) {
  CHECK(entry.seq == seq_.next());
  CHECK(entry.time >= time_);
  seq_ = entry.seq;
  time_ = entry.time;
  if (!first_time(entry)) {
    return refuse(Code::conflict, "the command was applied before");
  }
  if (std::holds_alternative<Tick>(entry.command)) {
    on_tick(entry.time, effects);
    return Receipt{};
  }
  if (const auto* start = std::get_if<StartNode>(&entry.command)) {
    return on_start(entry, *start, effects);
  }
  if (const auto* add = std::get_if<AddWorkspace>(&entry.command)) {
    return on_add(entry, *add);
  }
  const auto at = workspaces_.find(entry.workspace);
  if (at == workspaces_.end()) {
    return refuse(Code::not_found, "there is no such workspace");
  }
  if (has_token_of_another(workspaces_, entry)) {
    return refuse(Code::conflict, "this token belongs to another principal");
  }
  return at->second.apply(entry, effects);
}

std::optional<Error> Machine::admit(const Entry& entry) const {
  const auto at = workspaces_.find(entry.workspace);
  // What is refused before the workspace is asked is not refused for the workspace's reasons.
  return is_for_machine(entry.command) || at == workspaces_.end() ||
                 has_token_of_another(workspaces_, entry)
             ? std::nullopt
             : at->second.admit(entry);
}

std::optional<Error> Machine::over_budget(const Entry& entry, uint64_t ahead) const {
  const Workspace* const workspace = find(entry.workspace);
  return workspace == nullptr ? std::nullopt : workspace->over_budget(entry, ahead);
}

bool Machine::was_applied(const CommandId& id) const {
  const auto at = origins_.find(id.origin);
  return at != origins_.end() && id.number <= at->second.number;
}

bool Machine::first_time(const Entry& entry) {
  if (was_applied(entry.id)) {
    return false;
  }
  origins_[entry.id.origin] = Origin{entry.id.number, entry.seq};
  forget_origins();
  return true;
}

void Machine::forget_origins() {
  if (origins_.size() > origins_max) {
    origins_.erase(
        std::ranges::min_element(origins_, {}, [](const auto& item) { return item.second.seen; }));
  }
}

void Machine::on_tick(Time now, std::vector<Effect>& effects) {
  for (auto& [id, workspace] : workspaces_) {
    if (workspace.next_deadline() <= now) {
      workspace.advance(now, effects);
    }
  }
}

Outcome Machine::on_start(const Entry& entry, const StartNode& command,
                          std::vector<Effect>& effects) {
  if (entry.actor != broker_name) {
    return refuse(Code::forbidden, "only a node says that it started");
  }
  const auto at = nodes_.find(command.node);
  if (at == nodes_.end() && nodes_.size() >= nodes_max) {
    return refuse(Code::limit_reached,
                  "the journal knows " + std::to_string(nodes_max) + " nodes already");
  }
  if (at != nodes_.end() && entry.id.origin < at->second) {
    end_life(entry.id.origin);
    return refuse(Code::conflict, "a later life of this node has begun");
  }
  if (at != nodes_.end() && at->second != entry.id.origin) {
    end_life(at->second);
    for (auto& [id, workspace] : workspaces_) {
      workspace.end_node_life(at->second, entry.time, effects);
    }
  }
  nodes_[std::string(command.node)] = entry.id.origin;
  return Receipt{};
}

// Whatever of it is still on its way to the journal does nothing: no one waits for it any more,
// and a stream that it opened would stay open.
void Machine::end_life(uint64_t origin) {
  origins_[origin] = Origin{std::numeric_limits<uint64_t>::max(), seq_};
  forget_origins();
}

uint64_t Machine::life_of(std::string_view node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? 0 : at->second;
}

Outcome Machine::on_add(const Entry& entry, const AddWorkspace& command) {
  const Tables& home = workspaces_.at(workspace_first).tables();
  const AgentRef actor = home.agents.find(entry.actor);
  const bool is_admin = actor != none && home.agents[actor].kind == PrincipalKind::admin;
  if (entry.workspace != workspace_first || (entry.actor != broker_name && !is_admin)) {
    return refuse(Code::forbidden, "only the first admin may add a workspace");
  }
  if (command.name.empty() || command.name.size() > home.rules.name_bytes_max) {
    return refuse(Code::bad_request, "a workspace's name is 1 to " +
                                         std::to_string(home.rules.name_bytes_max) + " bytes");
  }
  if (workspaces_.size() >= workspaces_max) {
    return refuse(Code::limit_reached,
                  "there are " + std::to_string(workspaces_max) + " workspaces already");
  }
  for (const auto& [id, workspace] : workspaces_) {
    if (workspace.name() == command.name) {
      return refuse(Code::conflict, "a workspace of this name exists");
    }
    if (workspace.tables().agents.find_token(command.admin_token) != none) {
      return refuse(Code::conflict, "this token belongs to another principal");
    }
  }
  const auto next = static_cast<WorkspaceId>(workspaces_.size());
  Workspace& added = workspaces_.try_emplace(next, next, command.name, hash_seed_).first->second;
  added.add_admin(command.admin_token, entry.time);
  return Receipt{.message = {}, .workspace = next};
}

Time Machine::next_deadline() const {
  Time next = base::time_max;
  for (const auto& [id, workspace] : workspaces_) {
    next = std::min(next, workspace.next_deadline());
  }
  return next;
}

const Workspace* Machine::find(WorkspaceId id) const {
  const auto at = workspaces_.find(id);
  return at == workspaces_.end() ? nullptr : &at->second;
}

std::string Machine::snapshot() const {
  std::string bytes(snapshot_magic);
  Writer out(bytes);
  out.seq(seq_);
  out.time(time_);
  out.varint(origins_.size());
  for (const auto& [origin, newest] : origins_) {
    out.fixed64(origin);
    out.varint(newest.number);
    out.seq(newest.seen);
  }
  out.varint(nodes_.size());
  for (const auto& [name, origin] : nodes_) {
    out.text(name);
    out.fixed64(origin);
  }
  out.varint(workspaces_.size());
  for (const auto& [id, workspace] : workspaces_) {
    out.varint(static_cast<uint32_t>(id));
    out.text(workspace.name());
    workspace.encode(out);
  }
  return bytes;
}

std::expected<Machine, Error> Machine::restore(std::string_view bytes, uint64_t hash_seed) {
  const auto damaged = [] {
    return refuse(Code::malformed_record,
                  "the snapshot is damaged or of another version of Parley; start the version that "
                  "wrote it, or put the data directory back from a backup");
  };
  if (!bytes.starts_with(snapshot_magic)) {
    return damaged();
  }
  Reader in(bytes.substr(snapshot_magic.size()));
  Machine machine(hash_seed);
  machine.seq_ = in.seq();
  machine.time_ = in.time();
  for (size_t left = in.count(8); left > 0; --left) {
    const uint64_t origin = in.fixed64();
    const uint64_t number = in.varint();
    machine.origins_[origin] = Origin{number, in.seq()};
  }
  for (size_t left = in.count(8); left > 0; --left) {
    const std::string name(in.text());
    machine.nodes_[name] = in.fixed64();
  }
  machine.workspaces_.clear();
  for (size_t left = in.count(); left > 0; --left) {
    // They are numbered without a gap.
    const auto id = static_cast<WorkspaceId>(machine.workspaces_.size());
    const bool in_order = in.varint() == machine.workspaces_.size();
    const std::string_view name = in.text();
    Workspace& added = machine.workspaces_.try_emplace(id, id, name, hash_seed).first->second;
    if (!in_order || !added.decode(in)) {
      return damaged();
    }
    bool from_later = false;
    added.tables().messages.each(
        [&](MessageRef, const Message& message) { from_later |= message.seq > machine.seq_; });
    if (from_later) {
      return damaged();
    }
  }
  if (!in.done() || !machine.workspaces_.contains(workspace_first)) {
    return damaged();
  }
  return machine;
}

uint64_t Machine::digest() const { return base::hash64(snapshot()); }

std::vector<Seq> Machine::live() const {
  std::vector<Seq> seqs;
  for (const auto& [id, workspace] : workspaces_) {
    add_live(workspace.tables(), seqs);
  }
  std::ranges::sort(seqs);
  const auto repeated = std::ranges::unique(seqs);
  seqs.erase(repeated.begin(), repeated.end());
  seqs.erase(seqs.begin(), std::ranges::upper_bound(seqs, Seq{}));  // about no message
  return seqs;
}

}  // namespace parley::core
