// Size classes of whole cache lines, above 4 KiB in steps of an eighth.

#include "trainer/backend/imperative/allocator.hpp"

#include <algorithm>
#include <bit>

namespace plimsoll::trainer::imperative {
namespace {

constexpr std::int64_t kLine = 64, kSmall = 64 << 10, kSlab = 1 << 20;

std::int64_t size_class(std::int64_t bytes) {
  const auto whole = std::max<std::int64_t>(kLine, (bytes + kLine - 1) / kLine * kLine);
  if (whole <= 4096) return whole;
  const auto step =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(whole))) / 8;
  return (whole + step - 1) / step * step;
}

}  // namespace

std::byte* Allocator::take(std::int64_t bytes) {
  const std::int64_t size = size_class(bytes);
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  std::vector<std::byte*>& free = free_[size];
  if (free.empty()) return fresh(size);
  std::byte* const data = free.back();
  free.pop_back();
  return data;
}

void Allocator::give_back(std::byte* data, std::int64_t bytes) {
  const std::int64_t size = size_class(bytes);
  in_use_ -= size;
  free_[size].push_back(data);
}

std::byte* Allocator::fresh(std::int64_t size) {
  ++misses_;
  const auto buffer = [&](std::int64_t wanted, sys::Page page) {
    buffers_.emplace_back(Bytes(static_cast<double>(wanted)), "activations", page);
    held_ += wanted;
    return buffers_.back().data();
  };
  if (size > kSmall) return buffer(size, sys::Page::huge);
  if (slab_left_ < size) {
    slab_ = buffer(kSlab, sys::Page::base);
    slab_left_ = kSlab;
  }
  std::byte* const data = slab_;
  slab_ += size;
  slab_left_ -= size;
  return data;
}

}  // namespace plimsoll::trainer::imperative
