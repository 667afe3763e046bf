// What writer and reader of a checkpoint share.

#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/error.hpp"

namespace plimsoll::trainer {

inline constexpr std::array<char, 8> kCheckpointMagic = {'P', 'L', 'I', 'M', 'C', 'K', 'P', 'T'};
inline constexpr std::uint32_t kCheckpointVersion = 1;
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::size_t kCheckpointAlignment = 64;

struct CheckpointPreamble {
  std::array<char, 8> magic = kCheckpointMagic;
  std::uint32_t version = kCheckpointVersion;
  std::uint32_t byte_order = kByteOrder;
  std::uint64_t header_bytes = 0;
};
static_assert(sizeof(CheckpointPreamble) == 24);

using Digest = std::array<std::byte, 32>;

// SHA-256 of what is added piece by piece.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    expects(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
            "OpenSSL computes SHA-256");
  }
  void add(std::span<const std::byte> bytes) {
    expects(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1,
            "OpenSSL computes SHA-256");
  }
  [[nodiscard]] Digest take() {
    Digest digest{};
    unsigned length = 0;
    expects(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                               &length) == 1 &&
                length == digest.size(),
            "OpenSSL computes SHA-256");
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace plimsoll::trainer
