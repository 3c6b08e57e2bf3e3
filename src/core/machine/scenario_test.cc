// SPDX-License-Identifier: Apache-2.0
// Over 800 lines: the language of the scenarios, whose sentences are one each.
// Runs the scripts of tests/scenarios, one test each: docs/scenarios.md describes the language.
#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "core/machine/scenario_debates_test.h"
#include "core/machine/scenario_sessions_test.h"
#include "core/machine/scenario_test.h"
#include "core/machine/scenario_threads_test.h"
#include "core/machine/testing.h"

namespace parley::core {
namespace {

using testing::id_of;
using testing::is_outcome;
using testing::join;
using testing::Seen;
using testing::split;
using testing::trimmed;
using testing::Words;

class Script {
 public:
  explicit Script(std::string file) : file_(std::move(file)) {
    node_ = "n1";
    start_node(node_);
  }

  // The first thing that is not as the script says, as `file:line: what`; empty when all is.
  std::string run(std::istream& in) {
    std::string text;
    for (line_ = 1; std::getline(in, text); ++line_) {
      text = text.substr(0, text.find('#'));
      const size_t arrow = text.find("->");
      Words words(text.substr(0, arrow));
      if (words.done()) {
        continue;
      }
      expected_ = arrow == std::string::npos ? std::string() : text.substr(arrow + 2);
      step(words);
      if (problem_.empty() && !words.done()) {
        fail("do not understand \"" + std::string(words.peek()) + "\" here");
      }
      if (!problem_.empty()) {
        return file_ + ":" + std::to_string(line_) + ": " + problem_;
      }
    }
    return {};
  }

 private:
  using Step = void (Script::*)(Words&);
  using Verb = Command (Script::*)(Words&);

  void fail(const std::string& what) { problem_ = problem_.empty() ? what : problem_; }

  void step(Words& words) {
    static const std::map<std::string_view, Step> steps = {
        {"fact", &Script::on_fact},       {"agent", &Script::on_agent},
        {"human", &Script::on_principal}, {"admin", &Script::on_principal},
        {"rules", &Script::on_rules},     {"wait", &Script::on_wait},
        {"restart", &Script::on_restart}, {"node", &Script::on_node},
        {"in", &Script::on_workspace},    {"delivery", &Script::on_delivery},
        {"letter", &Script::on_letter},   {"expect", &Script::on_expect}};
    static const std::map<std::string_view, Verb> verbs = {{"sends", &Script::sends},
                                                           {"takes", &Script::takes},
                                                           {"reads", &Script::reads},
                                                           {"acks", &Script::acks},
                                                           {"nacks", &Script::nacks},
                                                           {"rejects", &Script::rejects},
                                                           {"extends", &Script::extends},
                                                           {"opens", &Script::opens},
                                                           {"closes", &Script::closes},
                                                           {"subscribes", &Script::subscribes},
                                                           {"unsubscribes", &Script::unsubscribes},
                                                           {"registers", &Script::registers},
                                                           {"unregisters", &Script::unregisters},
                                                           {"sets", &Script::sets},
                                                           {"resolves", &Script::resolves},
                                                           {"resets", &Script::resets},
                                                           {"retries", &Script::resolves},
                                                           {"discards", &Script::resolves},
                                                           {"escalates", &Script::resolves},
                                                           {"adds", &Script::adds},
                                                           {"beats", &Script::beats},
                                                           {"garbles", &Script::garbles},
                                                           {"calls", &Script::calls},
                                                           {"stops", &Script::stops},
                                                           {"starts", &Script::starts},
                                                           {"ends", &Script::ends},
                                                           {"changes", &Script::changes},
                                                           {"locks", &Script::locks},
                                                           {"unlocks", &Script::unlocks},
                                                           {"reassigns", &Script::reassigns},
                                                           {"flags", &Script::flags},
                                                           {"proposes", &Script::proposes},
                                                           {"decides", &Script::decides}};
    const bool has_actor = verbs.contains(words.peek(1));
    if (const auto at = steps.find(words.peek()); at != steps.end() && !has_actor) {
      (this->*at->second)(words);
      return;
    }
    actor_ = words.next();
    verb_ = words.next();
    const auto at = verbs.find(verb_);
    if (at == verbs.end()) {
      fail("no such verb: \"" + verb_ + "\"");
      return;
    }
    label_.clear();
    origin_ = origins_[node_];
    errand_ = 0;
    gathering_.reset();
    stages_.clear();
    tokens_ = 0;
    on_unavailable_ = OnUnavailable::by_rules;
    wait_ = {};
    cause_ = {};
    const std::string_view actor = actor_ == "broker" ? broker_name : std::string_view(actor_);
    const Command command = (this->*at->second)(words);
    if (problem_.empty() && words.done()) {
      compare(apply(actor, command));
    }
  }

  // The parts of sentences.

  template <class E>
  E one_of(std::string_view word, const std::vector<std::string_view>& names) {
    const auto at = std::ranges::find(names, word);
    if (at == names.end()) {
      fail("do not understand \"" + std::string(word) + "\"");
      return E{};
    }
    return static_cast<E>(at - names.begin());
  }
  Dialect dialect(std::string_view word) {
    const auto found = find_dialect(word);
    if (!found) {
      fail("do not understand \"" + std::string(word) + "\"");
    }
    return found.value_or(Dialect::flow);
  }
  uint64_t number(std::string_view word) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
      fail("\"" + std::string(word) + "\" is not a number");
    }
    return value;
  }
  Duration duration(std::string_view word) {
    const auto value = base::parse_duration(word);
    if (!value) {
      fail("\"" + std::string(word) + "\" is not a duration such as 5s");
    }
    return value.value_or(Duration{});
  }
  Seq seq_of(std::string_view label) {
    const auto at = seqs_.find(label);
    if (at == seqs_.end()) {
      fail("no message \"" + std::string(label) + "\" was accepted");
    }
    return at == seqs_.end() ? Seq{} : at->second;
  }
  Target target(Words& words) {
    const std::string_view label = words.next();
    if (words.accept("by")) {
      return words.accept("id") ? Target{{}, id_of(label)} : (fail("by what?"), Target{});
    }
    return Target{seq_of(label), {}};
  }
  // The newest that the stream gave the message.
  ResumeMark mark(Seq message, const StreamId& stream) {
    const auto at = marks_.find({stream, message});
    return at == marks_.end() ? ResumeMark{} : at->second;
  }
  StreamId stream(std::string_view name) {
    if (!streams_.contains(name)) {
      fail("no stream \"" + std::string(name) + "\" was opened");
      return {};
    }
    return streams_.find(name)->second;
  }
  const Tables& tables() const { return machine_.find(workspace_)->tables(); }

  // Verbs: what the actor asks.

  Command sends(Words& words) {
    Envelope e;
    label_ = words.next();
    e.id = id_of(label_);
    e.sender = actor_ == "broker" ? broker_sender : std::string_view(actor_);
    if (const AgentRef ref = tables().agents.find(actor_); ref != none) {
      e.dialect = tables().agents[ref].dialect;
    }
    if (!words.accept("to")) {
      fail("sends WHAT to WHOM");
    }
    receivers_ = split(words.next(), ',');
    e.receivers.assign(receivers_.begin(), receivers_.end());
    while (!words.done() && problem_.empty()) {
      option(words, e);
    }
    Send command{e, errand_, gathering_, {stages_.begin(), stages_.end()}, tokens_};
    command.on_unavailable = on_unavailable_;
    command.wait = wait_;
    command.cause = cause_;
    return command;
  }
  // What makes the message one of a pattern. False when the words are none of these.
  bool pattern_option(Words& words, Envelope& e) {
    if (words.accept("asking")) {
      e.kind = Kind::request;
    } else if (words.accept("querying")) {
      e.kind = Kind::query;
    } else if (words.accept("calling-the-roll")) {
      e.kind = Kind::broadcast;
      e.requires_ack = true;
    } else if (words.accept("requiring-ack")) {
      e.requires_ack = true;
    } else if (words.accept("within")) {
      e.response_timeout = duration(words.next());
    } else if (words.accept("else")) {
      e.on_timeout = one_of<OnTimeout>(words.next(), {"fail", "retry", "escalate"});
    } else if (words.accept("status")) {
      e.status = one_of<Status>(words.next(), {"unset", "success", "partial", "error", "declined"});
    } else if (words.accept("needing-approval")) {
      e.needs_approval = NeedsApproval::message;
    } else if (words.accept("approved-answers")) {
      e.needs_approval = NeedsApproval::answer;
    } else if (words.accept("confidence")) {
      e.confidence_ppm = static_cast<int32_t>(number(words.next()));
    } else if (words.accept("recoverable")) {
      e.status = Status::error;
      e.is_recoverable = true;
    } else if (words.accept("failing")) {
      e.status = Status::error;
      e.is_recoverable = true;
      e.error_type = words.next();
      e.error_message = words.next();
    } else if (words.accept("wanting-review")) {
      e.review = words.next();
    } else if (words.accept("extending")) {
      e.type = "timeout_extension_request";
      e.response_timeout = duration(words.next());
    } else if (words.accept("reporting-health")) {
      e.kind = Kind::health_report;
    } else if (words.accept("through")) {
      e.kind = Kind::request;
      stages_ = split(words.next(), ',');
    } else if (words.accept("gathering")) {
      e.kind = Kind::request;
      gathering_.emplace();
      gathering_->strategy = one_of<Strategy>(words.next(), {"all", "any", "majority", "quorum"});
      if (gathering_->strategy == Strategy::quorum) {
        gathering_->quorum = static_cast<uint32_t>(number(words.next()));
      }
      if (words.accept("window")) {
        gathering_->window = duration(words.next());
      }
      if (words.accept("at-its-end")) {
        gathering_->on_partial = one_of<OnPartial>(words.next(), {"proceed", "fail", "extend"});
      }
    } else {
      return false;
    }
    return true;
  }
  void option(Words& words, Envelope& e) {
    if (pattern_option(words, e)) {
      return;
    }
    if (words.accept("priority")) {
      e.priority = one_of<Priority>(words.next(), {"low", "normal", "high", "critical"});
    } else if (words.accept("ttl")) {
      e.ttl = duration(words.next());
    } else if (words.accept("key")) {
      e.idempotency_key = id_of(words.next());
    } else if (words.accept("answers")) {
      e.kind = Kind::response;
      e.in_reply_to = id_of(words.next());
    } else if (words.accept("broadcasting")) {
      e.kind = Kind::broadcast;
    } else if (testing::debate_option(words, e) || testing::stance_option(words, e, now_)) {
      // It says something of a challenge, or of how work goes on.
    } else if (words.accept("in")) {
      e.thread = words.next();
    } else if (words.accept("because-of")) {
      e.in_reply_to = id_of(words.next());
    } else if (words.accept("caused-by")) {
      cause_ = id_of(words.next());
    } else if (words.accept("action")) {
      e.action = words.next();
    } else if (words.accept("blocking")) {
      wait_ = duration(words.next());
    } else if (words.accept("unavailable")) {
      on_unavailable_ =
          one_of<OnUnavailable>(words.next(), {"by-rules", "queue", "redirect", "fail"});
    } else if (words.accept("reply-to")) {
      e.reply_to = words.next();
    } else if (words.accept("correlated")) {
      e.correlation = words.next();
    } else if (words.accept("session")) {
      e.session = words.next();
    } else if (words.accept("task")) {
      e.task = words.next();
    } else if (words.accept("type")) {
      e.type = words.next();
    } else if (words.accept("speaking")) {
      e.dialect = dialect(words.next());
    } else if (words.accept("tokens")) {
      tokens_ = number(words.next());
    } else if (words.accept("body")) {
      e.body = words.next();
    } else if (words.accept("bytes")) {
      body_.assign(number(words.next()), 'x');
      e.body = body_;
    } else if (words.accept("subject-bytes")) {
      body_.assign(number(words.next()), 'x');
      e.subject = body_;
    } else if (words.accept("from")) {
      e.sender = words.next();
    } else if (words.accept("id")) {
      e.id = id_of(words.next());
    } else if (words.accept("numbered")) {
      e.sequence_number = number(words.next());
    } else if (words.accept("about") && words.accept("letter")) {
      const DeadLetter* letter = tables().dead_letters.find(number(words.next()));
      errand_ = letter == nullptr ? UINT32_MAX : letter->notice;
    } else if (words.accept("for")) {
      errand_ = errand_to(words.next(), e.receivers.front());
      e.body = e.body.empty() ? "null" : e.body;
    } else if (words.accept("fire-and-forget")) {
      e.durability = Durability::memory;
    } else if (words.accept("without-id")) {
      e.id = {};
    } else {
      fail("do not understand \"" + std::string(words.peek()) + "\" here");
    }
  }
  // The oldest one of this kind; a number that no outbox item has where there is none.
  uint64_t errand_to(std::string_view kind, std::string_view to) const {
    for (const auto& [id, item] : tables().outbox.all()) {
      if (outbox_kind_name(item.kind) == kind && item.to == to) {
        return id;
      }
    }
    return UINT32_MAX;
  }
  Command takes(Words& words) { return Take{static_cast<uint32_t>(number(words.next()))}; }
  Command reads(Words& words) {
    Read read{target(words), std::nullopt};
    if (words.accept("as")) {
      read.as = dialect(words.next());
    } else if (const AgentRef ref = tables().agents.find(actor_); ref != none) {
      read.as = tables().agents[ref].dialect;
    }
    return read;
  }
  Command reassigns(Words& words) {
    ReassignTask command{.task = words.next(), .to = words.accept("to") ? words.next() : ""};
    if (words.accept("of")) {
      command.director = words.next();
    }
    if (words.accept("in")) {
      command.thread = words.next();
    }
    return command;
  }
  Command acks(Words& words) {
    Ack ack{.target = target(words)};
    if (words.accept("and") && words.accept("before") && words.accept("on")) {
      ack.stream = stream(words.next());
      ack.upto = mark(ack.target.seq, ack.stream);
    }
    return ack;
  }
  Command nacks(Words& words) {
    Nack nack{target(words), {}, {}};
    if (words.accept("delay")) {
      nack.delay = duration(words.next());
    }
    nack.failed = !words.accept("unfailed");
    if (words.accept("because")) {
      nack.reason = words.next();
    }
    return nack;
  }
  Command rejects(Words& words) {
    Reject reject{target(words), {}};
    if (words.accept("because")) {
      reject.reason = words.next();
    }
    return reject;
  }
  Command extends(Words& words) {
    Extend extend{target(words), {}};
    if (words.accept("for")) {
      extend.lease = duration(words.next());
    }
    return extend;
  }
  Command opens(Words& words) {
    const std::string name(words.next());
    const uint32_t window =
        words.accept("window") ? static_cast<uint32_t>(number(words.next())) : 1;
    if (words.accept("on")) {
      origin_ = origins_[std::string(words.next())];
    }
    if (!streams_.contains(name)) {
      const StreamId id{origin_, streams_.size() + 1};
      streams_[name] = id;
      stream_names_[id] = name;
    }
    OpenStream open{.stream = streams_[name], .window = window};
    if (words.accept("after")) {
      const Seq last = target(words).seq;
      words.accept("on");
      open.after = mark(last, stream(words.next()));
    }
    return open;
  }
  Command closes(Words& words) {
    if (words.accept("thread")) {
      return CloseThread{words.next()};
    }
    return CloseStream{stream(words.next())};
  }
  Command subscribes(Words& words) {
    const std::string_view topic = words.next();
    return Subscribe{topic, words.accept("for") ? words.next() : std::string_view{}};
  }
  Command unsubscribes(Words& words) {
    const std::string_view topic = words.next();
    return Unsubscribe{topic, words.accept("for") ? words.next() : std::string_view{}};
  }
  Command registers(Words& words) {
    Register command;
    command.name = words.next();
    while (!words.done() && problem_.empty()) {
      if (words.accept("as")) {
        command.kind = one_of<PrincipalKind>(words.next(), {"unknown", "agent", "human", "admin"});
      } else if (words.accept("speaking")) {
        command.dialect = dialect(words.next());
      } else if (words.accept("role")) {
        command.role = words.next();
      } else if (words.accept("token")) {
        command.token = testing::token_of(words.next());
      } else if (words.accept("webhook")) {
        command.webhook = words.next();
      } else if (words.accept("secret")) {
        command.webhook_secret = testing::token_of(words.next());
      } else if (words.accept("rights")) {
        rights_ = split(words.next(), ',');
        command.rights.assign(rights_.begin(), rights_.end());
      } else if (words.accept("subscribing")) {
        subscriptions_ = split(words.next(), ',');
        command.subscriptions.assign(subscriptions_.begin(), subscriptions_.end());
      } else if (words.accept("spawner")) {
        command.spawner = words.next();
      } else if (words.accept("scope")) {
        scope_ = split(words.next(), ',');
        command.scope.assign(scope_.begin(), scope_.end());
        command.scope_kinds = words.accept("only") ? kinds(words.next()) : ~uint64_t{0};
      } else if (words.accept("can")) {
        capabilities_ = split(words.next(), ',');
        command.capabilities.assign(capabilities_.begin(), capabilities_.end());
      } else {
        fail("do not understand \"" + std::string(words.peek()) + "\" here");
      }
    }
    return command;
  }
  // A bit for each of these words.
  static uint64_t kinds(std::string_view words) {
    uint64_t bits = 0;
    for (const std::string& word : split(words, ',')) {
      for (uint8_t kind = 0; kind <= static_cast<uint8_t>(kind_last); ++kind) {
        bits |= word_of(static_cast<Kind>(kind)) == word ? uint64_t{1} << kind : 0;
      }
    }
    return bits;
  }
  Command unregisters(Words& words) { return Unregister{words.next()}; }
  Command sets(Words& words) { return testing::rules_in(words); }
  // Each hash is made of one letter; a flag goes on from the last one, or from what it says.
  Command flags(Words& words) {
    RaiseFlag command;
    command.id = id_of(words.next());
    command.text = words.accept("saying") ? words.next() : "rude";
    command.digest[0] = static_cast<uint8_t>(command.text.front());
    command.previous = tables().flags.head();
    if (words.accept("after")) {
      command.previous[0] = static_cast<uint8_t>(words.next().front());
    }
    command.hash[0] = words.accept("hash") ? static_cast<uint8_t>(words.next().front()) : 'x';
    return command;
  }
  ApprovalDecision decision_of(std::string_view word) {
    return one_of<ApprovalDecision>(word, {"approve", "reject", "modify", "withdraw"});
  }
  // A digest is made of one letter.
  Command proposes(Words& words) {
    AskApproval command;
    command.id = id_of(words.next());
    command.summary = command.text = words.next();
    while (!words.done()) {
      if (words.accept("of")) {
        approvers_ = split(words.next(), ',');
        command.approvers.assign(approvers_.begin(), approvers_.end());
      } else if (words.accept("needing")) {
        command.needed = number(words.next());
      } else if (words.accept("within")) {
        command.timeout = duration(words.next());
      } else if (words.accept("offering")) {
        command.options = 0;
        for (const std::string& each : split(words.next(), ',')) {
          command.options |= option_of(decision_of(each));
        }
      } else if (words.accept("priority")) {
        command.priority = one_of<Priority>(words.next(), {"low", "normal", "high", "critical"});
      } else {
        fail("do not understand \"" + std::string(words.peek()) + "\" here");
        break;
      }
    }
    command.digest[0] = command.text.empty() ? 0 : static_cast<uint8_t>(command.text.front());
    return command;
  }
  Command decides(Words& words) {
    DecideApproval command;
    command.id = number(words.next());
    const Approval* const approval = tables().approvals.find(command.id);
    command.digest = approval == nullptr ? ProposalDigest{} : approval->digest;
    command.decision = decision_of(words.next());
    command.comment = words.accept("saying") ? words.next() : "";
    command.modification = words.accept("instead") ? words.next() : "";
    if (words.accept("shown")) {
      command.digest[0] = static_cast<uint8_t>(words.next().front());
    }
    return command;
  }
  Command resolves(Words& words) {
    if (verb_ == "resolves" && words.accept("flag")) {
      const uint64_t id = number(words.next());
      return ResolveFlag{id, words.accept("saying") ? words.next() : ""};
    }
    if (verb_ == "resolves") {
      words.accept("escalation");
      const uint64_t id = number(words.next());
      return ResolveEscalation{id, words.accept("saying") ? words.next() : ""};
    }
    ResolveDeadLetter command;
    command.resolution = verb_ == "retries"    ? Resolution::retried
                         : verb_ == "discards" ? Resolution::discarded
                                               : Resolution::escalated;
    if (!words.accept("letter")) {
      fail(verb_ + " letter NUMBER");
    }
    command.id = number(words.next());
    return command;
  }
  Command beats(Words& words) {
    Heartbeat command = testing::heartbeat_in(words);
    command.tokens = words.accept("tokens") ? number(words.next()) : 0;
    return command;
  }
  Command resets(Words& words) { return ResetLimits{words.next()}; }
  Command calls(Words&) { return Heartbeat{.only_seen = true}; }
  Command stops(Words& words) {
    if (!words.accept("waiting") || !words.accept("for")) {
      fail("stops waiting for M");
    }
    return StopWaiting{seq_of(words.next())};
  }
  Command garbles(Words& words) {
    label_ = words.next();
    body_.assign(words.accept("bytes") ? number(words.next()) : 1, 'x');
    return Malformed{body_, words.accept("because") ? words.next() : std::string_view{}};
  }
  // `SESSION [with WHOM] [task TEXT] [bytes N] [led-by WHO]`; or `work [of AGENT]`.
  Command starts(Words& words) {
    if (words.accept("work")) {
      return marks_session(words, false);
    }
    StartSession command;
    command.id = words.next();
    receivers_.clear();
    if (words.accept("with")) {
      receivers_ = split(words.next(), ',');
    }
    command.participants.assign(receivers_.begin(), receivers_.end());
    if (words.accept("bytes")) {
      body_.assign(number(words.next()), 'x');
      command.task = body_;
    }
    command.coordinator = words.accept("led-by") ? words.next() : std::string_view{};
    return command;
  }
  Command ends(Words& words) {
    if (!words.accept("work")) {
      fail("ends work [of AGENT]");
    }
    return marks_session(words, true);
  }
  Command marks_session(Words& words, bool is_end) {
    return MarkAgentSession{words.accept("of") ? words.next() : std::string_view(actor_), is_end};
  }
  Command changes(Words& words) { return testing::session_change_in(words, body_); }
  Command locks(Words& words) {
    TakeLock command;
    command.name = words.next();
    command.lease = words.accept("for") ? duration(words.next()) : Duration{};
    command.wait = words.accept("waiting") ? duration(words.next()) : Duration{};
    if (words.accept("anew")) {
      command.fence = Seq{};
    } else if (words.accept("again")) {  // what it holds now
      const Lock* const held = tables().locks.find(command.name);
      command.fence = held == nullptr ? Seq{1} : held->fence;
    } else if (words.accept("fence")) {
      command.fence = Seq{number(words.next())};
    }
    return command;
  }
  Command unlocks(Words& words) { return ReleaseLock{words.next()}; }
  Command adds(Words& words) {
    if (!words.accept("workspace")) {
      fail("adds workspace NAME");
    }
    AddWorkspace command;
    command.name = words.next();
    label_ = command.name;
    command.admin_token = testing::token_of(words.accept("token") ? words.next() : command.name);
    return command;
  }

  // Steps without an actor.

  void on_agent(Words& words) {
    words.next();
    Register command;
    command.name = words.next();
    command.dialect = dialect(words.next());
    if (words.accept("role")) {
      command.role = words.next();
    }
    compare(apply(broker_name, command));
  }
  void on_principal(Words& words) {
    Register command;
    command.kind = words.next() == "human" ? PrincipalKind::human : PrincipalKind::admin;
    command.name = words.next();
    if (words.accept("rights")) {
      rights_ = split(words.next(), ',');
      command.rights.assign(rights_.begin(), rights_.end());
    }
    compare(apply(broker_name, command));
  }
  void on_rules(Words& words) {
    words.next();
    compare(apply(broker_name, sets(words)));
  }
  void on_node(Words& words) {
    words.next();
    const std::string name(words.next());
    if (!words.accept("starts")) {
      fail("node NAME starts");
      return;
    }
    compare(start_node(name));
  }
  void on_workspace(Words& words) {
    words.next();
    if (!words.accept("workspace") || !workspaces_.contains(words.peek())) {
      fail("in workspace NAME, of one that was added");
      return;
    }
    workspace_ = workspaces_.find(words.next())->second;
  }
  // Ticks come when the machine asks for them, as a node would send them.
  void on_wait(Words& words) {
    words.next();
    const Time until = now_ + duration(words.next());
    Seen seen;
    for (int ticks = 0; machine_.next_deadline() <= until && problem_.empty(); ++ticks) {
      if (ticks == 10'000) {
        fail("the machine asks for ticks without end");
      }
      now_ = std::max(now_, machine_.next_deadline());
      seen.add(apply(broker_name, Tick{}));
    }
    now_ = until;
    seen.outcome = "done";
    compare(seen);
  }
  void on_restart(Words& words) {
    words.next();
    auto restored = Machine::restore(machine_.snapshot(), 99);
    if (!restored) {
      fail("the snapshot is refused: " + restored.error().detail);
      return;
    }
    machine_ = std::move(*restored);
  }

  // Questions about the state.

  void on_delivery(Words& words) {
    words.next();
    const Seq seq = seq_of(words.next());
    const std::string_view separator = words.next();
    const AgentRef receiver = tables().agents.find(words.next());
    const MessageRef message = tables().messages.find(seq);
    const DeliveryRef ref = message == none || receiver == none
                                ? none
                                : tables().messages.delivery_to(message, receiver);
    const std::string_view is = words.next();
    if (separator != "to" || is != "is") {
      fail("delivery WHAT to WHOM is STATE");
    }
    const std::string_view found =
        ref == none ? "none" : state_name(tables().messages.delivery(ref).state);
    check_equal(std::string(words.next()), std::string(found));
    if (words.accept("status")) {
      check_equal(std::string(words.next()),
                  ref == none
                      ? "none"
                      : std::string(handoff_status(tables(), tables().messages.delivery(ref))));
    }
    if (words.accept("attempt")) {
      check_equal(std::string(words.next()),
                  ref == none ? "none" : std::to_string(tables().messages.delivery(ref).attempts));
    }
  }
  void on_letter(Words& words) {
    words.next();
    const uint64_t id = number(words.next());
    const auto at = tables().dead_letters.all().find(id);
    if (at == tables().dead_letters.all().end()) {
      check_equal(join(words.rest()), "is gone");
      return;
    }
    const DeadLetter& letter = at->second;
    while (!words.done() && problem_.empty()) {
      if (words.accept("is")) {
        check_equal(std::string(words.next()), testing::resolution_word(letter.resolution));
      } else if (words.accept("by")) {
        check_equal(std::string(words.next()), letter.resolved_by);
      } else if (words.accept("tried")) {
        check_equal(std::string(words.next()), std::to_string(letter.retry_count));
      } else if (words.accept("retries")) {
        check_equal(std::string(words.next()), std::to_string(letter.tries));
      } else if (words.accept("for")) {
        check_equal(std::string(words.next()), letter.receiver);
      } else if (words.accept("from")) {
        check_equal(std::string(words.next()), letter.sender);
      } else if (words.peek() == "told" || words.peek() == "untold") {
        const bool untold = letter.notice == 0 || tables().outbox.find(letter.notice) != nullptr;
        check_equal(std::string(words.next()), untold ? "untold" : "told");
      } else if (words.peek() == "kept" || words.peek() == "cut") {
        check_equal(std::string(words.next()), letter.has_original ? "kept" : "cut");
      } else if (words.accept("says")) {
        check_equal(std::string(words.next()), letter.last_error);
      } else {
        fail("do not understand \"" + std::string(words.peek()) + "\" here");
      }
    }
  }
  // `fact NAME of KIND: VALUES`, of the oldest such outbox item.
  void on_fact(Words& words) {
    words.next();
    const std::string_view name = words.next();
    words.accept("of");
    const std::string_view kind = trimmed(words.next());
    std::string found = "none";
    for (const auto& [id, item] : tables().outbox.all()) {
      if (outbox_kind_name(item.kind) == kind && found == "none") {
        for (const Fact& fact : item.facts) {
          if (fact.name == name) {
            const auto* texts = std::get_if<std::vector<std::string>>(&fact.value);
            found = texts != nullptr ? join(*texts) : testing::fact_words(fact.value);
          }
        }
      }
    }
    check_equal(join(words.rest()), found);
  }
  void on_expect(Words& words) {
    words.next();
    const std::string_view what = words.next();
    if (what == "inbox") {
      expect_inbox(words);
    } else if (what == "news:") {
      expect_news(words);
    } else if (what == "dead:") {
      std::vector<std::string> found;
      for (const auto& [id, letter] : tables().dead_letters.all()) {
        if (letter.resolution == Resolution::pending) {
          found.push_back(label_of(letter.message) + " " + std::string(reason_name(letter.reason)));
        }
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "unsettled") {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      check_equal(std::string(words.next()),
                  ref == none ? "none" : std::to_string(tables().agents[ref].inbox.unsettled));
    } else if (what == "rule") {
      const std::string_view name = trimmed(words.next());
      const auto infos = all_rules();
      const auto info = std::ranges::find(infos, name, &RuleInfo::name);
      check_equal(std::string(words.next()),
                  info == infos.end() ? "none" : rule_value(tables().rules, *info));
    } else if (what == "remembered" || what == "forgotten") {
      const bool known = tables().messages.find(seq_of(words.next())) != none;
      check_equal(std::string(what), known ? "remembered" : "forgotten");
    } else if (what == "number") {
      const MessageRef ref = tables().messages.find(seq_of(trimmed(words.next())));
      check_equal(std::string(words.next()),
                  ref == none ? "none" : std::to_string(tables().messages.message(ref).number));
    } else if (what == "status") {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      const Agent& agent = tables().agents[ref == none ? 0 : ref];
      check_equal(join(words.rest()),
                  agent.status + (agent.task.empty() ? "" : " on " + agent.task));
    } else if (what == "presence") {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      const Agent& agent = tables().agents[ref == none ? 0 : ref];
      check_equal(join(words.rest()), agent.is_offline()     ? "offline"
                                      : agent.is_available() ? "available"
                                                             : "unavailable");
    } else if (what == "blocked:") {
      std::vector<std::string> found;
      for (const auto& [seq, edge] : tables().wait_graph.edges()) {
        found.push_back(tables().agents[edge.from].name + ">" + tables().agents[edge.to].name);
      }
      check_equal(join(words.rest()), found.empty() ? "nothing" : join(found));
    } else if (what == "stand-in") {
      const std::string_view label = words.next();
      const std::string_view name = trimmed(words.next());
      const MessageRef message = tables().messages.find(seq_of(label));
      const std::string* const from = tables().messages.notes.redirected_from(
          tables().messages.delivery_to(message, tables().agents.find(name)));
      check_equal(join(words.rest()), from == nullptr ? "none" : *from);
    } else if (what == "owed:") {
      std::vector<std::string> found;
      for (const auto& [id, item] : tables().outbox.all()) {
        found.push_back(std::string(outbox_kind_name(item.kind)) + " " + item.to);
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "mark") {
      const MessageRef ref = tables().messages.find(seq_of(trimmed(words.next())));
      static const std::map<Mark, std::string> names = {{Mark::plain, "plain"},
                                                        {Mark::late, "late"},
                                                        {Mark::duplicate, "duplicate"},
                                                        {Mark::modified, "modified"}};
      check_equal(std::string(words.next()),
                  ref == none ? "none" : names.at(tables().messages.message(ref).mark));
    } else if (what == "waits:") {
      std::vector<std::string> found;
      for (const auto& [seq, wait] : tables().pending.requests()) {
        found.push_back(label_of(seq));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "gather") {
      const auto at = tables().pending.gathers().find(seq_of(trimmed(words.next())));
      std::string found = "none";
      if (at != tables().pending.gathers().end()) {
        found = std::string(gather_state_name(at->second.state)) + " " +
                std::to_string(at->second.good()) + " of " + std::to_string(at->second.needed());
      }
      check_equal(join(words.rest()), found);
    } else if (what == "pipeline") {
      const auto at = tables().pending.pipelines().find(seq_of(trimmed(words.next())));
      std::string found = "none";
      if (at != tables().pending.pipelines().end()) {
        const Pipeline& pipeline = at->second;
        found = std::string(pipeline_state_name(pipeline.state)) + " at " +
                pipeline.stages[pipeline.stage].agent +
                (pipeline.waits_for.empty() ? "" : " for " + pipeline.waits_for);
      }
      check_equal(join(words.rest()), found);
    } else if (what == "escalations:") {
      std::vector<std::string> found;
      for (const auto& [id, escalation] : tables().escalations.all()) {
        found.push_back(std::string(cause_name(escalation.cause)) + " " +
                        label_of(escalation.about) + (escalation.is_open() ? "" : " resolved"));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "debates:") {
      check_equal(join(words.rest()), testing::debate_words(tables()));
    } else if (what == "debate") {
      const uint64_t id = number(trimmed(words.next()));
      std::vector<std::string> found;
      const Debate* const debate = tables().debates.find(id);
      for (const DebateStep& step : debate == nullptr ? std::vector<DebateStep>{} : debate->steps) {
        found.push_back(label_of(step.message) + " " + std::string(debate_act_words[step.act]));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "handoffs:" || what == "overdue:") {
      std::vector<std::string> found;
      for (const Handoff* const each : testing::handoffs_of(tables(), what == "overdue:", now_)) {
        found.push_back(label_of(each->message) + " " + each->to + testing::handoff_words(*each));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "approvals:") {
      std::vector<std::string> found;
      for (const auto& [id, approval] : tables().approvals.all()) {
        found.push_back(std::to_string(id) + " " + approval.asker + " " +
                        std::string(approval_state_words[approval.state]));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "flags:") {
      std::vector<std::string> found;
      for (const auto& [id, flag] : tables().flags.all()) {
        found.push_back(std::to_string(id) + " " + flag.sender + " " +
                        (flag.is_open() ? "open" : "by " + flag.resolved_by));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "session") {
      const std::string_view id = trimmed(words.next());
      check_equal(join(words.rest()), testing::session_words(tables(), id));
    } else if (what == "entries" || what == "history") {
      const std::string_view id = trimmed(words.next());
      check_equal(join(words.rest()), what == "entries" ? testing::entry_words(tables(), id)
                                                        : testing::change_words(tables(), id));
    } else if (what == "log") {
      const Session* const session = tables().sessions.find(trimmed(words.next()));
      std::vector<std::string> found;
      for (const SessionMessage& message :
           session == nullptr ? std::deque<SessionMessage>{} : session->log) {
        found.push_back(label_of(message.seq));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "locks:") {
      check_equal(join(words.rest()), testing::lock_words(tables()));
    } else if (what == "task") {
      const std::string_view id = words.next();
      const std::string_view director = words.accept("of") ? trimmed(words.next()) : "";
      const std::string_view thread = words.accept("in") ? trimmed(words.next()) : "";
      check_equal(join(words.rest()), testing::task_words(tables(), id, director, thread));
    } else if (what == "thread") {
      const std::string_view name = trimmed(words.next());
      check_equal(join(words.rest()), testing::thread_words(tables(), name));
    } else if (what == "threads:" || what == "correlated") {
      const std::string_view id = what == "correlated" ? trimmed(words.next()) : "";
      check_equal(join(words.rest()), testing::thread_names(tables(), id));
    } else if (what == "threads" && words.accept("of")) {
      const std::string_view agent = trimmed(words.next());
      check_equal(join(words.rest()), testing::thread_names_of(tables(), agent));
    } else if (what == "held:") {
      std::vector<std::string> found;
      for (const auto& [seq, holds] : tables().holds.all()) {
        found.push_back(label_of(seq));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "work") {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      check_equal(join(words.rest()),
                  ref == none ? "none" : testing::work_words(tables().agents[ref].work, now_));
    } else if (what == "violations" && words.accept("by-code")) {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      std::vector<std::string> found;
      for (const auto& [code, count] : tables().agents[ref].violations.kinds) {
        found.push_back(code + " " + std::to_string(count));
      }
      check_equal(join(words.rest()), join(found));
    } else if (what == "violations") {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      check_equal(std::string(words.next()),
                  ref == none ? "none" : std::to_string(tables().agents[ref].violations.count));
    } else if (what == "breaker" || what == "budget") {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      const Agent& agent = tables().agents[ref == none ? 0 : ref];
      check_equal(join(words.rest()),
                  what == "budget"
                      ? testing::words_for(agent.budget.on(now_))
                      : testing::words_for(agent.breaker, now_, tables().rules.breaker_pause));
    } else if (what == "capabilities" || what == "claims") {
      const AgentRef ref = tables().agents.find(trimmed(words.next()));
      const Agent& agent = tables().agents[ref == none ? 0 : ref];
      const auto& names = what == "claims" ? agent.claims : agent.capabilities;
      check_equal(join(words.rest()),
                  names.empty() ? "nothing" : join({names.begin(), names.end()}));
    } else if (what == "webhook") {
      expect_webhook(words);
    } else if (what == "principals:") {
      check_equal(std::string(words.next()), std::to_string(tables().agents.registered()));
    } else {
      fail("cannot expect \"" + std::string(what) + "\"");
    }
  }
  // What the broker is about to publish: the topic and what tells it from others.
  void expect_news(Words& words) {
    std::vector<std::string> found;
    for (const auto& [id, item] : tables().outbox.all()) {
      if (item.kind != OutboxKind::published) {
        continue;
      }
      found.push_back(item.to);
      for (const Fact& fact : item.facts) {
        const auto* text = std::get_if<std::string>(&fact.value);
        if (text != nullptr && (fact.name == "status" || fact.name == "action" ||
                                (fact.name == "agent" && item.to.starts_with("workflow")))) {
          found.push_back(*text);
        } else if (const auto* texts = std::get_if<std::vector<std::string>>(&fact.value)) {
          found.push_back(join(*texts));
        }
      }
    }
    check_equal(join(words.rest()), join(found));
  }
  // The URL, the secret, and the one before it.
  void expect_webhook(Words& words) {
    const AgentRef ref = tables().agents.find(trimmed(words.next()));
    const Webhook found = ref == none ? Webhook{} : tables().agents[ref].webhook;
    const std::vector<std::string> wanted = words.rest();
    const auto secret = [&](size_t n) {
      return n < wanted.size() ? testing::token_of(wanted[n]) : WebhookSecret{};
    };
    check_equal(wanted.empty() ? "nothing" : wanted[0], found.url.empty() ? "nothing" : found.url);
    if (!found.url.empty() && (found.secret != secret(1) || found.former != secret(2))) {
      fail("the webhook has other secrets");
    }
  }
  void expect_inbox(Words& words) {
    const AgentRef ref = tables().agents.find(trimmed(words.next()));
    std::vector<std::string> found;
    if (ref != none) {
      tables().agents[ref].inbox.walk(tables().messages, [&](DeliveryRef d) {
        found.push_back(label_of(tables().messages.message_of(d).seq));
        return true;
      });
    }
    check_equal(join(words.rest()), join(found));
  }
  void check_equal(const std::string& wanted, const std::string& found) {
    if (wanted != found) {
      fail("expected " + wanted + ", found " + found);
    }
  }

  // Applying and comparing.

  Seen start_node(const std::string& name) {
    origins_[name] = ++last_origin_;
    origin_ = last_origin_;
    return apply(broker_name, StartNode{name});
  }

  // Applies the command in its encoded form. A machine that is made anew from a snapshot before
  // each entry, with another seed, must do and be the same.
  Seen apply(std::string_view actor, const Command& command) {
    auto other = Machine::restore(machine_.snapshot(), 1234);
    if (!other || other->digest() != machine_.digest()) {
      fail("a machine restored from the snapshot differs");
      return {};
    }
    Entry entry{
        machine_.seq().next(), now_, {origin_, ++numbers_[origin_]}, workspace_, actor, command};
    std::string bytes;
    encode(entry, bytes);
    const auto decoded = decode_entry(entry.seq, entry.time, bytes);
    if (!decoded || *decoded != entry) {
      fail("the entry does not survive encoding");
      return {};
    }
    const Seen seen = apply(machine_, *decoded);
    if (apply(*other, *decoded) != seen || other->digest() != machine_.digest()) {
      fail("a machine restored from the snapshot goes another way");
    }
    return seen;
  }

  Seen apply(Machine& machine, const Entry& entry) {
    std::vector<Effect> effects;
    const Outcome outcome = machine.apply(entry, effects);
    Seen seen;
    seen.refused = !outcome;
    if (!outcome) {
      seen.outcome = base::info(outcome.error().code).name;
      seen.detail = base::whole_detail(outcome.error());
      seen.delay = outcome.error().retry_after;
    } else {
      seen.count = outcome->count;
      seen.delay = outcome->delay;
      seen.has_no_task = outcome->has_no_task;
      seen.outcome = std::holds_alternative<Send>(entry.command)
                         ? (outcome->skipped     ? "skipped"
                            : outcome->duplicate ? "duplicate"
                                                 : "accepted")
                         : "done";
      if (seen.outcome == "accepted" && !label_.empty()) {
        seqs_[label_] = outcome->message;
        labels_[outcome->message] = label_;
      }
      if (std::holds_alternative<AddWorkspace>(entry.command)) {
        workspaces_[label_] = outcome->workspace;
      }
    }
    if (!label_.empty() && !effects.empty() &&
        std::ranges::any_of(effects, [&](const Effect& effect) {
          const auto* dead = std::get_if<DeadLettered>(&effect);
          return dead != nullptr && dead->message == entry.seq;
        })) {
      labels_[entry.seq] = label_;
      seqs_.try_emplace(label_, entry.seq);
    }
    for (const Effect& effect : effects) {
      std::visit([&](const auto& one) { describe(machine, one, seen); }, effect);
    }
    return seen;
  }

  std::string label_of(Seq seq) const {
    const auto at = labels_.find(seq);
    return at == labels_.end() ? "?" + std::to_string(seq.n) : at->second;
  }

  void describe(const Machine&, const Deliver& effect, Seen& seen) {
    const std::string label = label_of(effect.message);
    if (effect.stream == stream_none) {
      seen.taken.push_back(label);
      return;
    }
    marks_[{effect.stream, effect.message}] = effect.mark;
    if (effect.seen) {
      seen.other["kept"].push_back(label);
      return;
    }
    seen.pushed.push_back(label);
    seen.by_stream[stream_names_.at(effect.stream)].push_back(label);
  }
  void describe(const Machine& machine, const Mail& effect, Seen& seen) const {
    const Tables& t = machine.find(effect.workspace)->tables();
    seen.other["mail"].push_back(t.agents[effect.receiver].name);
  }
  void describe(const Machine&, const Settled& effect, Seen& seen) const {
    seen.other["settled"].push_back(label_of(effect.message) + " " +
                                    std::string(state_name(effect.state)));
  }
  void describe(const Machine&, const DeadLettered& effect, Seen& seen) const {
    seen.dead.push_back(label_of(effect.message) + " " + std::string(reason_name(effect.reason)));
  }
  void describe(const Machine&, const DeadLetterResolved& effect, Seen& seen) const {
    seen.other["system"].push_back(std::to_string(effect.id) + " " +
                                   testing::resolution_word(effect.resolution));
  }
  void describe(const Machine&, const DeadLettersAlarming&, Seen& seen) const {
    seen.other["system"].push_back("alarm");
  }
  void describe(const Machine&, const DeadLetterDropped& effect, Seen& seen) const {
    seen.other["dropped"].push_back(std::to_string(effect.id));
  }
  void describe(const Machine& machine, const LockTurn& effect, Seen& seen) const {
    const Tables& t = machine.find(effect.workspace)->tables();
    seen.other["turn"].push_back(t.agents[effect.agent].name +
                                 (effect.granted ? " granted" : " over"));
  }
  void describe(const Machine&, const ApprovalChanged& effect, Seen& seen) const {
    seen.other["changed"].push_back("approval " + std::to_string(effect.approval));
  }
  void describe(const Machine&, const StreamClosed& effect, Seen& seen) const {
    seen.other["closed"].push_back(stream_names_.at(effect.stream));
  }
  void describe(const Machine&, const RequestTimedOut& effect, Seen& seen) const {
    const char* const what = effect.is_final ? " given up" : " asked again";
    seen.other["late"].push_back(label_of(effect.message) + what);
  }
  void describe(const Machine& machine, const Owed& effect, Seen& seen) const {
    const OutboxItem* item =
        machine.find(effect.workspace)->tables().outbox.find(effect.outbox_item);
    seen.other["owes"].push_back(
        item == nullptr ? "nothing" : std::string(outbox_kind_name(item->kind)) + " " + item->to);
  }

  // What a line names of a kind is all that there is of it. Hand-outs and dead letters are looked
  // at on every line, the rest where the line names it.
  void compare(const Seen& seen) {
    std::vector<std::string> taken;
    std::optional<std::vector<std::string>> pushed;
    std::map<std::string, std::vector<std::string>> by_stream;
    std::vector<std::string> dead;
    std::map<std::string, std::vector<std::string>> named;
    bool outcome_named = false;
    for (const std::string& clause : split(expected_, ',')) {
      Words words(clause);
      const std::string_view first = words.peek();
      if (words.done()) {
        continue;
      }
      if (is_outcome(first)) {
        outcome_named = true;
        compare_outcome(words, seen);
      } else if (words.accept("nothing")) {
        // The lists stay empty.
      } else if (words.accept("pushed")) {
        pushed = words.rest();
      } else if (words.peek(1) == "gets") {
        auto& labels = by_stream[std::string(words.next())];
        words.next();
        labels = words.rest();
      } else if (words.accept("dead")) {
        dead.push_back(join(words.rest()));
      } else if (!compare_hint(words, seen, named)) {
        taken = words.rest();
      }
      if (!words.done()) {
        fail("do not understand \"" + std::string(words.peek()) + "\" here");
      }
    }
    if (!outcome_named && seen.refused) {
      fail("refused: " + seen.outcome + ": " + seen.detail);
    }
    compare_list("handed out", taken, seen.taken);
    if (by_stream.empty()) {
      compare_list("pushed", pushed.value_or(std::vector<std::string>{}), seen.pushed);
    } else if (by_stream != seen.by_stream) {
      for (const auto& [stream, labels] : seen.by_stream) {
        compare_list("pushed to " + stream, by_stream[stream], labels);
      }
      fail("a stream got less than expected");
    }
    compare_list("dead", dead, seen.dead);
    for (const auto& [kind, wanted] : named) {
      compare_list(kind, wanted, seen.of(kind));
    }
  }
  void compare_outcome(Words& words, const Seen& seen) {
    if (const std::string_view wanted = words.next(); wanted != seen.outcome) {
      fail("expected " + std::string(wanted) + ", found " + seen.outcome +
           (seen.detail.empty() ? "" : ": " + seen.detail));
    }
    if (words.accept("count")) {
      check_equal("count " + std::string(words.next()), "count " + std::to_string(seen.count));
    }
    if (words.accept("delay")) {
      check_equal(base::format_duration(duration(words.next())), base::format_duration(seen.delay));
    }
    if (words.accept("taskless") != seen.has_no_task && seen.outcome == "accepted") {
      fail(seen.has_no_task ? "its sender is told that it has no such task"
                            : "its sender is not told that it has no such task");
    }
    if (words.accept("saying")) {
      check_equal(std::string(words.next()), seen.detail);
    } else if (words.accept("mentioning")) {
      const std::string wanted(words.next());
      if (seen.detail.find(wanted) == std::string::npos) {
        fail("expected a detail with \"" + wanted + "\", found \"" + seen.detail + "\"");
      }
    }
  }
  // `mail bo`, `no mail`, `mail bo among others`. False when the clause is none of these.
  bool compare_hint(Words& words, const Seen& seen,
                    std::map<std::string, std::vector<std::string>>& named) {
    const bool is_none = words.peek() == "no";
    const std::string kind(words.peek(is_none ? 1 : 0));
    if (!testing::is_kind(kind)) {
      return false;
    }
    words.next();
    if (is_none) {
      words.next();
      named[kind] = {};
      return true;
    }
    if (kind == "dropped") {
      words.accept("letter");
    }
    std::string wanted = join(words.rest());
    if (constexpr std::string_view others = " among others"; wanted.ends_with(others)) {
      wanted.resize(wanted.size() - others.size());
      if (const auto found = seen.of(kind); std::ranges::find(found, wanted) == found.end()) {
        fail("expected " + kind + ": " + wanted + " among others; found: " + join(found));
      }
    } else {
      named[kind].push_back(wanted);
    }
    return true;
  }
  void compare_list(const std::string& what, const std::vector<std::string>& wanted,
                    const std::vector<std::string>& found) {
    if (wanted != found) {
      fail("expected " + what + ": " + join(wanted) + "; found: " + join(found));
    }
  }

  std::string file_;
  size_t line_ = 0;
  std::string problem_;
  std::string expected_;  // what stands behind the arrow

  Machine machine_{1};
  Time now_ = testing::start_time;
  WorkspaceId workspace_ = workspace_first;
  std::string node_;
  uint64_t last_origin_ = 100;
  uint64_t origin_ = 0;
  std::map<std::string, uint64_t> origins_;  // of each node's present life
  std::map<uint64_t, uint64_t> numbers_;     // newest command of each origin
  std::map<std::string, Seq, std::less<>> seqs_;
  std::map<Seq, std::string> labels_;
  std::map<std::string, StreamId, std::less<>> streams_;
  std::map<StreamId, std::string> stream_names_;
  std::map<std::pair<StreamId, Seq>, ResumeMark> marks_;
  std::map<std::string, WorkspaceId, std::less<>> workspaces_ = {{"default", workspace_first}};

  // The sentence in hand; the command's texts are views of these.
  std::string actor_, verb_, label_;
  uint64_t errand_ = 0;
  std::optional<Gathering> gathering_;
  std::vector<std::string> stages_;
  uint64_t tokens_ = 0;
  OnUnavailable on_unavailable_ = OnUnavailable::by_rules;
  Duration wait_{};
  MessageId cause_;
  std::string body_;
  std::vector<std::string> receivers_, rights_, capabilities_, subscriptions_, approvers_, scope_;
};

std::string run_text(const std::string& text) {
  std::istringstream in(text);
  return Script("text").run(in);
}

std::vector<std::string> all_scripts() {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(PARLEY_SCENARIOS, error)) {
    if (entry.path().extension() == ".txt") {
      paths.push_back(entry.path().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, HoldsFromFirstToLastLine) {
  std::ifstream in(GetParam());
  ASSERT_TRUE(in.is_open()) << GetParam();
  EXPECT_EQ(Script(GetParam()).run(in), "");
}

INSTANTIATE_TEST_SUITE_P(Scripts, Scenario, ::testing::ValuesIn(all_scripts()),
                         [](const auto& script) {
                           return std::filesystem::path(script.param).stem().string();
                         });

TEST(ScenarioRunner, FindsScripts) { EXPECT_GT(all_scripts().size(), 10u) << PARLEY_SCENARIOS; }

TEST(ScenarioRunner, NamesTheLineOfAWrongExpectation) {
  EXPECT_EQ(run_text("agent ana flow\nagent bo flow\n\nana sends m1 to bo -> duplicate\n"),
            "text:4: expected duplicate, found accepted");
}

TEST(ScenarioRunner, DoesNotOverlookAHandOut) {
  EXPECT_EQ(run_text("agent ana flow\nana sends m1 to ana\nana takes 1\n"),
            "text:3: expected handed out: nothing; found: m1");
}

TEST(ScenarioRunner, DoesNotOverlookADeadLetter) {
  EXPECT_EQ(run_text("agent ana flow\nana sends m1 to nobody\n"),
            "text:2: expected dead: nothing; found: m1 receiver_not_found");
}

TEST(ScenarioRunner, TakesWhatALineNamesOfAKindForAllOfIt) {
  const std::string world = "agent ana flow\nagent bo flow\n";
  const std::string sent = world + "ana sends m1 to ana,bo -> accepted, ";
  EXPECT_EQ(run_text(sent + "mail ana, mail bo\n"), "");
  EXPECT_EQ(run_text(sent + "mail bo among others\n"), "");
  EXPECT_EQ(run_text(sent + "mail bo\n"), "text:3: expected mail: bo; found: ana bo");
  EXPECT_EQ(run_text(sent + "no mail\n"), "text:3: expected mail: nothing; found: ana bo");
  EXPECT_EQ(run_text(sent + "mail cy among others\n"),
            "text:3: expected mail: cy among others; found: ana bo");
}

TEST(ScenarioRunner, TakesWhatAnErrorSaysAsAWhole) {
  const std::string taken = "agent ana flow\nana takes 0 -> BAD_REQUEST ";
  EXPECT_EQ(run_text(taken + "mentioning \"window_max\"\n"), "");
  EXPECT_EQ(run_text(taken + "saying \"window_max\"\n").substr(0, 33),
            "text:2: expected window_max, foun");
}

TEST(ScenarioRunner, DoesNotOverlookARefusal) {
  EXPECT_EQ(run_text("agent ana flow\nana takes 0\n").substr(0, 28),
            "text:2: refused: BAD_REQUEST");
}

TEST(ScenarioRunner, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(run_text("agent ana flow\nana dances\n"), "text:2: no such verb: \"dances\"");
  EXPECT_EQ(run_text("agent ana klingon\n"), "text:1: do not understand \"klingon\"");
  EXPECT_EQ(run_text("wait long\n"), "text:1: \"long\" is not a duration such as 5s");
  EXPECT_EQ(run_text("agent ana flow\nana acks m1\n"), "text:2: no message \"m1\" was accepted");
  EXPECT_EQ(run_text("human a -> done what\n"), "text:1: do not understand \"what\" here");
}

}  // namespace
}  // namespace parley::core
