// SPDX-License-Identifier: Apache-2.0
#include "edge/files/thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <variant>

#include "base/check.h"

namespace parley::edge::files {

namespace {

// When the tree cannot be opened.
constexpr base::Duration open_again_after = base::seconds(5);

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

}  // namespace

FileThread::FileThread(Options options)
    : options_(std::move(options)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {
  CHECK(wake_ >= 0);
}

FileThread::~FileThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
  thread_.join();
  ::close(wake_);
}

void FileThread::add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

size_t FileThread::waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size() + doing_;
}

void FileThread::wait(int watched) const {
  std::array<pollfd, 2> fds = {{{wake_, POLLIN, 0}, {watched, POLLIN, 0}}};
  const base::Duration longest = watched < 0 ? open_again_after : options_.look_every;
  (void)::poll(fds.data(), watched < 0 ? 1 : fds.size(), static_cast<int>(longest.us / 1'000));
  uint64_t woken = 0;
  (void)!::read(wake_, &woken, sizeof woken);
}

void FileThread::run() {
  std::unique_ptr<Store> store;
  std::unique_ptr<Finder> finder;
  base::Time looked{};
  while (true) {
    std::deque<Job> jobs;
    bool is_over = false;
    {
      const std::lock_guard lock(mutex_);
      is_over = stopping_;
      if (store != nullptr || is_over) {
        jobs.swap(jobs_);
        doing_ = jobs.size();
      }
    }
    if (store == nullptr && !is_over) {
      if (auto opened = Store::open(options_.store)) {
        store = std::move(*opened);
        finder = std::make_unique<Finder>(*store, options_.finder);
      } else {
        complain(opened.error());
        wait(-1);
      }
      continue;
    }
    for (const Job& job : jobs) {
      if (store != nullptr) {
        work(*store, *finder, job);
      }
    }
    {
      const std::lock_guard lock(mutex_);
      doing_ = 0;
    }
    if (is_over) {
      return;
    }
    finder->look_at_changes();
    finder->look_again();
    if (const base::Time now = options_.finder.steady(); now - looked >= options_.look_every) {
      looked = now;
      finder->look_around();
    }
    if (auto reports = finder->take_reports(); !reports.empty()) {
      options_.tell(std::move(reports));
    }
    wait(finder->fd());
  }
}

void FileThread::work(Store& store, Finder& finder, const Job& job) {
  const auto check = [this](const std::expected<void, base::Error>& done) {
    if (!done) {
      complain(done.error());
    } else {
      complained_.clear();
    }
  };
  std::visit(
      Overloaded{
          [&](const AddBox& add) {
            const auto done = store.add_box(add);
            check(done);
            if (done) {
              finder.add_box(add.box);
            }
          },
          [&](const EndBox& end) { store.end_box(end); },
          [&](const CloseBox& close) {
            store.close_box(close);
            finder.close_box(close.box);
          },
          [&](const Put& put) {
            const auto done = store.put(put);
            check(done);
            finder.report(done ? Report(Placed{put.box, put.seq, false})
                               : Report(Missing{put.box, put.seq}));
          },
          [&](const Settle& settle) { store.settle(settle); },
          [&](const Withdraw& withdraw) { store.withdraw(withdraw); },
          [&](const Take& take) {
            store.take(take);
            finder.answered(take.box, take.place, take.name);
          },
          [&](const Refuse& refuse) {
            store.set_aside(refuse);
            finder.answered(refuse.box, refuse.place, refuse.name);
          },
          [&](const Postpone& later) { finder.postponed(later.box, later.place, later.name); },
          [&](const Append& append) { check(store.append(append)); },
          [&](const ReadBack& back) {
            finder.report(ReadBack{back.file, store.read_back(back.file)});
          },
      },
      job);
}

// Once for each thing that is wrong, however often it happens.
void FileThread::complain(const base::Error& error) {
  if (options_.warn && complained_ != error.detail) {
    options_.warn("the files of squad: " + error.detail);
  }
  complained_ = error.detail;
}

}  // namespace parley::edge::files
