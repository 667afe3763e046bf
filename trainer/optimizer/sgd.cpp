// One pass over flat buffers.

#include "trainer/optimizer/sgd.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer {

Sgd::Sgd(std::int64_t parameters, const SgdOptions& options)
    : velocity_(Bytes(4.0 * static_cast<double>(parameters)), "momentum", sys::Page::huge),
      options_(options) {
  std::ranges::fill(velocity_.as<float>(), 0.0F);
}

void Sgd::update(std::span<float> weights, std::span<const float> gradient_sums,
                 std::int64_t global_batch) {
  expects(weights.size() == gradient_sums.size() && weights.size_bytes() <= velocity_.size() &&
              global_batch >= 1,
          "sgd: weights, gradients and momentum belong together, and somebody had samples");
  sgd_momentum(weights.data(), velocity_.as<float>().data(), gradient_sums.data(),
               std::ssize(weights),
               {.learning_rate = static_cast<float>(options_.learning_rate),
                .momentum = static_cast<float>(options_.momentum),
                .gradient_scale = static_cast<float>(1.0 / static_cast<double>(global_batch))},
               options_.threads);
}

Bytes Sgd::memory() const { return Bytes(static_cast<double>(velocity_.size())); }

}  // namespace plimsoll::trainer
