// OpenSSL's.

#include "reports/sha256.hpp"

#include <openssl/evp.h>

#include "core/error.hpp"

namespace plimsoll::reports {
namespace {

constexpr const char* kPromise = "OpenSSL computes SHA-256";

}  // namespace

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  expects(state_->context && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1,
          kPromise);
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) {
  expects(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1, kPromise);
}

Sha256::Digest Sha256::take() {
  Digest digest{};
  unsigned length = 0;
  expects(EVP_DigestFinal_ex(state_->context.get(), reinterpret_cast<unsigned char*>(digest.data()),
                             &length) == 1 &&
              length == digest.size(),
          kPromise);
  return digest;
}

}  // namespace plimsoll::reports
