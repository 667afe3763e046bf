// An imperative front end, as the field means it: each call of an operator allocates its output,
// looks its primitive up, has it executed, and writes down on a tape what backward will need.
//
// A Tensor is a handle: copies share the values, and the last one frees them, unless the tape keeps
// them for backward. With a queue engine it is a future: see wait(), ready(), then(), values().
// functions.hpp has the operators by name.

#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "trainer/backend/imperative/allocator.hpp"
#include "trainer/backend/imperative/engine.hpp"
#include "trainer/backend/imperative/recipe.hpp"

namespace plimsoll::trainer::imperative {

class Session;

// A trained tensor that somebody else owns: what kernels read, and where its gradient goes.
struct Parameter {
  std::string name;  // "fc1.weight"
  Shape shape;
  View weight, gradient;
};
// A tensor that is kept but not trained: running means.
struct State {
  std::string name;
  View view;
};

struct Numbers {
  View view;
  StoragePtr storage;  // null: somebody else's memory
};

struct Value {
  Session* session = nullptr;
  const Shape* shape = nullptr;  // of one sample; owned by a recipe, or by `own_shape`
  Shape own_shape;
  std::int64_t batch = 1;
  Numbers numbers;
  const std::int32_t* tokens = nullptr;
  Ticket ticket = 0;     // of the call that writes it
  int variable = -1;     // on the tape
  bool trained = false;  // a gradient is of use to something before it
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<Value> value) : value_(std::move(value)) {}

  [[nodiscard]] bool empty() const { return value_ == nullptr; }
  [[nodiscard]] const Shape& shape() const { return *value_->shape; }  // of one sample
  [[nodiscard]] std::int64_t batch() const { return value_->batch; }
  [[nodiscard]] Session& session() const { return *value_->session; }
  [[nodiscard]] const Value& value() const { return *value_; }

  // Returns when the values are there; what went wrong on the way to them is thrown here.
  void wait() const;
  [[nodiscard]] bool ready() const;
  void then(std::function<void()> callback) const;
  [[nodiscard]] View view() const;                  // waits
  [[nodiscard]] std::vector<float> values() const;  // waits
  [[nodiscard]] double sum() const;                 // waits

 private:
  std::shared_ptr<Value> value_;
};

// What backward needs of a call.
struct Node {
  Recipe* recipe = nullptr;
  const std::string* name = nullptr;
  int input = -1, second_input = -1, output = -1;  // variables
  bool trained = false;                            // its inputs' gradients are wanted
  Numbers x, y;                                    // kept only where backward reads them
  Numbers workspace;
  std::vector<const Parameter*> parameters;
  std::vector<State> state;
  const std::int32_t* tokens = nullptr;
  const std::int32_t* labels = nullptr;
};

// Told by backward: all calls that make this node's parameter gradients have the ticket or an
// earlier one; and after each call.
struct BackwardHooks {
  std::function<void(std::size_t node, Ticket)> gradients_queued;
  std::function<void()> after_call;
};

// The name outlives the call, which may be queued: see Session::named().
struct CallOf {
  const OpAttributes& attributes;
  const std::string& name;
  std::span<const Tensor> inputs;
  std::span<const Parameter* const> parameters = {};
  std::span<const State> state = {};
  const std::int32_t* labels = nullptr;
};

class Session {
 public:
  // The backend and the engine outlive the session, and it all tensors.
  Session(const Backend& backend, Engine& engine, DType dtype = DType::f32)
      : engine_(engine), recipes_(backend), dtype_(dtype) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Starts a step, when all that was called before is done: the tape is empty, operators are told
  // the mode and the step.
  void begin(Mode mode, const StepState& step = {});
  // The caller's memory as a tensor; in a bf16 session numbers are converted.
  [[nodiscard]] Tensor input(const Shape& shape, std::int64_t batch, const View& numbers);
  [[nodiscard]] Tensor tokens(const Shape& shape, std::int64_t batch, const std::int32_t* tokens);
  [[nodiscard]] Tensor call(const CallOf& what);

  // Gradients of the parameters of everything on the tape, from this loss; they overwrite what was
  // there. The tape is empty afterwards.
  void backward(const Tensor& loss, const BackwardHooks& hooks = {});

  void wait() { engine_.wait(last_); }  // for all that was called
  // A name that lives as long as the session.
  [[nodiscard]] const std::string& named(const std::string& name) {
    return *names_.insert(name).first;
  }
  // "relu1", "relu2", ... since begin().
  [[nodiscard]] const std::string& unnamed(const OpAttributes& attributes);
  [[nodiscard]] std::span<const Node> tape() const { return tape_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] const Allocator& allocator() const { return allocator_; }
  [[nodiscard]] const Recipes& recipes() const { return recipes_; }
  [[nodiscard]] const StepState& step() const { return step_; }

 private:
  friend class Backward;

  Ticket submit(Call&& call) { return last_ = engine_.submit(std::move(call)); }
  [[nodiscard]] Numbers fresh(std::int64_t elements, DType dtype);
  [[nodiscard]] int new_variable(bool trained) {
    trained_.push_back(trained);
    return static_cast<int>(trained_.size()) - 1;
  }
  [[nodiscard]] Ticket queue(const CallOf& what, Recipe& recipe, const Numbers& y,
                             const Numbers& workspace);
  void write_down(const CallOf& what, Recipe& recipe, const Value& y, Numbers workspace);

  Engine& engine_;
  Allocator allocator_;
  Recipes recipes_;
  const DType dtype_;
  Mode mode_ = Mode::train;
  StepState step_;
  std::vector<Node> tape_;
  std::vector<bool> trained_;  // by variable
  std::set<std::string> names_;
  std::vector<int> unnamed_ = std::vector<int>(std::variant_size_v<OpAttributes>, 0);
  Ticket last_ = 0;
};

}  // namespace plimsoll::trainer::imperative
