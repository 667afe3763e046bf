// gpt: a decoder of the GPT-2 form (Radford and others: "Language Models are Unsupervised Multitask
// Learners", 2019) that predicts the next byte: norms before attention and before the two-layer
// perceptron, learned positions, GELU in its tanh form. Parameters: (1 or, not tied, 2) x
// vocabulary x width + sequence x width + layers x (12 width^2 + 13 width) + 2 width; 124,439,808
// for gpt2-124m.

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "core/workloads/workloads.hpp"

namespace plimsoll {
namespace {

struct Size {
  const char* name;
  std::int64_t layers, width, heads, sequence, vocabulary;
  bool tied;
};
// The sizes of GPT-2 (Radford, table 2, with the counts of the published weights), of GPT-3 (Brown
// and others, 2020, table 2.1) and of the trillion of Narayanan and others (2021, table 1).
constexpr std::array kSizes{
    Size{"nano", 3, 48, 3, 64, 256, false},
    Size{"small", 4, 256, 4, 128, 256, false},
    Size{"gpt2-124m", 12, 768, 12, 1024, 50257, true},
    Size{"gpt2-355m", 24, 1024, 16, 1024, 50257, true},
    Size{"gpt2-774m", 36, 1280, 20, 1024, 50257, true},
    Size{"gpt2-1.5b", 48, 1600, 25, 1024, 50257, true},
    Size{"gpt3-175b", 96, 12288, 96, 2048, 50257, true},
    Size{"gpt-1t", 128, 25600, 160, 2048, 51200, true},
};

Size chosen(WorkloadOptions& options) {
  std::vector<std::string> names;
  for (const Size& size : kSizes) names.emplace_back(size.name);
  const std::string name = options.size(names, "small");
  Size size = *std::ranges::find_if(kSizes, [&](const Size& one) { return one.name == name; });
  constexpr std::int64_t kMillion = 1 << 20;  // counts of parameters stay far below 2^63
  size.layers = options.count("layers", size.layers, 1, 1024);
  size.width = options.count("width", size.width, 1, kMillion);
  size.heads = options.count("heads", size.heads, 1, kMillion);
  size.sequence = options.count("sequence", size.sequence, 1, kMillion);
  size.vocabulary = options.count("vocabulary", size.vocabulary, 2, 16 * kMillion);
  size.tied = options.yes("tied", size.tied);
  if (size.width % size.heads != 0) {
    throw usage_error("workload 'gpt': width " + std::to_string(size.width) + " and " +
                          std::to_string(size.heads) + " heads do not divide",
                      "--workload", "use a width that is a multiple of heads");
  }
  return size;
}

// `dropout` of the stream and of what a block adds to it; none at a rate of 0.
int dropped(GraphBuilder& g, const std::string& name, int x, double rate) {
  return rate > 0 ? g.dropout(name + ".dropout", x, rate) : x;
}

int block(GraphBuilder& g, const std::string& name, int x, const Size& size, double dropout) {
  int y = g.layer_norm(name + ".norm1", x);
  y = g.linear(name + ".qkv", y, 3 * size.width);
  y = g.attention(name + ".attention", y, size.heads);
  y = dropped(g, name + ".project", g.linear(name + ".project", y, size.width), dropout);
  x = g.add(name + ".add1", x, y);
  y = g.layer_norm(name + ".norm2", x);
  y = g.gelu(name + ".gelu", g.linear(name + ".up", y, 4 * size.width));
  y = dropped(g, name + ".down", g.linear(name + ".down", y, size.width), dropout);
  return g.add(name + ".add2", x, y);
}

}  // namespace

Workload gpt_workload(WorkloadOptions& options) {
  const Size size = chosen(options);
  const double dropout = options.rate("dropout", 0);
  GraphBuilder g({size.sequence}, true);
  int x = g.embedding("embedding", g.input(), size.vocabulary, size.width);
  x = dropped(g, "embedding", x, dropout);
  for (std::int64_t layer = 0; layer < size.layers; ++layer) {
    x = block(g, "block" + std::to_string(layer), x, size, dropout);
  }
  x = g.layer_norm("norm", x);
  x = size.tied ? g.tied_linear("head", x, "embedding")
                : g.linear("head", x, size.vocabulary, false);
  g.softmax_cross_entropy("loss", x);
  std::string names;
  for (const Size& one : kSizes) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return {.name = "gpt",
          .description = "decoder of the GPT-2 form on bytes of text; sizes: " + names +
                         "; options: layers, width, heads, sequence, vocabulary, tied, dropout",
          .graph = std::move(g).build(),
          .sample_shape = {size.sequence},
          .classes = size.vocabulary,
          .dataset = "text",
          .default_learning_rate = size.width <= 512 ? 1e-3 : 3e-4,
          .default_optimizer = "adamw"};
}

}  // namespace plimsoll
