// Holds and runs oneDNN primitives.

#include "trainer/backend/cpu/sequence.hpp"

#include <omp.h>

#include <cstddef>

#include "core/error.hpp"

namespace plimsoll::trainer::cpu {

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

dnnl::primitive_attr then_relu() {
  dnnl::primitive_attr attributes = own_scratchpad();
  dnnl::post_ops after;
  after.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  attributes.set_post_ops(after);
  return attributes;
}

Sequence::Sequence(const Device& device)
    : engine_(device.engine), stream_(device.engine), threads_(device.threads) {}

dnnl::memory Sequence::wrap(const Desc& desc, void* data) const { return {desc, engine_, data}; }

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
  if (after_) after_();
}

}  // namespace plimsoll::trainer::cpu
