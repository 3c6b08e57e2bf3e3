// SPDX-License-Identifier: Apache-2.0
#include "edge/private_flags.h"

#include <memory>

#include "base/text.h"
#include "core/model/entry.h"
#include "edge/api/context.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace {

using base::Code;

struct Attempt {
  Context& context;
  Principal caller;
  RaisedFlag flag;
  node::Broker::Done done;
  int left = 8;
};

void go_on(Context& context);

void attempt(const std::shared_ptr<Attempt>& now) {
  const core::Tables& t = now->context.tables(now->caller.workspace);
  core::RaiseFlag command{.id = now->flag.id,
                          .text = now->flag.text,
                          .problem = now->flag.problem,
                          .summary = now->flag.summary,
                          .digest = lib::sha256(now->flag.text),
                          .previous = t.flags.head()};
  command.hash = chained(command.previous, now->caller.name, command.id, command.digest);
  now->context.ask(now->caller, command,
                   [now](const core::Outcome& outcome, std::span<const core::Effect> effects) {
                     if (!outcome && outcome.error().code == Code::conflict && --now->left > 0) {
                       attempt(now);  // one that came by way of another node was first
                       return;
                     }
                     now->done(outcome, effects);
                     now->context.flags->is_busy = false;
                     // In a later turn: what is refused at the door is told at once.
                     now->context.deferred.push(caller_id(now->caller),
                                                [&context = now->context] { go_on(context); });
                   });
}

void go_on(Context& context) {
  FlagLine& line = *context.flags;
  if (!line.is_busy && !line.waiting.empty()) {
    line.is_busy = true;
    line.waiting.pop()();
  }
}

}  // namespace

core::FlagHash chained(const core::FlagHash& previous, std::string_view sender,
                       const base::MessageId& id, const core::FlagHash& digest) {
  std::string all;
  const auto add = [&all](const auto& bytes) {
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  add(previous);
  add(digest);
  add(id.bytes);
  add(sender);
  return lib::sha256(all);
}

void raise_flag(Context& context, const Principal& caller, RaisedFlag flag,
                node::Broker::Done done) {
  const core::Rules& rules = context.tables(caller.workspace).rules;
  if (flag.text.size() > rules.flag_bytes_max) {
    flag.problem = "it has " + std::to_string(flag.text.size()) +
                   " bytes, and this is the beginning of it (flag_bytes_max)";
    flag.text = base::cut(flag.text, rules.flag_bytes_max);
  }
  flag.problem = base::cut(flag.problem, rules.reason_bytes_max);
  flag.summary = base::cut(flag.summary, rules.reason_bytes_max);
  FlagLine& line = *context.flags;
  const net::CallerId id = caller_id(caller);
  if (line.counts[id] >= FlagLine::per_caller_max) {
    done(std::unexpected(Error{Code::overloaded,
                               "you have " + std::to_string(FlagLine::per_caller_max) +
                                   " flags on their way; send this one again when they are told",
                               {}}),
         {});
    return;
  }
  ++line.counts[id];
  const auto waiting =
      std::make_shared<Attempt>(context, caller, std::move(flag), std::move(done));
  line.waiting.push(id, [waiting, id] {
    std::map<net::CallerId, size_t>& counts = waiting->context.flags->counts;
    if (--counts[id] == 0) {
      counts.erase(id);
    }
    attempt(waiting);
  });
  go_on(context);
}

std::expected<RaisedFlag, Error> flag_at(node::Broker& broker, core::WorkspaceId workspace,
                                         base::Seq record) {
  const auto bytes = broker.records().read(record);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  const auto entry = core::decode_entry(record, base::Time{}, *bytes);
  const auto* const flag = entry && entry->workspace == workspace
                               ? std::get_if<core::RaiseFlag>(&entry->command)
                               : nullptr;
  if (flag == nullptr) {
    return std::unexpected(Error{Code::not_found, "there is nothing at this place", {}});
  }
  return RaisedFlag{.id = flag->id,
                    .text = std::string(flag->text),
                    .problem = std::string(flag->problem),
                    .summary = std::string(flag->summary)};
}

}  // namespace parley::edge
