// Predicts from a machine report on disk and says which bytes were read.

#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "models/what_if.hpp"

namespace plimsoll::tools {

// A prediction report that names the machine report by id and SHA-256. Errors: the report cannot
// be read or is not a machine report; the plan; the machine lacks what the model needs.
[[nodiscard]] Report make_prediction(const std::string& machine_path, const Plan& plan,
                                     const std::vector<std::string>& argv,
                                     const models::WhatIf& what_if = {});

}  // namespace plimsoll::tools
