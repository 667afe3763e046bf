// Numbers that are none: the step and the first operator are named, and nothing good is lost. This
// file and those that it looks at are also built with -ffast-math, see CMakeLists.txt.

#include <bit>
#include <filesystem>
#include <limits>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/trainer/program.hpp"
#include "tests/trainer/training.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/finite.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using namespace plimsoll::trainer::testing;

namespace {

#if defined(PLIMSOLL_FAST_MATH) && !defined(__FAST_MATH__)
#error "this was to be built with -ffast-math"
#endif

// Not by arithmetic, which a compiler that believes in finite numbers may leave out.
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
float nan_value() { return from_bits(0x7FC00001U); }
float infinity() { return from_bits(0x7F800000U); }

Range range_of(const Graph& graph, const FlatLayout& layout, const std::string& parameter) {
  std::size_t index = 0;
  for (const Op& op : graph.ops) {
    for (const Parameter& one : op.parameters) {
      if (one.name == parameter) return layout.parameters[index];
      ++index;
    }
  }
  throw Error("no parameter " + parameter, "test", "");
}

// Without ReLU, which takes what is no number for something below zero and makes it 0.
Workload chain() {
  GraphBuilder g({8, 8, 1});
  int x = g.convolution("conv1", g.input(), 4, 3);
  x = g.pool("pool1", x, Pool::Mode::average, 2, 2);
  x = g.convolution("conv2", x, 6, 3);
  x = g.linear("fc1", g.flatten("flatten", x), 8);
  g.softmax_cross_entropy("loss", g.linear("fc2", x, 5));
  return {.name = "chain",
          .description = "",
          .graph = std::move(g).build(),
          .sample_shape = {8, 8, 1},
          .classes = 5,
          .dataset = "synthetic",
          .default_learning_rate = 0.01};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("bits tell what is finite, whatever the compiler believes") {
  CHECK(is_finite(0.0F));
  CHECK(is_finite(std::numeric_limits<float>::max()));
  CHECK(is_finite(std::numeric_limits<float>::denorm_min()));
  for (const std::uint32_t bits :
       {0x7F800000U, 0xFF800000U, 0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU}) {
    CHECK_FALSE(is_finite(from_bits(bits)));
    CHECK_FALSE(
        is_finite(std::bit_cast<double>(std::uint64_t{bits} << 32 | 0x00F0000000000000ULL)));
    std::vector<float> values(1000, 1.0F);
    CHECK(all_finite(values));
    values[777] = from_bits(bits);
    CHECK_FALSE(all_finite(values));
  }
  CHECK(std::string(word_for(infinity())) == "inf");
  CHECK(std::string(word_for(from_bits(0xFF800000U))) == "-inf");
  CHECK(std::string(word_for(nan_value())) == "nan");
}

TEST_CASE("a loss that is no number names the step, the rank and the first operator") {
  const Workload workload = chain();
  const Data data = load_data(workload, "synthetic:64", 1);
  for (const int workers : {1, 2, 3}) {
    for (const int micro_batches : {1, 3}) {
      for (const char* parameter : {"conv1.weight", "conv2.bias", "fc1.weight", "fc2.bias"}) {
        TrainOptions options = plain_sgd("chain", 12, workers, 50);
        options.plan.accumulate = micro_batches;
        const auto modes = execution_modes();
        options.plan.execution = modes[static_cast<std::size_t>(workers) % modes.size()].name;
        const FlatLayout layout =
            flat_layout(workload.graph, options.plan.bucket, ddp_reserved(workers));
        const Range range = range_of(workload.graph, layout, parameter);
        TrainHooks hooks;
        hooks.after_step = [&](int rank, std::int64_t step, Executor& executor, const Strategy&) {
          if (step != 3 || rank != workers - 1) return;
          for (std::int64_t i = range.begin; i < range.end; ++i) {
            executor.weights()[static_cast<std::size_t>(i)] = nan_value();
          }
        };
        Progress progress;
        const TrainRecord record = train(workload, data, options, progress, hooks);
        REQUIRE(record.diverged.has_value());
        INFO(record.diverged->what());
        const std::string name = parameter;
        CHECK(has(record.diverged->problem(),
                  "first not finite: " + name.substr(0, name.find('.')) + " (forward)"));
        CHECK(record.diverged->where() == "step 4, rank " + std::to_string(workers - 1));
        CHECK(record.losses.size() == 4);
      }
    }
  }
}

TEST_CASE("a gradient that is no number names the operator that left it") {
  const Workload workload = tiny_workload();
  const FlatLayout layout = flat_layout(workload.graph, Bytes(100), 1);
  std::vector<float> gradients(static_cast<std::size_t>(layout.total));
  CHECK_FALSE(first_gradient_not_finite(workload.graph, layout, gradients).has_value());
  const auto spoil = [&](const char* parameter) {
    gradients[static_cast<std::size_t>(range_of(workload.graph, layout, parameter).end - 1)] =
        infinity();
  };
  spoil("conv1.weight");
  CHECK(first_gradient_not_finite(workload.graph, layout, gradients) ==
        "conv1 (gradient of conv1.weight)");
  spoil("fc1.bias");  // backward comes to it earlier
  CHECK(first_gradient_not_finite(workload.graph, layout, gradients) ==
        "fc1 (gradient of fc1.bias)");
}

TEST_CASE("an update that leaves no number stops at its own step, with every optimizer") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:64", 1);
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    for (const int workers : {1, 2}) {
      const Folder folder;
      TrainOptions options = plain_sgd("tiny", 16, workers, 60);
      options.plan.optimizer = optimizer;
      options.checkpoint = {.directory = folder.path("c"), .every = 1, .keep = 2};
      TrainHooks hooks;
      hooks.after_step = [&](int, std::int64_t step, Executor& executor, const Strategy&) {
        // So large that gradients of the last layer, or their squares, or the next outputs are not.
        if (step != 5) return;
        const FlatLayout layout =
            flat_layout(workload.graph, options.plan.bucket, ddp_reserved(workers));
        const Range range = range_of(workload.graph, layout, "fc1.bias");
        for (std::int64_t i = range.begin; i < range.end; ++i) {
          executor.weights()[static_cast<std::size_t>(i)] = 1e37F * (i % 2 == 0 ? 1.0F : -1.0F);
        }
      };
      Progress progress;
      const TrainRecord record = train(workload, data, options, progress, hooks);
      REQUIRE(record.diverged.has_value());
      INFO(optimizer << ": " << record.diverged->what());
      const auto steps = std::ssize(record.losses);
      CHECK((steps == 6 || steps == 7));
      CHECK(has(record.diverged->where(), "step " + std::to_string(steps)));
      // Adam squares gradients, which overflows long before they do.
      const bool adam = options.plan.optimizer != "sgd";
      CHECK(has(record.diverged->problem(),
                adam ? "first not finite: the optimizer" : "first not finite: fc2 (forward)"));
      // What was written before is whole, finite, and of a step before.
      const Checkpoint kept = std::move(find_checkpoint(folder.path("c")).checkpoint);
      CHECK(kept.header().step == steps);
    }
  }
}

TEST_CASE("a rate that is far too large never leaves a checkpoint that is no number") {
  const Workload workload = tiny_workload();
  const Data data = load_data(workload, "synthetic:64", 1);
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    const Folder folder;
    TrainOptions options = plain_sgd("tiny", 16, 2, 60);
    options.plan.optimizer = optimizer;
    options.learning_rate = 1e38;
    options.checkpoint = {.directory = folder.path("c"), .every = 1, .keep = 100};
    Progress progress;
    const TrainRecord record = train(workload, data, options, progress);
    REQUIRE(record.diverged.has_value());
    INFO(optimizer << ": " << record.diverged->what());
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("c"))) {
      if (entry.path().extension() != ".ckpt") continue;
      const Checkpoint checkpoint(entry.path().string());
      const FlatLayout layout = flat_layout(workload.graph, Bytes(1), 1);
      std::vector<float> weights(static_cast<std::size_t>(layout.total));
      std::vector<std::vector<float>> states(checkpoint.header().optimizer_state.size(), weights);
      std::vector<std::span<float>> views(states.begin(), states.end());
      checkpoint.restore(layout, weights, views, {}, 0);
      CHECK(all_finite(weights));
      for (const auto& state : states) CHECK(all_finite(state));
    }
  }
}
