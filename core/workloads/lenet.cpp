// lenet: the network of "multi-GPU from scratch" (Dive into Deep Learning, chapter 12.5): two
// convolutions with ReLU and average pooling, then 800-128-10; 129,068 parameters.

#include "core/workloads/workloads.hpp"

namespace plimsoll {

Workload lenet_workload() {
  GraphBuilder g({28, 28, 1});
  int x = g.relu("relu1", g.convolution("conv1", g.input(), 20, 3));
  x = g.pool("pool1", x, Pool::Mode::average, 2, 2);
  x = g.relu("relu2", g.convolution("conv2", x, 50, 5));
  x = g.pool("pool2", x, Pool::Mode::average, 2, 2);
  x = g.flatten("flatten", x);
  x = g.relu("relu3", g.linear("fc1", x, 128));
  x = g.linear("fc2", x, 10);
  g.softmax_cross_entropy("loss", x);
  return {.name = "lenet",
          .description = "LeNet-like convolutional network for 28 x 28 images",
          .graph = std::move(g).build(),
          .sample_shape = {28, 28, 1},
          .classes = 10,
          .dataset = "fashion-mnist",
          .default_learning_rate = 0.02};
}

}  // namespace plimsoll
