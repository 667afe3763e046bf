// Text as bytes: files of any kind, and the one that every Debian has.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll::trainer {

struct Text {
  std::string source;
  std::vector<std::uint8_t> bytes;
};

// A file, plain or gzip. Error naming it when it cannot be read.
[[nodiscard]] Text read_text_file(const std::filesystem::path& path);

// The licence texts of Debian's base-files (always installed), one after the other in the order of
// a fixed list; those that this release does not have are left out. About a quarter of a megabyte
// of English. Error when fewer than three are in `directory`.
[[nodiscard]] Text default_text(
    const std::filesystem::path& directory = "/usr/share/common-licenses");

}  // namespace plimsoll::trainer
