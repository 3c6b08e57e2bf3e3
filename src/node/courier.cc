// SPDX-License-Identifier: Apache-2.0
#include "node/courier.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "base/hash.h"

namespace parley::node {

namespace {

constexpr size_t per_run_max = 256;

// The same in each life and on each node, and another on each broker: a UUID of version 4 made of
// the errand's number and time.
base::MessageId id_of(const Courier::Job& job, base::Time since) {
  base::MessageId id;
  const uint64_t high = base::mix64(static_cast<uint64_t>(since.us),
                                    static_cast<uint64_t>(job.workspace) + 1);
  const uint64_t low = base::mix64(high, job.errand);
  std::memcpy(id.bytes.data(), &high, sizeof high);
  std::memcpy(id.bytes.data() + sizeof high, &low, sizeof low);
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

std::string_view subject_of(core::ErrandKind kind) {
  switch (kind) {
    case core::ErrandKind::delivery_failed:
      return "delivery failed";
    case core::ErrandKind::message_malformed:
      return "a message was malformed";
    case core::ErrandKind::escalated:
      return "escalated to a human";
    case core::ErrandKind::escalation_resolved:
      return "an escalation was resolved";
    case core::ErrandKind::request_timed_out:
      return "a request was not answered in time";
    case core::ErrandKind::roll_called:
      return "the roll call is over";
    case core::ErrandKind::gathered:
      return "the answers are gathered";
    case core::ErrandKind::stage:
      return "";
    case core::ErrandKind::pipeline_ended:
      return "a pipeline ended";
    case core::ErrandKind::backpressure:
      return "backpressure";
    case core::ErrandKind::thread_closed:
      return "a conversation was closed";
    case core::ErrandKind::dead_letter_alert:
      return "many messages fail";
    case core::ErrandKind::published:
      return "";
    case core::ErrandKind::deadlock_warned:
      return "a request closes a circle of those who wait";
  }
  return "";
}

// The pipeline's next message: its owner asks the next stage, with what the last one answered.
void write_stage(const core::Errand& errand, const core::Tables& tables, const core::Send* about,
                 core::Envelope& e) {
  const auto& pipelines = tables.patterns.pipelines();
  const auto at = pipelines.find(core::pipeline_of(errand));
  if (at == pipelines.end()) {
    return;  // it is over: what is sent now is refused
  }
  e.kind = core::Kind::request;
  e.type = "request";
  e.requires_ack = true;
  e.sender = at->second.owner;
  e.on_behalf_of = {at->second.owner};
  e.response_timeout = at->second.stage_timeout;
  e.on_timeout = at->second.on_timeout;
  e.body = "null";
  if (about != nullptr) {
    e.priority = about->envelope.priority;
    e.content_type = about->envelope.content_type;
    e.body = about->envelope.body;
    e.trace_id = about->envelope.trace_id;
    e.parent_span_id = about->envelope.parent_span_id;
  }
}

}  // namespace

void Courier::start(const core::Machine& machine) {
  for (const auto& [workspace, held] : machine.workspaces()) {
    for (const auto& [id, errand] : held.tables().errands.all()) {
      waiting_.push_back({workspace, id});
    }
  }
}

void Courier::add(std::span<const core::Effect> effects) {
  for (const core::Effect& effect : effects) {
    if (const auto* owed = std::get_if<core::Owed>(&effect)) {
      waiting_.push_back({owed->workspace, owed->errand});
    }
  }
}

void Courier::put_off(const Job& job, base::Time now) {
  waiting_.push_back(job);
  not_before_ = now + base::seconds(1);
}

void Courier::run(const core::Machine& machine, base::Time now, const Fetch& fetch,
                  const std::function<void(const Job&, core::Send)>& send) {
  if (now < not_before_) {
    return;
  }
  for (size_t left = std::min(waiting_.size(), per_run_max); left > 0; --left) {
    const Job job = waiting_.front();
    waiting_.pop_front();
    const core::Errand* const errand =
        machine.find(job.workspace)->tables().errands.find(job.errand);
    if (errand == nullptr) {
      continue;
    }
    // What it is about, as far as the journal still has it.
    std::string record;
    if (errand->about.n != 0) {
      const auto fetched = fetch(errand->about);
      record = fetched ? std::string(*fetched) : std::string();
    }
    const auto entry = core::decode_entry(errand->about, now, record);
    const auto* const about = entry ? std::get_if<core::Send>(&entry->command) : nullptr;
    core::Send command;
    command.errand = job.errand;
    core::Envelope& e = command.envelope;
    e.id = id_of(job, errand->since);
    e.receivers = {errand->to};
    e.created = now;
    const std::string own_thread = base::format_uuid(e.id);
    e.thread = own_thread;
    if (about != nullptr) {
      e.in_reply_to = about->envelope.id;
      e.thread = about->envelope.thread.empty() ? e.thread : about->envelope.thread;
      e.correlation = about->envelope.correlation;
    }
    std::string body;
    if (errand->kind == core::ErrandKind::stage) {
      write_stage(*errand, machine.find(job.workspace)->tables(), about, e);
    } else {
      body = body_(*errand);
      e.sender = core::broker_sender;
      e.type = "notification";
      e.priority = errand->priority;
      e.subject = subject_of(errand->kind);
      e.body = body;
    }
    send(job, std::move(command));
  }
}

}  // namespace parley::node
