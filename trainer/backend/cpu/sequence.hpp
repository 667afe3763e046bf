// A kernel made of oneDNN primitives that run one after the other.
//
// Everything that execution needs (primitives, memories, scratchpads, reordered copies) is made
// once and owned here. Scratchpads are ours and not the library's: its own live in thread-local
// storage of the creating thread, and a kernel may run on another one.

#pragma once

#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer::cpu {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

struct Device {
  dnnl::engine engine;
  int threads;
};

inline Desc plain(const Dims& dims, DType dtype, Tag tag) {
  using Type = dnnl::memory::data_type;
  return {dims, dtype == DType::bf16 ? Type::bf16 : Type::f32, tag};
}
inline Desc f32(const Dims& dims, Tag tag) { return plain(dims, DType::f32, tag); }
[[nodiscard]] double elements_of(const Desc& desc);  // logical: without the padding of a layout

// Attributes that every primitive of ours is made with: the scratchpad is the kernel's.
[[nodiscard]] dnnl::primitive_attr own_scratchpad();

class Sequence final : public Kernel {
 public:
  using Arguments = std::vector<std::pair<int, dnnl::memory>>;

  explicit Sequence(const Device& device);

  // Memory of the caller in a plain layout.
  [[nodiscard]] dnnl::memory wrap(const Desc& desc, void* data);
  // Memory of the kernel.
  [[nodiscard]] dnnl::memory own(const Desc& desc);

  // An input as the primitive wants it: itself, or a copy that is reordered at every execution.
  [[nodiscard]] dnnl::memory input(const dnnl::memory& plain, const Desc& wanted);
  // Where the primitive shall write an output; output_done() after add() brings it home.
  [[nodiscard]] dnnl::memory output(const dnnl::memory& plain, const Desc& wanted);
  void output_done(const dnnl::memory& written, const dnnl::memory& plain);

  // Adds a primitive. Its implementation's name is recorded.
  template <class Primitive>
  void add(const typename Primitive::primitive_desc& chosen, Arguments arguments) {
    append(Primitive(chosen), chosen.scratchpad_desc(), chosen.impl_info_str(),
           std::move(arguments));
  }
  // Work of ours after the primitives, on the operands of the moment.
  void then(std::function<void(const Operands&)> work) { after_ = std::move(work); }
  // Tells what it was made for: finds out which operand every wrapped memory is a part of.
  void made_for(const Operands& operands);
  void keep(const dnnl::memory& memory) { kept_.push_back(memory); }  // for the kernel's life
  void count(Cost cost) { cost_ = cost; }

  void bind(const Operands& operands) override;
  void execute() override;
  [[nodiscard]] Cost counted() const override { return cost_; }
  [[nodiscard]] std::string implementation() const override { return implementation_; }
  [[nodiscard]] Bytes scratch() const override { return scratch_; }

 private:
  struct Call {
    dnnl::primitive primitive;
    std::vector<dnnl::memory> keep;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  // Memory of the caller, and what it is: an operand, and how far into it.
  struct Wrapped {
    dnnl::memory memory;
    std::byte* data;
    std::size_t operand = 0;
    std::ptrdiff_t offset = 0;
  };
  void append(dnnl::primitive primitive, const Desc& scratchpad, const std::string& name,
              Arguments arguments);
  void reorder(const dnnl::memory& from, const dnnl::memory& to);

  dnnl::engine engine_;
  dnnl::stream stream_;
  int threads_;
  std::vector<Call> calls_;
  std::vector<Wrapped> wrapped_;
  std::function<void(const Operands&)> after_;
  Operands operands_;  // for after_ only
  std::vector<dnnl::memory> kept_;
  std::string implementation_;
  Cost cost_{};
  Bytes scratch_{};
};

}  // namespace plimsoll::trainer::cpu
