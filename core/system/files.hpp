// Reading the kernel's small text files below a root, so that a made-up /sys, /proc and
// /sys/fs/cgroup can stand in for the real one (tests, saved machines).

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sys {

// The directory that stands for "/": $PLIMSOLL_FSROOT, or empty for the real machine. With a
// made-up root, affinity calls and cpuid are not asked: only what the files say counts.
[[nodiscard]] std::string fs_root();

// The whole text without trailing white space, or nothing when it cannot be read (missing, no
// permission, invalid argument): the kernel says "unknown" in all of these ways.
[[nodiscard]] std::optional<std::string> read_file(const std::string& root,
                                                   const std::string& path);

// The first field of a file as an integer; nothing when missing or not a number in range.
[[nodiscard]] std::optional<std::int64_t> read_integer(const std::string& root,
                                                       const std::string& path);

// A whole decimal number (optional minus, no spaces, no trailing text) or nothing.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

// The names in a directory, sorted; empty when it cannot be read.
[[nodiscard]] std::vector<std::string> list_directory(const std::string& root,
                                                      const std::string& path);

// The results point into `text`, which must live on: a temporary string does not compile.
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> Temporary>
std::string_view trim(Temporary&&) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&&, char) = delete;

// The value behind "Name:" in /proc/meminfo style text, in bytes ("kB" is 1024); nothing if absent.
[[nodiscard]] std::optional<std::int64_t> meminfo_bytes(std::string_view text,
                                                        std::string_view name);

// Bytes that are not UTF-8 become U+FFFD: host and device names may hold anything.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

}  // namespace plimsoll::sys
