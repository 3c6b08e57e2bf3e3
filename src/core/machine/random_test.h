// SPDX-License-Identifier: Apache-2.0
#pragma once
// Over 150 lines: one generator for all commands.

#include <string>
#include <string_view>
#include <vector>

#include "core/machine/testing.h"

namespace parley::core::testing {

// A busy little workspace: commands of every kind, most of them sensible, some not. Texts are
// literals, so commands can be kept.
class RandomCommands {
 public:
  explicit RandomCommands(uint64_t seed) : random_(seed) {}

  struct Asked {
    std::string_view actor;
    WorkspaceId workspace;
    Command command;
  };

  Asked next() {
    const WorkspaceId workspace{random_.below(12) == 0 ? 1u : 0u};
    const uint32_t dice = random_.below(100);
    if (dice < 6) {
      return {broker_name, workspace, registration()};
    }
    if (dice < 10) {
      const uint32_t who = random_.below(6);
      return {who < 2 ? any_name() : who == 2 ? broker_name : "root", workspace, administration()};
    }
    const std::string_view actor = any_name();
    if (dice < 20) {
      return {actor, workspace, collaboration()};
    }
    if (dice < 52) {
      return {actor, workspace, message(actor)};
    }
    return {actor, workspace, settling(dice)};
  }

  // The same, with what people decide on as they were shown it.
  Asked next(const Machine& machine) {
    Asked asked = next();
    const Workspace* const workspace = machine.find(asked.workspace);
    if (auto* const decided = std::get_if<DecideApproval>(&asked.command);
        decided != nullptr && workspace != nullptr) {
      const Approval* const approval = workspace->tables().approvals.find(decided->id);
      decided->digest = approval == nullptr ? ProposalDigest{} : approval->digest;
      decided->modification = decided->decision == ApprovalDecision::modify ? "less" : "";
      asked.actor = random_.below(3) == 0 || approval == nullptr ? asked.actor : "root";
    }
    return asked;
  }

  Duration pause() {
    return random_.below(4) == 0 ? base::seconds(random_.below(100)) : Duration{};
  }

 private:
  std::string_view any_name() { return random_.pick(names_); }
  Dialect any_dialect() {
    return static_cast<Dialect>(random_.below(static_cast<uint32_t>(dialect_last) + 1));
  }
  Id128 any_id() { return id_of(random_.pick(labels_)); }
  Target any_target() {
    return random_.below(2) == 0 ? Target{{}, any_id()} : Target{Seq{1 + random_.below(2'000)}, {}};
  }
  ResumeMark any_mark() { return {1 + random_.below(40), random_.below(10)}; }
  StreamId any_stream() { return {7, 1 + random_.below(6)}; }

  Command registration() {
    Register command;
    command.name = any_name();
    command.dialect = any_dialect();
    command.kind = command.name == "root" ? PrincipalKind::admin : PrincipalKind::agent;
    const bool has_hub = policy_of(command.dialect).via_hub;
    command.role = has_hub && random_.below(2) == 0 ? "orchestrator" : "";
    if (command.dialect == Dialect::squad) {
      command.role = random_.below(2) == 0 ? "reviewer" : "subagent";
    }
    command.token = random_.below(2) == 0 ? token_of(command.name) : TokenHash{};
    command.webhook = random_.below(3) == 0 ? "https://example.org/hook" : "";
    command.webhook_secret = random_.below(2) == 0 ? token_of(any_name()) : WebhookSecret{};
    return command;
  }

  Command administration() {
    static const std::vector<std::pair<std::string_view, std::string_view>> rules = {
        {"queue_max", "5"},
        {"queue_max", "1000"},
        {"attempts_max", "2"},
        {"attempts_max", "5"},
        {"settled_max", "10"},
        {"settled_max", "1000"},
        {"dead_letters_max", "3"},
        {"dead_letters_max", "100"},
        {"topic.retained_max", "2"},
        {"topic.retention", "30s"},
        {"flow.lease", "5s"},
        {"settled_retention", "2m"},
        {"flow.ttl.normal", "20s"},
        {"no.such.rule", "1"},
        {"dead_letter_pass", "10s"},
        {"dead_letter_alert", "3"},
        {"threads_max", "2"},
        {"threads_max", "100"},
        {"thread_messages_max", "3"},
        {"thread_messages_max", "1000"},
        {"thread_duration_max", "60s"},
        {"thread_retention", "2m"},
        {"collab.ttl", "10s"},
        {"flow.rate.pair_per_min", "2"},
        {"flow.rate.agent_out_per_min", "3"},
        {"flow.rate.topic_per_min", "2"},
        {"flow.rate.agent_in_per_min", "4"},
        {"flow.rate.pair_per_min", "0"},
        {"flow.rate.throttled_max", "5"},
        {"collab.session_duration_max", "40s"},
        {"session.retention", "30s"},
        {"sessions_max", "2"},
        {"session.entries_max", "2"},
        {"session.log_max", "2"},
        {"locks_max", "1"},
        {"tasks_max", "3"},
        {"tasks_max", "10000"},
        {"debates_max", "2"},
        {"debates_max", "100"},
        {"handoffs_max", "3"},
        {"handoffs_max", "1000"},
        {"squad.response_time.p1", "20s"},
        {"squad.response_time.p2", "20s"},
        {"squad.blocked_after", "30s"},
        {"squad.ttl", "20s"}};
    switch (random_.below(6)) {
      case 5:
        return notice();
      case 0:
        return Unregister{any_name()};
      case 1:
        return SetRules{{random_.pick(rules)}};
      case 2:
        return AddWorkspace{"lab", token_of("lab")};
      default:
        return ResolveDeadLetter{1 + random_.below(60), static_cast<Resolution>(random_.below(4))};
    }
  }

  // As the broker tells a sender; asked by others it is refused.
  Command notice() {
    Send send;
    send.envelope.id = id_of("notice " + std::to_string(++sent_));
    send.envelope.sender = broker_sender;
    send.envelope.receivers = {any_name()};
    send.outbox_item = 1 + random_.below(60);
    if (random_.below(2) == 0) {  // a pipeline's next stage is its owner's
      send.envelope.sender = any_name();
    }
    return send;
  }

  Command collaboration() {
    switch (random_.below(6)) {
      case 0:
        return StartSession{random_.pick(sessions_), "", {any_name(), any_name()}, "{}"};
      case 1:
        return TakeLock{
            random_.pick(locks_), base::seconds(random_.below(40)),
            base::seconds(random_.below(2) * random_.below(60)),
            random_.below(3) == 0 ? std::optional(Seq{random_.below(2)}) : std::nullopt};
      case 2:
        return ReleaseLock{random_.pick(locks_)};
      default:
        return ChangeSession{random_.pick(sessions_), static_cast<SessionAct>(random_.below(9)),
                             random_.below(3) == 0 ? 1 + random_.below(5) : 0, any_name(), "{}"};
    }
  }

  void pattern(Send& send) {
    const uint32_t dice = random_.below(12);
    if (dice == 0) {
      send.envelope.kind = Kind::request;
      send.gathering =
          Gathering{static_cast<Strategy>(random_.below(4)), random_.below(3),
                    base::seconds(random_.below(60)), static_cast<OnPartial>(random_.below(3))};
    } else if (dice == 1) {
      send.envelope.kind = Kind::request;
      send.later_stages = {any_name(), any_name()};
    }
  }

  // A part of a debate, or of a handoff.
  void disagree(Envelope& e) {
    e.kind =
        random_.below(4) == 0
            ? Kind::response
            : static_cast<Kind>(static_cast<uint32_t>(Kind::acknowledgement) + random_.below(3));
    e.in_reply_to = random_.below(4) == 0 ? Id128{} : any_id();
    e.stance = static_cast<Stance>(random_.below(4));
    e.severity = static_cast<Severity>(random_.below(4));
    e.dialect = random_.below(2) == 0 ? Dialect::squad : e.dialect;
    if (random_.below(3) == 0) {
      e.blocked_since = start_time;
    }
  }

  Command message(std::string_view actor) {
    Send send;
    Envelope& e = send.envelope;
    e.id = random_.below(3) == 0 ? any_id() : id_of(std::to_string(++sent_));
    e.sender = actor;
    e.dialect = any_dialect();
    e.priority = static_cast<Priority>(random_.below(4));
    e.ttl = random_.below(3) == 0 ? base::seconds(1 + random_.below(60)) : Duration{};
    e.body = random_.pick(names_);
    e.thread = random_.pick(threads_);
    e.session = random_.below(3) == 0 ? random_.pick(sessions_) : "";
    e.task = random_.below(3) == 0 ? random_.pick(tasks_) : "";
    e.kind = random_.below(3) == 0 ? Kind::request : Kind::notification;
    if (random_.below(6) == 0) {
      e.needs_approval = static_cast<NeedsApproval>(random_.below(3));
    }
    if (random_.below(4) == 0) {
      e.confidence_ppm = static_cast<int32_t>(random_.below(1'000'000));
    }
    e.is_recoverable = random_.below(2) == 0;
    if (random_.below(5) == 0) {
      e.correlation = random_.pick(threads_);
    }
    if (random_.below(8) == 0) {
      e.idempotency_key = any_id();
    }
    if (random_.below(4) == 0) {
      e.kind = Kind::response;
      e.status = static_cast<Status>(random_.below(5));
      e.in_reply_to = any_id();
    } else if (random_.below(3) == 0) {
      e.kind = static_cast<Kind>(random_.below(5));
      e.requires_ack = random_.below(2) == 0;
      e.response_timeout = base::seconds(random_.below(90));
      e.on_timeout = static_cast<OnTimeout>(random_.below(3));
    }
    if (random_.below(4) == 0) {
      disagree(e);
    }
    pattern(send);
    if (e.kind == Kind::notification && random_.below(6) == 0) {
      e.type = "timeout_extension_request";
      e.in_reply_to = any_id();
      e.response_timeout = base::seconds(random_.below(60));
    }
    send.on_unavailable = static_cast<OnUnavailable>(random_.below(4));
    send.wait = base::seconds(random_.below(3) == 0 ? random_.below(60) : 0);
    if (random_.below(8) == 0) {
      e.reply_to = any_name();
    }
    if (random_.below(3) == 0) {
      send.cause = any_id();
    }
    const uint32_t dice = random_.below(10);
    if (dice == 0) {
      e.receivers = {"*"};
    } else if (dice < 3) {
      e.receivers = {random_.pick(topics_)};
    } else {
      for (uint32_t left = 1 + random_.below(3); left > 0; --left) {
        e.receivers.push_back(any_name());
      }
    }
    return send;
  }

  Command settling(uint32_t dice) {
    if (dice < 60) {
      return Take{1 + random_.below(3)};
    }
    if (dice < 72) {
      return random_.below(5) == 0 ? Ack{.stream = any_stream(), .upto = any_mark()}
                                   : Ack{.target = any_target()};
    }
    if (dice < 76) {
      return Nack{any_target(), base::seconds(random_.below(30)), "later", random_.below(4) > 0};
    }
    switch (random_.below(17)) {
      case 16:
      case 15:
      case 14:
        return random_.below(2) == 0
                   ? Command(AskApproval{.id = {},
                                         .summary = "close it",
                                         .text = "close it",
                                         .options = 1 + random_.below(all_options)})
                   : DecideApproval{.id = 1 + random_.below(40),
                                    .decision = static_cast<ApprovalDecision>(random_.below(4))};
      case 13:
        if (random_.below(2) == 0) {
          return MarkAgentSession{any_name(), random_.below(2) == 0};
        }
        return random_.below(2) == 0 ? Command(RaiseFlag{.id = {}, .text = "rude"})
                                     : ResolveFlag{1 + random_.below(5), "seen"};
      case 12:
        return ReassignTask{random_.pick(tasks_), any_name(),
                            random_.below(2) == 0 ? any_name() : "",
                            random_.below(2) == 0 ? random_.pick(threads_) : ""};
      case 11:
        return CloseThread{random_.pick(threads_)};
      case 9:
        return random_.below(3) == 0
                   ? Command(StopWaiting{any_target().seq})
                   : Command(Heartbeat{random_.below(4) == 0 ? "offline" : random_.pick(names_),
                                       "task", 0, random_.below(3) == 0});
      case 10:
        return random_.below(2) == 0 ? Command(Malformed{"text", "wrong"})
                                     : ResolveEscalation{1 + random_.below(20), "seen"};
      case 0:
        return Reject{any_target(), "no"};
      case 1:
        return Extend{any_target(), base::seconds(random_.below(100))};
      case 2:
        return Read{any_target()};
      case 3:
        return Subscribe{random_.below(4) == 0 ? "a.*" : random_.pick(topics_),
                         random_.below(4) == 0 ? random_.pick(names_) : ""};
      case 4:
        return Unsubscribe{random_.below(4) == 0 ? "a.*" : random_.pick(topics_)};
      case 5:
      case 6:
        return OpenStream{any_stream(), 1 + random_.below(4),
                          random_.below(2) == 0 ? any_mark() : ResumeMark{}};
      case 7:
        return CloseStream{any_stream()};
      default:
        return Tick{};
    }
  }

  Random random_;
  uint64_t sent_ = 0;
  std::vector<std::string_view> names_ = {"ana", "bo", "cy", "di", "ed", "root"};
  std::vector<std::string_view> topics_ = {"a.b", "a.c", "topic:news",
                                           "agent.availability_changed"};
  std::vector<std::string_view> threads_ = {"", "t1", "t2", "t3", "t4", "t5"};
  std::vector<std::string_view> sessions_ = {"s1", "s2", "s3"};
  std::vector<std::string_view> locks_ = {"a", "b", "c"};
  std::vector<std::string_view> tasks_ = {"k1", "k2", "k3"};
  std::vector<std::string_view> labels_ = {"1", "2", "5", "10", "20", "40", "60", "80", "100"};
};

}  // namespace parley::core::testing
