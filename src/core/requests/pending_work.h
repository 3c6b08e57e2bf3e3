// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/command.h"
#include "core/requests/gather.h"
#include "core/requests/pending_request.h"
#include "core/requests/pipeline.h"
#include "core/state/deadlines.h"
#include "core/state/shares.h"
#include "core/state/slots.h"

namespace parley::core {

// All that someone waits for: requests, scatters and pipelines, each under the place of its first
// message, and when it is due. Only a table: what becomes of them is in requests.h, gather_acts.h
// and pipeline_acts.h.
class PendingWork {
 public:
  PendingRequest* find_request(Seq message);
  const PendingRequest* find_request(Seq message) const;
  Gather* find_gather(Seq message);
  Pipeline* find_pipeline(Seq first);
  // By the id that its owner gave its message; nullptr when there is none.
  const Gather* find_gather(std::string_view owner, const MessageId& id) const;
  const Pipeline* find_pipeline(std::string_view owner, const MessageId& id) const;

  // What a scatter, or a pipeline as its first stage, asks of an agent under the name of a task.
  struct Asked {
    Seq message;
    std::string_view thread;
  };
  // Newest first, up to `count_max`. The views are good until something is removed.
  std::vector<Asked> asked(std::string_view agent, std::string_view task, size_t count_max) const;

  // How many scatters or pipelines it has here, those that ended too.
  size_t gathers_of(std::string_view owner) const;
  size_t pipelines_of(std::string_view owner) const;
  // The first of its oldest that ended, which goes for its next one; none: 0.
  Seq ended_gather_of(std::string_view owner) const;
  Seq ended_pipeline_of(std::string_view owner) const;

  PendingRequest& add(PendingRequest request, Time due);
  Gather& add(Gather gather, Time due);
  Pipeline& add(Pipeline pipeline);
  void remove_request(Seq message);
  void remove_gather(Seq message);
  void remove_pipeline(Seq first);

  // `time_max` stops the timer.
  void set_due(PendingRequest& request, Time at) {
    set(request.timer, request.due, at, request.message, Kind::request);
  }
  void set_due(Gather& gather, Time at) {
    set(gather.timer, gather.due, at, gather.message, Kind::gather);
  }
  void set_due(Pipeline& pipeline, Time at) {
    set(pipeline.timer, pipeline.due, at, pipeline.first, Kind::pipeline);
  }

  enum class Kind : uint8_t { request, gather, pipeline };
  struct Due {
    Time at;
    Seq seq;
    Kind kind;
  };
  // The next one that is due, at time_max when nothing is.
  Due next() const;

  const std::map<Seq, PendingRequest>& requests() const { return requests_; }
  uint64_t requests_of(std::string_view owner) const { return requests_by_owner_.of(owner); }
  const std::map<Seq, Gather>& gathers() const { return gathers_; }
  const std::map<Seq, Pipeline>& pipelines() const { return pipelines_; }

  // The records that it still needs: what is not named by any table is lost with its segment.
  void add_live(std::vector<Seq>& seqs) const;

  void encode(Writer& out) const;
  bool decode(Reader& in);

 private:
  using Name = std::pair<std::string, MessageId>;
  using Work = std::pair<std::string, std::string>;  // an agent and a task
  using ByOwner = std::map<std::string, std::set<Seq>, std::less<>>;

  void file(const Gather& gather);
  void unfile(const Gather& gather);
  void unfile(std::string_view agent, std::string_view task, Seq first);
  void set(uint32_t& timer, Time& due, Time at, Seq seq, Kind kind);

  std::map<Seq, PendingRequest> requests_;
  Shares requests_by_owner_;
  std::map<Seq, Gather> gathers_;
  std::map<Seq, Pipeline> pipelines_;
  std::map<Name, Seq> gather_names_;
  std::map<Name, Seq> pipeline_names_;
  ByOwner gathers_by_owner_;
  ByOwner pipelines_by_owner_;
  std::map<Work, std::set<Seq>> work_;  // places of gathers and pipelines that name a task
  Deadlines deadlines_;
};

}  // namespace parley::core
