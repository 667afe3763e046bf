// The life of the scratch file; its promises are in the header.

#include "probes/storage/scratch_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/system/buffer.hpp"
#include "core/system/signals.hpp"

namespace plimsoll::probes {
namespace {

constexpr std::int64_t kChunk = 1 << 20;
constexpr std::int64_t kReserve = 16 << 20;  // left free for everybody else

std::string reason(int error) { return std::system_category().message(error); }

std::uint64_t word_at(std::uint64_t index) {  // splitmix64; never zero, so holes are told apart
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return (z ^ (z >> 31)) | 1U;
}

// Without a name from the start; where the file system cannot do that, the name goes at once.
Descriptor create_nameless(const std::string& directory) {
  Descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (file.open()) return file;
  const bool no_such_way = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  if (no_such_way) {
    std::string name = directory + "/plimsoll-probe-XXXXXX";
    file = Descriptor(mkostemp(name.data(), O_CLOEXEC));
    if (file.open()) unlink(name.c_str());
  }
  if (!file.open()) {
    throw Error("cannot make a file: " + reason(errno), directory,
                "name a directory that may be written to: --dir DIR");
  }
  return file;
}

void pread_all(int fd, std::byte* to, std::int64_t bytes, std::int64_t offset,
               const std::string& directory) {
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t got = pread(fd, to + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(
          "cannot read the scratch file back: " + (got == 0 ? "it is too short" : reason(errno)),
          directory, "name another directory: --dir DIR");
    }
    done += got;
  }
}

void give_up_if_interrupted(const std::string& directory) {
  if (!sys::interrupted()) return;
  throw Error("interrupted while the scratch file was made", directory, "run it again",
              ExitCode::interrupted);
}

// The kernel writes spaces and the like in mount points as \040.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Where no mount is listed for the directory (a chroot), the file system still tells its kind.
std::string type_by_magic(const std::string& directory) {
  struct statfs facts {};
  if (statfs(directory.c_str(), &facts) != 0) return "unknown";
  switch (static_cast<std::uint32_t>(facts.f_type)) {
    case 0xEF53:
      return "ext4";  // ext2 and ext3 say the same
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x794C7630:
      return "overlay";
    case 0x01021994:
      return "tmpfs";
    case 0x858458F6:
      return "ramfs";
    case 0x6969:
      return "nfs";
    default:
      return "unknown";
  }
}

bool lies_below(const std::string& path, const std::string& folder) {
  if (folder == "/") return true;
  return path == folder || path.starts_with(folder + "/");
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}
Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileSystem file_system_of(const std::string& directory) {
  std::error_code ignored;
  const std::string path = std::filesystem::canonical(directory, ignored).string();
  std::ifstream mounts("/proc/self/mountinfo");
  FileSystem found;
  std::size_t longest = 0;
  for (std::string line; std::getline(mounts, line);) {
    // id parent major:minor root MOUNT_POINT options... - TYPE DEVICE options
    std::istringstream fields(line);
    std::string field, mount_point, type, device;
    for (int i = 0; i < 5; ++i) fields >> mount_point;
    mount_point = unescaped(mount_point);
    while (fields >> field && field != "-") continue;
    fields >> type >> device;
    // Of two mounts on one place the later one counts.
    if (!type.empty() && lies_below(path, mount_point) && mount_point.size() >= longest) {
      longest = mount_point.size();
      found = {.type = type, .device = unescaped(device)};
    }
  }
  if (longest == 0) found.type = type_by_magic(directory);
  return found;
}

std::string default_directory() {
  const char* const temporary = std::getenv("TMPDIR");
  for (const std::string& directory : {std::string(temporary == nullptr ? "" : temporary),
                                       std::string("/var/tmp"), std::string("/tmp")}) {
    std::error_code unknown;
    if (!std::filesystem::is_directory(directory, unknown)) continue;
    if (access(directory.c_str(), W_OK | X_OK) != 0) continue;
    if (!file_system_of(directory).in_memory()) return directory;
  }
  return ".";
}

void fill_pattern(std::span<std::byte> block, std::int64_t offset) {
  const auto first = static_cast<std::uint64_t>(offset) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < block.size() / sizeof(std::uint64_t); ++i) {
    const std::uint64_t word = word_at(first + i);
    std::memcpy(block.data() + i * sizeof word, &word, sizeof word);
  }
}

bool holds_pattern(std::span<const std::byte> block, std::int64_t offset) {
  const auto first = static_cast<std::uint64_t>(offset) / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < block.size() / sizeof(std::uint64_t); ++i) {
    const std::uint64_t word = word_at(first + i);
    if (std::memcmp(block.data() + i * sizeof word, &word, sizeof word) != 0) return false;
  }
  return true;
}

ScratchFile::ScratchFile(const std::string& directory, Bytes size)
    : directory_(directory),
      size_((static_cast<std::int64_t>(size.value()) + kChunk - 1) / kChunk * kChunk),
      file_system_(file_system_of(directory)),
      file_(create_nameless(directory)) {
  require_room(directory, size);
  write_all();
  open_direct();
  read_back();
}

void ScratchFile::require_room(const std::string& directory, Bytes size) {
  struct statvfs facts {};
  if (statvfs(directory.c_str(), &facts) != 0) return;  // then making the file will tell
  const auto free = static_cast<std::int64_t>(facts.f_bavail * facts.f_frsize);
  const std::int64_t needed = static_cast<std::int64_t>(size.value()) + kReserve;
  if (free >= needed) return;
  const FileSystem file_system = file_system_of(directory);
  throw Error(fmt::format("no space: {} bytes ({}) are needed and {} bytes ({}) are free", needed,
                          sys::format_bytes(Bytes(static_cast<double>(needed))), free,
                          sys::format_bytes(Bytes(static_cast<double>(free)))),
              fmt::format("{} ({} on {})", directory, file_system.type, file_system.device),
              "make room, name another directory with --dir DIR, or read less with --size BYTES");
}

void ScratchFile::write_all() const {
  const sys::Buffer chunk(Bytes(kChunk), "the contents of the scratch file");
  for (std::int64_t at = 0; at < size_;) {
    give_up_if_interrupted(directory_);
    fill_pattern({chunk.data(), chunk.size()}, at);
    for (std::int64_t done = 0; done < kChunk;) {
      const ssize_t put = pwrite(file_.get(), chunk.data() + done,
                                 static_cast<std::size_t>(kChunk - done), at + done);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) {
        throw Error(
            fmt::format("{} after {} of {} bytes",
                        errno == ENOSPC ? "no space left" : "cannot write: " + reason(errno),
                        at + done, size_),
            directory_, "make room or name another directory: --dir DIR");
      }
      done += put;
    }
    at += kChunk;
  }
  if (fsync(file_.get()) != 0 && errno != EINVAL && errno != EROFS) {
    throw Error("the data did not reach the device: " + reason(errno), directory_,
                "check the device, or name another directory: --dir DIR");
  }
}

// Some file systems refuse at open, some at the first transfer: only a read that worked counts.
void ScratchFile::open_direct() {
  if (file_system_.in_memory()) {
    direct_refused_ = file_system_.type + " lives in memory";
    return;
  }
  const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
  Descriptor direct(open(self.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!direct.open()) {
    direct_refused_ = "open: " + reason(errno);
    return;
  }
  const sys::Buffer block(Bytes(4096), "a first direct read");
  if (pread(direct.get(), block.data(), block.size(), 0) != static_cast<ssize_t>(block.size())) {
    direct_refused_ = "read: " + reason(errno);
    return;
  }
  direct_ = std::move(direct);
}

void ScratchFile::read_back() const {
  // Not from the page cache, if that can be helped: it would say what we wrote, not what is there.
  posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
  const int fd = direct_.open() ? direct_.get() : file_.get();
  const sys::Buffer chunk(Bytes(kChunk), "reading the scratch file back");
  for (std::int64_t at = 0; at < size_; at += kChunk) {
    give_up_if_interrupted(directory_);
    pread_all(fd, chunk.data(), kChunk, at, directory_);
    if (!holds_pattern({chunk.data(), chunk.size()}, at)) {
      throw Error(fmt::format("data changed on its way: bytes {} to {} are not what was written",
                              at, at + kChunk),
                  directory_, "check this device before you trust it with anything");
    }
  }
}

void ScratchFile::warm_cache() const {
  const sys::Buffer chunk(Bytes(kChunk), "warming the page cache");
  for (std::int64_t at = 0; at < size_; at += kChunk) {
    pread_all(file_.get(), chunk.data(), kChunk, at, directory_);
  }
}

}  // namespace plimsoll::probes
