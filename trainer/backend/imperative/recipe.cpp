// Looks operators up and, the first time, infers their shapes.

#include "trainer/backend/imperative/recipe.hpp"

#include <algorithm>
#include <bit>

#include "core/error.hpp"

namespace plimsoll::trainer::imperative {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

constexpr std::int64_t kAccumulation = 100, kConversion = 101;  // beside the kinds of operators

// Attributes that decide what a kernel is; what follows from the shape of x is left out.
void add_attributes(Key& key, const OpAttributes& attributes, const std::string& name) {
  const auto real = [&](double value) { key.add(std::bit_cast<std::int64_t>(value)); };
  std::visit(Overloaded{
                 [&](const Linear& a) {
                   key.add(a.out_features);
                   key.add(a.bias ? 1 : 0);
                 },
                 [&](const Convolution& a) {
                   for (const std::int64_t v : {a.out_channels, a.kernel, a.stride, a.padding,
                                                a.groups, a.bias ? std::int64_t{1} : 0}) {
                     key.add(v);
                   }
                 },
                 [&](const Pool& a) {
                   key.add(a.mode == Pool::Mode::max ? 1 : 0);
                   for (const std::int64_t v : {a.kernel, a.stride, a.padding}) key.add(v);
                 },
                 [&](const BatchNorm& a) {
                   real(a.epsilon);
                   real(a.momentum);
                 },
                 [&](const LayerNorm& a) { real(a.epsilon); },
                 [&](const Gelu& a) { key.add(a.form == Gelu::Form::tanh ? 1 : 0); },
                 [&](const Embedding& a) {
                   key.add(a.vocabulary);
                   key.add(a.features);
                   key.add(a.positions ? 1 : 0);
                 },
                 [&](const Attention& a) {
                   key.add(a.heads);
                   key.add(a.causal ? 1 : 0);
                 },
                 [&](const Dropout& a) {
                   real(a.rate);
                   key.add(static_cast<std::int64_t>(std::hash<std::string>()(name)));
                 },
                 [&](const Reshape& a) {
                   for (const std::int64_t side : a.shape) key.add(side);
                 },
                 [](const auto&) {},
             },
             attributes);
}

Graph graph_of(const Subject& s) {
  GraphBuilder g(s.x, s.tokens);
  const int x = g.input();
  const std::string& n = s.name;
  std::visit(
      Overloaded{
          [&](const Linear& a) { g.linear(n, x, a.out_features, a.bias); },
          [&](const Convolution& a) {
            g.convolution(n, x, a.out_channels, a.kernel, a.stride, a.padding, a.bias, a.groups);
          },
          [&](const Pool& a) { g.pool(n, x, a.mode, a.kernel, a.stride, a.padding); },
          [&](const BatchNorm& a) { g.batch_norm(n, x, a.epsilon, a.momentum); },
          [&](const LayerNorm& a) { g.layer_norm(n, x, a.epsilon); },
          [&](const Relu&) { g.relu(n, x); },
          [&](const Gelu& a) { g.gelu(n, x, a.form); },
          [&](const Add&) { g.add(n, x, x); },
          [&](const Embedding& a) { g.embedding(n, x, a.vocabulary, a.features, a.positions); },
          [&](const Attention& a) { g.attention(n, x, a.heads, a.causal); },
          [&](const Dropout& a) { g.dropout(n, x, a.rate); },
          [&](const Reshape& a) { g.reshape(n, x, a.shape); },
          [&](const SoftmaxCrossEntropy&) { g.softmax_cross_entropy(n, x); },
      },
      s.attributes);
  return std::move(g).build();
}

bool keeps_workspace(const Subject& s) {
  return s.mode == Mode::train || std::holds_alternative<Attention>(s.attributes);
}

}  // namespace

void Key::add(std::int64_t value) {
  expects(count_ < kMost, "the key of an operator has room");
  values_[count_++] = value;
  hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0x100000001B3ULL;
  hash_ ^= hash_ >> 29;
}

bool Key::operator==(const Key& other) const {
  return count_ == other.count_ &&
         std::equal(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(count_),
                    other.values_.begin());
}

Recipe& Recipes::made(const Key& key, std::unique_ptr<Recipe> recipe) {
  ++misses_;
  return *recipes_.emplace(key, std::move(recipe)).first->second;
}

Recipe& Recipes::of(const Subject& s) {
  Key key;
  key.add(static_cast<std::int64_t>(s.attributes.index()));
  key.add(s.batch);
  key.add((s.dtype == DType::bf16 ? 1 : 0) + (s.mode == Mode::train ? 2 : 0) + (s.tokens ? 4 : 0));
  key.add(std::ssize(s.x));
  for (const std::int64_t side : s.x) key.add(side);
  add_attributes(key, s.attributes, s.name);
  if (const auto found = recipes_.find(key); found != recipes_.end()) return *found->second;

  auto recipe = std::make_unique<Recipe>();
  recipe->graph = graph_of(s);
  recipe->batch = s.batch;
  recipe->dtype = s.dtype;
  recipe->mode = s.mode;
  recipe->y_elements = s.batch * elements(recipe->y_shape());
  const bool loss = std::holds_alternative<SoftmaxCrossEntropy>(s.attributes);
  recipe->y_dtype = loss ? DType::f32 : s.dtype;
  if (keeps_workspace(s)) {
    const Bytes bytes = backend_.workspace(recipe->graph, recipe->op(), s.batch, s.dtype);
    recipe->workspace_floats = (static_cast<std::int64_t>(bytes.value()) + 3) / 4;
  }
  return made(key, std::move(recipe));
}

Recipe& Recipes::accumulation(std::int64_t elements, DType dtype) {
  Key key;
  key.add(kAccumulation);
  key.add(elements);
  key.add(dtype == DType::bf16 ? 1 : 0);
  if (const auto found = recipes_.find(key); found != recipes_.end()) return *found->second;
  return made(key, std::make_unique<Recipe>());
}

Recipe& Recipes::conversion(std::int64_t elements, DType from, DType to) {
  Key key;
  key.add(kConversion);
  key.add(elements);
  key.add((from == DType::bf16 ? 1 : 0) + (to == DType::bf16 ? 2 : 0));
  if (const auto found = recipes_.find(key); found != recipes_.end()) return *found->second;
  return made(key, std::make_unique<Recipe>());
}

Bytes Recipes::scratch() const {
  Bytes sum;
  for (const auto& [key, recipe] : recipes_) {
    for (const auto& kernel : recipe->kernels) {
      if (kernel) sum += kernel->scratch();
    }
  }
  return sum;
}

}  // namespace plimsoll::trainer::imperative
