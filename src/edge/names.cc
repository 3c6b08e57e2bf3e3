// SPDX-License-Identifier: Apache-2.0
#include "edge/names.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/text.h"
#include "lib/crypto.h"

namespace parley::edge {

namespace {

using base::Code;
using base::Error;

// The lower half of every id that is made of this text.
uint64_t half_of(std::string_view text) {
  return dialect::message_id_of(lib::derived_id, {}, text).low();
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// A message that waits is meant rather than one that is settled.
int rank(core::State state) {
  return !core::is_final(state) ? 2 : state == core::State::acked ? 1 : 0;
}

}  // namespace

// The message that the caller received under this id; `core::none` when there is none.
std::expected<core::MessageRef, Error> Names::received(
    std::string_view id, std::span<const std::string_view> from) const {
  std::vector<core::MessageRef> found = t_.messages.find_named(caller_.ref, half_of(id));
  const auto is_of = [&](core::MessageRef ref) {
    const std::string& sender = t_.agents[t_.messages.message(ref).sender].name;
    return std::ranges::find(from, sender) != from.end();
  };
  if (std::ranges::any_of(found, is_of)) {
    std::erase_if(found, [&](core::MessageRef ref) { return !is_of(ref); });
  }
  core::MessageRef best = core::none;
  int best_rank = -1;
  bool several = false;
  for (const core::MessageRef ref : found) {
    const core::DeliveryRef delivery = t_.messages.delivery_to(ref, caller_.ref);
    const int its_rank = rank(t_.messages.delivery(delivery).state);
    several = its_rank == best_rank || (several && its_rank < best_rank);
    const bool newer =
        best == core::none || t_.messages.message(best).seq < t_.messages.message(ref).seq;
    if (its_rank > best_rank || (its_rank == best_rank && newer)) {
      best = ref;
      best_rank = its_rank;
    }
  }
  if (several && best_rank == 2) {
    return std::unexpected(
        Error{Code::conflict,
              "several messages from different senders that wait for you have the id " +
                  std::string(id.substr(0, 256)) + "; name the one you mean by its seq",
              {}});
  }
  return best;
}

std::expected<base::MessageId, Error> Names::find_received(
    std::string_view id, std::span<const std::string_view> from) const {
  if (const auto uuid = dialect::uuid_said(id)) {
    return *uuid;  // the machine checks whether it is there
  }
  const auto found = received(id, from);
  if (!found) {
    return std::unexpected(found.error());
  }
  if (*found == core::none) {
    return std::unexpected(
        Error{Code::not_found, "no message that was sent to you has this id", {}});
  }
  return t_.messages.message(*found).id;
}

// A scatter has several receivers, and the broker itself asks the first stage of a pipeline that
// waited: neither is a task. Where several have the name, the one of the conversation that the
// report names is meant, then one that is not answered, then the oldest, which was handed out
// first.
core::MessageRef Names::asked(const core::TaskReport& report) const {
  constexpr size_t compared_max = 100;  // of the newest
  core::MessageRef best = core::none;
  std::pair<bool, bool> best_rank;
  for (const core::PendingWork::Asked& each :
       t_.pending.asked(caller_.name, report.task, compared_max)) {
    const core::MessageRef ref = t_.messages.find(each.message);
    const core::DeliveryRef delivery =
        ref == core::none ? core::none : t_.messages.delivery_to(ref, caller_.ref);
    if (delivery == core::none || t_.messages.message(ref).is_task ||
        !is_one_of(report.receivers, t_.agents[t_.messages.message(ref).answers_to()].name)) {
      continue;
    }
    const std::pair rank(report.thread.empty() || report.thread == each.thread,
                         t_.messages.delivery(delivery).state != core::State::answered);
    if (best == core::none || rank >= best_rank) {
      best = ref;
      best_rank = rank;
    }
  }
  return best;
}

// A message of another dialect that asks for something is a task under the id of the message.
std::optional<base::MessageId> Names::find_task(std::string_view task,
                                                std::span<const std::string_view> from,
                                                std::string_view thread) const {
  const core::TaskReport report{task, caller_.name, thread, from};
  const core::Task* const known = t_.tasks.find(report);
  const bool is_of = known != nullptr && is_one_of(from, known->director);
  const bool is_meant = is_of && known->is_open() && (thread.empty() || thread == known->thread);
  if (const core::MessageRef ref = is_meant ? core::none : asked(report); ref != core::none) {
    return t_.messages.message(ref).id;
  }
  const core::MessageRef given = is_of ? t_.messages.find(known->message) : core::none;
  if (given != core::none) {
    return t_.messages.message(given).id;
  }
  const auto uuid = dialect::uuid_said(task);
  const auto found = uuid ? t_.messages.find_received(caller_.ref, *uuid)
                          : received(task, from).value_or(core::none);
  if (found == core::none || !core::asks(t_.messages.message(found).kind)) {
    return std::nullopt;
  }
  const std::string& asker = t_.agents[t_.messages.message(found).answers_to()].name;
  if (!is_one_of(from, asker)) {
    return std::nullopt;  // an answer to another agent is no answer to this one
  }
  return t_.messages.message(found).id;
}

std::expected<core::Target, Error> Names::target(std::string_view text, First first) const {
  if (const auto uuid = dialect::uuid_said(text)) {
    return core::Target{.seq = {}, .id = *uuid};
  }
  const base::MessageId own = dialect::message_id_of(lib::derived_id, caller_.name, text);
  const bool sent = t_.messages.find_sent(caller_.ref, own) != core::none;
  if (first == First::received || !sent) {
    const auto found = received(text, {});
    if (!found) {
      return std::unexpected(found.error());
    }
    if (*found != core::none) {
      return core::Target{.seq = t_.messages.message(*found).seq, .id = {}};
    }
  }
  if (const auto seq = sent ? std::nullopt : base::parse_number(text); seq && *seq > 0) {
    return core::Target{.seq = base::Seq{*seq}, .id = {}};
  }
  return core::Target{.seq = {}, .id = own};
}

std::string no_such_name(const core::Tables& tables, std::string_view name) {
  constexpr size_t compared_max = 500;
  constexpr size_t shown_bytes = 64;
  const size_t far = std::min<size_t>(3, name.size() / 2 + 1);
  size_t compared = 0;
  size_t least = far + 1;
  std::string_view best;
  const auto compare = [&](size_t length) {
    for (const core::AgentRef ref : tables.agents.directory().of_length(length)) {
      const core::Agent& agent = tables.agents[ref];
      if (agent.kind == core::PrincipalKind::admin) {
        continue;
      }
      if (++compared > compared_max) {
        return;
      }
      const size_t distance = base::edit_distance(name, agent.name, far);
      if (distance < least || (distance == least && distance <= far && agent.name < best)) {
        least = distance;
        best = agent.name;
      }
    }
  };
  compare(name.size());
  for (size_t longer = 1; longer <= far; ++longer) {
    compare(name.size() + longer);
    compare(name.size() - std::min(longer, name.size()));
  }
  std::string text = "there is no \"" + std::string(base::cut(name, shown_bytes)) + "\" here";
  if (!best.empty()) {
    text.append("; the nearest name is \"").append(best).append("\"");
  }
  return text;
}

}  // namespace parley::edge
