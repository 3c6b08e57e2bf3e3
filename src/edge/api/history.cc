// SPDX-License-Identifier: Apache-2.0
#include "edge/api/history.h"

#include <chrono>

#include "edge/api/context.h"

namespace parley::edge {

namespace {

using base::Code;
using view::Questions;
using view::Reader;

// A read waits this long for all that happened before it to be in the view. The view goes to work
// at once when someone waits, so that is met unless there is a burst, and a person does not notice
// it. It is not promised.
constexpr std::chrono::milliseconds wait_for_all{100};
// What the caller itself did is waited for this long from the beginning on. ARCHITECTURE promises
// it; clients take it that a read which lasts longer has failed.
constexpr std::chrono::seconds wait_for_own{2};
// When to ask again after too much was asked.
constexpr base::Duration again_after = base::seconds(1);

}  // namespace

History::History(Context& context, size_t questions_per_principal_max)
    : context_(context),
      questions_per_principal_max_(questions_per_principal_max),
      started_(context.broker.machine().seq()) {}

bool History::count(net::CallerId caller) {
  size_t& open = (*open_)[caller];
  if (open >= questions_per_principal_max_) {
    return false;
  }
  ++open;
  return true;
}

void History::answered(Open& open, net::CallerId caller) {
  if (const auto at = open.find(caller); --at->second == 0) {
    open.erase(at);
  }
}

std::shared_ptr<void> History::hold(const Principal& caller) {
  const net::CallerId id = caller_id(caller);
  ++(*open_)[id];
  return {nullptr, [open = open_, id](void*) { answered(*open, id); }};
}

void History::applied(const core::Entry& entry) {
  const core::Workspace* workspace = context_.broker.machine().find(entry.workspace);
  const core::AgentRef actor =
      workspace == nullptr ? core::none : workspace->tables().agents.find(entry.actor);
  if (actor != core::none) {
    written_[caller_id(entry.workspace, actor)] = entry.seq;
  }
}

void History::ask(const Asker& asker, Questions::Ask ask) {
  if (context_.view == nullptr) {
    asker.refuse(Error{Code::unavailable,
                       "the history could not be opened when the broker started; what it "
                       "wrote on standard error says why",
                       {}});
    return;
  }
  const net::CallerId caller = caller_id(asker.caller);
  if (!count(caller)) {
    asker.refuse(Error{Code::rate_limited,
                       std::to_string(questions_per_principal_max_) +
                           " of your questions to the history wait already "
                           "(history.questions_per_principal_max); wait for their answers, or ask "
                           "who runs the broker to raise the limit",
                       {},
                       again_after});
    return;
  }
  const auto written = written_.find(caller_id(asker.caller));
  const base::Seq own = written == written_.end() ? started_ : written->second;
  const auto now = context_.view->feed().now();
  // The answer comes later, and is for who asked only.
  const Questions::Ask guarded = [this, asker, caller, ask = std::move(ask)](
                                     Reader& reader) -> std::expected<Questions::Answer, Error> {
    auto answer = ask(reader);
    if (!answer) {
      return std::unexpected(answer.error());
    }
    return [this, asker, caller, tell = std::move(*answer)] {
      answered(caller);
      if (!asker.refuse_if_stale()) {
        tell();
      }
    };
  };
  const auto ask_now = [this, asker, caller, guarded] {
    context_.view->questions().ask(caller, guarded, [this, asker, caller](const Error& error) {
      answered(caller);
      if (!asker.refuse_if_stale()) {
        asker.refuse(error);
      }
    });
  };
  const auto ask_late = [this, asker, caller, ask_now](const view::Feed::Reached& reached) {
    if (reached.there) {
      ask_now();
      return;
    }
    answered(caller);
    const auto trouble = context_.view->feed().trouble();
    asker.refuse(Error{Code::view_behind,
                       "the history is " + std::to_string(reached.behind) +
                           " entries behind and lacks what you did last" +
                           (trouble ? ": " + trouble->detail : "; ask again after a pause"),
                       {}},
                 {.members = [&reached](lib::JsonWriter& out) {
                   out.key("behind").number(reached.behind);
                 }});
  };
  context_.view->feed().wait_for(context_.broker.machine().seq(), now + wait_for_all,
                                 [this, own, now, ask_now, ask_late](const auto& reached) {
                                   if (reached.there) {
                                     ask_now();
                                   } else {
                                     context_.view->feed().wait_for(own, now + wait_for_own,
                                                                    ask_late);
                                   }
                                 });
}

}  // namespace parley::edge
