// Small networks and a training loop of nothing but an executor and SGD.

#include "tests/trainer/execution/networks.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "trainer/data/random.hpp"

namespace plimsoll::trainer::testing {

Graph mlp_network() {
  GraphBuilder g({6, 4, 1});
  int x = g.flatten("flatten", g.input());
  x = g.relu("relu1", g.linear("fc1", x, 40));
  x = g.relu("relu2", g.linear("fc2", x, 33));
  g.softmax_cross_entropy("loss", g.linear("fc3", x, 7));
  return std::move(g).build();
}

Graph lenet_network() {
  GraphBuilder g({12, 12, 1});
  int x = g.relu("relu1", g.convolution("conv1", g.input(), 5, 3));
  x = g.pool("pool1", x, Pool::Mode::average, 2, 2);
  x = g.relu("relu2", g.convolution("conv2", x, 8, 3, 1, 1));
  x = g.pool("pool2", x, Pool::Mode::max, 2, 2);
  x = g.relu("relu3", g.linear("fc1", g.flatten("flatten", x), 24));
  g.softmax_cross_entropy("loss", g.linear("fc2", x, 6));
  return std::move(g).build();
}

namespace {

int normalised(GraphBuilder& g, const std::string& name, int x, std::int64_t channels,
               std::int64_t kernel, std::int64_t stride) {
  x = g.convolution(name + ".conv", x, channels, kernel, stride, kernel / 2, false);
  return g.batch_norm(name + ".norm", x);
}

}  // namespace

Graph residual_network() {
  GraphBuilder g({8, 8, 3});
  int x = g.relu("stem.relu", normalised(g, "stem", g.input(), 16, 3, 1));
  int y = g.relu("a.relu", normalised(g, "a1", x, 16, 3, 1));
  x = g.relu("a.out", g.add("a.add", normalised(g, "a2", y, 16, 3, 1), x));
  y = g.relu("b.relu", normalised(g, "b1", x, 32, 3, 2));
  y = normalised(g, "b2", y, 32, 3, 1);
  x = g.relu("b.out", g.add("b.add", y, normalised(g, "b.skip", x, 32, 1, 2)));
  // A tensor read three times, once twice by one operator.
  y = g.add("c.twice", x, x);
  x = g.add("c.add", g.convolution("c.conv", x, 32, 1), y);
  x = g.flatten("flatten", g.pool("pool", x, Pool::Mode::average, 4, 4));
  g.softmax_cross_entropy("loss", g.linear("head", x, 5));
  return std::move(g).build();
}

Graph attention_network() {
  GraphBuilder g({10}, true);
  int x = g.dropout("drop", g.embedding("embedding", g.input(), 19, 16), 0.1);
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = "block" + std::to_string(layer);
    int y = g.linear(name + ".qkv", g.layer_norm(name + ".norm1", x), 48);
    y = g.linear(name + ".project", g.attention(name + ".attention", y, 2), 16);
    x = g.add(name + ".add1", x, y);
    y = g.gelu(name + ".gelu", g.linear(name + ".up", g.layer_norm(name + ".norm2", x), 32));
    y = g.dropout(name + ".drop", g.linear(name + ".down", y, 16), 0.1);
    x = g.add(name + ".add2", x, y);
  }
  x = g.tied_linear("head", g.layer_norm("norm", x), "embedding");
  g.softmax_cross_entropy("loss", x);
  return std::move(g).build();
}

std::vector<Network> networks() {
  std::vector<Network> all;
  all.push_back({"mlp", mlp_network()});
  all.push_back({"lenet", lenet_network()});
  all.push_back({"residual", residual_network()});
  all.push_back({"attention", attention_network()});
  return all;
}

Graph random_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  GraphBuilder g({6, 6, 4});
  std::vector<int> same{g.convolution("start", g.input(), 8, 3, 1, 1)};  // of one shape
  std::vector<int> uses{0};
  const auto use = [&](std::size_t i) {
    ++uses[i];
    return same[i];
  };
  const std::size_t count = 6 + below(18);
  for (std::size_t n = 0; n < count; ++n) {
    const std::string name = "op" + std::to_string(n);
    const std::size_t from = below(3) == 0 ? below(same.size()) : same.size() - 1;
    int y = 0;
    switch (below(7)) {
      case 0:
        y = g.relu(name, use(from));
        break;
      case 1:
        y = g.batch_norm(name, use(from));
        break;
      case 2:
        y = g.gelu(name, use(from));
        break;
      case 3:
        y = g.dropout(name, use(from), 0.2);
        break;
      case 4: {
        const std::int64_t kernel = below(2) == 0 ? 1 : 3;
        y = g.convolution(name, use(from), 8, kernel, 1, kernel / 2, below(2) == 0);
        break;
      }
      default: {
        const std::size_t other = below(same.size());
        const int left = use(from);
        y = g.add(name, left, use(other));
      }
    }
    same.push_back(y);
    uses.push_back(0);
  }
  int x = same.back();
  for (std::size_t i = 0; i + 1 < same.size(); ++i) {  // nothing is left unread
    if (uses[i] == 0) x = g.add("join" + std::to_string(i), x, same[i]);
  }
  x = g.flatten("flatten", g.pool("pool", x, Pool::Mode::max, 2, 2));
  g.softmax_cross_entropy("loss", g.linear("head", x, 4));
  return std::move(g).build();
}

}  // namespace plimsoll::trainer::testing
