// Holds and runs oneDNN primitives.

#include "trainer/backend/cpu/sequence.hpp"

#include <omp.h>

#include <array>
#include <cstddef>

#include "core/error.hpp"

namespace plimsoll::trainer::cpu {

namespace {

constexpr std::size_t kMostOfAKind = 4;  // parameters or states of one operator
constexpr std::size_t kMostOperands = 6 + 3 * kMostOfAKind;

// Every view of the operands with a number that tells which one it is.
template <class Visit>
void for_each_view(const Operands& o, const Visit& visit) {
  std::size_t index = 0;
  for (const View* view : {&o.x, &o.x2, &o.y, &o.dx, &o.dy, &o.workspace}) visit(index++, *view);
  for (const auto* views : {&o.w, &o.dw, &o.state}) {
    for (std::size_t i = 0; i < views->size(); ++i) visit(index + i, (*views)[i]);
    index += kMostOfAKind;
  }
}

}  // namespace

double elements_of(const Desc& desc) {
  double count = 1;
  for (const auto side : desc.dims()) count *= static_cast<double>(side);
  return count;
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Sequence::Sequence(const Device& device)
    : engine_(device.engine), stream_(device.engine), threads_(device.threads) {}

dnnl::memory Sequence::wrap(const Desc& desc, void* data) {
  wrapped_.push_back({.memory = {desc, engine_, data}, .data = static_cast<std::byte*>(data)});
  return wrapped_.back().memory;
}

void Sequence::made_for(const Operands& operands) {
  const auto own = [&](Wrapped& one) {  // not an operand: memory of the kernel
    bool found = false;
    for_each_view(operands, [&](std::size_t index, const View& view) {
      const auto* const begin = static_cast<const std::byte*>(view.data);
      const std::int64_t size = view.elements * size_of(view.dtype);
      if (found || begin == nullptr || one.data < begin || one.data >= begin + size) return;
      found = true;
      one.operand = index;
      one.offset = one.data - begin;
    });
    return !found;
  };
  std::erase_if(wrapped_, own);
  if (after_) operands_ = operands;
}

void Sequence::bind(const Operands& operands) {
  std::array<std::byte*, kMostOperands> places;
  for_each_view(operands, [&](std::size_t index, const View& view) {
    places[index] = static_cast<std::byte*>(view.data);
  });
  for (Wrapped& one : wrapped_) {
    std::byte* const data = places[one.operand] + one.offset;
    if (data == one.data) continue;
    one.data = data;
    const dnnl_status_t status = dnnl_memory_set_data_handle(one.memory.get(), data);
    expects(status == dnnl_success, "oneDNN takes another place for a memory");
  }
  if (after_) operands_ = operands;
}

dnnl::memory Sequence::own(const Desc& desc) {
  scratch_ += Bytes(static_cast<double>(desc.get_size()));
  return {desc, engine_};
}

dnnl::memory Sequence::input(const dnnl::memory& plain, const Desc& wanted) {
  if (plain.get_desc() == wanted) return plain;
  dnnl::memory copy = own(wanted);
  reorder(plain, copy);
  return copy;
}

dnnl::memory Sequence::output(const dnnl::memory& plain, const Desc& wanted) {
  return plain.get_desc() == wanted ? plain : own(wanted);
}

void Sequence::output_done(const dnnl::memory& written, const dnnl::memory& plain) {
  if (written.get() != plain.get()) reorder(written, plain);
}

void Sequence::reorder(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc chosen(engine_, from.get_desc(), engine_, to.get_desc(),
                                             own_scratchpad());
  append(dnnl::reorder(chosen), chosen.scratchpad_desc(),
         std::string("reorder:") + chosen.impl_info_str(),
         {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Sequence::append(dnnl::primitive primitive, const Desc& scratchpad, const std::string& name,
                      Arguments arguments) {
  if (scratchpad.get_size() > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, own(scratchpad));
  Call call{.primitive = std::move(primitive), .keep = {}, .arguments = {}};
  for (auto& [index, memory] : arguments) {
    call.arguments.push_back({index, memory.get()});
    call.keep.push_back(std::move(memory));
  }
  calls_.push_back(std::move(call));
  if (!implementation_.empty()) implementation_ += " + ";
  implementation_ += name;
}

// Straight through the C interface: the C++ one builds a map of arguments at every call.
void Sequence::execute() {
  omp_set_num_threads(threads_);  // of this thread only
  for (const Call& call : calls_) {
    const dnnl_status_t status =
        dnnl_primitive_execute(call.primitive.get(), stream_.get(),
                               static_cast<int>(call.arguments.size()), call.arguments.data());
    expects(status == dnnl_success, "oneDNN runs a primitive that it made");
  }
  if (after_) after_(operands_);
}

}  // namespace plimsoll::trainer::cpu
