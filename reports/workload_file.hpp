// A user's own network as a JSON file, and what the word after --workload means.
//
// The file is a list of operators in execution order; each reads the one before it unless it says
// otherwise. The format is `plimsoll schema workload`; reading is strict: an unknown key, kind or
// operator, or a shape that does not fit, is an Error with line and column.

#pragma once

#include <string>
#include <string_view>

#include "core/workload.hpp"

namespace plimsoll::reports {

inline constexpr std::string_view kWorkloadSchemaName = "plimsoll.workload/1.0";

[[nodiscard]] Workload workload_from_json(std::string_view text, const std::string& where);
// Canonical: attributes that are as they would be anyway are left out.
[[nodiscard]] std::string workload_to_json(const Workload& workload);

struct ResolvedWorkload {
  Workload workload;
  std::string text;  // of a file: what was read, so that another program sees the same; else empty
};
// A path of a JSON file (it ends in .json or has a slash), or a built-in with options: "mlp",
// "gpt:layers=2". Error when there is neither, or the file is wrong.
[[nodiscard]] ResolvedWorkload resolve_workload(const std::string& word);
// The same from what a ResolvedWorkload told: `text` instead of the file's.
[[nodiscard]] Workload workload_of(const std::string& word, const std::string& text);

// Identifies the network, however it was named: of its input and operators.
[[nodiscard]] std::string graph_sha256(const Graph& graph);

}  // namespace plimsoll::reports
