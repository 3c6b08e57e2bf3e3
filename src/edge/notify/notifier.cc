// SPDX-License-Identifier: Apache-2.0
#include "edge/notify/notifier.h"

#include <algorithm>

#include "base/text.h"
#include "lib/crypto.h"

namespace parley::edge::notify {

namespace {

constexpr size_t items_max = 1'000;  // of one target; the oldest go
constexpr size_t threads = 4;

}  // namespace

Notifier::Notifier(const core::Machine& machine, Waits& waits, Options options,
                   Environment environment)
    : machine_(machine),
      waits_(waits),
      options_(std::move(options)),
      environment_(std::move(environment)),
      told_(options_.told_file) {
  for (const Target& target : options_.targets) {
    // A hash, for the file and the id of an event must not give the URL away.
    const auto key = lib::derived_id("notify", target.url + "\n" + target.chat_id);
    lines_.push_back({.target = target, .key = base::format_uuid(key)});
  }
  if (!lines_.empty() && !options_.send) {
    options_.poster.threads = threads;
    poster_.emplace(options_.poster);
    options_.send = [this](Poster::Request request, Poster::Done done) {
      return poster_->post(std::move(request), std::move(done));
    };
  }
}

const core::Tables& Notifier::tables() const {
  return machine_.find(core::workspace_first)->tables();
}

void Notifier::start() { applied(); }

void Notifier::applied() {
  if (lines_.empty()) {
    return;
  }
  const core::Tables& t = tables();
  for (auto at = t.escalations.all().upper_bound(newest_escalation_);
       at != t.escalations.all().end(); ++at) {
    newest_escalation_ = at->first;
    add(What::escalation, at->first);
  }
  for (auto at = t.approvals.all().upper_bound(newest_approval_); at != t.approvals.all().end();
       ++at) {
    newest_approval_ = at->first;
    add(What::approval, at->first);
  }
}

void Notifier::add(What what, uint64_t id) {
  const Item item{what, id};
  for (size_t n = 0; n < lines_.size(); ++n) {
    Line& line = lines_[n];
    if (id <= told_.newest(line.key, what) || !is_open(item) || !concerns(line, item)) {
      continue;
    }
    if (line.items.size() >= items_max) {
      // Not the first, which may be under way.
      line.items.erase(line.items.begin() + 1);
      ++dropped_;
    }
    line.items.push_back(item);
    go_on(n);
  }
}

bool Notifier::is_open(const Item& item) const {
  const auto& [what, id] = item;
  if (what == What::escalation) {
    const core::Escalation* const found = tables().escalations.find(id);
    return found != nullptr && found->is_open();
  }
  const core::Approval* const found = tables().approvals.find(id);
  return found != nullptr && found->is_pending();
}

bool Notifier::is_p0(const Item& item) const {
  const core::Tables& t = tables();
  if (item.first == What::approval) {
    return t.approvals.find(item.second)->priority == core::Priority::critical;
  }
  const core::MessageRef about = t.messages.find(t.escalations.find(item.second)->about);
  return about != core::none && t.messages.message(about).priority == core::Priority::critical;
}

bool Notifier::concerns(const Line& line, const Item& item) const {
  const Target& target = line.target;
  if (item.first == What::escalation ? !target.escalations : !target.approvals) {
    return false;
  }
  if (target.only_p0 && !is_p0(item)) {
    return false;
  }
  if (item.first == What::escalation || target.for_whom.empty()) {
    return true;
  }
  const std::vector<std::string>& named = tables().approvals.find(item.second)->approvers;
  return named.empty() || std::ranges::find(named, target.for_whom) != named.end();
}

// Begins with the next that is open still.
void Notifier::go_on(size_t number) {
  Line& line = lines_[number];
  if (line.is_busy) {
    return;
  }
  while (!line.items.empty() && !is_open(line.items.front())) {
    line.items.pop_front();
  }
  if (line.items.empty()) {
    return;
  }
  line.is_busy = true;
  const Item item = line.items.front();
  const base::Seq about = item.first == What::escalation
                              ? tables().escalations.find(item.second)->about
                              : tables().approvals.find(item.second)->record;
  environment_.warm(about, [this, number] { send(number); });
}

Notice Notifier::notice_of(const Item& item) const {
  const core::Tables& t = tables();
  Notice notice{.what = item.first,
                .id = item.second,
                .workspace = machine_.find(core::workspace_first)->name(),
                .is_p0 = is_p0(item)};
  if (item.first == What::escalation) {
    const core::Escalation& escalation = *t.escalations.find(item.second);
    notice.agent = escalation.agent;
    notice.cause = core::cause_name(escalation.cause);
    notice.receiver = escalation.receiver;
    notice.subject = environment_.subject(escalation.about);
    notice.why = escalation.why;
    notice.since = escalation.since;
  } else {
    const core::Approval& approval = *t.approvals.find(item.second);
    notice.agent = approval.asker;
    notice.subject = approval.summary;
    notice.since = approval.since;
    notice.deadline = approval.deadline;
  }
  return notice;
}

void Notifier::send(size_t number) {
  Line& line = lines_[number];
  const Item item = line.items.front();
  if (!is_open(item)) {
    line.is_busy = false;
    go_on(number);
    return;
  }
  // The same for each try, so that the receiver can tell repeated requests.
  const std::string event_id = base::format_uuid(lib::derived_id(
      line.key, (item.first == What::escalation ? "e" : "a") + std::to_string(item.second)));
  std::string body = body_of(line.target, notice_of(item), event_id);
  Poster::Request request{.url = line.target.url,
                          .headers =
                              [target = line.target, event_id, body, clock = environment_.now,
                               version = options_.version] {
                                return headers_of(target, event_id, clock(), body, version);
                              },
                          .body = std::move(body),
                          .failed_before = line.failures > 0};
  const bool is_taken = options_.send(
      std::move(request), [this, number, item, key = line.key](const Poster::Result& result) {
        if (result.error.empty()) {
          told_.add(key, item.first, item.second);  // on this thread: it waits for the disk
        }
        environment_.post([this, number, result] { finish(number, result); });
      });
  if (!is_taken) {
    finish(number, {.error = "too many requests wait", .detail = "too many requests wait"});
  }
}

void Notifier::finish(size_t number, const Poster::Result& result) {
  Line& line = lines_[number];
  if (result.error.empty()) {
    ++sent_;
    if (line.failures > 0) {
      warn(line, "works again");
    }
    line.failures = 0;
    line.items.pop_front();
    line.is_busy = false;
    go_on(number);
    return;
  }
  ++failed_;
  if (++line.failures == 1) {
    warn(line, "fails and is tried again: " + result.error);
  }
  const WebhookLimits& limits = options_.limits;
  const int64_t doubled = limits.retry_first.us << std::min<uint64_t>(line.failures - 1, 20);
  const base::Duration pause{std::min(doubled, limits.retry_max.us)};
  const base::Time at = environment_.now() + std::max(result.retry_after.value_or(pause), pause);
  waits_.add(at, [this, number] {
    lines_[number].is_busy = false;
    go_on(number);
  });
}

// Of a URL no more than where it leads: the rest may be a secret.
void Notifier::warn(const Line& line, const std::string& what) const {
  if (options_.warn) {
    options_.warn("the notification at " + std::string(origin_of(line.target.url)) + " " + what);
  }
}

}  // namespace parley::edge::notify
