// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/time.h"
#include "core/machine/machine.h"
#include "lib/prometheus.h"

namespace parley::edge {

// Tells what all workspaces of the machine hold now.
void tell_state(const core::Machine& machine, base::Time now, lib::MetricRegistry& registry);

}  // namespace parley::edge
