// Link speeds from sysfs.

#include "core/system/network.hpp"

namespace plimsoll::sys {
namespace {

// The kernel's SPEED_UNKNOWN is -1, which old drivers print unsigned.
constexpr std::int64_t kUnknownUnsigned = 4294967295;

Known<BytesPerSecond> link_speed(const std::string& root, const std::string& path) {
  const auto text = read_file(root, path);
  if (!text) return {{}, "the kernel does not tell it"};
  const auto megabits = parse_integer(*text);
  if (!megabits) return {{}, "not a number: " + valid_utf8(*text)};
  if (*megabits <= 0 || *megabits >= kUnknownUnsigned)
    return {{}, "the driver answers " + *text + ", which means unknown"};
  return {BytesPerSecond(static_cast<double>(*megabits) * 1e6 / 8), ""};
}

}  // namespace

std::vector<NetworkInterface> network_interfaces(const std::string& root) {
  std::vector<NetworkInterface> interfaces;
  for (const std::string& name : list_directory(root, "/sys/class/net")) {
    const std::string folder = "/sys/class/net/" + name;
    if (list_directory(root, folder).empty()) continue;  // bonding_masters is a file
    interfaces.push_back({valid_utf8(name),
                          read_file(root, folder + "/operstate").value_or("unknown"),
                          link_speed(root, folder + "/speed")});
  }
  return interfaces;
}

}  // namespace plimsoll::sys
