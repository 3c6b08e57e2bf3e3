// SPDX-License-Identifier: Apache-2.0
// The binary form of entries: docs/record-format.md. That of a command is its list of fields.
#include "core/model/entry.h"

namespace parley::core {

void encode(const Entry& entry, std::string& bytes) {
  Writer out(bytes);
  out.u8(static_cast<uint8_t>(entry.command.index()));
  out.fixed64(entry.id.origin);
  out.varint(entry.id.number);
  out.varint(static_cast<uint32_t>(entry.workspace));
  out.text(entry.actor);
  std::visit([&out](const auto& command) { put(command, out); }, entry.command);
}

std::expected<Entry, Error> decode_entry(Seq seq, Time time, std::string_view payload) {
  Reader in(payload);
  Entry entry;
  entry.seq = seq;
  entry.time = time;
  const size_t tag = in.u8();
  entry.id.origin = in.fixed64();
  entry.id.number = in.varint();
  const uint64_t workspace = in.varint();
  if (workspace > UINT32_MAX) {
    in.fail();
  }
  entry.workspace = static_cast<WorkspaceId>(workspace);
  entry.actor = in.text();
  FieldReader(in).alternative(tag, entry.command);
  if (!in.done()) {
    return std::unexpected(
        Error{base::Code::malformed_record,
              "record " + std::to_string(seq.n) + " (tag " + std::to_string(tag) +
                  ") is not a command of this version; start the version of Parley that wrote it",
              {}});
  }
  return entry;
}

}  // namespace parley::core
