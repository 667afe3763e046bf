// SHA-256 of what comes piece by piece; sha256_hex() of report.hpp is for what is whole.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace plimsoll::reports {

class Sha256 {
 public:
  using Digest = std::array<std::byte, 32>;
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] Digest take();  // once, at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::reports
