// What both engines share, and the choice between them.

#include "probes/storage/engine.hpp"

#include "core/error.hpp"

namespace plimsoll::probes {

Slots::Slots(int depth, std::int64_t bytes)
    : block_bytes(bytes),
      buffer(Bytes(static_cast<double>(depth) * static_cast<double>(bytes)), "blocks being read"),
      offsets(static_cast<std::size_t>(depth), -1) {}

std::span<std::byte> Slots::block(std::size_t slot) const {
  const auto bytes = static_cast<std::size_t>(block_bytes);
  return {buffer.data() + slot * bytes, bytes};
}

EngineChoice choose_engine() {
  const std::string why = uring_refused();
  return {.name = why.empty() ? "io_uring" : "threads", .why = why};
}

std::unique_ptr<Engine> make_engine(const std::string& name, int depth) {
  if (name == "threads") return make_thread_engine();
  expects(name == "io_uring", "make_engine: io_uring or threads");
  return make_uring_engine(depth);
}

}  // namespace plimsoll::probes
