// SPDX-License-Identifier: Apache-2.0
#include "edge/files/finder.h"

#include <algorithm>
#include <utility>

#include "edge/files/names.h"
#include "lib/json_writer.h"

namespace parley::edge::files {

namespace {

using State = Ledger::State;

// Directories that are looked through in one turn. Archives grow large and are seldom written to
// without the kernel telling, so they have a turn of their own.
constexpr size_t directories_per_turn = 64;
constexpr uint64_t turns_for_archive = 8;
constexpr uint64_t turns_for_tidying = 512;
constexpr size_t unready_max = 10'000;

std::string fault_text(std::string_view code, const std::string& detail) {
  std::string text;
  lib::JsonWriter(text).object().key("code").plain(code).key("detail").text(detail).end_object();
  return text + "\n";
}

}  // namespace

void Finder::add_box(const std::string& name) {
  const auto box = store_.boxes().find(name);
  if (box == store_.boxes().end()) {
    return;
  }
  for (const Place place : places_of(box->second)) {
    watch_.add({name, place}, store_.open(name, place));
    more_.insert({name, place});
  }
  // What is done needs no report. What the receiver moved while nobody looked is seen when the
  // archive is looked through.
  for (const auto& [file, entry] : store_.ledger().entries(name)) {
    if (entry.state != State::done) {
      reports_.push_back(Placed{name, entry.seq, entry.state == State::archived});
    }
  }
}

void Finder::close_box(const std::string& box) {
  watch_.remove(box);
  lost_.erase(box);
  std::erase_if(more_, [&](const Watch::Where& where) { return where.first == box; });
}

void Finder::answered(const std::string& box, Place place, const std::string& name) {
  asked_.erase({box, place, name});
}

void Finder::postponed(const std::string& box, Place place, const std::string& name) {
  asked_.erase({box, place, name});
  more_.insert({box, place});
}

void Finder::look_at_changes() {
  const bool is_whole = watch_.take([this](const Watch::Where& where, const std::string& name) {
    look_at(where.first, where.second, name);
  });
  if (!is_whole) {
    for (const auto& [name, kind] : store_.boxes()) {
      for (const Place place : places_of(kind)) {
        more_.insert({name, place});
      }
    }
  }
}

// By turns, so that what is found again and again in one directory keeps nothing of another back.
void Finder::look_again() {
  std::vector<Watch::Where> places(more_.begin(), more_.end());
  more_.clear();
  std::ranges::rotate(places, std::ranges::upper_bound(places, last_again_));
  for (const Watch::Where& where : places) {
    if (asked_.size() >= options_.found_max) {
      more_.insert(where);
    } else {
      last_again_ = where;
      look_through(where.first, where.second);
    }
  }
}

void Finder::look_around() {
  ++turns_;
  std::vector<Watch::Where> places;
  for (const auto& [name, kind] : store_.boxes()) {
    for (const Place place : places_of(kind)) {
      if (place != Place::archive || turns_ % turns_for_archive == 0) {
        places.emplace_back(name, place);
      }
    }
  }
  if (turns_ % turns_for_tidying == 1) {
    store_.tidy_ended();
  }
  const auto first = std::ranges::lower_bound(places, next_);
  std::ranges::rotate(places, first);
  for (size_t n = 0; n < places.size() && n < directories_per_turn; ++n) {
    look_through(places[n].first, places[n].second);
    if (turns_ % turns_for_tidying == 1 && places[n].second != Place::outbox) {
      store_.tidy(places[n].first);
    }
  }
  next_ = places.size() > directories_per_turn ? places[directories_per_turn] : Watch::Where{};
  if (unready_.size() > unready_max) {
    unready_.clear();
  }
}

void Finder::look_through(const std::string& name, Place place) {
  const Directory directory = store_.open(name, place);
  if (!directory) {
    return;
  }
  std::set<std::string> there;
  store_.tree().list(directory, [&](const std::string& file) {
    there.insert(file);
    return true;
  });
  for (const std::string& file : there) {
    look_at(name, place, file);
  }
  if (place == Place::pending || place == Place::announcements) {
    find_lost(name, there);
  }
}

// A file is moved from one directory to the other while they are looked through, so that it is lost
// only when it is missing twice in a row.
void Finder::find_lost(const std::string& name, const std::set<std::string>& there) {
  std::set<std::string> lost;
  std::vector<std::string> gone;
  const std::set<std::string>& before = lost_[name];
  for (const auto& [file, entry] : store_.ledger().entries(name)) {
    if (entry.state == State::pending && !there.contains(file)) {
      (before.contains(file) ? gone.push_back(file) : (void)lost.insert(file));
    }
  }
  lost_[name] = std::move(lost);
  for (const std::string& file : gone) {
    look_at_gone(name, file);
    const Ledger::Entry* const entry = store_.ledger().find(name, file);
    if (entry != nullptr && entry->state == State::pending) {
      reports_.push_back(Missing{name, entry->seq});
      store_.erase(name, file);
    }
  }
}

void Finder::look_at(const std::string& box, Place place, const std::string& name) {
  if (!is_message_name(name)) {
    return;
  }
  const Ledger::Entry* const known =
      place == Place::outbox ? nullptr : store_.ledger().find(box, name);
  const bool is_again = place == Place::pending && known != nullptr && known->state == State::done;
  if (known == nullptr || is_again) {
    find_new(box, place, name);
  } else if (place == Place::archive) {
    look_at_archived(box, name);
  } else if (place == Place::pending && known->state == State::pending) {
    look_at_gone(box, name);
  }
}

// It is in the archive, and the ledger knows it.
void Finder::look_at_archived(const std::string& name, const std::string& file) {
  const Ledger::Entry entry = *store_.ledger().find(name, file);
  // Who copies it there and then removes it from pending is done with it then.
  if (entry.state != State::pending ||
      store_.tree().contains(store_.open(name, Place::pending), file)) {
    return;
  }
  store_.set(name, file, {entry.seq, State::archived});
  reports_.push_back(Placed{name, entry.seq, true});
}

// The last word on a file that may have left pending: it counts where it is now.
void Finder::look_at_gone(const std::string& name, const std::string& file) {
  if (!store_.tree().contains(store_.open(name, Place::pending), file) &&
      store_.tree().contains(store_.open(name, Place::archive), file)) {
    look_at_archived(name, file);
  }
}

void Finder::find_new(const std::string& name, Place place, const std::string& file) {
  const FileKey key{name, place, file};
  if (asked_.contains(key)) {
    return;
  }
  if (asked_.size() >= options_.found_max) {
    more_.insert({name, place});
    return;
  }
  auto read = store_.tree().read(store_.open(name, place), file, options_.file_bytes_max);
  if (!read) {
    switch (read.error()) {
      case ReadFault::gone:
        unready_.erase(key);
        return;
      case ReadFault::not_regular:
        store_.set_aside({name, place, file,
                          fault_text("BAD_REQUEST",
                                     "a message is a regular file: no link, no pipe, "
                                     "no directory")});
        return;
      case ReadFault::too_large:
        store_.set_aside({name, place, file,
                          fault_text("PAYLOAD_TOO_LARGE",
                                     "a message has at most " +
                                         std::to_string(options_.file_bytes_max) + " bytes")});
        return;
      case ReadFault::has_other_names:  // some write by a link under another name first
        find_unready(key, {}, "the file has another name (a hard link); it must have one");
        return;
      case ReadFault::failed:
        find_unready(key, {}, "the file cannot be read; give the broker the right to");
        return;
    }
  }
  const auto json = document_.parse(read->text);
  if (!json || !json->is_object()) {
    // Perhaps it is being written.
    find_unready(key, read->stamp,
                 json ? "a message is an object of JSON" : "no JSON: " + json.error().detail);
    return;
  }
  unready_.erase(key);
  asked_.insert(key);
  reports_.push_back(Found{name, place, file, std::move(*read)});
}

void Finder::find_unready(const FileKey& key, const FileStamp& stamp, const std::string& what) {
  const base::Time now = options_.steady();
  const auto [at, is_new] = unready_.try_emplace(key, Unready{stamp, now});
  if (is_new || at->second.stamp != stamp) {
    at->second = {stamp, now};
  } else if (now - at->second.since >= options_.quiet) {
    unready_.erase(at);
    const auto& [box, place, file] = key;
    store_.set_aside({box, place, file,
                      fault_text("BAD_REQUEST", what + "; it has not changed for " +
                                                    base::format_duration(options_.quiet))});
  }
}

}  // namespace parley::edge::files
