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

uint64_t key_of(core::WorkspaceId workspace, core::AgentRef ref) {
  return uint64_t{static_cast<uint32_t>(workspace)} << 32 | ref;
}

}  // namespace

History::History(Context& context) : context_(context), started_(context.broker.machine().seq()) {}

void History::applied(const core::Entry& entry) {
  const core::Workspace* workspace = context_.broker.machine().find(entry.workspace);
  const core::AgentRef actor =
      workspace == nullptr ? core::none : workspace->tables().agents.find(entry.actor);
  if (actor != core::none) {
    written_[key_of(entry.workspace, actor)] = entry.seq;
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
  const auto written = written_.find(key_of(asker.caller.workspace, asker.caller.ref));
  const base::Seq own = written == written_.end() ? started_ : written->second;
  const auto now = context_.view->feed().now();
  // The answer comes later, and is for who asked only.
  const Questions::Ask guarded =
      [asker, ask = std::move(ask)](Reader& reader) -> std::expected<Questions::Answer, Error> {
    auto answer = ask(reader);
    if (!answer) {
      return std::unexpected(answer.error());
    }
    return [asker, tell = std::move(*answer)] {
      if (!asker.refuse_if_stale()) {
        tell();
      }
    };
  };
  const auto ask_now = [this, asker, guarded] {
    context_.view->questions().ask(guarded, [asker](const Error& error) {
      if (!asker.refuse_if_stale()) {
        asker.refuse(error);
      }
    });
  };
  const auto ask_late = [this, asker, ask_now](const view::Feed::Reached& reached) {
    if (reached.there) {
      ask_now();
      return;
    }
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
