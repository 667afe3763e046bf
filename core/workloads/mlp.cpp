// mlp: a multilayer perceptron, 784-1024-1024-10 with ReLU, on 28 x 28 grey images.

#include "core/workloads/workloads.hpp"

namespace plimsoll {

Workload mlp_workload() {
  GraphBuilder g({28, 28, 1});
  int x = g.flatten("flatten", g.input());
  x = g.relu("relu1", g.linear("fc1", x, 1024));
  x = g.relu("relu2", g.linear("fc2", x, 1024));
  x = g.linear("fc3", x, 10);
  g.softmax_cross_entropy("loss", x);
  return {.name = "mlp",
          .description = "multilayer perceptron 784-1024-1024-10",
          .graph = std::move(g).build(),
          .sample_shape = {28, 28, 1},
          .classes = 10,
          .dataset = "fashion-mnist",
          .default_learning_rate = 0.02};
}

}  // namespace plimsoll
