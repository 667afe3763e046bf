// Memory that is asked for at every call and given back soon after: what was freed is kept and
// handed out again to whoever asks for the same size class.
//
// For one thread, the front end's. Memory that is given back may still be read by calls that are
// queued: it goes to calls that are queued behind them.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/system/buffer.hpp"

namespace plimsoll::trainer::imperative {

class Allocator {
 public:
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  [[nodiscard]] std::byte* take(std::int64_t bytes);
  void give_back(std::byte* data, std::int64_t bytes);

  [[nodiscard]] std::int64_t in_use() const { return in_use_; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }      // most in use at once
  [[nodiscard]] std::int64_t reserved() const { return held_; }  // from the system
  [[nodiscard]] std::int64_t misses() const { return misses_; }  // of free memory of that size

 private:
  [[nodiscard]] std::byte* fresh(std::int64_t size);

  std::map<std::int64_t, std::vector<std::byte*>> free_;  // by size class
  std::vector<sys::Buffer> buffers_;
  std::byte* slab_ = nullptr;  // the rest of a buffer that small pieces are cut from
  std::int64_t slab_left_ = 0;
  std::int64_t in_use_ = 0, peak_ = 0, held_ = 0, misses_ = 0;
};

// A piece of memory with as many owners as handles; the last one gives it back.
class Storage {
 public:
  Storage(Allocator& allocator, std::int64_t bytes)
      : allocator_(allocator), bytes_(bytes), data_(allocator.take(bytes)) {}
  ~Storage() { allocator_.give_back(data_, bytes_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  Allocator& allocator_;
  std::int64_t bytes_;
  std::byte* data_;
};
using StoragePtr = std::shared_ptr<Storage>;

}  // namespace plimsoll::trainer::imperative
