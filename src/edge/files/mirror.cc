// SPDX-License-Identifier: Apache-2.0
#include "edge/files/mirror.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/humans/held.h"
#include "edge/files/names.h"
#include "edge/files/texts.h"
#include "edge/gate.h"
#include "edge/records.h"
#include "edge/render.h"

namespace parley::edge::files {

namespace {

// What is done in one turn of the loop.
constexpr size_t files_per_turn = 16;
constexpr size_t reports_per_turn = 16;
constexpr size_t boxes_per_look = 4;
// Files that the thread is asked for and has not written.
constexpr size_t writing_max = 128;
constexpr base::Duration look_after_every = base::seconds(1);
constexpr base::Duration again_after = base::seconds(2);
// As callers of the API do, boxes take turns in the loop: each is a caller of its own. Callers that
// connect have smaller numbers.
constexpr net::CallerId first_box = uint64_t{1} << 63;
constexpr std::string_view escalated_action = "escalated";

bool is_squad(const core::Agent& agent) {
  return agent.kind == core::PrincipalKind::agent && agent.dialect == core::Dialect::squad;
}

bool is_human(const core::Agent& agent) { return agent.kind == core::PrincipalKind::human; }

Principal principal_of(const core::Agents& agents, core::AgentRef ref) {
  const core::Agent& agent = agents[ref];
  return {core::workspace_first, ref,          agent.name, agent.kind,
          core::Dialect::squad,  agent.rights, {},         agent.registered};
}

}  // namespace

Mirror::Mirror(Context& context, const Options& options)
    : context_(context),
      options_(options),
      intake_(context, options_,
              {.work = [this](Job job) { work(std::move(job)); },
               .taken = [this](const Found& found, base::Seq seq,
                               bool may_stay) { on_taken(found, seq, may_stay); }}),
      active_thread_(context, [this](Job job) { work(std::move(job)); }) {}

Mirror::~Mirror() = default;

void Mirror::start() {
  const core::Agents& agents = tables().agents;
  bool is_wanted = false;
  agents.each([&](const core::Agent& agent) { is_wanted = is_wanted || is_squad(agent); });
  if (is_wanted) {
    begin();
  }
}

void Mirror::begin() {
  if (options_.root.empty() || thread_ != nullptr) {
    return;
  }
  FileThread::Options options;
  const Limits& limits = options_.limits;
  options.store = {.root = options_.root,
                   .kept_max = limits.archived_max,
                   .keep = limits.keep,
                   .keep_box = limits.keep_ended,
                   .readme = std::string(readme_text()),
                   .schema = schema_text(),
                   .wall = &wall_time};
  options.finder = {
      .file_bytes_max = limits.file_bytes_max, .quiet = limits.quiet, .steady = &steady_time};
  options.look_every = limits.look_every;
  options.warn = options_.warn;
  options.tell = [this](std::vector<Report> reports) {
    const auto shared = std::make_shared<std::vector<Report>>(std::move(reports));
    context_.server->post([this, shared] { hear(std::move(*shared)); });
  };
  thread_ = std::make_unique<FileThread>(std::move(options));
  add_box(std::string(broadcast_directory), {BoxKind::announcements, {}});
  add_box(std::string(human_directory), {BoxKind::human, {}});
  const core::Agents& agents = tables().agents;
  for (const core::AgentRef ref : agents.sorted()) {
    add_principal(agents[ref]);
  }
  work(ReadBack{std::string(active_thread_file), {}});
  context_.waits.add(context_.clock.now() + look_after_every, [this] { look_after_some(); });
}

void Mirror::add_principal(const core::Agent& agent) {
  if (is_human(agent)) {
    humans_.insert(agent.name);
    mark(std::string(human_directory));
    return;
  }
  const std::string box = directory_of(agent.name);
  const auto at = boxes_.find(box);
  if (is_squad(agent) && agent.is_registered() && (at == boxes_.end() || at->second.has_ended)) {
    add_box(box, {BoxKind::agent, agent.name});
  }
}

void Mirror::add_box(const std::string& box, BoxOwner owner) {
  Mailbox& added = boxes_[box];
  added.owner = std::move(owner);
  added.has_ended = false;
  work(AddBox{box, added.owner.kind});
  mark(box);
}

void Mirror::work(Job job) {
  if (thread_ != nullptr) {
    thread_->add(std::move(job));
  }
}

void Mirror::later(const std::string& box, std::function<void()> step) {
  context_.deferred.push(first_box | std::hash<std::string>()(box), std::move(step));
}

void Mirror::ended(std::string_view agent) {
  const auto at = boxes_.find(directory_of(agent));
  if (at != boxes_.end() && is_subagent(agent)) {
    at->second.has_ended = true;
    work(EndBox{at->first});
  }
}

void Mirror::remove_principal(std::string_view name) {
  humans_.erase(std::string(name));
  const auto at = boxes_.find(directory_of(name));
  if (at == boxes_.end() || at->second.owner.name != name) {
    return;
  }
  for (const auto& [seq, state] : at->second.files) {
    work(Settle{at->first, seq});
    writing_.erase({at->first, seq});
  }
  ended(name);
  work(CloseBox{at->first});
  marked_.erase(at->first);
  boxes_.erase(at);
}

void Mirror::applied(const core::Entry& entry, const core::Outcome& outcome,
                     std::span<const core::Effect> effects) {
  if (options_.root.empty() || entry.workspace != core::workspace_first) {
    return;
  }
  const core::Agents& agents = tables().agents;
  if (const auto* set = std::get_if<core::Register>(&entry.command); set != nullptr && outcome) {
    const core::AgentRef ref = agents.find(set->name);
    if (ref != core::none && is_squad(agents[ref])) {
      begin();
    }
    if (ref != core::none && thread_ != nullptr) {
      add_principal(agents[ref]);
    }
  }
  if (thread_ == nullptr) {
    return;
  }
  for (const core::Effect& effect : effects) {
    if (const auto* mail = std::get_if<core::Mail>(&effect)) {
      if (is_squad(agents[mail->receiver]) || is_human(agents[mail->receiver])) {
        mark(box_of(mail->receiver, {}));
      }
    } else if (const auto* settled = std::get_if<core::Settled>(&effect)) {
      const core::Agent& receiver = agents[settled->receiver];
      if (is_squad(receiver) || is_human(receiver) || !receiver.is_registered()) {
        settle(box_of(settled->receiver, settled->message), settled->message);
      }
    }
  }
  if (const auto* gone = std::get_if<core::Unregister>(&entry.command);
      gone != nullptr && outcome) {
    remove_principal(gone->name);
  }
  active_thread_.follow();
}

// An announcement lies in one place for all.
std::string Mirror::box_of(core::AgentRef receiver, base::Seq message) const {
  const core::Tables& t = tables();
  const core::Agent& agent = t.agents[receiver];
  const core::MessageRef ref = t.messages.find(message);
  if (ref != core::none && t.messages.message(ref).everyone) {
    return std::string(broadcast_directory);
  }
  return is_human(agent) ? std::string(human_directory) : directory_of(agent.name);
}

std::vector<core::AgentRef> Mirror::readers(const Mailbox& box) const {
  const core::Agents& agents = tables().agents;
  std::vector<core::AgentRef> refs;
  if (box.owner.kind == BoxKind::agent) {
    const core::AgentRef ref = agents.find(box.owner.name);
    if (ref != core::none && is_squad(agents[ref])) {
      refs.push_back(ref);
    }
  } else if (box.owner.kind == BoxKind::human) {
    for (const std::string& name : humans_) {
      if (const core::AgentRef ref = agents.find(name);
          ref != core::none && is_human(agents[ref])) {
        refs.push_back(ref);
      }
    }
  }
  return refs;
}

bool Mirror::is_open(const Mailbox& box, base::Seq seq) const {
  if (ActiveThread::is_case(seq)) {
    return active_thread_.is_open(seq);
  }
  const core::Messages& messages = tables().messages;
  const core::MessageRef ref = messages.find(seq);
  if (ref == core::none || box.owner.kind == BoxKind::announcements) {
    return ref != core::none && messages.message(ref).open > 0;
  }
  return std::ranges::any_of(readers(box), [&](core::AgentRef reader) {
    const core::DeliveryRef delivery = messages.delivery_to(ref, reader);
    return delivery != core::none && !core::is_final(messages.delivery(delivery).state);
  });
}

// Whether its reader may have it now: not what waits for people, for its turn or for another try.
bool Mirror::is_visible(const Mailbox& box, base::Seq seq) const {
  if (ActiveThread::is_case(seq) || box.owner.kind == BoxKind::announcements) {
    return is_open(box, seq);
  }
  const core::Tables& t = tables();
  const core::MessageRef ref = t.messages.find(seq);
  return ref != core::none && std::ranges::any_of(readers(box), [&](core::AgentRef reader) {
           const core::DeliveryRef delivery = t.messages.delivery_to(ref, reader);
           if (delivery == core::none || !has_received(t, principal_of(t.agents, reader), ref)) {
             return false;
           }
           const core::Delivery& found = t.messages.delivery(delivery);
           return !core::is_final(found.state) && !found.on_hold &&
                  found.state != core::State::delayed;
         });
}

void Mirror::mark(const std::string& box) {
  if (thread_ == nullptr || !boxes_.contains(box)) {
    return;
  }
  marked_.insert(box);
  if (!is_filling_ && writing_.size() < writing_max) {
    is_filling_ = true;
    later(*marked_.begin(), [this] { fill_some(); });
  }
}

// Some of what waits for one box. Goes on until nothing is marked, or enough is being written.
void Mirror::fill_some() {
  is_filling_ = false;
  if (marked_.empty() || writing_.size() >= writing_max) {
    return;
  }
  const std::string name = *marked_.begin();
  marked_.erase(marked_.begin());
  const auto box = boxes_.find(name);
  const std::vector<base::Seq> next =
      box == boxes_.end() ? std::vector<base::Seq>{} : wanted(name, box->second);
  is_filling_ = true;
  const auto go_on = [this] {
    is_filling_ = false;
    if (!marked_.empty()) {
      mark(std::string(*marked_.begin()));
    }
  };
  if (next.empty()) {
    go_on();
    return;
  }
  context_.broker.records().warm(next, [this, name, next, go_on] {
    for (const base::Seq seq : next) {
      write(name, seq);
    }
    go_on();
  });
}

// What waits for the box and has no file. Announcements are passed on to their own.
std::vector<base::Seq> Mirror::wanted(const std::string& name, const Mailbox& box) {
  const core::Tables& t = tables();
  std::vector<base::Seq> found;
  if (box.owner.kind == BoxKind::announcements) {
    for (const auto& [seq, state] : box.files) {
      if (state == FileState::wanted && found.size() < files_per_turn) {
        found.push_back(seq);
      }
    }
    return found;
  }
  Mailbox& shared = boxes_[std::string(broadcast_directory)];
  bool has_announcement = false;
  for (const core::AgentRef reader : readers(box)) {
    t.agents[reader].inbox.walk(t.messages, [&](core::DeliveryRef delivery) {
      const core::Message& message = t.messages.message_of(delivery);
      if (message.everyone) {
        has_announcement =
            shared.files.try_emplace(message.seq, FileState::wanted).second || has_announcement;
        return true;
      }
      if (!box.files.contains(message.seq)) {
        found.push_back(message.seq);
      }
      return found.size() < files_per_turn;
    });
  }
  const size_t room = options_.limits.pending_max -
                      std::min(options_.limits.pending_max, uint64_t{box.files.size()});
  if (found.size() > files_per_turn || found.size() == files_per_turn) {
    found.resize(files_per_turn);
    marked_.insert(name);  // perhaps more waits
  }
  if (found.size() >= room) {
    found.resize(room);
    marked_.erase(name);  // until one is settled
  }
  if (has_announcement) {
    marked_.insert(std::string(broadcast_directory));
  }
  return found;
}

void Mirror::write(const std::string& name, base::Seq seq) {
  const auto at = boxes_.find(name);
  if (at == boxes_.end() || !is_visible(at->second, seq)) {
    if (at != boxes_.end()) {
      at->second.files.erase(seq);
    }
    return;
  }
  Mailbox& box = at->second;
  const core::Tables& t = tables();
  const core::MessageRef ref = t.messages.find(seq);
  const std::vector<core::AgentRef> all = readers(box);
  const auto reader = std::ranges::find_if(
      all, [&](core::AgentRef each) { return t.messages.delivery_to(ref, each) != core::none; });
  const std::string_view recipient = reader == all.end() ? "" : t.agents[*reader].name;
  dialect::EncodeContext shown = shown_to(recipient);
  shown.stands_in = reader != all.end() && !redirected_from(t, ref, *reader).empty();
  const auto envelope = envelope_at(context_.broker, core::workspace_first, seq);
  // The humans' directory has the escalation itself.
  const bool is_told_otherwise = envelope && box.owner.kind == BoxKind::human &&
                                 envelope->via == core::Via::broker &&
                                 envelope->action == escalated_action;
  const std::string id = envelope ? dialect::id_in(core::Dialect::squad, *envelope) : "";
  const auto text =
      message_text(context_.broker, core::workspace_first, seq, core::Dialect::squad, shown);
  if (!text && options_.warn) {
    options_.warn("the files of squad: " + text.error().detail);
  }
  box.files[seq] = FileState::there;
  if (text && !is_told_otherwise) {
    box.files[seq] = FileState::asked;
    writing_.emplace(name, seq);
    work(Put{name, seq, id, *text + "\n"});
  }
}

void Mirror::settle(const std::string& name, base::Seq seq) {
  const auto at = boxes_.find(name);
  if (at == boxes_.end()) {
    return;
  }
  Mailbox& box = at->second;
  if (box.owner.kind != BoxKind::agent && is_open(box, seq)) {
    return;  // it waits for others
  }
  if (box.files.erase(seq) > 0) {
    work(Settle{name, seq});
    if (box.files.size() + files_per_turn >= options_.limits.pending_max) {
      mark(name);
    }
  }
}

// A safety net, as the periodic look at the directories is one: what the effects did not tell.
void Mirror::look_after_some() {
  context_.waits.add(context_.clock.now() + look_after_every, [this] { look_after_some(); });
  auto at = boxes_.upper_bound(looked_after_);
  for (size_t looked = 0; looked < std::min(boxes_per_look, boxes_.size()); ++looked) {
    at = at == boxes_.end() ? boxes_.begin() : at;
    auto& [name, box] = *at++;
    looked_after_ = name;
    std::vector<base::Seq> over;
    for (const auto& [seq, state] : box.files) {
      if (!is_open(box, seq)) {
        over.push_back(seq);
      } else if (!is_visible(box, seq) && state == FileState::there) {
        work(Withdraw{name, seq});
        over.push_back(seq);
      } else if (state == FileState::archived) {
        acknowledge(name, seq);
      }
    }
    for (const base::Seq seq : over) {
      settle(name, seq);
      box.files.erase(seq);
    }
    mark(name);
  }
}

void Mirror::hear(std::vector<Report> reports) {
  std::ranges::move(reports, std::back_inserter(reports_));
  if (!is_hearing_) {
    is_hearing_ = true;
    later({}, [this] { hear_some(); });
  }
}

void Mirror::hear_some() {
  for (size_t heard = 0; heard < reports_per_turn && !reports_.empty(); ++heard) {
    Report report = std::move(reports_.front());
    reports_.pop_front();
    if (auto* found = std::get_if<Found>(&report)) {
      if (const auto box = boxes_.find(found->box); box != boxes_.end()) {
        const BoxOwner owner = box->second.owner;
        intake_.take(std::move(*found), owner);
      }
      break;  // it may be large
    }
    if (const auto* placed = std::get_if<Placed>(&report)) {
      on(*placed);
    } else if (const auto* missing = std::get_if<Missing>(&report)) {
      on(*missing);
    } else if (const auto* back = std::get_if<ReadBack>(&report)) {
      active_thread_.read_back(back->text);
    }
  }
  is_hearing_ = !reports_.empty();
  if (is_hearing_) {
    later({}, [this] { hear_some(); });
  }
}

void Mirror::on(const Placed& report) {
  const auto at = boxes_.find(report.box);
  if (at == boxes_.end()) {
    return;
  }
  Mailbox& box = at->second;
  if (writing_.erase({report.box, report.seq}) > 0) {
    mark(report.box);
  }
  if (!is_open(box, report.seq) || (report.is_archived && ActiveThread::is_case(report.seq))) {
    box.files.erase(report.seq);
    work(Settle{report.box, report.seq});
  } else if (!report.is_archived) {
    box.files[report.seq] = FileState::there;
  } else {
    box.files[report.seq] = FileState::archived;
    acknowledge(report.box, report.seq);
  }
}

// It is written again, but not at once: where that cannot be done it would be tried all the time.
void Mirror::on(const Missing& report) {
  const auto at = boxes_.find(report.box);
  if (at == boxes_.end()) {
    return;
  }
  at->second.files.erase(report.seq);
  writing_.erase({report.box, report.seq});
  context_.waits.add(context_.clock.now() + again_after, [this, name = report.box] {
    if (const auto box = boxes_.find(name); box != boxes_.end()) {
      add_box(name, box->second.owner);  // its directory may be gone as well
    }
  });
}

void Mirror::acknowledge(const std::string& name, base::Seq seq) {
  const core::Tables& t = tables();
  const core::MessageRef ref = t.messages.find(seq);
  for (const core::AgentRef reader : readers(boxes_.at(name))) {
    const core::DeliveryRef delivery = t.messages.delivery_to(ref, reader);
    if (delivery != core::none && !core::is_final(t.messages.delivery(delivery).state)) {
      // It was read: nothing is acknowledged that was not handed out. What is refused is asked for
      // again by `look_after_some`.
      const Principal principal = principal_of(t.agents, reader);
      const core::Target target{.seq = seq, .id = {}};
      context_.ask(principal, core::Read{.target = target});
      context_.ask(principal, core::Ack{.target = target});
    }
  }
}

void Mirror::on_taken(const Found& found, base::Seq seq, bool may_stay) {
  const auto at = boxes_.find(found.box);
  if (found.place == Place::outbox || at == boxes_.end()) {
    work(Take{found.box, found.place, found.name, seq, Take::How::sent});
    return;
  }
  Mailbox& box = at->second;
  if (found.place == Place::archive) {
    // Its receiver was faster than the broker.
    work(Take{found.box, found.place, found.name, seq, Take::How::stays});
    on(Placed{found.box, seq, true});
    return;
  }
  const bool is_stray = box.owner.kind != BoxKind::announcements && !is_visible(box, seq);
  if (may_stay && !is_stray) {
    box.files[seq] = FileState::there;
    work(Take{found.box, found.place, found.name, seq, Take::How::stays});
  } else if (may_stay && !is_open(box, seq)) {
    work(Take{found.box, found.place, found.name, seq, Take::How::stays});
    work(Settle{found.box, seq});
  } else {
    work(Take{found.box, found.place, found.name, seq, Take::How::goes});
    mark(found.box);
  }
}

}  // namespace parley::edge::files
