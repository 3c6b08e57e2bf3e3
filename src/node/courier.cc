// SPDX-License-Identifier: Apache-2.0
#include "node/courier.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "base/trace.h"

namespace parley::node {

namespace {

// A disk that cannot be read for so many seconds will not be.
constexpr uint32_t unread_max = 30;
// Those that were done or summed up meanwhile cost next to nothing; one run looks at so many.
constexpr size_t over_max = 4096;

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
    case core::ErrandKind::session_changed:
      return "a session has changed";
    case core::ErrandKind::session_warning:
      return "a session ends soon";
    case core::ErrandKind::session_ended:
      return "a session has ended";
    case core::ErrandKind::task_reassigned:
      return "a task was given to another";
    case core::ErrandKind::acknowledged:
      return "a message was acknowledged";
    case core::ErrandKind::not_acknowledged:
      return "a message was not acknowledged in time";
    case core::ErrandKind::summary:
      return "more than is told one by one";
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
  Original(const Courier::Fetch& fetch, base::Seq seq) {
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
  explicit Originals(const Courier::Fetch& fetch) : fetch_(fetch) {}

  const Original& at(base::Seq seq) {
    const auto [found, is_new] = read_.try_emplace(seq, fetch_, seq);
    bytes_ += is_new ? found->second.bytes() : 0;
    return found->second;
  }
  size_t bytes() const { return bytes_; }

 private:
  const Courier::Fetch& fetch_;
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

// The pipeline whose next stage the errand asks; none for any other errand.
const core::Pipeline* pipeline_of(const core::Tables& tables, const core::Errand& errand) {
  if (errand.kind != core::ErrandKind::stage) {
    return nullptr;
  }
  const auto& pipelines = tables.patterns.pipelines();
  const auto found = pipelines.find(core::pipeline_of(errand));
  return found == pipelines.end() ? nullptr : &found->second;
}

}  // namespace

void Courier::line_up(Job job) {
  To to{job.workspace, job.to};
  std::deque<Job>& line = lines_[to];
  if (line.empty()) {
    turns_.push_back(std::move(to));
  }
  line.push_back(std::move(job));
}

Courier::Job Courier::take_next() {
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

void Courier::start(const core::Machine& machine) {
  for (const auto& [workspace, held] : machine.workspaces()) {
    for (const auto& [id, errand] : held.tables().errands.all()) {
      line_up({workspace, id, errand.to});
    }
  }
}

void Courier::add(const core::Machine& machine, std::span<const core::Effect> effects) {
  for (const core::Effect& effect : effects) {
    const auto* owed = std::get_if<core::Owed>(&effect);
    const core::Errand* const errand =
        owed == nullptr ? nullptr
                        : machine.find(owed->workspace)->tables().errands.find(owed->errand);
    if (errand != nullptr) {
      line_up({owed->workspace, owed->errand, errand->to});
    }
  }
}

// In its place: what is published on a topic stays in order.
void Courier::put_off(const Job& job, base::Time now) {
  const To to{job.workspace, job.to};
  std::deque<Job>& line = lines_[to];
  if (line.empty()) {
    turns_.push_back(to);
  }
  const auto later = std::ranges::find_if(
      line, [&](const Job& other) { return other.errand > job.errand; });
  line.insert(later, job);
  not_before_ = now + base::seconds(1);
}

// The same turns that `run` will take.
std::vector<base::Seq> Courier::originals(const core::Machine& machine) const {
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
      const core::Errand* const errand = tables.errands.find(line[round].errand);
      if (errand == nullptr) {
        continue;
      }
      const core::Pipeline* const pipeline = pipeline_of(tables, *errand);
      const base::Seq first = pipeline == nullptr ? base::Seq{} : pipeline->first;
      for (const base::Seq seq : {errand->about, first}) {
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

void Courier::run(const core::Machine& machine, base::Time now, const Fetch& fetch,
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
    const core::Errand* const errand = tables.errands.find(job.errand);
    if (errand == nullptr) {
      ++over;
      continue;
    }
    --left;
    const core::Pipeline* const pipeline = pipeline_of(tables, *errand);
    const Original& about = originals.at(errand->about);
    const Original& first = originals.at(pipeline == nullptr ? base::Seq{} : pipeline->first);
    if ((about.failed() || first.failed()) && job.unread < unread_max) {
      ++job.unread;
      unread.push_back(std::move(job));
      continue;
    }
    core::Send command;
    command.errand = job.errand;
    core::Envelope& e = command.envelope;
    e.id = id_of(job, errand->since);
    e.receivers = {errand->to};
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
      body = body_(*errand);
      e.sender = core::broker_sender;
      e.type = "notification";
      e.priority = errand->priority;
      e.subject = subject_of(errand->kind);
      e.action = errand->kind == core::ErrandKind::published ? std::string_view(errand->to)
                                                             : core::errand_name(errand->kind);
      e.body = body;
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
