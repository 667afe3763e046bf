// The built-in workloads on real images: 50 steps with 1 and 2 workers at the same global batch.
//
// Rounding alone keeps them at 1e-7. But now and then an activation lies so close to the kink of
// its ReLU that rounding decides on which side it falls, and the gradient of that sample jumps; a
// small learning rate keeps such a jump below the limit.

#include "tests/catch.hpp"
#include "tests/trainer/training.hpp"

using namespace plimsoll;
using namespace plimsoll::trainer;
using namespace plimsoll::trainer::testing;

TEST_CASE("losses of 1 and 2 workers agree over 50 steps, on mlp and lenet") {
  for (const char* name : {"mlp", "lenet"}) {
    const Workload workload = workload_named(name);
    const Data data = real_or_synthetic(workload, 4000);
    TrainOptions options = plain_sgd(name, 64, 1, 50);
    options.learning_rate = 0.01;
    const Outcome one = train_and_keep(workload, data, options);
    options.plan.workers = 2;
    const Outcome two = train_and_keep(workload, data, options);
    INFO(name << " on " << data.train.source << ": losses differ by "
              << largest_relative(one.record.losses, two.record.losses) << ", weights by "
              << largest_difference(one.weights[0], two.weights[0]));
    CHECK(disagreements(one, two).empty());
    CHECK(one.record.losses.back() < one.record.losses.front());
  }
}
