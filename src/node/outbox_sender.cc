// SPDX-License-Identifier: Apache-2.0
#include "node/outbox_sender.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "base/trace.h"
#include "core/requests/pipeline_acts.h"

namespace parley::node {

namespace {

// A disk that cannot be read for so many seconds will not be.
constexpr uint32_t unread_max = 30;
// Those that were done or summed up meanwhile cost next to nothing; one run looks at so many.
constexpr size_t over_max = 4096;

// The same in each life and on each node, and another on each broker: a UUID of version 4 made of
// the outbox item's number and time.
base::MessageId id_of(const OutboxSender::Job& job, base::Time since) {
  base::MessageId id;
  const uint64_t high =
      base::mix64(static_cast<uint64_t>(since.us), static_cast<uint64_t>(job.workspace) + 1);
  const uint64_t low = base::mix64(high, job.outbox_item);
  std::memcpy(id.bytes.data(), &high, sizeof high);
  std::memcpy(id.bytes.data() + sizeof high, &low, sizeof low);
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

std::string_view subject_of(core::OutboxKind kind) {
  switch (kind) {
    case core::OutboxKind::delivery_failed:
      return "delivery failed";
    case core::OutboxKind::message_malformed:
      return "a message was malformed";
    case core::OutboxKind::escalated:
      return "escalated to a human";
    case core::OutboxKind::escalation_resolved:
      return "an escalation was resolved";
    case core::OutboxKind::request_timed_out:
      return "a request was not answered in time";
    case core::OutboxKind::roll_called:
      return "the roll call is over";
    case core::OutboxKind::gathered:
      return "the answers are gathered";
    case core::OutboxKind::stage:
      return "";
    case core::OutboxKind::pipeline_ended:
      return "a pipeline ended";
    case core::OutboxKind::backpressure:
      return "backpressure";
    case core::OutboxKind::thread_closed:
      return "a conversation was closed";
    case core::OutboxKind::dead_letter_alert:
      return "many messages fail";
    case core::OutboxKind::published:
      return "";
    case core::OutboxKind::deadlock_warned:
      return "a request closes a circle of those who wait";
    case core::OutboxKind::session_changed:
      return "a session has changed";
    case core::OutboxKind::session_warning:
      return "a session ends soon";
    case core::OutboxKind::session_ended:
      return "a session has ended";
    case core::OutboxKind::task_reassigned:
      return "a task was given to another";
    case core::OutboxKind::acknowledged:
      return "a message was acknowledged";
    case core::OutboxKind::not_acknowledged:
      return "a message was not acknowledged in time";
    case core::OutboxKind::summary:
      return "more than is told one by one";
    case core::OutboxKind::approval_asked:
      return "an approval is asked for";
    case core::OutboxKind::approval_reminder:
      return "an approval waits for a decision";
    case core::OutboxKind::approval_decided:
      return "an approval was decided";
    case core::OutboxKind::protocol_violation:
      return "an agent broke the rules of its protocol";
    case core::OutboxKind::task_failed:
      return "a task failed";
    case core::OutboxKind::debate_changed:
      return "a debate has changed";
    case core::OutboxKind::overdue:
      return "a message is overdue";
    case core::OutboxKind::agent_session_ended:
      return "the session of an agent has ended";
  }
  return "";
}

// What the broker says of a message is part of that message's trace.
void follow_trace(const core::Envelope& about, core::Envelope& e) {
  if (!about.trace_id.is_none()) {
    e.trace_id = about.trace_id;
    e.parent_span_id = base::message_span(about.id, about.sender);
    e.trace_sampled = about.trace_sampled;
    e.tracestate = about.tracestate;
  }
}

// What was sent at a place of the journal, as far as that still has it.
class Original {
 public:
  Original(const OutboxSender::Fetch& fetch, base::Seq seq) {
    if (seq.n == 0) {
      return;
    }
    if (const auto fetched = fetch(seq)) {
      record_ = *fetched;
    } else {
      failed_ = fetched.error().code != base::Code::not_found;
    }
    if (auto entry = core::decode_entry(seq, base::Time{}, record_)) {
      entry_ = std::move(*entry);
      send_ = std::get_if<core::Send>(&entry_.command);
    }
  }
  Original(const Original&) = delete;  // the texts are views of the record

  const core::Envelope* envelope() const { return send_ == nullptr ? nullptr : &send_->envelope; }
  size_t bytes() const { return record_.size(); }
  // It may be there, and could not be read.
  bool failed() const { return failed_; }

 private:
  std::string record_;
  core::Entry entry_;
  const core::Send* send_ = nullptr;
  bool failed_ = false;
};

// Those of one run, each read once.
class Originals {
 public:
  explicit Originals(const OutboxSender::Fetch& fetch) : fetch_(fetch) {}

  const Original& at(base::Seq seq) {
    const auto [found, is_new] = read_.try_emplace(seq, fetch_, seq);
    bytes_ += is_new ? found->second.bytes() : 0;
    return found->second;
  }
  size_t bytes() const { return bytes_; }

 private:
  const OutboxSender::Fetch& fetch_;
  std::map<base::Seq, Original> read_;
  size_t bytes_ = 0;
};

// It joins the conversation of this message.
void join(const core::Envelope* first, core::Envelope& e) {
  if (first != nullptr) {
    e.thread = first->thread.empty() ? e.thread : first->thread;
    e.correlation = first->correlation;
  }
}

// The first stage was busy when its owner asked it, and is asked now, in the same words. The id is
// another: by the first one the owner knows the pipeline.
void write_first_stage(const core::Envelope& first, core::Envelope& e) {
  core::Envelope again = first;
  again.id = e.id;
  again.created = e.created;
  again.receivers = e.receivers;
  again.via = e.via;
  again.on_behalf_of = {first.sender};
  again.idempotency_key = {};
  again.native_id = {};
  again.sequence_number = 0;
  again.body = first.body.empty() ? "null" : first.body;
  e = std::move(again);
}

// The pipeline's next message: its owner asks the next stage, with what the last one answered. How
// it is asked is the owner's word, in the pipeline's first message; the answer gives the content.
// Without an answer it has no body, and the machine ends the pipeline.
void write_stage(const core::Pipeline& pipeline, const core::Tables& tables,
                 const core::Envelope* first, const core::Envelope* answer, core::Envelope& e) {
  e.kind = core::Kind::request;
  e.type = "request";
  e.requires_ack = true;
  e.sender = pipeline.owner;
  if (const core::AgentRef owner = tables.agents.find(pipeline.owner); owner != core::none) {
    e.sender_kind = tables.agents[owner].kind;
  }
  e.on_behalf_of = {pipeline.owner};
  e.response_timeout = pipeline.stage_timeout;
  e.on_timeout = pipeline.on_timeout;
  join(first, e);
  if (first != nullptr) {
    const bool held = first->needs_approval == core::NeedsApproval::answer;
    e.needs_approval = held ? first->needs_approval : core::NeedsApproval::nothing;
    e.confidence_ppm = first->confidence_ppm;
    e.priority = first->priority;
    e.ttl = first->ttl;
    follow_trace(*first, e);
  }
  if (answer != nullptr) {
    e.on_behalf_of.push_back(answer->sender);  // whose words they are
    e.content_type = answer->content_type;
    e.body = answer->body.empty() ? "null" : answer->body;
    if (answer->trace_id == e.trace_id) {
      follow_trace(*answer, e);
    }
  }
}

// The answer to a task, made by the broker: its sender is the broker, and whom it speaks for stands
// in `on_behalf_of`. A dialect in which answers come from who was asked writes that one as sender.
void write_failure(const core::OutboxItem& item, core::Envelope& e) {
  e.kind = core::Kind::response;
  e.type = "response";
  e.status = core::Status::error;
  for (const core::Fact& fact : item.facts) {
    if (fact.name == core::in_name_of_fact) {
      e.on_behalf_of = {std::get<std::string>(fact.value)};
    } else if (const auto* is_recoverable = std::get_if<bool>(&fact.value);
               is_recoverable != nullptr && fact.name == "is_recoverable") {
      e.is_recoverable = *is_recoverable;
    }
  }
}

// What the broker says by itself.
void write_notice(const core::OutboxItem& item, core::Envelope& e) {
  e.sender = core::broker_sender;
  e.type = "notification";
  e.priority = item.priority;
  e.subject = subject_of(item.kind);
  e.action = item.kind == core::OutboxKind::published ? std::string_view(item.to)
                                                      : core::outbox_kind_name(item.kind);
  if (item.kind == core::OutboxKind::task_failed) {
    write_failure(item, e);
  }
}

// The pipeline whose next stage the outbox item asks; none for any other outbox item.
const core::Pipeline* pipeline_of(const core::Tables& tables, const core::OutboxItem& item) {
  if (item.kind != core::OutboxKind::stage) {
    return nullptr;
  }
  const auto& pipelines = tables.pending.pipelines();
  const auto found = pipelines.find(core::pipeline_of(item));
  return found == pipelines.end() ? nullptr : &found->second;
}

}  // namespace

void OutboxSender::line_up(Job job) {
  To to{job.workspace, job.to};
  std::deque<Job>& line = lines_[to];
  if (line.empty()) {
    turns_.push_back(std::move(to));
  }
  line.push_back(std::move(job));
}

OutboxSender::Job OutboxSender::take_next() {
  const auto line = lines_.find(turns_.front());
  turns_.pop_front();
  Job job = std::move(line->second.front());
  line->second.pop_front();
  if (line->second.empty()) {
    lines_.erase(line);
  } else {
    turns_.push_back(line->first);
  }
  return job;
}

void OutboxSender::start(const core::Machine& machine) {
  for (const auto& [workspace, held] : machine.workspaces()) {
    for (const auto& [id, item] : held.tables().outbox.all()) {
      line_up({workspace, id, item.to});
    }
  }
}

void OutboxSender::add(const core::Machine& machine, std::span<const core::Effect> effects) {
  for (const core::Effect& effect : effects) {
    const auto* owed = std::get_if<core::Owed>(&effect);
    const core::OutboxItem* const item =
        owed == nullptr ? nullptr
                        : machine.find(owed->workspace)->tables().outbox.find(owed->outbox_item);
    if (item != nullptr) {
      line_up({owed->workspace, owed->outbox_item, item->to});
    }
  }
}

// In its place: what is published on a topic stays in order.
void OutboxSender::put_off(const Job& job, base::Time now) {
  const To to{job.workspace, job.to};
  std::deque<Job>& line = lines_[to];
  if (line.empty()) {
    turns_.push_back(to);
  }
  const auto later = std::ranges::find_if(
      line, [&](const Job& other) { return other.outbox_item > job.outbox_item; });
  line.insert(later, job);
  not_before_ = now + base::seconds(1);
}

// The same turns that `run` will take.
std::vector<base::Seq> OutboxSender::originals(const core::Machine& machine) const {
  std::vector<base::Seq> seqs;
  size_t bytes = 0;
  size_t left = per_run_max;
  bool is_more = true;
  for (size_t round = 0; is_more; ++round) {
    is_more = false;
    for (const To& to : turns_) {
      const std::deque<Job>& line = lines_.at(to);
      if (left == 0 || bytes >= bytes_per_run_max) {
        return seqs;
      }
      if (round >= line.size()) {
        continue;
      }
      is_more = true;
      --left;
      const core::Tables& tables = machine.find(to.first)->tables();
      const core::OutboxItem* const item = tables.outbox.find(line[round].outbox_item);
      if (item == nullptr) {
        continue;
      }
      const core::Pipeline* const pipeline = pipeline_of(tables, *item);
      const base::Seq first = pipeline == nullptr ? base::Seq{} : pipeline->first;
      for (const base::Seq seq : {item->about, first}) {
        // Hundreds of notices are often about one message.
        if (seq.n != 0 && std::ranges::find(seqs, seq) == seqs.end()) {
          const core::MessageRef ref = tables.messages.find(seq);
          bytes += ref == core::none ? 0 : tables.messages.message(ref).whole_bytes;
          seqs.push_back(seq);
        }
      }
    }
  }
  return seqs;
}

void OutboxSender::run(const core::Machine& machine, base::Time now, const Fetch& fetch,
                       const std::function<void(const Job&, core::Send)>& send) {
  if (now < not_before_) {
    return;
  }
  Originals originals(fetch);
  std::vector<Job> unread;
  size_t over = 0;  // those that are done already
  size_t left = 0;  // what waits now: what comes of it is for the next run
  for (auto line = lines_.begin(); line != lines_.end() && left < per_run_max; ++line) {
    left = std::min(left + line->second.size(), per_run_max);
  }
  // Once one is put off, those behind it wait with it.
  while (left > 0 && over < over_max && !turns_.empty() && not_before_ <= now &&
         originals.bytes() < bytes_per_run_max) {
    Job job = take_next();
    const core::Tables& tables = machine.find(job.workspace)->tables();
    const core::OutboxItem* const item = tables.outbox.find(job.outbox_item);
    if (item == nullptr) {
      ++over;
      continue;
    }
    --left;
    const core::Pipeline* const pipeline = pipeline_of(tables, *item);
    const Original& about = originals.at(item->about);
    const Original& first = originals.at(pipeline == nullptr ? base::Seq{} : pipeline->first);
    if ((about.failed() || first.failed()) && job.unread < unread_max) {
      ++job.unread;
      unread.push_back(std::move(job));
      continue;
    }
    core::Send command;
    command.outbox_item = job.outbox_item;
    core::Envelope& e = command.envelope;
    e.id = id_of(job, item->since);
    e.receivers = {item->to};
    e.created = now;
    const std::string own_thread = base::format_uuid(e.id);
    e.thread = own_thread;
    if (about.envelope() != nullptr) {
      e.in_reply_to = about.envelope()->id;
      e.question = about.envelope()->native_id;
      follow_trace(*about.envelope(), e);
    }
    std::string body;
    if (pipeline != nullptr) {
      if (pipeline->stage == 0 && first.envelope() != nullptr) {
        write_first_stage(*first.envelope(), e);
      } else {
        write_stage(*pipeline, tables, first.envelope(), about.envelope(), e);
      }
    } else {
      join(about.envelope(), e);
      e.task = about.envelope() == nullptr ? std::string_view{} : about.envelope()->task;
      body = body_(*item);
      e.body = body;
      write_notice(*item, e);
    }
    if (e.trace_id.is_none()) {
      e.trace_id = e.id;
    }
    send(job, std::move(command));
  }
  // Behind the others, which can be read.
  for (Job& job : unread) {
    line_up(std::move(job));
    not_before_ = std::max(not_before_, now + base::seconds(1));
  }
}

}  // namespace parley::node
