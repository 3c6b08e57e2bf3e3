// SPDX-License-Identifier: Apache-2.0
#include "edge/answers/receipt.h"

#include <algorithm>

#include "core/conversation/task_acts.h"
#include "edge/gate.h"
#include "edge/names.h"
#include "edge/render.h"
#include "lib/json_writer.h"

namespace parley::edge {

namespace {

using lib::JsonWriter;

constexpr uint64_t recipients_listed_max = 100;

// A result or an error in a task that the one who gave it does not get leaves the task open, which
// its sender should know; else empty.
std::string untold_outcome(const core::Tables& t, const Principal& caller,
                           const core::Envelope& sent) {
  if (sent.task.empty() || sent.kind == core::Kind::response || !core::names_outcome(sent)) {
    return {};
  }
  const auto& to = sent.receivers;
  const core::Task* const task =
      t.tasks.find(core::TaskReport{sent.task, caller.name, sent.thread, to});
  const bool gets_it =
      task == nullptr || to.front() == "*" || std::ranges::find(to, task->director) != to.end();
  return gets_it || !task->is_open() ? std::string()
                                     : "task \"" + task->id + "\" stays open: \"" + task->director +
                                           "\", who gave it, does not get this";
}

// A warning for the sender of a task that was not sent because it was given before; else empty.
std::string task_warning(const core::Tables& tables, const core::Receipt& receipt) {
  if (receipt.has_no_task) {
    return "you have no task of this taskId in this thread now: it is unknown, over, or was given "
           "to another; your report is delivered and changes nothing";
  }
  const core::Task* const task = receipt.duplicate ? tables.tasks.find(receipt.message) : nullptr;
  if (task == nullptr) {
    return {};
  }
  const std::string name = "task \"" + task->id + "\" of this thread ";
  const std::string state(core::task_state_words[task->state]);
  return receipt.skipped
             ? "nothing was sent: " + name + "is " + state +
                   " and was given in other words, to \"" + task->specialist +
                   "\"; use another taskId, or a threadId of its own"
             : "nothing was sent again: " + name + "was given in the same words and is " + state;
}

// A warning that some agents do not get a broadcast in memory, of which no dead letter tells.
std::string unfit_warning(const core::Tables& tables, const core::Receipt& receipt) {
  const core::MessageRef ref =
      receipt.duplicate ? core::none : tables.messages.find(receipt.message);
  if (ref == core::none || !tables.messages.message(ref).is_memory_only()) {
    return {};
  }
  const core::Message& message = tables.messages.message(ref);
  size_t rejected = 0;
  for (core::DeliveryRef d = message.deliveries; d != core::none;
       d = tables.messages.delivery(d).sibling) {
    rejected += tables.messages.delivery(d).state == core::State::rejected ? 1 : 0;
  }
  return rejected == 0
             ? std::string()
             : std::to_string(rejected) + " of " + std::to_string(message.delivery_count) +
                   " receivers do not get it: it is larger than their dialect takes";
}

// Who does not get the message, as warnings: each of a few, and that there are more.
void render_unreached(const core::Tables& t, core::MessageRef ref, JsonWriter& out) {
  constexpr size_t named_max = 3;
  size_t named = 0;
  core::DeliveryRef d = t.messages.message(ref).deliveries;
  for (; d != core::none && named < named_max; d = t.messages.delivery(d).sibling) {
    const core::Agent& receiver = t.agents[t.messages.delivery(d).receiver];
    if (t.messages.delivery(d).state == core::State::dead) {
      ++named;
      out.text(receiver.is_registered()
                   ? "\"" + receiver.name + "\" could not be reached"
                   : no_such_name(t, receiver.name) + ": a dead letter keeps the message");
    }
  }
  if (d != core::none) {
    out.text("not every receiver could be reached: see the states of the recipients");
  }
}

void render_recipients(const core::Tables& t, const Principal& caller, const core::Receipt& receipt,
                       Recipients shown, JsonWriter& out) {
  const core::MessageRef ref = t.messages.find(receipt.message);
  // A task that was reassigned meanwhile has more of them than it was sent to.
  const uint64_t recipients =
      ref == core::none ? receipt.count : t.messages.message(ref).delivery_count;
  if (shown == Recipients::counted) {
    out.key("recipient_count").number(recipients);
    return;
  }
  out.key("recipients");
  if (ref != core::none && recipients <= recipients_listed_max) {
    render_deliveries(t, caller, ref, out);
  } else {
    out.array().end_array();
  }
  if (ref != core::none && t.messages.message(ref).to_many()) {
    render_counts(t, ref, out);
  } else {
    out.key("recipient_count").number(recipients);
  }
}

// That another gets the message, or that someone does not.
void render_receiver_warnings(const core::Tables& t, const Principal& caller, core::MessageRef ref,
                              JsonWriter& out) {
  if (ref == core::none) {
    return;
  }
  if (t.messages.message(ref).delivery_count == 1) {
    const core::AgentRef receiver =
        t.messages.delivery(t.messages.message(ref).deliveries).receiver;
    if (const auto away = redirected_from(t, ref, receiver); !away.empty()) {
      out.text("\"" + std::string(away) + "\" is away; redirected to \"" + t.agents[receiver].name +
               "\"");
    }
  }
  if (t.messages.message(ref).dead_letters > 0) {
    if (sees_receivers(t, caller, t.messages.message(ref))) {
      render_unreached(t, ref, out);
    } else {
      out.text("not every subscriber could be reached: see the states");
    }
  }
}

// Its sender learns that the moderators have it, and nothing else.
void render_flag_receipt(const core::Flag& flag, const core::Receipt& receipt, JsonWriter& out) {
  out.key("id").uuid(flag.message).key("seq").number(flag.record.n);
  out.key("state").plain("accepted");
  if (receipt.duplicate) {
    out.key("duplicate").boolean(true);
  }
  out.key("recipient_count").number(uint64_t{1}).key("recipients").array().end_array();
  out.key("warnings").array().end_array();
}

// The approval that the entry asked for; nullptr when there is none. A new one is the last.
const core::Approval* approval_at(const core::Tables& t, base::Seq record) {
  const auto& all = t.approvals.all();
  const auto at = std::find_if(all.rbegin(), all.rend(),
                               [&](const auto& each) { return each.second.record <= record; });
  return at != all.rend() && at->second.record == record ? &at->second : nullptr;
}

void render_approval_receipt(const core::Approval& approval, const core::Receipt& receipt,
                             JsonWriter& out) {
  out.key("id").text(approval.message_name()).key("seq").number(approval.record.n);
  out.key("state").plain("accepted").key("approval").number(approval.id);
  if (receipt.duplicate) {
    out.key("duplicate").boolean(true);
  }
  out.key("recipient_count").number(uint64_t{0}).key("recipients").array().end_array();
  out.key("warnings").array();
  for (const std::string& warning : receipt.warnings) {
    out.text(warning);
  }
  out.end_array();
}

}  // namespace

void render_receipt(node::Broker& broker, const Principal& caller, const core::Receipt& receipt,
                    Recipients recipients, JsonWriter& out) {
  const core::Tables& t = broker.machine().find(caller.workspace)->tables();
  const core::MessageRef ref = t.messages.find(receipt.message);
  if (const core::Flag* const flag = ref == core::none ? t.flags.find(receipt.message) : nullptr;
      flag != nullptr) {
    render_flag_receipt(*flag, receipt, out);
    return;
  }
  if (const core::Approval* const approval =
          ref == core::none ? approval_at(t, receipt.message) : nullptr;
      approval != nullptr) {
    render_approval_receipt(*approval, receipt, out);
    return;
  }
  if (ref != core::none) {
    out.key("id").text(id_text(broker, caller.workspace, t.messages.message(ref), caller.dialect));
  }
  out.key("seq").number(receipt.message.n);
  out.key("state").text(receipt.delay.us > 0 ? "queued" : "accepted");
  if (receipt.delay.us > 0) {
    out.key("delay").text(base::format_duration(base::rough(receipt.delay)));
  }
  if (receipt.duplicate) {
    out.key("duplicate").boolean(true);
  }
  if (receipt.skipped) {
    out.key("skipped").boolean(true);
  }
  std::string untold;
  // See Recipients: the record is read only where there is time for it, or where a warning may come
  // of it.
  if (recipients == Recipients::listed || core::policy_of(caller.dialect).has_task_roles) {
    if (const auto sent = envelope_at(broker, caller.workspace, receipt.message)) {
      out.key("thread").text(sent->thread);
      untold = untold_outcome(t, caller, *sent);
    }
  }
  if (receipt.number != 0) {
    out.key("sequence_number").number(receipt.number);
  }
  render_recipients(t, caller, receipt, recipients, out);
  out.key("warnings").array();
  for (const std::string& warning : receipt.warnings) {
    out.text(warning);
  }
  for (const std::string& warning : {task_warning(t, receipt), untold, unfit_warning(t, receipt)}) {
    if (!warning.empty()) {
      out.text(warning);
    }
  }
  render_receiver_warnings(t, caller, ref, out);
  const core::Agent& sender = t.agents[caller.ref];
  if (core::policy_of(caller.dialect).has_task_roles &&
      (!core::policy_of(sender.dialect).has_task_roles || sender.role.empty())) {
    out.text("you have no role in " + std::string(core::policy_of(caller.dialect).name.value) +
             ": you count as a director");
  }
  const auto& pipelines = t.pending.pipelines();
  const auto pipeline = pipelines.find(receipt.message);
  if (pipeline != pipelines.end() && pipeline->second.waits_to_begin()) {
    out.text("\"" + pipeline->second.stages.front().agent +
             "\" is busy: the pipeline waits before it");
  } else if (receipt.count == 0 && pipeline == pipelines.end()) {
    out.text("nobody subscribes to this topic now; it is kept for late subscribers");
  }
  out.end_array();
}

std::string receipt_text(node::Broker& broker, const Principal& caller,
                         const core::Receipt& receipt, Recipients recipients) {
  std::string text;
  JsonWriter out(text);
  out.object();
  render_receipt(broker, caller, receipt, recipients, out);
  out.end_object();
  return text;
}

node::Broker::Done reply_receipt(const Asker& asker, core::Dialect dialect) {
  return [asker, dialect](const core::Outcome& outcome, std::span<const core::Effect>) {
    if (!outcome) {
      asker.refuse(outcome.error());
      return;
    }
    Principal sender = asker.caller;
    sender.dialect = dialect;
    asker.respond(
        json_response(202, receipt_text(asker.broker(), sender, *outcome, Recipients::listed)));
  };
}

}  // namespace parley::edge
