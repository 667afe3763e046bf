// The optimizer's update and the loader's gather against their formulas.

#include <cstdint>
#include <vector>

#include "tests/backend/fixture.hpp"
#include "tests/catch.hpp"

namespace plimsoll::trainer::test {
namespace {

TEST_CASE("SGD with momentum follows its formula at every size and team") {
  const int threads = GENERATE(1, 2, 3);
  const std::int64_t count = GENERATE(0, 1, 17, 1000, 40001);
  const SgdStep step{.learning_rate = 0.1F, .momentum = 0.9F, .gradient_scale = 0.5F};
  Storage w(count, 1, 1), v(count, 2, 1), g(count, 3, 1);
  const std::vector<float> w0(w.data(), w.data() + count), v0(v.data(), v.data() + count);
  sgd_momentum(w.data(), v.data(), g.data(), count, step, threads);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double velocity = 0.9 * double{v0[at]} + 0.5 * double{g.data()[i]};
    const double weight = double{w0[at]} - 0.1 * velocity;
    if (std::abs(double{v.data()[i]} - velocity) > 1e-6) ++wrong;
    if (std::abs(double{w.data()[i]} - weight) > 1e-6) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a batch is the chosen rows in their order, scaled") {
  const std::int64_t row = GENERATE(1, 7, 33);
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(row * 4));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * 31 % 256);
  const std::vector<std::int64_t> index{3, 0, 3};
  std::vector<float> out(static_cast<std::size_t>(row) * index.size(), -1.0F);
  gather_u8(out.data(), rows.data(), row, index.data(), std::ssize(index), 1.0F / 255, -0.5F);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto side = static_cast<std::size_t>(row);
    const auto from = static_cast<std::size_t>(index[i / side]) * side + i % side;
    CHECK(double{out[i]} == Approx(rows[from] / 255.0 - 0.5).margin(1e-6));
  }
}

}  // namespace
}  // namespace plimsoll::trainer::test
