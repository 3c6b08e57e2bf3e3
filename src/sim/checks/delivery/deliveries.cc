// SPDX-License-Identifier: Apache-2.0
#include "sim/checks/delivery/deliveries.h"

#include <algorithm>

#include "sim/checks/groups/tasks.h"
#include "sim/text.h"

namespace parley::sim {

namespace {

core::StreamId stream_of(const Step& step, const core::Delivery& actual) {
  return actual.stream == core::none ? core::stream_none
                                     : step.after.tables().streams[actual.stream].id;
}

}  // namespace

void DeliveryChecks::begin() {
  for (auto& [seq, sent] : model_.messages) {
    sent.passage_before = sent.passage;
    for (Delivery& delivery : sent.deliveries) {
      delivery.state_before = delivery.state;
      delivery.due_before = delivery.due;
      delivery.tried_before = delivery.tried;
    }
  }
}

void DeliveryChecks::on_deliver(const Step& step, const NamedEffect& effect) {
  Delivery* const delivery = model_.find(effect.message, effect.receiver);
  if (delivery == nullptr) {
    model_.fail(Check::receivers, step,
                named(effect.message, effect.receiver) + " was never accepted");
    return;
  }
  const SentMessage& sent = model_.messages.at(effect.message);
  if (core::is_final(delivery->state)) {
    model_.fail(Check::settle, step,
                named(effect.message, effect.receiver) + " is handed out though it is " +
                    std::string(core::state_name(delivery->state)));
  }
  if (!model_.may_be_free(step, sent, *delivery)) {
    model_.fail(Check::holder, step,
                named(effect.message, effect.receiver) + " has a holder already");
  }
  check_size(step, sent, *delivery);
  if (sent.expires <= model_.now) {
    model_.fail(Check::expiry, step,
                named(effect.message, effect.receiver) + " is handed out expired");
  }
  if (const auto at = model_.sessions.find(sent.session);
      model_.is_paused(sent) && at->second.was_paused) {
    model_.fail(Check::session, step,
                named(effect.message, effect.receiver) + " is handed out inside a paused session");
  }
  if (sent.passage != Passage::open) {
    model_.fail(Check::approval, step,
                named(effect.message, effect.receiver) + " is handed out, and " +
                    (sent.passage == Passage::held ? "people have not decided on it"
                                                   : "people have not allowed it"));
  }
  if (lacks_decision(model_.messages, sent, effect.receiver)) {
    model_.fail(Check::approval, step,
                named(effect.message, effect.receiver) +
                    " is handed out before what people decided about it");
  }
  if (sent.is_superseded) {
    model_.fail(Check::wait, step,
                named(effect.message, effect.receiver) +
                    " is handed out, a failure after which there is another try");
  }
  const auto* read = done<core::Read>(step);
  const bool by_name = read != nullptr && model_.is_target(step, read->target, sent, *delivery);
  // A message that the client had before its stream was opened overtakes nothing.
  if (!by_name && !effect.seen) {
    order_.check(step, sent, *delivery);
  }
  check_source(step, effect, by_name);
  check_mark(step, effect, sent, *delivery);
  delivery->state = by_name ? State::read : State::offered;
  delivery->stream = effect.stream;
  delivery->touched = step.entry.seq;
  delivery->due = base::time_max;  // `reconcile` takes it from the tables.
  delivery->attempts += effect.seen ? 0 : 1;
  if (delivery->attempts != effect.attempt) {
    model_.fail(Check::recount, step,
                text("{} is attempt {}, not {}", named(effect.message, effect.receiver),
                     delivery->attempts, effect.attempt));
  }
  if (delivery->attempts > 1) {
    model_.coverage.count("case", "redelivered");
  }
}

// A message comes because its receiver asked for it, or on a stream of its receiver.
void DeliveryChecks::check_source(const Step& step, const NamedEffect& effect, bool by_name) {
  if (effect.stream == core::stream_none) {
    const bool asked = by_name || done<core::Take>(step) != nullptr;
    if (!asked || step.entry.actor != effect.receiver) {
      model_.fail(Check::receivers, step,
                  named(effect.message, effect.receiver) + " was not asked for");
    }
  } else if (!model_.streams.contains(effect.stream) ||
             model_.streams[effect.stream].agent != effect.receiver) {
    model_.fail(Check::receivers, step,
                named(effect.message, effect.receiver) + " goes to no open stream");
  }
}

// Nobody gets a message that is larger than its own dialect allows.
void DeliveryChecks::check_size(const Step& step, const SentMessage& sent,
                                const Delivery& delivery) {
  const auto at = model_.principals.find(delivery.receiver);
  if (at == model_.principals.end() || at->second.kind != core::PrincipalKind::agent ||
      at->second.dialect == sent.dialect || sent.sender == core::broker_sender ||
      delivery.receiver == model_.changed_dialect) {
    return;
  }
  const bool too_large = at->second.dialect == core::Dialect::inbox
                             ? sent.bytes >= model_.rules.inbox_content_bytes
                         : at->second.dialect == core::Dialect::collab
                             ? sent.bytes >= model_.rules.collab_message_bytes_max
                             : false;
  if (too_large) {
    model_.fail(Check::limit, step,
                text("{} has {} bytes, too many for its receiver",
                     named(sent.seq, delivery.receiver), sent.bytes));
  }
}

// True when the receiver may still name the message by its mark. Only a lost connection leaves the
// marks: a lease that ends and a nack do not. The start of a node ends connections and no leases.
bool DeliveryChecks::leaves_marks(const Step& step, const SentMessage& sent,
                                  const Delivery& delivery) const {
  const auto* nack = done<core::Nack>(step);
  const bool given_back = (delivery.due <= model_.now && passes_time(step)) ||
                          (nack != nullptr && model_.is_target(step, nack->target, sent, delivery));
  return !core::is_held(delivery.state) ||
         (!given_back && model_.closed_streams.contains(delivery.stream));
}

// A client that comes back gets what it did not see and nothing else. No mark is given twice.
void DeliveryChecks::check_mark(const Step& step, const NamedEffect& effect,
                                const SentMessage& sent, Delivery& delivery) {
  const bool known = leaves_marks(step, sent, delivery);
  const core::ResumeMark before = known ? delivery.mark : core::ResumeMark{};
  const core::ResumeMark former = known ? delivery.former : core::ResumeMark{};
  delivery.mark = effect.mark;
  delivery.former = {};
  if (effect.stream == core::stream_none) {
    if (effect.seen || !effect.mark.is_none()) {
      model_.fail(Check::resume, step,
                  named(effect.message, effect.receiver) + " has a mark of no stream");
    }
    return;
  }
  Stream& opened = model_.streams[effect.stream];
  const bool seen = opened.after.covers(before) || opened.after.covers(former);
  delivery.former = !seen ? core::ResumeMark{} : opened.after.covers(before) ? before : former;
  if (seen != effect.seen) {
    model_.fail(Check::resume, step,
                text("{} is pushed to one who saw {}-{}, and was handed out as {}-{} before",
                     named(effect.message, effect.receiver), opened.after.stream,
                     opened.after.number, before.stream, before.number));
  }
  if (opened.last.stream == 0) {
    opened.last.stream = effect.mark.stream;
    if (!stream_numbers_.insert(effect.mark.stream).second) {
      model_.fail(Check::resume, step,
                  text("the stream number {} is given twice", effect.mark.stream));
    }
  }
  opened.last.number += seen ? 0 : 1;
  const core::ResumeMark due{opened.last.stream, seen ? 0 : opened.last.number};
  if (effect.mark != due) {
    model_.fail(
        Check::resume, step,
        text("{} has the mark {}-{}, should be {}-{}", named(effect.message, effect.receiver),
             effect.mark.stream, effect.mark.number, due.stream, due.number));
  }
  model_.coverage.count("case", seen ? "resumed" : "pushed");
}

// Some moves have no effect of their own: a message that was held waits again, a delay is over, a
// reader has begun to read. There the model follows the tables where the move is allowed.
void DeliveryChecks::reconcile(const Step& step) {
  const core::Tables& t = step.after.tables();
  for (auto& [seq, sent] : model_.messages) {
    for (Delivery& delivery : sent.deliveries) {
      delivery.seen = false;
    }
  }
  t.messages.each_delivery([&](core::DeliveryRef ref, const core::Delivery& actual) {
    const Seq message = t.messages.message_of(ref).seq;
    const std::string& receiver = t.agents[actual.receiver].name;
    Delivery* const delivery = model_.find(message, receiver);
    if (delivery == nullptr) {
      model_.fail(Check::receivers, step, named(message, receiver) + " comes from nowhere");
      return;
    }
    delivery->seen = true;
    reconcile_delivery(step, model_.messages.at(message), *delivery, actual);
  });
}

void DeliveryChecks::reconcile_delivery(const Step& step, SentMessage& sent, Delivery& delivery,
                                        const core::Delivery& actual) {
  reconcile_state(step, sent, delivery, actual);
  reconcile_mark(step, sent, delivery, actual);
  if (delivery.state != actual.state) {
    delivery.touched = step.entry.seq;
  }
  retries_.note_try(step, sent, delivery, actual);
  delivery.state = actual.state;
  delivery.due = actual.timer == core::none ? base::time_max : actual.due;
  delivery.stream = stream_of(step, actual);
  if (delivery.touched == step.entry.seq) {
    model_.coverage.count(
        "state", delivery.state == State::delayed ? "delayed" : core::state_name(delivery.state));
  }
}

void DeliveryChecks::reconcile_state(const Step& step, const SentMessage& sent, Delivery& delivery,
                                     const core::Delivery& actual) {
  const auto wrong = [&](Check check) {
    model_.fail(check, step,
                text("{} is {}, should be {}", named(sent.seq, delivery.receiver),
                     core::state_name(actual.state), core::state_name(delivery.state)));
  };
  if (core::is_final(delivery.state) || core::is_final(actual.state)) {
    if (delivery.state != actual.state) {
      wrong(Check::settle);
    }
  } else if (core::is_held(delivery.state) && !core::is_held(actual.state)) {
    if (!model_.may_be_free(step, sent, delivery)) {
      wrong(Check::holder);
    }
    if (!leaves_marks(step, sent, delivery)) {
      delivery.mark = {};
      delivery.former = {};
    }
  } else if (core::is_held(delivery.state)) {
    if (stream_of(step, actual) != delivery.stream) {
      wrong(Check::holder);
    }
    check_lease(step, sent, delivery, actual);
  } else if (core::is_held(actual.state)) {
    wrong(Check::receivers);
  } else if (delivery.state == State::delayed && actual.state == State::queued &&
             delivery.due > model_.now) {
    model_.coverage.count("case", "hurried");
  }
}

void DeliveryChecks::reconcile_mark(const Step& step, const SentMessage& sent,
                                    const Delivery& delivery, const core::Delivery& actual) {
  if (actual.attempts != delivery.attempts) {
    model_.fail(Check::recount, step,
                named(sent.seq, delivery.receiver) + " has other attempts than told");
  }
  if (actual.mark != delivery.mark) {
    model_.fail(
        Check::resume, step,
        text("{} is known as {}-{}, should be {}-{}", named(sent.seq, delivery.receiver),
             actual.mark.stream, actual.mark.number, delivery.mark.stream, delivery.mark.number));
  }
  // A message that a client saw before its stream was opened waits for no room in the window.
  for (const auto& [id, opened] : model_.streams) {
    if (actual.state == State::queued && !actual.on_hold && opened.agent == delivery.receiver &&
        (opened.after.covers(delivery.mark) || opened.after.covers(delivery.former))) {
      model_.fail(
          Check::resume, step,
          named(sent.seq, delivery.receiver) + " waits, though its receiver saw it and is back");
    }
  }
}

void DeliveryChecks::check_lease(const Step& step, const SentMessage& sent,
                                 const Delivery& delivery, const core::Delivery& actual) {
  const auto* extend = done<core::Extend>(step);
  const auto* read = done<core::Read>(step);
  const bool extended = extend != nullptr && model_.is_target(step, extend->target, sent, delivery);
  const bool is_read = read != nullptr && model_.is_target(step, read->target, sent, delivery);
  if (model_.changed_dialect == delivery.receiver) {
    return;
  }
  Time due = delivery.due;
  if (extended && extend->lease.us > 0) {
    due = model_.now + extend->lease;
  } else if (extended || is_read || delivery.due == base::time_max) {
    const core::Dialect own = model_.principals[delivery.receiver].dialect;
    due = model_.now + core::default_lease(model_.rules, is_read ? read->as.value_or(own) : own);
  }
  if (const auto* set = done<core::SetRules>(step);
      set != nullptr && delivery.due == base::time_max) {
    // Time passes before the rules change: a message that is handed out then has the old lease.
    const Time by_new =
        model_.now +
        core::default_lease(model_.rules_after(*set), model_.principals[delivery.receiver].dialect);
    due = actual.due == by_new ? by_new : due;
  }
  // Who gets more time for a task has it for as long.
  const auto request = model_.requests.find(sent.seq);
  if (request != model_.requests.end() && request->second.extended_at == step.entry.seq &&
      delivery.receiver == step.entry.actor) {
    const core::Dialect own = model_.principals[delivery.receiver].dialect;
    due = std::max({due, request->second.due, model_.now + core::default_lease(model_.rules, own)});
  }
  if (actual.due > due && is_renewed(model_, step, sent, delivery)) {
    due = model_.now +
          core::default_lease(model_.rules, model_.principals[delivery.receiver].dialect);
    model_.coverage.count("task", "renewed");
  }
  if (actual.due != due || actual.timer == core::none) {
    model_.fail(Check::lease, step,
                text("{} is leased until {}, should be {}", named(sent.seq, delivery.receiver),
                     actual.due.us, due.us));
  }
}

void DeliveryChecks::check_overdue(const Step& step) {
  if (!passes_time(step)) {
    return;
  }
  for (const auto& [seq, sent] : model_.messages) {
    for (const Delivery& delivery : sent.deliveries) {
      const bool timed = core::is_held(delivery.state) || delivery.state == State::delayed;
      if (timed && delivery.due <= model_.now) {
        model_.fail(Check::lease, step, named(seq, delivery.receiver) + " should be free by now");
      }
      const bool waits = delivery.state == State::queued || delivery.state == State::delayed;
      if (waits && sent.expires <= model_.now) {
        model_.fail(Check::expiry, step,
                    named(seq, delivery.receiver) + " waits though it is expired");
      }
    }
  }
}

void DeliveryChecks::check_streams(const Step& step) {
  const core::Tables& t = step.after.tables();
  if (t.streams.size() != model_.streams.size()) {
    model_.fail(Check::window, step,
                text("{} streams are open, told of {}", t.streams.size(), model_.streams.size()));
  }
  std::map<core::StreamId, uint32_t> held;
  // Of these: what the client had before the stream was opened takes no room in the window.
  std::map<core::StreamId, uint32_t> pushed;
  for (const auto& [seq, sent] : model_.messages) {
    for (const Delivery& delivery : sent.deliveries) {
      if (core::is_held(delivery.state) && delivery.stream != core::stream_none) {
        ++held[delivery.stream];
        pushed[delivery.stream] += delivery.mark.number == 0 ? 0 : 1;
      }
    }
  }
  for (const auto& [id, ref] : t.streams.by_id()) {
    const auto opened = model_.streams.find(id);
    if (opened == model_.streams.end() ||
        t.agents[t.streams[ref].agent].name != opened->second.agent) {
      model_.fail(Check::window, step, "a stream is open that no one opened");
      return;
    }
    if (held[id] != t.streams[ref].held) {
      model_.fail(Check::recount, step, "a stream holds another number than it says");
    }
    if (pushed[id] > opened->second.window) {
      model_.fail(
          Check::window, step,
          text("a stream with a window of {} pushed {}", opened->second.window, pushed[id]));
    }
    if (model_.ended_lives.contains(id.origin)) {
      model_.fail(Check::life, step,
                  text("stream {}.{} is of a life that is over", id.origin, id.number));
    }
  }
}

}  // namespace parley::sim
