// SPDX-License-Identifier: Apache-2.0
#include "edge/files/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "edge/files/names.h"
#include "lib/file.h"

namespace parley::edge::files {

namespace {

using base::Code;
using base::Error;
using State = Ledger::State;

constexpr std::string_view inbox_directory = "agent-inbox";
const std::string ledger_name = "known";
const std::string ended_name = ".ended";
constexpr size_t ledger_bytes_max = size_t{1} << 30;
constexpr size_t read_back_bytes = size_t{8} << 20;
constexpr size_t ours_bytes_max = size_t{4} << 20;
constexpr int64_t second_us = 1'000'000;

std::string_view path_of(Place place) {
  switch (place) {
    case Place::pending:
      return "/pending";
    case Place::archive:
      return "/archive";
    case Place::outbox:
      return "/outbox";
    case Place::announcements:
      return "/announcements";
    case Place::sent:
      return "/outbox/sent";
    case Place::rejected:
      return "/rejected";
  }
  return "";
}

// Where messages that wait are.
Place waiting_in(BoxKind kind) {
  return kind == BoxKind::announcements ? Place::announcements : Place::pending;
}

Error failed(const std::string& what) {
  const bool is_full = errno == ENOSPC || errno == EDQUOT;
  return {
      is_full ? Code::storage_full : Code::storage_failed, what + ": " + std::strerror(errno), {}};
}

}  // namespace

std::vector<Place> places_of(BoxKind kind) {
  switch (kind) {
    case BoxKind::agent:
      return {Place::pending, Place::outbox, Place::archive};
    case BoxKind::human:
      return {Place::pending, Place::archive};
    case BoxKind::announcements:
      return {Place::announcements};
  }
  return {};
}

std::expected<std::unique_ptr<Store>, Error> Store::open(Options options) {
  auto top = Tree::open(options.root);
  if (!top) {
    return std::unexpected(top.error());
  }
  if (const auto made = top->directory(inbox_directory, true); !made) {
    return std::unexpected(made.error());
  }
  auto tree = Tree::open(options.root + "/" + std::string(inbox_directory));
  if (!tree) {
    return std::unexpected(tree.error());
  }
  std::unique_ptr<Store> store(new Store(std::move(options), std::move(*top), std::move(*tree)));
  if (auto opened = store->open_ledger(); !opened) {
    return std::unexpected(opened.error());
  }
  for (const auto& [name, text] : {std::pair{"README.md", &store->options_.readme},
                                   {"schema.json", &store->options_.schema}}) {
    const auto written = store->tree_.write(store->tree_.root(), name, *text);
    if (!written) {
      return std::unexpected(written.error());
    }
  }
  return store;
}

Store::Store(Options options, Tree top, Tree tree)
    : options_(std::move(options)), top_(std::move(top)), tree_(std::move(tree)) {}

Store::~Store() {
  if (ledger_fd_ >= 0) {
    ::close(ledger_fd_);
  }
}

// The lines of former lives are read and written again, so that their number stays that of the
// files.
std::expected<void, Error> Store::open_ledger() {
  const auto work = tree_.directory(Tree::work_directory, true);
  if (!work) {
    return std::unexpected(work.error());
  }
  const auto old = tree_.read(*work, ledger_name, ledger_bytes_max);
  if (!old && old.error() != ReadFault::gone) {
    return std::unexpected(
        Error{Code::storage_failed, "cannot read .parley/known of the tree of files", {}});
  }
  ledger_.read(old ? std::string_view(old->text) : std::string_view{});
  if (const auto written = tree_.write(*work, ledger_name, ledger_.text()); !written) {
    return written;
  }
  ledger_fd_ =
      ::openat(work->fd(), ledger_name.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  return ledger_fd_ >= 0 ? std::expected<void, Error>{}
                         : std::unexpected(failed("cannot open .parley/known"));
}

// Survives the end of the process without a sync. What a loss of power takes of it concerns the
// newest messages, which the engine still knows.
void Store::note(const std::string& line) { (void)lib::write_all(ledger_fd_, line); }

void Store::set(const std::string& box, const std::string& name, Ledger::Entry entry) {
  const Ledger::Entry* const old = ledger_.find(box, name);
  if (old == nullptr || *old != entry) {
    note(ledger_.set(box, name, entry));
  }
}

void Store::erase(const std::string& box, const std::string& name) {
  if (ledger_.find(box, name) != nullptr) {
    note(ledger_.erase(box, name));
  }
}

Directory Store::open(const std::string& box, Place place) const {
  auto opened = boxes_.contains(box) ? tree_.directory(box + std::string(path_of(place)), false)
                                     : std::unexpected(Error{});
  return opened ? std::move(*opened) : Directory();
}

std::expected<void, Error> Store::add_box(const AddBox& job) {
  std::vector<Place> places = places_of(job.kind);
  places.push_back(Place::rejected);
  if (job.kind == BoxKind::agent) {
    places.push_back(Place::sent);
  }
  for (const Place place : places) {
    const auto made = tree_.directory(job.box + std::string(path_of(place)), true);
    if (!made) {
      return std::unexpected(made.error());
    }
  }
  if (const auto own = tree_.directory(job.box, false)) {
    tree_.remove(*own, ended_name);  // it is back
  }
  boxes_[job.box] = job.kind;
  return {};
}

void Store::end_box(const EndBox& job) {
  if (const auto own = tree_.directory(job.box, false); own && !tree_.contains(*own, ended_name)) {
    (void)tree_.write(*own, ended_name, "");
  }
}

std::expected<void, Error> Store::put(const Put& job) {
  const auto box = boxes_.find(job.box);
  const Directory to = box == boxes_.end() ? Directory() : open(job.box, waiting_in(box->second));
  if (!to) {
    return std::unexpected(Error{Code::not_found, "there is no directory " + job.box, {}});
  }
  if (!ledger_.name_of(job.box, job.seq).empty()) {
    return {};
  }
  for (std::string name = message_name(job.id);; name = message_name(job.id, job.seq.n)) {
    // Another message of this id may have had the name, and be in the archive.
    const Ledger::Entry* const other = ledger_.find(job.box, name);
    if (other != nullptr && other->seq != job.seq) {
      if (name == message_name(job.id, job.seq.n)) {
        return std::unexpected(Error{Code::conflict, "another message is called " + name, {}});
      }
      continue;
    }
    // In the ledger first: a file that is not there is written again, but one that is there and
    // not in the ledger is taken for somebody's message.
    set(job.box, name, {job.seq, State::pending});
    const auto written = tree_.write_new(to, name, job.text);
    if (written && (*written || is_same_message(to, name, job.text))) {
      return {};
    }
    erase(job.box, name);
    if (!written) {
      return std::unexpected(written.error());
    }
    if (name == message_name(job.id, job.seq.n)) {
      return std::unexpected(
          Error{Code::conflict, "a file that is not the broker's is in the way of " + name, {}});
    }
  }
}

// Whether the file says that it is the message with this text: its sender put it there, and the
// broker was stopped before it had written down that it took it.
bool Store::is_same_message(const Directory& in, const std::string& name, std::string_view text) {
  const auto file = tree_.read(in, name, ours_bytes_max);
  const auto there = file ? documents_[0].parse(file->text) : std::unexpected(Error{});
  const auto ours = documents_[1].parse(text);
  if (!there || !ours) {
    return false;
  }
  const auto same = [&](std::string_view member) {
    const auto one = there->find(member).as_string();
    return one && one == ours->find(member).as_string();
  };
  return same("id") && same("from");
}

void Store::settle(const Settle& job) {
  const auto box = boxes_.find(job.box);
  const std::string name = ledger_.name_of(job.box, job.seq);
  if (box == boxes_.end() || name.empty()) {
    return;
  }
  if (box->second == BoxKind::announcements) {
    withdraw({job.box, job.seq});
    return;
  }
  const Directory pending = open(job.box, Place::pending);
  const Directory archive = open(job.box, Place::archive);
  if (tree_.contains(archive, name)) {
    tree_.remove(pending, name);  // its receiver made a copy in the archive
  } else {
    (void)tree_.move(pending, name, archive, name);
  }
  set(job.box, name, {job.seq, State::done});
}

void Store::withdraw(const Withdraw& job) {
  const auto box = boxes_.find(job.box);
  const std::string name = ledger_.name_of(job.box, job.seq);
  if (box == boxes_.end() || name.empty()) {
    return;
  }
  tree_.remove(open(job.box, waiting_in(box->second)), name);
  erase(job.box, name);
}

void Store::take(const Take& job) {
  const Directory in = open(job.box, job.place);
  switch (job.how) {
    case Take::How::stays:
      if (const std::string other = ledger_.name_of(job.box, job.seq);
          !other.empty() && other != job.name) {
        tree_.remove(in, job.name);  // the message has a file already
        return;
      }
      set(job.box, job.name,
          {job.seq, job.place == Place::archive ? State::archived : State::pending});
      return;
    case Take::How::goes:
      tree_.remove(in, job.name);
      return;
    case Take::How::sent:
      (void)tree_.move(in, job.name, open(job.box, Place::sent), job.name);
      return;
  }
}

void Store::set_aside(const Refuse& job) {
  const Directory in = open(job.box, job.place);
  const Directory rejected = open(job.box, Place::rejected);
  // The error first: who sees the file there finds out why.
  (void)tree_.write(rejected, job.name + ".error.json", job.why);
  const auto moved = tree_.move(in, job.name, rejected, job.name + ".rejected");
  if (!moved) {  // a directory where another lies, for example: then nothing of it is kept
    tree_.remove(in, job.name);
  }
}

std::expected<void, Error> Store::append(const Append& job) {
  const int file =
      ::openat(top_.root().fd(), job.file.c_str(),
               O_CREAT | O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (file < 0) {
    return std::unexpected(failed("cannot open " + job.file));
  }
  const Directory closes(file);
  struct stat found{};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    return std::unexpected(Error{Code::storage_failed, job.file + " is no regular file", {}});
  }
  // One write: who reads along sees all of it or nothing.
  const ssize_t written = ::write(file, job.text.data(), job.text.size());
  if (written != static_cast<ssize_t>(job.text.size())) {
    const Error error = failed("cannot append to " + job.file);
    (void)!::ftruncate(file, found.st_size);
    return std::unexpected(error);
  }
  (void)::fdatasync(file);
  return {};
}

std::string Store::read_back(const std::string& name) const {
  const Directory file(::openat(top_.root().fd(), name.c_str(),
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat found{};
  if (!file || ::fstat(file.fd(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return {};
  }
  std::string text(std::min<size_t>(static_cast<size_t>(found.st_size), read_back_bytes), '\0');
  const ssize_t got =
      ::pread(file.fd(), text.data(), text.size(), found.st_size - static_cast<off_t>(text.size()));
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

void Store::tidy(const std::string& box) {
  for (const Place place : {Place::archive, Place::sent, Place::rejected}) {
    tidy(box, place);
  }
}

void Store::tidy(const std::string& box, Place place) {
  const Directory directory = open(box, place);
  if (!directory) {
    return;
  }
  const int64_t oldest = (options_.wall().us - options_.keep.us) / second_us;
  std::vector<std::pair<int64_t, std::string>> files;
  tree_.list(directory, [&](const std::string& name) {
    files.emplace_back(tree_.changed(directory, name), name);
    return true;
  });
  const size_t beyond = files.size() - std::min(files.size(), options_.kept_max);
  std::ranges::nth_element(files, files.begin() + static_cast<ptrdiff_t>(beyond));
  const bool is_archive = place == Place::archive;
  for (size_t n = 0; n < files.size(); ++n) {
    const std::string& name = files[n].second;
    const Ledger::Entry* const known = is_archive ? ledger_.find(box, name) : nullptr;
    // What the broker has not heard of yet stays: it would be lost.
    const bool may_go = !is_archive || (known != nullptr && known->state == State::done);
    if (may_go && (n < beyond || files[n].first < oldest)) {
      tree_.remove(directory, name);
      if (is_archive) {
        erase(box, name);
      }
    }
  }
}

void Store::tidy_ended() {
  const int64_t oldest = (options_.wall().us - options_.keep_box.us) / second_us;
  std::vector<std::string> old;
  tree_.list(tree_.root(), [&](const std::string& name) {
    const auto box = tree_.directory(name, false);
    const int64_t ended = box ? tree_.changed(*box, ended_name) : 0;
    if (ended != 0 && ended <= oldest) {
      old.push_back(name);
    }
    return true;
  });
  for (const std::string& name : old) {
    boxes_.erase(name);
    tree_.remove_all(name);
    while (!ledger_.entries(name).empty()) {
      erase(name, std::string(ledger_.entries(name).begin()->first));
    }
  }
}

}  // namespace parley::edge::files
