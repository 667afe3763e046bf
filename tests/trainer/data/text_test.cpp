// Text: files plain, packed and broken; windows and their labels; the default text; made-up text.

#include "trainer/data/text.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/data/lent_slots.hpp"
#include "trainer/data/dataset.hpp"
#include "trainer/data/synthetic.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using Catch::Matchers::Contains;
using plimsoll::trainer::testing::LentSlots;

namespace {

class TextFile {
 public:
  explicit TextFile(const std::string& content, bool packed = false) {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-text-XXXXXX").string();
    directory_ = mkdtemp(name.data());
    if (packed) {
      gzFile file = gzopen(path().c_str(), "wb");
      gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
      gzclose(file);
    } else {
      std::ofstream(path(), std::ios::binary) << content;
    }
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return directory_ + "/text"; }

 private:
  std::string directory_;
};

// A text in which every byte tells where it stands, for a while: 251 is prime.
std::string counting(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i % 251);
  return text;
}

Workload small_gpt() { return workload_named("gpt:nano,sequence=16"); }

}  // namespace

TEST_CASE("a text is its bytes, packed or not; the last tenth is the test") {
  const std::string content = counting(3000);
  for (const bool packed : {false, true}) {
    const TextFile file(content, packed);
    const Data data = load_data(small_gpt(), file.path(), 1);
    REQUIRE(data.train.rows.size() == 2700);
    REQUIRE(data.test.rows.size() == 300);
    CHECK(std::equal(data.train.rows.begin(), data.train.rows.end(), content.begin(),
                     [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }));
    CHECK(data.test.rows[0] == 2700 % 251);
    CHECK(data.train.count() == (2700 - 15 - 1) / 16);
    CHECK(data.test.count() == 299 / 16);
  }
}

TEST_CASE("windows do not overlap, their labels are the bytes that follow, epochs differ") {
  const Workload workload = small_gpt();
  const TextFile file(counting(3000));
  const Data data = load_data(workload, file.path(), 5);
  const SamplerOptions sampler{.count = data.train.count(), .batch = 8, .workers = 2, .seed = 5};
  const std::int64_t steps = Sampler(sampler).steps_per_epoch();
  std::set<std::int64_t> first_epoch, second_epoch;
  for (const int rank : {0, 1}) {
    LentSlots lent(slots_needed(2, 2), 0, 8 * 16, 8 * 16);
    Loader loader(data.train, sampler,
                  {.rank = rank, .workers = 2, .prefetch = 2, .steps = 2 * steps}, lent.slots());
    for (std::int64_t step = 0; step < 2 * steps; ++step) {
      const Batch batch = loader.next();
      const auto slot = static_cast<std::size_t>(batch.slot);
      for (std::int64_t i = 0; i < batch.count; ++i) {
        const std::int32_t* token = lent.token[slot].data() + 16 * i;
        const std::int32_t* label = lent.label[slot].data() + 16 * i;
        for (int j = 0; j < 16; ++j) {
          REQUIRE(token[j] == (token[0] + j) % 251);
          REQUIRE(label[j] == (token[0] + j + 1) % 251);
        }
        (step < steps ? first_epoch : second_epoch).insert(token[0]);
      }
    }
  }
  // 167 windows of 16 bytes in 2,700: 16 and 251 share no factor, so their beginnings differ.
  CHECK(std::ssize(first_epoch) == data.train.count());
  CHECK(std::ssize(second_epoch) == data.train.count());
  CHECK(data.train.windows->offset(5, 0) != data.train.windows->offset(5, 1));
}

TEST_CASE("evaluation reads every window of the test from its first byte, in order") {
  const TextFile file(counting(3000));
  const Data data = load_data(small_gpt(), file.path(), 5);
  LentSlots lent(1, 0, 4 * 16, 4 * 16);
  const SamplerOptions sampler{
      .count = data.test.count(), .batch = 4, .workers = 1, .order = Order::sequential};
  Loader loader(data.test, sampler, {.workers = 0, .steps = 5}, lent.slots());
  std::int32_t expected = 2700 % 251;
  for (int step = 0; step < 5; ++step) {
    const Batch batch = loader.next();
    for (std::int64_t i = 0; i < batch.count * 16; ++i) {
      REQUIRE(lent.token[0][static_cast<std::size_t>(i)] == expected);
      expected = (expected + 1) % 251;
    }
  }
  CHECK(expected == (2700 + 18 * 16) % 251);
}

TEST_CASE("the largest window's label is still inside the text") {
  for (const std::int64_t size : {33, 47, 48, 49, 63, 64, 65}) {
    Dataset data;
    data.rows.assign(static_cast<std::size_t>(size), 0);
    data.windows = Windows{.positions = 16, .moving = true};
    const std::int64_t last = 15 + data.count() * 16;  // the label of the last position
    CHECK(last < size);
    CHECK(last + 16 >= size);
    for (std::int64_t epoch = 0; epoch < 100; ++epoch) {
      const std::int64_t offset = data.windows->offset(3, epoch);
      CHECK((offset >= 0 && offset < 16));
    }
  }
}

TEST_CASE("a graph with one label a sample gets the byte behind the window") {
  GraphBuilder g({4}, true);
  const int x = g.flatten("flatten", g.embedding("embedding", g.input(), 256, 2));
  g.softmax_cross_entropy("loss", g.linear("head", x, 256));
  Workload workload{.name = "last",
                    .description = {},
                    .graph = std::move(g).build(),
                    .sample_shape = {4},
                    .classes = 256,
                    .dataset = "text",
                    .default_learning_rate = 0.1};
  const TextFile file(counting(100));
  const Data data = load_data(workload, file.path(), 1);
  CHECK(data.train.labels_per_sample == 1);
  LentSlots lent(1, 0, 8, 2);
  Loader loader(data.test, {.count = 2, .batch = 2, .workers = 1, .order = Order::sequential},
                {.workers = 0, .steps = 1}, lent.slots());
  static_cast<void>(loader.next());
  CHECK(lent.token[0] == std::vector<std::int32_t>{90, 91, 92, 93, 94, 95, 96, 97});
  CHECK(lent.label[0] == std::vector<std::int32_t>{94, 98});
}

TEST_CASE("the default text is read, and is English") {
  if (!std::filesystem::exists("/usr/share/common-licenses/GPL-3")) {
    WARN("SKIPPED: no licence texts of base-files here");
    return;
  }
  const Text text = default_text();
  CHECK(text.bytes.size() > 150'000);
  CHECK_THAT(text.source, Contains("Apache-2.0") && Contains("bytes"));
  CHECK(default_text().bytes == text.bytes);
  const auto spaces = std::count(text.bytes.begin(), text.bytes.end(), ' ');
  CHECK(static_cast<double>(spaces) / static_cast<double>(text.bytes.size()) > 0.1);
  const Data data = load_data(workload_named("gpt"), "", 1);
  CHECK(data.train.count() > 1000);
  CHECK(data.test.count() > 100);
}

TEST_CASE("texts that cannot be used are refused by name, with the way out") {
  const Workload workload = small_gpt();
  const auto load = [&](const std::string& place) { return load_data(workload, place, 1); };
  CHECK_THROWS_WITH(load("/no/such/text"), Contains("/no/such/text") && Contains("No such file"));
  CHECK_THROWS_WITH(load("/"), Contains("directory"));
  const TextFile tiny(counting(100));
  CHECK_THROWS_WITH(load(tiny.path()), Contains("100 bytes") && Contains("windows of 16"));
  const TextFile empty("");
  CHECK_THROWS_WITH(load(empty.path()), Contains("0 bytes"));
  const TextFile cut(counting(20'000), true);
  std::filesystem::resize_file(cut.path(), std::filesystem::file_size(cut.path()) / 2);
  CHECK_THROWS_WITH(load(cut.path()), Contains("damaged") && Contains(cut.path()));
  const TextFile high("abc\xF0" + counting(3000));
  CHECK_THROWS_WITH(load_data(workload_named("gpt:nano,vocabulary=128"), high.path(), 1),
                    Contains("byte 240") && Contains("below 128"));
  CHECK_THROWS_WITH(load("synthetic:0"), Contains("synthetic:0"));
  CHECK_THROWS_WITH(default_text("/no/such/place"), Contains("base-files"));
}

TEST_CASE("made-up text depends on the seed, keeps to the vocabulary, and can be learned") {
  const auto text = synthetic_text(50, 20'000, 1);
  CHECK(text == synthetic_text(50, 20'000, 1));
  CHECK(text != synthetic_text(50, 20'000, 2));
  CHECK(text != synthetic_text(50, 20'000, 1, 1));
  CHECK(*std::max_element(text.begin(), text.end()) < 50);
  std::array<std::array<int, 50>, 50> follows{};
  for (std::size_t i = 1; i < text.size(); ++i) ++follows[text[i - 1]][text[i]];
  int ruled = 0;  // times that a byte was what follows most often
  for (const auto& row : follows) ruled += *std::max_element(row.begin(), row.end());
  CHECK(static_cast<double>(ruled) / 20'000 == Approx(0.75).margin(0.03));
  const Data data = load_data(small_gpt(), "synthetic:100", 1);
  CHECK(data.train.count() == 100);
  CHECK(data.test.count() == 16);
}
