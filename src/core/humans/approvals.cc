// SPDX-License-Identifier: Apache-2.0
#include "core/humans/approvals.h"

#include <algorithm>

#include "base/check.h"
#include "core/model/wire.h"

namespace parley::core {

namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string names_of_options(uint64_t options) {
  std::string names;
  for (size_t n = 0; n < approval_options.size(); ++n) {
    if ((options & option_of(static_cast<ApprovalDecision>(n))) != 0) {
      names.append(names.empty() ? "" : ", ").append(approval_options[n]);
    }
  }
  return names;
}

uint64_t Approvals::add(Approval approval, uint64_t max) {
  CHECK(approval.is_pending());
  CHECK(approval.remind_at <= approval.deadline);
  const Name name(approval.asker, approval.message);
  const Time due = approval.remind_at;
  const Seq held = approval.held;
  const uint64_t id =
      cases_.add(std::move(approval), max, [this](const Approval& old) { forget(old); });
  by_message_[name] = id;
  due_.emplace(due, id);
  if (held.n != 0) {
    by_held_[held] = id;
  }
  return id;
}

void Approvals::forget(const Approval& old) {
  by_held_.erase(old.held);
  const auto named = by_message_.find({old.asker, old.message});
  if (named != by_message_.end() && named->second == old.id) {
    by_message_.erase(named);
  }
}

void Approvals::end(uint64_t id, const End& how) {
  CHECK(how.state != ApprovalState::pending);
  due_.erase({find(id)->remind_at, id});
  cases_.change(id, [&how](Approval& approval) {
    approval.state = how.state;
    approval.decided_by = how.by;
    approval.comment = how.comment;
    approval.decision = how.decision;
    approval.decided_at = how.at;
    approval.untold = how.untold;
  });
  if (how.untold > 0) {
    untold_.insert(id);
  }
}

void Approvals::add_untold(uint64_t id) {
  cases_.change(id, [](Approval& approval) { ++approval.untold; });
}

void Approvals::told_one(uint64_t id) {
  cases_.change(id, [](Approval& approval) { --approval.untold; });
  if (find(id)->untold == 0) {
    untold_.erase(id);
  }
}

void Approvals::approve(uint64_t id, std::string_view by) {
  cases_.change(id, [by](Approval& approval) { approval.approved_by.emplace_back(by); });
}

void Approvals::drop_vote(uint64_t id, std::string_view of) {
  cases_.change(id, [of](Approval& approval) { std::erase(approval.approved_by, of); });
}

void Approvals::lose(uint64_t id, std::string_view name) {
  cases_.change(id, [name](Approval& approval) {
    std::erase(approval.approved_by, name);
    if (contains(approval.approvers, name) && !contains(approval.gone, name)) {
      approval.gone.emplace_back(name);
    }
  });
}

void Approvals::remind_again(uint64_t id, Time at) {
  due_.erase({find(id)->remind_at, id});
  due_.emplace(at, id);
  cases_.change(id, [at](Approval& approval) { approval.remind_at = at; });
}

void Approvals::add_unread(Seq notice, Decided decided) {
  unread_by_.emplace(std::pair(decided.message, decided.receiver), notice);
  unread_.emplace(notice, std::move(decided));
}

void Approvals::remove_unread(Seq notice) {
  const auto at = unread_.find(notice);
  unread_by_.erase({at->second.message, at->second.receiver});
  unread_.erase(at);
}

Seq Approvals::find_unread(Seq message, std::string_view receiver) const {
  if (unread_by_.empty()) {
    return {};
  }
  const auto at = unread_by_.find({message, std::string(receiver)});
  return at == unread_by_.end() ? Seq{} : at->second;
}

const Approval* Approvals::find_held(Seq message) const {
  const auto at = by_held_.find(message);
  return at == by_held_.end() ? nullptr : find(at->second);
}

const Approval* Approvals::find_sent(std::string_view asker, const base::MessageId& message) const {
  const auto at = by_message_.find({std::string(asker), message});
  return at == by_message_.end() ? nullptr : find(at->second);
}

std::vector<uint64_t> Approvals::open_ids_of(std::string_view asker) const {
  std::vector<uint64_t> ids;
  if (open_of(asker) == 0) {
    return ids;
  }
  for (const auto& [at, id] : due_) {
    if (find(id)->asker == asker) {
      ids.push_back(id);
    }
  }
  return ids;
}

std::vector<uint64_t> Approvals::open_ids_with(std::string_view name) const {
  std::vector<uint64_t> ids;
  for (const auto& [at, id] : due_) {
    const Approval& approval = *find(id);
    const bool is_named = contains(approval.approvers, name) && !contains(approval.gone, name);
    if (is_named || contains(approval.approved_by, name)) {
      ids.push_back(id);
    }
  }
  return ids;
}

void Approvals::add_live(std::vector<Seq>& seqs) const {
  for (const auto& [id, approval] : all()) {
    seqs.push_back(approval.record);
    if (approval.decision.n != 0) {
      seqs.push_back(approval.decision);
    }
  }
}

void Approvals::encode(Writer& out) const {
  cases_.encode(out);
  out.varint(unread_.size());
  for (const auto& [notice, decided] : unread_) {
    out.varint(notice.n);
    put(decided, out);
  }
}

bool Approvals::decode(Reader& in) {
  const bool good = cases_.decode(in, [this](const Approval& approval) {
    by_message_[{approval.asker, approval.message}] = approval.id;
    if (approval.held.n != 0) {
      by_held_[approval.held] = approval.id;
    }
    if (approval.is_pending()) {
      due_.emplace(approval.remind_at, approval.id);
    }
    if (approval.untold > 0) {
      untold_.insert(approval.id);
    }
    const bool may_wait =
        approval.untold == 0 || (approval.state == ApprovalState::modified && approval.held.n != 0);
    const bool offers_something = approval.options != 0 && (approval.options & ~all_options) == 0;
    return offers_something && may_wait && approval.remind_at <= approval.deadline;
  });
  for (size_t left = good ? in.count(3) : 0; left > 0; --left) {
    const Seq notice{in.varint()};
    Decided decided;
    get(decided, in);
    const bool is_next = unread_.empty() || unread_.rbegin()->first < notice;
    if (!is_next || unread_by_.contains({decided.message, decided.receiver})) {
      return false;
    }
    add_unread(notice, std::move(decided));
  }
  return good;
}

}  // namespace parley::core
