// One call, and the engine that does it at once.

#include "trainer/backend/imperative/engine.hpp"

#include "core/error.hpp"
#include "trainer/backend/imperative/execute.hpp"

namespace plimsoll::trainer::imperative {
namespace {

std::unique_ptr<Kernel> make(const Backend& backend, const Call& call) {
  const Operands& o = call.operands;
  switch (call.kind) {
    case Call::Kind::operation:
      return backend.make(call.recipe->graph, call.recipe->op(), call.direction, o);
    case Call::Kind::accumulate:
      return backend.make_accumulate(o.y, o.x2);
    case Call::Kind::convert:
      return backend.make_convert(o.x, o.y);
  }
  return nullptr;
}

std::string described(const Call& call) {
  if (call.kind == Call::Kind::operation) {
    return "operator '" + *call.name + "' (" + kind_of(call.recipe->op()) + ", " +
           to_string(call.direction) + ")";
  }
  return call.kind == Call::Kind::convert ? "conversion of the input" : "sum of gradients";
}

class Inline final : public Engine {
 public:
  explicit Inline(const Backend& backend) : backend_(backend) {}

  Ticket submit(Call&& call) override {
    execute(backend_, call, flop_);
    return ++submitted_;
  }
  void wait(Ticket) override {}
  [[nodiscard]] bool done(Ticket) const override { return true; }
  void then(Ticket, std::function<void()> callback) override { callback(); }
  [[nodiscard]] std::string name() const override { return "inline"; }
  [[nodiscard]] Flop flop() const override { return flop_; }

 private:
  const Backend& backend_;
  Ticket submitted_ = 0;
  Flop flop_;
};

}  // namespace

void execute(const Backend& backend, Call& call, Flop& flop) {
  auto& kernel = call.recipe->kernels[static_cast<std::size_t>(call.direction)];
  try {
    if (kernel == nullptr) {
      kernel = make(backend, call);
      expects(kernel != nullptr, "the backend makes every direction that computes");
    } else {
      kernel->bind(call.operands);
    }
    kernel->execute();
  } catch (const Error& error) {
    throw Error(error.problem(), described(call) + ", " + error.where(), error.fix(),
                error.exit_code());
  } catch (const std::exception& error) {
    throw Error(error.what(), described(call), "look at what this operator is given");
  }
  if (call.counts) flop += kernel->counted().flop;
}

std::unique_ptr<Engine> make_inline_engine(const Backend& backend) {
  return std::make_unique<Inline>(backend);
}

}  // namespace plimsoll::trainer::imperative
