// Small kernel files below a root.

#include "core/system/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace plimsoll::sys {

std::string fs_root() {
  const char* root = std::getenv("PLIMSOLL_FSROOT");
  std::string text = root == nullptr ? "" : root;
  while (!text.empty() && text.back() == '/') text.pop_back();
  return text;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Plain read(2): the kernel's files answer "unknown" with EINVAL at read time, which a stream
// would show as an empty text.
std::optional<std::string> read_file(const std::string& root, const std::string& path) {
  const int file = open((root + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  char block[4096];
  ssize_t got = 0;
  while ((got = read(file, block, sizeof block)) > 0) text.append(block, static_cast<size_t>(got));
  close(file);
  if (got < 0) return std::nullopt;
  return std::string(trim(text));
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_integer(const std::string& root, const std::string& path) {
  const auto text = read_file(root, path);
  if (!text) return std::nullopt;
  return parse_integer(std::string_view(*text).substr(0, text->find_first_of(" \t\n")));
}

std::vector<std::string> list_directory(const std::string& root, const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(root + path, error), end;
  while (!error && at != end) {
    names.push_back(at->path().filename().string());
    at.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::int64_t> meminfo_bytes(std::string_view text, std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    const auto at = line.find(std::string(name) + ":");
    // "Node 0 MemTotal: 1 kB" and "MemTotal: 1 kB" both count; "XMemTotal:" does not.
    if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ')) continue;
    const std::string_view rest = trim(line.substr(at + name.size() + 1));
    const auto value = parse_integer(rest.substr(0, rest.find(' ')));
    if (!value || *value < 0) return std::nullopt;
    return rest.ends_with("kB") ? *value * 1024 : *value;
  }
  return std::nullopt;
}

namespace {

// Length of the valid UTF-8 sequence at the front of `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool beyond = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    text += length > 0 ? std::string(bytes.substr(0, length)) : "\xEF\xBF\xBD";
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

}  // namespace plimsoll::sys
