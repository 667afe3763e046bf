// The communicator of threads: right sums by every algorithm, and failures that end everybody.

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "trainer/comm/algorithm/all_reduce.hpp"
#include "trainer/comm/threads/threads.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;

namespace {

// Small integers: every order of additions gives the same float.
float exact_value(int rank, std::size_t i) {
  return static_cast<float>((static_cast<int>(i % 97) - 48) * (rank + 1));
}

std::vector<float> filled(int rank, std::size_t count) {
  std::vector<float> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = exact_value(rank, i);
  return data;
}

float exact_sum(int ranks, std::size_t i) {
  float sum = 0;
  for (int r = 0; r < ranks; ++r) sum += exact_value(r, i);
  return sum;
}

Payload payload(std::vector<float>& data) {
  return {.data = data.data(), .elements = static_cast<std::int64_t>(data.size())};
}

std::string text_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.problem();
  }
  return "no error";
}

}  // namespace

TEST_CASE("all_reduce gives the exact sum on every rank, for every algorithm and size") {
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    for (const int ranks : {1, 2, 3, 4, 5}) {
      for (const std::size_t count : {0UL, 1UL, 2UL, 5UL, 16UL, 17UL, 1000UL, 100'003UL}) {
        std::atomic<int> wrong{0};
        run_ranks({.ranks = ranks, .algorithm = std::string(algorithm.name), .cpus = {}},
                  [&](Communicator& comm) {
                    std::vector<float> data = filled(comm.rank(), count);
                    comm.wait(comm.all_reduce(payload(data)));
                    for (std::size_t i = 0; i < count; ++i) {
                      if (data[i] != exact_sum(ranks, i)) ++wrong;
                    }
                  });
        INFO(algorithm.name << " ranks " << ranks << " elements " << count);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("all ranks end with the same bits, and native with those of rank order") {
  constexpr std::size_t kCount = 4099;
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    std::vector<std::vector<float>> data(4, std::vector<float>(kCount));
    for (std::size_t r = 0; r < 4; ++r) {
      for (std::size_t i = 0; i < kCount; ++i) {
        data[r][i] = 1.0F / static_cast<float>(3 + i * (r + 1)) * (r % 2 == 0 ? 1e3F : 1.0F);
      }
    }
    const auto before = data;
    run_ranks({.ranks = 4, .algorithm = std::string(algorithm.name), .cpus = {}},
              [&](Communicator& comm) {
                comm.wait(comm.all_reduce(payload(data[static_cast<std::size_t>(comm.rank())])));
              });
    for (std::size_t r = 1; r < 4; ++r) {
      CHECK(std::memcmp(data[0].data(), data[r].data(), kCount * sizeof(float)) == 0);
    }
    if (algorithm.name == "native") {
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kCount; ++i) {
        const float in_order = ((before[0][i] + before[1][i]) + before[2][i]) + before[3][i];
        if (data[0][i] != in_order) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("many sums may be on their way at once, posted before any is waited for") {
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    std::atomic<int> wrong{0};
    run_ranks({.ranks = 3, .algorithm = std::string(algorithm.name), .cpus = {}},
              [&](Communicator& comm) {
                std::vector<std::vector<float>> data;
                for (std::size_t k = 0; k < 200; ++k) data.push_back(filled(comm.rank(), k));
                std::vector<Work> work;
                for (auto& d : data) {
                  work.push_back(comm.all_reduce(payload(d)));
                  comm.poll();
                }
                comm.wait(work.back());
                if (!comm.poll()) ++wrong;
                for (std::size_t k = 0; k < data.size(); ++k) {
                  for (std::size_t i = 0; i < k; ++i) {
                    if (data[k][i] != exact_sum(3, i)) ++wrong;
                  }
                }
              });
    CHECK(wrong == 0);
  }
}

TEST_CASE("each rank gives 2 (n-1)/n of the buffer to others") {
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    for (const int ranks : {1, 2, 4}) {
      std::atomic<std::int64_t> sent{0};
      run_ranks({.ranks = ranks, .algorithm = std::string(algorithm.name), .cpus = {}},
                [&](Communicator& comm) {
                  std::vector<float> data(1 << 14);
                  comm.wait(comm.all_reduce(payload(data)));
                  sent += comm.bytes_sent();
                });
      CHECK(sent == 2 * (ranks - 1) * std::int64_t{4 << 14});
    }
  }
}

TEST_CASE("parts are disjoint, complete, and start on cache lines") {
  for (const std::size_t count : {0UL, 1UL, 15UL, 16UL, 33UL, 1000UL}) {
    std::vector<float> data(count);
    for (const int parts : {1, 2, 3, 7}) {
      std::size_t at = 0;
      for (int p = 0; p < parts; ++p) {
        const std::span<float> part = part_of(data, p, parts);
        CHECK(part.data() == data.data() + at);
        if (!part.empty()) CHECK(at % 16 == 0);
        at += part.size();
      }
      CHECK(at == count);
    }
  }
}

TEST_CASE("messages arrive in order and barriers hold") {
  run_ranks({.ranks = 3, .cpus = {}}, [&](Communicator& comm) {
    const int next = (comm.rank() + 1) % 3;
    const int previous = (comm.rank() + 2) % 3;
    for (int k = 0; k < 50; ++k) {
      std::int32_t out = 100 * comm.rank() + k;
      std::int32_t in = -1;
      const Payload outgoing{.data = &out, .elements = 1};
      const Payload incoming{.data = &in, .elements = 1};
      if (comm.rank() == 0) {
        comm.send(next, outgoing);
        comm.receive(previous, incoming);
      } else {
        comm.receive(previous, incoming);
        comm.send(next, outgoing);
      }
      if (in != 100 * previous + k) throw Error("wrong message", "", "");
      comm.barrier();
    }
  });
}

TEST_CASE("ranks that bring different counts or types all get an Error naming both") {
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    for (const int zero : {0, 1}) {
      std::mutex mutex;
      std::vector<std::string> texts;
      const std::string thrown = text_of([&] {
        run_ranks({.ranks = 3, .algorithm = std::string(algorithm.name), .cpus = {}},
                  [&](Communicator& comm) {
                    std::vector<float> data(comm.rank() == 1 ? 200 : (zero == 1 ? 0 : 100));
                    try {
                      comm.wait(comm.all_reduce(payload(data)));
                    } catch (const Error& error) {
                      const std::lock_guard lock(mutex);
                      texts.push_back(error.problem());
                      throw;
                    }
                  });
      });
      const std::string one = zero == 1 ? "0 elements of f32" : "100 elements of f32";
      CHECK(thrown.find(one) != std::string::npos);
      CHECK(thrown.find("200 elements of f32") != std::string::npos);
      CHECK(texts == std::vector<std::string>(3, thrown));
    }
  }
  const std::string types = text_of([&] {
    run_ranks({.ranks = 2, .cpus = {}}, [&](Communicator& comm) {
      std::vector<float> data(10);
      Payload mine = payload(data);
      if (comm.rank() == 1) mine.dtype = DType::bf16;
      comm.wait(comm.all_reduce(mine));
    });
  });
  CHECK(types.find("f32") != std::string::npos);
  CHECK(types.find("bf16") != std::string::npos);
}

TEST_CASE("a misfit message is an Error on both sides") {
  const std::string text = text_of([&] {
    run_ranks({.ranks = 2, .cpus = {}}, [&](Communicator& comm) {
      std::vector<float> data(comm.rank() == 0 ? 3 : 5);
      comm.rank() == 0 ? comm.send(1, payload(data)) : comm.receive(0, payload(data));
    });
  });
  CHECK(text == "rank 0 sends 3 elements of f32, rank 1 receives 5 elements of f32");
}

TEST_CASE(
    "a rank that throws ends the others, whose memory stays safe, and its own text is shown") {
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::atomic<int> ended{0};
      const auto begin = std::chrono::steady_clock::now();
      const std::string text = text_of([&] {
        run_ranks({.ranks = 3, .algorithm = std::string(algorithm.name), .cpus = {}},
                  [&](Communicator& comm) {
                    struct Count {
                      std::atomic<int>& ended;
                      ~Count() { ++ended; }
                    } const count{ended};
                    std::vector<float> data(50'000);
                    struct Guard {
                      Communicator& comm;
                      ~Guard() { comm.abandon(); }
                    } const guard{comm};
                    for (int step = 0; step < 5; ++step) {
                      const Work work = comm.all_reduce(payload(data));
                      comm.poll();
                      if (comm.rank() == 1 && step == 3) throw Error("rank 1 broke", "", "");
                      comm.wait(work);
                    }
                  });
      });
      CHECK(text == "rank 1 broke");
      CHECK(ended == 3);
      CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    }
  }
}

TEST_CASE("a rank that ends early is named to those who wait for it") {
  const std::string text = text_of([&] {
    run_ranks({.ranks = 3, .cpus = {}}, [&](Communicator& comm) {
      if (comm.rank() == 2) return;
      comm.barrier();
    });
  });
  CHECK(text == "rank 2 did not arrive in barrier 1 and never will: it has ended");
}

TEST_CASE("past the deadline the absent ranks are named") {
  const std::string text = text_of([&] {
    run_ranks({.ranks = 3, .cpus = {}, .deadline = Seconds(0.2)}, [&](Communicator& comm) {
      std::vector<float> data(100);
      if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      comm.wait(comm.all_reduce(payload(data)));
    });
  });
  CHECK(text == "rank 1 did not arrive in all_reduce 0 of 400 bytes after 0.2 s");
}

TEST_CASE("an unknown algorithm is refused with the list of those there are") {
  CHECK_THROWS_WITH(run_ranks({.ranks = 1, .algorithm = "butterfly", .cpus = {}}, [](auto&) {}),
                    Catch::Contains("butterfly"));
}

TEST_CASE("fifty groups start and end") {
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> ran{0};
    run_ranks({.ranks = 2, .cpus = {}}, [&](Communicator& comm) {
      comm.barrier();
      ++ran;
    });
    REQUIRE(ran == 2);
  }
}
