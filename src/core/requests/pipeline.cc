// SPDX-License-Identifier: Apache-2.0
#include "core/requests/pipeline.h"

namespace parley::core {

std::string_view pipeline_state_name(PipelineState state) {
  switch (state) {
    case PipelineState::running:
      return "running";
    case PipelineState::paused:
      return "paused";
    case PipelineState::completed:
      return "completed";
    case PipelineState::failed:
      return "failed";
  }
  return "unknown";
}

}  // namespace parley::core
