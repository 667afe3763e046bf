// Images: padding, repeated channels, augmentation, and what the loader makes of them.

#include "trainer/data/image.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/data/lent_slots.hpp"
#include "trainer/data/synthetic.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using Catch::Matchers::Contains;
using plimsoll::trainer::testing::LentSlots;

namespace {

// 4 x 6 pixels of one channel, pixel (y, x) = 10 y + x + 1.
std::vector<std::uint8_t> picture() {
  std::vector<std::uint8_t> bytes;
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) bytes.push_back(static_cast<std::uint8_t>(10 * y + x + 1));
  }
  return bytes;
}

// What stands at (y, x) of the output, by the definition: the picture centred, moved, mirrored.
float expected(int y, int x, int pad, const Change& change) {
  const int row = y - pad - change.down;
  int column = x - pad - change.right;
  if (row < 0 || row >= 4 || column < 0 || column >= 6) return -1.0F;
  if (change.mirrored) column = 5 - column;
  return static_cast<float>(10 * row + column + 1) * 0.5F - 1.0F;
}

}  // namespace

TEST_CASE("an image is centred on black, its channel repeated, moved and mirrored") {
  const auto bytes = picture();
  for (const int pad : {0, 1}) {
    const Shape sample{4 + 2 * pad, 6 + 2 * pad, 3};
    REQUIRE(fits({4, 6, 1}, sample));
    for (int down = -kLargestMove; down <= kLargestMove; ++down) {
      for (int right = -kLargestMove; right <= kLargestMove; ++right) {
        for (const bool mirrored : {false, true}) {
          const Change change{.down = down, .right = right, .mirrored = mirrored};
          std::vector<float> out(static_cast<std::size_t>(elements(sample)), 99.0F);
          place_image(out.data(), sample, bytes.data(), {4, 6, 1}, change, 0.5F, -1.0F);
          for (int y = 0; y < sample[0]; ++y) {
            for (int x = 0; x < sample[1]; ++x) {
              for (int c = 0; c < 3; ++c) {
                const auto at = static_cast<std::size_t>((y * sample[1] + x) * 3 + c);
                REQUIRE(out[at] == expected(y, x, pad, change));
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("channels of a colour image keep their order when it is mirrored") {
  const std::array<std::uint8_t, 6> bytes{1, 2, 3, 4, 5, 6};
  std::array<float, 6> out{};
  place_image(out.data(), {1, 2, 3}, bytes.data(), {1, 2, 3}, {.mirrored = true}, 1, 0);
  CHECK(out == std::array<float, 6>{4, 5, 6, 1, 2, 3});
}

TEST_CASE("which images fit") {
  CHECK(fits({28, 28, 1}, {28, 28, 1}));
  CHECK(fits({28, 28, 1}, {32, 32, 3}));
  CHECK(fits({32, 32, 3}, {32, 32, 3}));
  CHECK_FALSE(fits({28, 28, 3}, {28, 28, 1}));    // channels are not dropped
  CHECK_FALSE(fits({27, 28, 1}, {28, 28, 1}));    // not the same on all sides
  CHECK_FALSE(fits({28, 28, 1}, {31, 31, 1}));    // no centre
  CHECK_FALSE(fits({32, 32, 1}, {28, 28, 1}));    // nothing is cut off
  CHECK_FALSE(fits({28, 28, 1}, {224, 224, 3}));  // mostly black
  CHECK_FALSE(fits({784}, {28, 28, 1}));
}

TEST_CASE("changes depend on seed, step and sample, and every one of them comes up") {
  std::map<std::tuple<int, int, bool>, int> seen;
  for (std::int64_t sample = 0; sample < 16'200; ++sample) {
    const Change change = change_of(3, 7, sample);
    ++seen[{change.down, change.right, change.mirrored}];
  }
  REQUIRE(seen.size() == 9 * 9 * 2);
  for (const auto& [change, count] : seen) {
    CHECK((count > 50 && count < 150));  // 100, five standard deviations
  }
  const auto differ = [](const Change& a, const Change& b) {
    return a.down != b.down || a.right != b.right || a.mirrored != b.mirrored;
  };
  int steps = 0, seeds = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    steps += differ(change_of(3, 7, i), change_of(3, 8, i)) ? 1 : 0;
    seeds += differ(change_of(3, 7, i), change_of(4, 7, i)) ? 1 : 0;
  }
  CHECK(steps > 90);
  CHECK(seeds > 90);
}

TEST_CASE("augmented batches are the same for any number of ranks and threads") {
  const Dataset data = synthetic({8, 8, 1}, 5, 40, 1);
  const auto collect = [&](int workers, int threads, bool augment) {
    std::vector<std::vector<float>> steps(5);
    for (int rank = 0; rank < workers; ++rank) {
      LentSlots lent(slots_needed(threads, 2), 8 * 64, 0, 8);
      Loader loader(
          data, {.count = 40, .batch = 8, .workers = workers, .seed = 2},
          {.rank = rank, .workers = threads, .prefetch = 2, .steps = 5, .augment = augment},
          lent.slots());
      for (auto& step : steps) {
        const Batch batch = loader.next();
        const auto& x = lent.x[static_cast<std::size_t>(batch.slot)];
        step.insert(step.end(), x.begin(), x.begin() + batch.count * 64);
      }
    }
    return steps;
  };
  const auto reference = collect(1, 0, true);
  CHECK(collect(3, 2, true) == reference);
  CHECK(collect(1, 1, true) == reference);
  CHECK(collect(1, 0, false) != reference);
  CHECK(collect(2, 1, false) == collect(1, 0, false));
}

TEST_CASE("what cannot be augmented is refused") {
  const Data text = load_data(workload_named("gpt:nano"), "synthetic:4", 1);
  LentSlots lent(1, 0, 64, 64);
  CHECK_THROWS_WITH(Loader(text.train, {.count = 4, .batch = 1, .workers = 1},
                           {.workers = 0, .steps = 1, .augment = true}, lent.slots()),
                    Contains("--augment"));
}

TEST_CASE("resnet18 sees Fashion-MNIST in the middle of 32 x 32, in three channels") {
  const Workload workload = workload_named("resnet18");
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    WARN("SKIPPED: dataset-fashion-mnist is not installed");
    return;
  }
  const Data data = load_data(workload, "", 1);
  CHECK(data.train.count() == 60'000);
  LentSlots lent(1, 2 * 32 * 32 * 3, 0, 2);
  Loader loader(data.test, {.count = 10'000, .batch = 2, .workers = 1, .order = Order::sequential},
                {.workers = 0, .steps = 1}, lent.slots());
  static_cast<void>(loader.next());
  const auto at = [&](int y, int x, int c) {
    return lent.x[0][static_cast<std::size_t>((y * 32 + x) * 3 + c)];
  };
  double sum = 0;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      CHECK((at(y, x, 0) == at(y, x, 1) && at(y, x, 1) == at(y, x, 2)));
      const bool inside = y >= 2 && y < 30 && x >= 2 && x < 30;
      const std::uint8_t byte =
          inside ? data.test.rows[static_cast<std::size_t>((y - 2) * 28 + x - 2)] : 0;
      CHECK(at(y, x, 0) == Approx(static_cast<float>(byte) * data.test.scale + data.test.shift));
      sum += byte;
    }
  }
  CHECK(sum > 0);
}

TEST_CASE("workloads without a data set of their own get one that is made up, of bounded size") {
  const Workload large = workload_named("resnet18:image=224,classes=1000");
  CHECK(large.dataset == "synthetic");
  const Data data = load_data(large, "", 1);
  CHECK(data.train.count() == (1 << 28) / (224 * 224 * 3));
  CHECK_THROWS_WITH(load_data(large, "synthetic:999999999", 1), Contains("64 GiB"));
  if (std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    CHECK_THROWS_WITH(load_data(large, "/usr/share/datasets/fashion-mnist", 1),
                      Contains("28 x 28 x 1 cannot be placed in 224 x 224 x 3"));
  }
}
