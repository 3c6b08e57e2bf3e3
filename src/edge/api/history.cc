// SPDX-License-Identifier: Apache-2.0
#include "edge/api/history.h"

#include <chrono>

#include "edge/api/context.h"

namespace parley::edge {

namespace {

using base::Code;
using view::Questions;
using view::Reader;

// How long a read waits for all that happened before it to be in the view, and how long for what
// the caller itself did. The first is met unless there is a burst; only the second is promised.
constexpr std::chrono::milliseconds courtesy{100};
constexpr std::chrono::seconds patience{2};

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
      if (asker.is_still_good()) {
        tell();
      }
    };
  };
  const auto ask_now = [this, asker, guarded] {
    context_.view->questions().ask(guarded, [asker](const Error& error) { asker.refuse(error); });
  };
  const auto ask_late = [this, asker, ask_now](const view::Feed::Reached& reached) {
    if (reached.there) {
      ask_now();
      return;
    }
    const auto trouble = context_.view->feed().trouble();
    const Error error{Code::view_behind,
                      "the history is " + std::to_string(reached.behind) +
                          " entries behind and lacks what you did last" +
                          (trouble ? ": " + trouble->detail : "; ask again after a pause"),
                      {}};
    context_.metrics.requests.refused(error.code);
    asker.respond(problem(error, "behind", reached.behind));
  };
  context_.view->feed().wait_for(context_.broker.machine().seq(), now + courtesy,
                                 [this, own, now, ask_now, ask_late](const auto& reached) {
                                   if (reached.there) {
                                     ask_now();
                                   } else {
                                     context_.view->feed().wait_for(own, now + patience, ask_late);
                                   }
                                 });
}

}  // namespace parley::edge
