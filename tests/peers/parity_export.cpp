// Trains a workload with our trainer and writes down all that a peer needs to do the same: the
// network, the weights it started from, the batches it saw, the losses and what it ended with.
//
//   parity_export WORKLOAD DATA BATCH STEPS LEARNING_RATE OPTIMIZER FOLDER
//
// FOLDER gets workload.json, values.bin (raw little-endian f32 and i32) and index.json: a list of
// {name, type, shape, offset} in bytes, and {losses, test_loss}.

#include <bit>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "reports/report.hpp"
#include "reports/workload_file.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/data/sampler.hpp"
#include "trainer/train.hpp"

namespace plimsoll::trainer {
namespace {

static_assert(std::endian::native == std::endian::little);

class Values {
 public:
  explicit Values(const std::string& folder)
      : folder_(folder), file_(folder + "/values.bin", std::ios::binary) {}

  template <class T>
  void add(const std::string& name, const Shape& shape, const T* data) {
    static_assert(sizeof(T) == 4);
    const std::int64_t count = elements(shape);
    index_["values"].push_back({{"name", name},
                                {"type", std::is_same_v<T, float> ? "f32" : "i32"},
                                {"shape", shape},
                                {"offset", offset_}});
    file_.write(reinterpret_cast<const char*>(data), 4 * count);
    offset_ += 4 * count;
  }
  nlohmann::json& index() { return index_; }
  void finish() {
    file_.close();
    if (!file_) throw Error("values.bin was not written", folder_, "free some space");
    reports::write_text(index_.dump(1), folder_ + "/index.json");
  }

 private:
  std::string folder_;
  std::ofstream file_;
  std::int64_t offset_ = 0;
  nlohmann::json index_;
};

void add_weights(Values& values, const std::string& when, const Workload& workload,
                 const FlatLayout& layout, const float* weights) {
  std::size_t index = 0;
  for (const Op& op : workload.graph.ops) {
    for (const Parameter& parameter : op.parameters) {
      values.add(when + parameter.name, parameter.shape,
                 weights + layout.parameters[index++].begin);
    }
  }
}

// The batches that a single rank sees, as the trainer's own loader gives them.
void add_batches(Values& values, const std::string& when, const Workload& workload,
                 const Dataset& data, const SamplerOptions& sampler, std::int64_t steps) {
  const Tensor& input = workload.graph.tensors[static_cast<std::size_t>(workload.graph.input)];
  const std::int64_t sample = elements(input.shape), labels = data.labels_per_sample;
  std::vector<float> x(static_cast<std::size_t>(sampler.batch * sample));
  std::vector<std::int32_t> tokens(x.size());
  std::vector<std::int32_t> label(static_cast<std::size_t>(sampler.batch * labels));
  Loader loader(data, sampler, {.workers = 0, .steps = steps},
                {{.x = input.tokens ? nullptr : x.data(),
                  .tokens = input.tokens ? tokens.data() : nullptr,
                  .labels = label.data()}});
  for (std::int64_t step = 0; step < steps; ++step) {
    const Batch batch = loader.next();
    const std::string name = when + std::to_string(step);
    Shape shape = input.shape;
    shape.insert(shape.begin(), batch.count);
    if (input.tokens) {
      values.add(name + ".input", shape, tokens.data());
    } else {
      values.add(name + ".input", shape, x.data());
    }
    values.add(name + ".labels", {batch.count, labels}, label.data());
  }
}

void run(char** argv) {
  const Workload workload = reports::resolve_workload(argv[1]).workload;
  TrainOptions options;
  options.plan.workload = argv[1];
  options.plan.optimizer = "sgd";  // as the script that reads this has it
  options.plan.batch = std::stoll(argv[3]);
  options.steps = std::stoll(argv[4]);
  options.learning_rate = std::stod(argv[5]);
  options.momentum = 0.9;
  options.plan.optimizer = argv[6];
  options.evaluate = true;
  const std::string folder = argv[7];
  const Data data = load_data(workload, argv[2], options.seed);

  Values values(folder);
  reports::write_text(reports::workload_to_json(workload), folder + "/workload.json");
  const FlatLayout layout = flat_layout(workload.graph, options.plan.bucket, 0);
  std::vector<float> weights(static_cast<std::size_t>(layout.total));
  initialise(weights, workload.graph, layout, options.seed);
  add_weights(values, "start.", workload, layout, weights.data());
  SamplerOptions sampler{
      .count = data.train.count(), .batch = options.plan.batch, .workers = 1, .seed = options.seed};
  add_batches(values, "train.", workload, data.train, sampler, options.steps);
  sampler.count = data.test.count();
  sampler.order = Order::sequential;
  add_batches(values, "test.", workload, data.test, sampler, Sampler(sampler).steps_per_epoch());

  Progress progress;
  TrainHooks hooks;
  hooks.after_step = [&](int, std::int64_t step, Executor& executor, const Strategy&) {
    if (step + 1 < options.steps) return;
    // The last weights, without what the strategy reserves in front of them.
    const auto all = executor.weights();
    add_weights(values, "end.", workload, layout, all.data() + (std::ssize(all) - layout.total));
  };
  const TrainRecord record = train(workload, data, options, progress, hooks);
  if (record.diverged) throw Error(*record.diverged);
  values.index()["losses"] = record.losses;
  values.index()["test_loss"] = record.evaluations.back().loss;
  values.index()["learning_rate"] = options.learning_rate;
  values.index()["optimizer"] = options.plan.optimizer;
  values.index()["momentum"] = options.momentum;
  values.index()["backend"] = record.backend;
  values.finish();
}

}  // namespace
}  // namespace plimsoll::trainer

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fputs("parity_export WORKLOAD DATA BATCH STEPS LEARNING_RATE OPTIMIZER FOLDER\n", stderr);
    return 2;
  }
  try {
    plimsoll::trainer::run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "parity_export: %s\n", error.what());
    return 1;
  }
  return 0;
}
