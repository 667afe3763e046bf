// Page-aligned memory with a known page size, first touched where the caller wants it, and refused
// with needed and available bytes before the kernel has to kill somebody.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/system/files.hpp"
#include "core/units.hpp"

namespace plimsoll::sys {

enum class Page { base, huge };   // huge: transparent huge pages are requested; see huge_bytes()
enum class Touch { now, later };  // now: the calling thread writes every page (NUMA: its own node)

class Buffer {
 public:
  Buffer() = default;
  // Error with the purpose, needed and available bytes when it cannot fit.
  Buffer(Bytes size, std::string purpose, Page page = Page::base, Touch touch = Touch::now);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

  // Writes one byte of every page of [offset, offset + bytes): call it in the thread that will use
  // that part.
  void touch(std::size_t offset, std::size_t bytes) const;

  // How much of the buffer really lies on huge pages now (from smaps); 0 when it cannot be told.
  [[nodiscard]] Bytes huge_bytes() const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::byte* mapping_ = nullptr;  // data_ aligned inside
  std::size_t mapped_ = 0;
};

// What can still be allocated: the smallest of available memory, cgroup limit and address space
// limit, each minus what is used; `bound_by` says which.
struct MemoryRoom {
  Bytes available;
  std::string bound_by;  // "available memory" | "cgroup memory limit" | "address space limit"
};
[[nodiscard]] MemoryRoom memory_room(const std::string& root = fs_root());

// The largest buffer size <= wanted that leaves a quarter of the room free.
[[nodiscard]] Bytes fitting_size(Bytes wanted, const MemoryRoom& room);

[[nodiscard]] std::string format_bytes(Bytes bytes);  // "1.5 GiB", for messages

}  // namespace plimsoll::sys
