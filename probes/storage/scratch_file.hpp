// A file of our own to read from: filled with data that cannot be guessed, compressed or shared,
// checked by reading it back, and without a name, so that it is gone however the program ends.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/units.hpp"

namespace plimsoll::probes {

// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// What a directory lies on: "ext4" on "/dev/vda", from the kernel's list of mounts.
struct FileSystem {
  std::string type = "unknown", device = "unknown";
  [[nodiscard]] bool in_memory() const { return type == "tmpfs" || type == "ramfs"; }
};
[[nodiscard]] FileSystem file_system_of(const std::string& directory);

// Where to make a file when nobody names a directory: the first of $TMPDIR, /var/tmp, /tmp and the
// current directory that can be written and does not live in memory; the current one when none
// does.
[[nodiscard]] std::string default_directory();

// The contents: every aligned word depends on its offset alone.
void fill_pattern(std::span<std::byte> block, std::int64_t offset);
[[nodiscard]] bool holds_pattern(std::span<const std::byte> block, std::int64_t offset);

class ScratchFile {
 public:
  // Writes `size` bytes into `directory`, waits until they are on the device, and reads them back.
  // Error when the directory cannot be used, has too little room (needed and free bytes), or the
  // data came back changed.
  ScratchFile(const std::string& directory, Bytes size);

  // Error with needed and free bytes when `size` and a reserve for everybody else do not fit.
  static void require_room(const std::string& directory, Bytes size);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const FileSystem& file_system() const { return file_system_; }
  [[nodiscard]] int cached() const { return file_.get(); }
  // Past the page cache; -1 where that is refused, and why.
  [[nodiscard]] int direct() const { return direct_.get(); }
  [[nodiscard]] const std::string& direct_refused() const { return direct_refused_; }
  // Brings the whole file into the page cache, as far as it fits.
  void warm_cache() const;

 private:
  void write_all() const;
  void open_direct();
  void read_back() const;

  std::string directory_;
  std::int64_t size_;
  FileSystem file_system_;
  Descriptor file_, direct_;
  std::string direct_refused_;
};

}  // namespace plimsoll::probes
