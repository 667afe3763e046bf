// Network interfaces and their link speeds as the kernel tells them. Virtual interfaces answer -1,
// 4294967295, 0 or an error: all of these mean unknown.

#pragma once

#include <string>
#include <vector>

#include "core/record.hpp"
#include "core/system/files.hpp"
#include "core/units.hpp"

namespace plimsoll::sys {

struct NetworkInterface {
  std::string name;
  std::string state;  // up | down | unknown
  Known<BytesPerSecond> speed;
};

[[nodiscard]] std::vector<NetworkInterface> network_interfaces(const std::string& root = fs_root());

}  // namespace plimsoll::sys
