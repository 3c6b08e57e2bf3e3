// SPDX-License-Identifier: Apache-2.0
#include "edge/records.h"

#include "base/secrets/secrets.h"
#include "edge/secrets/redact.h"
#include "lib/json_writer.h"

namespace parley::edge {

using base::Code;
using base::Error;
using lib::JsonWriter;

std::expected<core::Envelope, Error> envelope_at(node::Broker& broker, core::WorkspaceId workspace,
                                                 base::Seq seq) {
  const auto record = broker.records().read(seq);
  if (!record) {
    return std::unexpected(record.error());
  }
  auto entry = core::decode_entry(seq, base::Time{}, *record);
  if (!entry) {
    return std::unexpected(entry.error());
  }
  auto* send = std::get_if<core::Send>(&entry->command);
  if (send == nullptr || entry->workspace != workspace) {
    return std::unexpected(Error{Code::not_found, "there is no message at this place", {}});
  }
  // The machine gives the number when it applies the entry, so the record does not have it.
  if (send->envelope.sequence_number == 0) {
    const core::Messages& messages = broker.machine().find(workspace)->tables().messages;
    const core::MessageRef ref = messages.find(seq);
    send->envelope.sequence_number = ref == core::none ? 0 : messages.message(ref).number;
  }
  return std::move(send->envelope);
}

std::expected<core::Envelope, Error> envelope_of(const view::StoredMessage& stored) {
  auto entry = stored.entry();
  if (!entry) {
    return std::unexpected(entry.error());
  }
  auto* send = std::get_if<core::Send>(&entry->command);
  if (send == nullptr) {
    return std::unexpected(Error{Code::malformed_record, "a stored message is none", {}});
  }
  return std::move(send->envelope);
}

std::string id_text(node::Broker& broker, core::WorkspaceId workspace, const core::Message& message,
                    core::Dialect reader) {
  // Only a message that was named by its sender, or is read in a dialect whose ids have a form, has
  // another id than its uuid: for the others the record need not be read.
  const bool has_form = dialect::codec_of(reader).id != nullptr;
  if (has_form || (message.named && !core::policy_of(reader).ids_are_uuids)) {
    if (const auto envelope = envelope_at(broker, workspace, message.seq)) {
      return dialect::id_in(reader, *envelope);
    }
  }
  return base::format_uuid(message.id);
}

std::expected<std::string, Error> message_text(node::Broker& broker, core::WorkspaceId workspace,
                                               base::Seq seq, core::Dialect dialect,
                                               const dialect::EncodeContext& context) {
  const auto envelope = envelope_at(broker, workspace, seq);
  if (!envelope) {
    return std::unexpected(envelope.error());
  }
  std::string text;
  codec_of(dialect).encode(*envelope, context, text);
  return text;
}

std::expected<std::string, Error> modification_text(node::Broker& broker,
                                                    core::WorkspaceId workspace, base::Seq seq) {
  const auto record = broker.records().read(seq);
  if (!record) {
    return std::unexpected(record.error());
  }
  const auto entry = core::decode_entry(seq, base::Time{}, *record);
  const auto* const decision = entry && entry->workspace == workspace
                                   ? std::get_if<core::DecideApproval>(&entry->command)
                                   : nullptr;
  if (decision == nullptr || decision->modification.empty()) {
    return std::unexpected(Error{Code::not_found, "there is no modification at this place", {}});
  }
  return std::string(decision->modification);
}

std::expected<std::string, Error> malformed_text(node::Broker& broker, core::WorkspaceId workspace,
                                                 base::Seq seq) {
  const auto record = broker.records().read(seq);
  if (!record) {
    return std::unexpected(record.error());
  }
  const auto entry = core::decode_entry(seq, base::Time{}, *record);
  if (!entry || entry->workspace != workspace) {
    return std::unexpected(Error{Code::not_found, "there is nothing at this place", {}});
  }
  std::string text;
  if (const auto* malformed = std::get_if<core::Malformed>(&entry->command)) {
    JsonWriter(text).text(malformed->text);
  } else {
    // The edge could read it as a message, and the machine refused it as malformed.
    const auto message = message_text(broker, workspace, seq, dialect::default_dialect, {});
    if (!message) {
      return message;
    }
    base::Looks looks;
    JsonWriter(text).text(redacted(base::without_secrets(*message, SIZE_MAX, looks)));
  }
  return text;
}

}  // namespace parley::edge
