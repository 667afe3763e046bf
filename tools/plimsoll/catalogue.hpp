// Every word of this project's vocabulary: what probes, metrics, findings and workloads mean.

#pragma once

#include <string>
#include <vector>

#include "reports/catalogue.hpp"

namespace plimsoll::tools {

// Asks every probe binary to describe itself; one that cannot is listed with its reason.
[[nodiscard]] std::vector<reports::Entry> catalogue();

// What `explain` prints about `id`: the entry itself, or all entries that begin with it. Error
// (usage) that suggests similar ids.
[[nodiscard]] std::vector<reports::Entry> entries_of(const std::vector<reports::Entry>& all,
                                                     const std::string& id);

}  // namespace plimsoll::tools
