// resnet18: the residual network with 18 layers of weights (He, Zhang, Ren, Sun: "Deep Residual
// Learning for Image Recognition", CVPR 2016). Images above 64 x 64 get the stem of that paper, 7x7
// with stride 2 and a 3x3 max pool; smaller ones a 3x3 convolution, as is usual for CIFAR.
// 11,173,962 parameters with 10 classes at 32 x 32; 11,689,512 with 1000 classes at 224 x 224.

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"

namespace plimsoll {
namespace {

constexpr std::int64_t kLargestSmallImage = 64;

int convolution_norm(GraphBuilder& g, const std::string& name, int x, std::int64_t channels,
                     std::int64_t kernel, std::int64_t stride) {
  x = g.convolution(name + ".conv", x, channels, kernel, stride, kernel / 2, false);
  return g.batch_norm(name + ".norm", x);
}

// relu(norm(conv(relu(norm(conv(x))))) + x), where x goes through a 1x1 convolution if its shape
// changes.
int block(GraphBuilder& g, const std::string& name, int x, std::int64_t channels,
          std::int64_t stride, bool project) {
  int y = g.relu(name + ".relu1", convolution_norm(g, name + ".1", x, channels, 3, stride));
  y = convolution_norm(g, name + ".2", y, channels, 3, 1);
  if (project) x = convolution_norm(g, name + ".skip", x, channels, 1, stride);
  return g.relu(name + ".relu2", g.add(name + ".add", y, x));
}

}  // namespace

Workload resnet18_workload(WorkloadOptions& options) {
  const std::int64_t image = options.count("image", 32, 8, 16384);
  const std::int64_t classes = options.count("classes", 10, 2, 1 << 20);
  const bool small = image <= kLargestSmallImage;
  GraphBuilder g({image, image, 3});
  int x = convolution_norm(g, "stem", g.input(), 64, small ? 3 : 7, small ? 1 : 2);
  x = g.relu("stem.relu", x);
  if (!small) x = g.pool("stem.pool", x, Pool::Mode::max, 3, 2, 1);
  std::int64_t side = small ? image : (image + 3) / 4;
  std::int64_t channels = 64;
  for (int stage = 1; stage <= 4; ++stage) {
    const std::string name = "stage" + std::to_string(stage);
    const std::int64_t stride = stage == 1 ? 1 : 2;
    x = block(g, name + "a", x, channels, stride, stride == 2);
    x = block(g, name + "b", x, channels, 1, false);
    side = (side + stride - 1) / stride;
    if (stage < 4) channels *= 2;
  }
  x = g.pool("pool", x, Pool::Mode::average, side, side);
  x = g.linear("head", g.flatten("flatten", x), classes);
  g.softmax_cross_entropy("loss", x);
  const std::string shape = std::to_string(image) + " x " + std::to_string(image) + " x 3";
  return {.name = "resnet18",
          .description = "residual network of 18 layers for " + shape +
                         " images; options: image=32, classes=10",
          .graph = std::move(g).build(),
          .sample_shape = {image, image, 3},
          .classes = classes,
          .dataset = small && classes == 10 ? "fashion-mnist" : "synthetic",
          .default_learning_rate = 0.05};
}

}  // namespace plimsoll
