// SPDX-License-Identifier: Apache-2.0
#include "core/requests/gather.h"

#include <algorithm>

namespace parley::core {

std::string_view gather_state_name(GatherState state) {
  switch (state) {
    case GatherState::open:
      return "open";
    case GatherState::complete:
      return "complete";
    case GatherState::partial:
      return "partial";
    case GatherState::failed:
      return "failed";
  }
  return "unknown";
}

size_t Gather::needed() const {
  switch (terms.strategy) {
    case Strategy::all:
      return members.size();
    case Strategy::any:
      return 1;
    case Strategy::majority:
      return members.size() / 2 + 1;
    case Strategy::quorum:
      return terms.quorum;
  }
  return members.size();
}

size_t Gather::good() const {
  return static_cast<size_t>(std::ranges::count_if(members, &Member::counts));
}

size_t Gather::possible() const {
  return static_cast<size_t>(std::ranges::count_if(members, [](const Member& member) {
    return member.counts() || (member.response.n == 0 && !member.failed);
  }));
}

}  // namespace parley::core
