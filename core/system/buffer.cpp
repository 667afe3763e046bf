// Buffers over mmap.

#include "core/system/buffer.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/error.hpp"
#include "core/system/cgroup.hpp"

namespace plimsoll::sys {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Sizes above this are wrong whatever the machine; it also keeps every sum below far from overflow.
constexpr double kMostBytes = 9.0e15;

Error no_room(Bytes needed, const std::string& purpose, const MemoryRoom& room) {
  return Error("not enough memory for " + purpose + ": needed " + format_bytes(needed) +
                   ", available " + format_bytes(room.available),
               room.bound_by, "choose a smaller size, or raise the limit");
}

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Buffer::Buffer(Bytes size, std::string purpose, Page page, Touch touch_when) {
  expects(size >= Bytes(0), "Buffer: size cannot be negative");
  if (size <= Bytes(0)) return;
  const MemoryRoom room = memory_room("");
  if (size.value() > kMostBytes || size > room.available) throw no_room(size, purpose, room);

  size_ = static_cast<std::size_t>(size.value());
  const std::size_t alignment = page == Page::huge ? kHugePage : page_size();
  mapped_ = round_up(size_, alignment) + (page == Page::huge ? kHugePage : 0);
  void* mapping =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    size_ = mapped_ = 0;
    throw no_room(size, purpose, memory_room(""));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = mapping_ + (round_up(address, alignment) - address);
  // Asked for explicitly both ways: with "always" the kernel would give huge pages unasked. A
  // refusal is not an error; huge_bytes() tells what was obtained.
  madvise(data_, round_up(size_, alignment), page == Page::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  if (touch_when == Touch::now) touch(0, size_);
}

Buffer::~Buffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void Buffer::touch(std::size_t offset, std::size_t bytes) const {
  expects(offset <= size_ && bytes <= size_ - offset, "Buffer::touch: outside of the buffer");
  volatile std::byte* const at = data_ + offset;
  for (std::size_t i = 0; i < bytes; i += page_size()) at[i] = std::byte{0};
  if (bytes > 0) at[bytes - 1] = std::byte{0};
}

Bytes Buffer::huge_bytes() const {
  // Neighbouring mappings of the same kind may be merged into one line of smaps: what belongs to
  // us cannot be more than our own size.
  const std::string text = read_file("", "/proc/self/smaps").value_or("");
  const auto begin = reinterpret_cast<std::uintptr_t>(data_), end = begin + size_;
  bool ours = false;
  double huge = 0;
  for (std::string_view line : split(text, '\n')) {
    unsigned long low = 0, high = 0;
    const std::string copy(line.substr(0, 40));
    if (std::sscanf(copy.c_str(), "%lx-%lx ", &low, &high) == 2)
      ours = low < end && high > begin;
    else if (ours && line.starts_with("AnonHugePages:"))
      huge += static_cast<double>(meminfo_bytes(line, "AnonHugePages").value_or(0));
  }
  return std::min(Bytes(huge), Bytes(static_cast<double>(size_)));
}

MemoryRoom memory_room(const std::string& root) {
  const std::string meminfo = read_file(root, "/proc/meminfo").value_or("");
  auto free_bytes = meminfo_bytes(meminfo, "MemAvailable");
  if (!free_bytes) free_bytes = meminfo_bytes(meminfo, "MemFree");
  MemoryRoom room{Bytes(static_cast<double>(free_bytes.value_or(std::int64_t{1} << 40))),
                  "available memory"};
  const auto narrow = [&](Bytes available, const char* by) {
    available = std::max(available, Bytes(0));
    if (available < room.available) room = {available, by};
  };
  const Cgroup cgroup = read_cgroup(root);
  if (cgroup.memory_limit.value)
    narrow(*cgroup.memory_limit.value - cgroup.memory_used.value_or(Bytes(0)),
           "cgroup memory limit");
  rlimit limit{};
  if (root.empty() && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const double used = static_cast<double>(read_integer("", "/proc/self/statm").value_or(0)) *
                        static_cast<double>(page_size());
    narrow(Bytes(static_cast<double>(limit.rlim_cur) - used), "address space limit");
  }
  return room;
}

Bytes fitting_size(Bytes wanted, const MemoryRoom& room) {
  return std::min(wanted, Bytes(std::floor(0.75 * room.available.value())));
}

std::string format_bytes(Bytes bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = bytes.value();
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.4g %s", value, units[unit]);
  return text;
}

}  // namespace plimsoll::sys
