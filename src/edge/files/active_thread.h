// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/humans/escalations.h"
#include "edge/api/context.h"
#include "edge/files/jobs.h"

namespace parley::edge::files {

inline constexpr std::string_view active_thread_file = "active-thread.md";

// What is put before people stands in `active-thread.md`, when it is opened and when it is
// resolved, and as long as it is open in the directory of the humans. Each line that is appended
// ends with a mark; a former life's marks say what is in the file. On the server's thread.
class ActiveThread {
 public:
  ActiveThread(Context& context, std::function<void(Job)> work)
      : context_(context), work_(std::move(work)) {}

  // The text that the file has, or its end; nothing is written before.
  void read_back(std::string_view text);
  // Escalations may have come or have been resolved. Quick where none has.
  void follow();

  // The file of an escalation in the directory of the humans has this place, which no message has.
  static base::Seq place_of(uint64_t escalation) { return base::Seq{case_bit | escalation}; }
  static bool is_case(base::Seq seq) { return (seq.n & case_bit) != 0; }
  bool is_open(base::Seq seq) const;

 private:
  static constexpr uint64_t case_bit = uint64_t{1} << 63;

  void open(uint64_t id);
  void write(uint64_t id);
  void close(const core::Escalation& escalation);

  Context& context_;
  const std::function<void(Job)> work_;
  bool has_read_ = false;
  bool is_following_ = false;
  uint64_t newest_ = 0;         // that was looked at
  size_t open_count_ = 0;       // how many were open then
  std::set<uint64_t> opened_;   // that the file has
  std::set<uint64_t> open_;     // of those: the ones that it does not have as resolved
  std::set<uint64_t> writing_;  // whose message is on its way from the disk
};

// Pure: what stands in the file of an escalation, or of its end; `subject` is that of the message
// that it is about. Whatever agents wrote stays in its line.
std::string opened_lines(const core::Escalation& escalation, std::string_view subject);
std::string resolved_lines(const core::Escalation& escalation);
// Pure: the escalation as a message of squad to people.
std::string escalation_message(const core::Escalation& escalation, std::string_view id,
                               std::string_view subject, std::string_view message,
                               std::string_view thread);

}  // namespace parley::edge::files
