// Reading text through zlib, which also reads files that are not compressed.

#include "trainer/data/text.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.hpp"

namespace plimsoll::trainer {
namespace {

// Files only, no links to one of them; new texts are not added, so that runs stay comparable.
constexpr std::array kLicences{"Apache-2.0", "Artistic", "BSD",    "GFDL-1.2", "GFDL-1.3",
                               "GPL-1",      "GPL-2",    "GPL-3",  "LGPL-2",   "LGPL-2.1",
                               "LGPL-3",     "MPL-1.1",  "MPL-2.0"};
constexpr std::size_t kLargest = std::size_t{1} << 34;

}  // namespace

Text read_text_file(const std::filesystem::path& path) {
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  if (std::filesystem::is_directory(path)) {
    throw Error("a text is wanted, this is a directory", path.string(), "name a file in it");
  }
  errno = 0;
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (!file) {
    throw Error(std::string("text cannot be opened: ") + std::strerror(errno), path.string(),
                "check that it exists and may be read, or use --data-dir synthetic");
  }
  Text text{.source = path.string(), .bytes = {}};
  std::array<std::uint8_t, 1 << 16> block{};
  while (true) {
    const int got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    int code = Z_OK;
    const char* const problem = gzerror(file.get(), &code);
    if (got < 0 || (got == 0 && code == Z_BUF_ERROR)) {
      throw Error(std::string("text is damaged: ") + problem, path.string(), "write it again");
    }
    if (got == 0) return text;
    text.bytes.insert(text.bytes.end(), block.begin(), block.begin() + got);
    if (text.bytes.size() > kLargest) {
      throw Error("text is larger than 16 GiB", path.string(), "use a part of it");
    }
  }
}

Text default_text(const std::filesystem::path& directory) {
  Text text;
  int found = 0;
  for (const char* const name : kLicences) {
    if (!std::filesystem::is_regular_file(directory / name)) continue;
    const Text one = read_text_file(directory / name);
    text.bytes.insert(text.bytes.end(), one.bytes.begin(), one.bytes.end());
    text.source += (found++ == 0 ? "" : ", ") + std::string(name);
  }
  if (found < 3) {
    throw Error("the default text, the licence texts of Debian's base-files, is not there",
                directory.string(),
                "apt-get install --reinstall base-files, or name any file with --data-dir, or use "
                "--data-dir synthetic");
  }
  text.source = directory.string() + ": " + text.source + " (" + std::to_string(text.bytes.size()) +
                " bytes)";
  return text;
}

}  // namespace plimsoll::trainer
