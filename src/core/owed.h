// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace parley::core {

struct Tables;

// What has come due is often told to someone: a message that expired, to its sender. The broker
// writes 128 notices in a step, and one entry may find thousands of things due. So that nothing that
// is owed has to be left out, what is due waits while much is owed already.

// A quarter of errands_max is owed. Then only ticks let time pass, of which a step has one.
bool owes_much(const Tables& tables);

// How much of what is due one entry does: less, the more is owed. At half of errands_max it is so
// little that what is owed falls, also where each is told to many. Never 0: else a tick could change
// nothing and would be due again at once.
size_t due_now_max(const Tables& tables);

}  // namespace parley::core
