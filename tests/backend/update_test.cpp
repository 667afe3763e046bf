// The optimizer's update and the loader's gather against their formulas.

#include <cmath>
#include <cstdint>
#include <limits>
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

TEST_CASE("SGD's weight decay is a part of the gradient") {
  Storage w(100, 1), v(100, 2), g(100, 3);
  const std::vector<float> w0(w.data(), w.data() + 100), v0(v.data(), v.data() + 100);
  CHECK(sgd_momentum(w.data(), v.data(), g.data(), 100, {0.1F, 0.9F, 0.5F, 0.01F}, 1));
  for (std::size_t i = 0; i < 100; ++i) {
    const double velocity = 0.9 * double{v0[i]} + 0.5 * double{g.data()[i]} + 0.01 * double{w0[i]};
    CHECK(double{w.data()[i]} == Approx(double{w0[i]} - 0.1 * velocity).margin(1e-6));
  }
}

TEST_CASE("Adam and AdamW follow their formulas at every size and team") {
  const int threads = GENERATE(1, 3);
  const std::int64_t count = GENERATE(0, 1, 17, 40001);
  const double added = GENERATE(0.0, 0.02), shrinking = GENERATE(0.0, 0.003);
  AdamStep step{.learning_rate = 0.01F,
                .beta1 = 0.9F,
                .beta2 = 0.999F,
                .rest1 = 0.1F,
                .rest2 = 0.001F,
                .epsilon = 1e-8F,
                .gradient_scale = 0.5F,
                .correction1 = 0.271F,  // after three updates
                .correction2 = 0.002997001F,
                .added_decay = static_cast<float>(added),
                .shrinking_decay = static_cast<float>(shrinking)};
  Storage w(count, 1, 1), m(count, 2, 1), v(count, 4, 1), g(count, 3, 1);
  for (std::int64_t i = 0; i < count; ++i) v.data()[i] = std::abs(v.data()[i]);
  const std::vector<float> w0(w.data(), w.data() + count), m0(m.data(), m.data() + count),
      v0(v.data(), v.data() + count);
  CHECK(adamw(w.data(), m.data(), v.data(), g.data(), count, step, threads));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double gradient = 0.5 * double{g.data()[i]} + added * double{w0[at]};
    const double first = 0.9 * double{m0[at]} + 0.1 * gradient;
    const double second = 0.999 * double{v0[at]} + 0.001 * gradient * gradient;
    const double weight = double{w0[at]} * (1 - shrinking) -
                          0.01 * (first / 0.271) / (std::sqrt(second / 0.002997001) + 1e-8);
    if (std::abs(double{m.data()[i]} - first) > 1e-6) ++wrong;
    if (std::abs(double{v.data()[i]} - second) > 1e-6) ++wrong;
    if (std::abs(double{w.data()[i]} - weight) > 1e-5) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("an update tells of one number that is none, wherever it stands") {
  const float bad =
      GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
               -std::numeric_limits<float>::infinity());
  const std::int64_t count = 40001;
  const std::int64_t place = GENERATE(0, 1, 20000, 40000);
  const int threads = GENERATE(1, 3);
  Storage w(count, 1), v(count, 2), u(count, 4), g(count, 3);
  for (std::int64_t i = 0; i < count; ++i) u.data()[i] = std::abs(u.data()[i]);
  const AdamStep adam{0.01F, 0.9F, 0.999F, 0.1F, 0.001F, 1e-8F, 1.0F, 0.1F, 0.001F};
  CHECK(sgd_momentum(w.data(), v.data(), g.data(), count, {0.1F, 0.9F, 0.5F}, threads));
  CHECK(adamw(w.data(), v.data(), u.data(), g.data(), count, adam, threads));
  g.data()[place] = bad;
  for (const float decay : {0.0F, 0.1F}) {
    CHECK_FALSE(
        sgd_momentum(w.data(), v.data(), g.data(), count, {0.1F, 0.9F, 0.5F, decay}, threads));
    w.data()[place] = v.data()[place] = 0.0F;
  }
  CHECK_FALSE(adamw(w.data(), v.data(), u.data(), g.data(), count, adam, threads));
}

TEST_CASE("a sum of squares has the same bits for any team") {
  const std::int64_t count = GENERATE(0, 1, 8192, 100003);
  Storage g(count, 3, 1);
  double expected = 0;
  for (std::int64_t i = 0; i < count; ++i) expected += double{g.data()[i]} * double{g.data()[i]};
  const double one = sum_of_squares(g.data(), count, 1);
  CHECK(one == Approx(expected).epsilon(1e-12));
  CHECK(sum_of_squares(g.data(), count, 2) == one);
  CHECK(sum_of_squares(g.data(), count, 3) == one);
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
