// Data: IDX files good and broken, the sampler's bookkeeping, loaders and their errors.

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "core/error.hpp"
#include "core/plan.hpp"
#include "core/workloads/workloads.hpp"
#include "tests/catch.hpp"
#include "trainer/data/dataset.hpp"
#include "trainer/data/idx.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/data/random.hpp"
#include "trainer/data/sampler.hpp"
#include "trainer/data/synthetic.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;

namespace {

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-data-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string big_endian(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xFF);
  return text;
}

std::string idx(std::uint32_t magic, const std::vector<std::uint32_t>& sizes, std::size_t bytes) {
  std::string text = big_endian(magic);
  for (const std::uint32_t size : sizes) text += big_endian(size);
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i % 10);
  return text;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

void write_gz(const std::filesystem::path& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.problem() + " @ " + error.where() + " @ " + error.fix();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void write_data(const Scratch& dir, std::uint32_t count) {
  for (const char* prefix : {"train", "t10k"}) {
    write(dir / (std::string(prefix) + "-images-idx3-ubyte"),
          idx(0x803, {count, 28, 28}, count * 784UL));
    write(dir / (std::string(prefix) + "-labels-idx1-ubyte"), idx(0x801, {count}, count));
  }
}

}  // namespace

TEST_CASE("IDX files are read plain and compressed") {
  const Scratch dir;
  write(dir / "plain", idx(0x803, {2, 3, 4}, 24));
  write_gz(dir / "packed.gz", idx(0x801, {7}, 7));
  const IdxArray plain = read_idx(dir / "plain");
  CHECK(plain.dimensions == std::vector<std::int64_t>{2, 3, 4});
  CHECK(plain.bytes.size() == 24);
  CHECK(plain.bytes[23] == 3);
  const IdxArray packed = read_idx(dir / "packed");  // found with .gz
  CHECK(packed.dimensions == std::vector<std::int64_t>{7});
  CHECK(packed.bytes[6] == 6);
}

TEST_CASE("IDX files that are broken are refused, by name and reason") {
  const Scratch dir;
  const auto problem = [&](const std::string& text) {
    write(dir / "broken", text);
    const std::string found = problem_of([&] { static_cast<void>(read_idx(dir / "broken")); });
    CHECK(has(found, (dir / "broken").string()));
    return found;
  };
  CHECK(
      has(problem(idx(0x803, {2, 3, 4}, 23)), "ends early: its data needs 24 bytes, 23 are there"));
  CHECK(has(problem(idx(0x803, {2, 3, 4}, 25)), "is longer than its header says"));
  CHECK(has(problem(idx(0xD03, {2, 3, 4}, 96)), "magic number 0x00000d03"));
  CHECK(has(problem(idx(0x803, {2, 3}, 0)), "ends early: the dimensions"));
  CHECK(has(problem(idx(0x802, {0xFFFFFFFF, 0xFFFFFFFF}, 4)), "impossible dimension"));
  CHECK(has(problem(""), "ends early: the magic number"));
  CHECK(has(problem("<html>not found</html>"), "magic number 0x3c68746d"));
  CHECK(has(problem_of([&] { static_cast<void>(read_idx(dir / "absent")); }), "cannot be opened"));

  std::string packed;
  write_gz(dir / "cut.gz", idx(0x803, {50, 28, 28}, 50 * 784));
  std::filesystem::resize_file(dir / "cut.gz", std::filesystem::file_size(dir / "cut.gz") / 2);
  const std::string cut = problem_of([&] { static_cast<void>(read_idx(dir / "cut")); });
  CHECK((has(cut, "ends early") || has(cut, "is damaged")));
}

TEST_CASE("a workload's data must be there and fit; the text says what to install") {
  const Workload mlp = workload_named("mlp");
  const Scratch dir;
  const auto problem = [&] {
    return problem_of([&] { static_cast<void>(load_data(mlp, dir.text(), 1)); });
  };
  CHECK(has(problem(), "no train-images-idx3-ubyte or .gz"));
  CHECK(has(problem(), "apt-get install dataset-fashion-mnist"));
  write_data(dir, 20);
  const Data data = load_data(mlp, dir.text(), 1);
  CHECK(data.train.count() == 20);
  CHECK(data.test.row_bytes == 784);

  write(dir / "train-labels-idx1-ubyte", idx(0x801, {19}, 19));
  CHECK(has(problem(), "19 labels for 20 images"));
  write(dir / "train-labels-idx1-ubyte",
        big_endian(0x801) + big_endian(20) + std::string(20, '\x0A'));
  CHECK(has(problem(), "label 10, workload 'mlp' has 10 classes"));
  write_data(dir, 20);
  write(dir / "train-images-idx3-ubyte", idx(0x803, {20, 27, 28}, 20 * 27 * 28));
  CHECK(has(problem(), "samples have 756 bytes, workload 'mlp' takes 784"));
  CHECK(has(problem_of([&] { static_cast<void>(load_data(mlp, "/no/such/place", 1)); }),
            "/no/such/place"));
  for (const char* wrong : {"synthetic:", "synthetic:0", "synthetic:12x", "synthetic:-3"}) {
    CHECK(has(problem_of([&] { static_cast<void>(load_data(mlp, wrong, 1)); }), wrong));
  }
}

TEST_CASE("the network sees the training set with mean 0 and deviation 1") {
  const Data data = load_data(workload_named("mlp"), "synthetic:500", 9);
  double sum = 0;
  double squares = 0;
  for (const std::uint8_t byte : data.train.rows) {
    const double value = static_cast<double>(byte) * static_cast<double>(data.train.scale) +
                         static_cast<double>(data.train.shift);
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(data.train.rows.size());
  CHECK(std::abs(sum / count) < 1e-5);
  CHECK(squares / count == Approx(1.0).epsilon(1e-5));
  CHECK(data.test.scale == data.train.scale);
  CHECK(data.test.shift == data.train.shift);
}

TEST_CASE("synthetic data depends on the seed alone and has equal classes") {
  const Dataset a = synthetic({4, 4, 1}, 5, 100, 1);
  CHECK(a.rows == synthetic({4, 4, 1}, 5, 100, 1).rows);
  CHECK(a.rows != synthetic({4, 4, 1}, 5, 100, 2).rows);
  for (int label = 0; label < 5; ++label) {
    CHECK(std::count(a.labels.begin(), a.labels.end(), label) == 20);
  }
  const Dataset later = synthetic({4, 4, 1}, 5, 40, 1, 60);  // samples 60 to 99 of the same
  CHECK(std::equal(later.rows.begin(), later.rows.end(), a.rows.begin() + 60 * 16));
}

TEST_CASE("random numbers have no state, a flat spread, and streams that differ") {
  static_assert(random_bits(1, 2, 3) == random_bits(1, 2, 3));
  double sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double unit = random_unit(7, 1, i);
    REQUIRE((unit >= 0 && unit < 1));
    sum += unit;
  }
  CHECK(sum / 1e5 == Approx(0.5).margin(0.005));  // five standard errors
  CHECK(random_bits(1, 2, 3) != random_bits(1, 3, 2));
  CHECK(random_bits(2, 1, 3) != random_bits(1, 2, 3));
}

TEST_CASE("every epoch has every sample once, whatever the number of workers") {
  for (const std::int64_t count : {1, 10, 64, 1000}) {
    for (const std::int64_t batch : {1, 8, 64, 999}) {
      std::vector<std::int64_t> reference;
      for (const int workers : {1, 2, 3, 7}) {
        Sampler sampler({.count = count, .batch = batch, .workers = workers, .seed = 4});
        std::vector<std::int64_t> order;
        for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
          std::int64_t in_step = 0;
          for (int rank = 0; rank < workers; ++rank) {
            const auto samples = sampler.samples(step, rank);
            CHECK(std::ssize(samples) == sampler.local_batch(step, rank));
            in_step += std::ssize(samples);
            order.insert(order.end(), samples.begin(), samples.end());
          }
          CHECK(in_step == sampler.global_batch(step));
        }
        if (workers == 1) reference = order;
        CHECK(order == reference);  // the same samples in the same steps
        std::sort(order.begin(), order.end());
        std::vector<std::int64_t> all(static_cast<std::size_t>(count));
        std::iota(all.begin(), all.end(), 0);
        CHECK(order == all);
      }
    }
  }
}

TEST_CASE("epochs differ, seeds differ, and a step is found again without those before it") {
  Sampler a({.count = 100, .batch = 10, .workers = 1, .seed = 1});
  Sampler b({.count = 100, .batch = 10, .workers = 1, .seed = 2});
  const auto of = [](Sampler& sampler, std::int64_t step) {
    const auto samples = sampler.samples(step, 0);
    return std::vector(samples.begin(), samples.end());
  };
  const auto first = of(a, 0);
  CHECK(first != of(a, 10));  // the next epoch
  CHECK(first != of(b, 0));
  CHECK(first == of(a, 0));
  const auto far = of(a, 57);
  Sampler fresh({.count = 100, .batch = 10, .workers = 1, .seed = 1});
  CHECK(of(fresh, 57) == far);
}

TEST_CASE("shares are even, larger ones first, and the local sizes are foreseen") {
  CHECK(shares(10, 4) == std::vector<std::int64_t>{3, 3, 2, 2});
  const Sampler sampler({.count = 10, .batch = 8, .workers = 3});
  CHECK(sampler.local_batches(0) == std::vector<std::int64_t>{3, 1});
  CHECK(sampler.local_batches(2) == std::vector<std::int64_t>{2, 0});
}

TEST_CASE("loaders give the sampler's batches in order, with any number of threads") {
  const Dataset data = synthetic({4, 4, 1}, 5, 50, 1);
  const SamplerOptions options{.count = 50, .batch = 8, .workers = 3, .seed = 2};
  for (const int workers : {0, 1, 4}) {
    const int slots = slots_needed(workers, 3);
    std::vector<std::vector<float>> x(static_cast<std::size_t>(slots), std::vector<float>(8 * 16));
    std::vector<std::vector<std::int32_t>> labels(static_cast<std::size_t>(slots),
                                                  std::vector<std::int32_t>(8));
    std::vector<InputSlot> lent;
    for (std::size_t s = 0; s < x.size(); ++s)
      lent.push_back({.x = x[s].data(), .tokens = nullptr, .labels = labels[s].data()});
    Loader loader(data, options,
                  {.rank = 1, .workers = workers, .prefetch = 3, .first_step = 2, .steps = 40},
                  lent);
    Sampler sampler(options);
    for (std::int64_t step = 2; step < 42; ++step) {
      const Batch batch = loader.next();
      const auto samples = sampler.samples(step, 1);
      REQUIRE(batch.step == step);
      REQUIRE(batch.count == std::ssize(samples));
      REQUIRE(batch.global_count == sampler.global_batch(step));
      const auto slot = static_cast<std::size_t>(batch.slot);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        REQUIRE(labels[slot][i] == data.labels[static_cast<std::size_t>(samples[i])]);
        const auto byte = data.rows[static_cast<std::size_t>(samples[i] * 16 + 5)];
        REQUIRE(x[slot][i * 16 + 5] == Approx(static_cast<float>(byte) * data.scale));
      }
    }
  }
}

TEST_CASE(
    "what goes wrong in a loader thread is thrown to the one who waits; early ends are clean") {
  const Dataset data = synthetic({4, 4, 1}, 5, 20, 1);
  const SamplerOptions too_long{.count = 30, .batch = 10, .workers = 1, .seed = 2};
  for (const int workers : {0, 2}) {
    std::vector<std::vector<float>> x(4, std::vector<float>(10 * 16));
    std::vector<std::vector<std::int32_t>> labels(4, std::vector<std::int32_t>(10));
    std::vector<InputSlot> lent;
    for (std::size_t s = 0; s < 4; ++s)
      lent.push_back({.x = x[s].data(), .tokens = nullptr, .labels = labels[s].data()});
    Loader loader(data, too_long, {.workers = workers, .prefetch = 3, .steps = 3}, lent);
    CHECK(has(problem_of([&] {
                for (int i = 0; i < 3; ++i) static_cast<void>(loader.next());
              }),
              "of 20"));
    Loader unused(data, too_long, {.workers = workers, .prefetch = 3, .steps = 3}, lent);
  }
}
