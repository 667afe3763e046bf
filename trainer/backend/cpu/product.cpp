// Products of one thread each.

#include "trainer/backend/cpu/product.hpp"

#include <omp.h>

#include "core/error.hpp"

namespace plimsoll::trainer::cpu {

Product::Product(const Device& device, const Desc& left, const Desc& right, const Desc& result) {
  omp_set_num_threads(1);  // the library divides the work when a primitive is made
  const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(left, right, result),
                                            own_scratchpad(), device.engine);
  product_ = dnnl::matmul(chosen);
  implementation_ = chosen.impl_info_str();
  omp_set_num_threads(device.threads);
  const Desc scratchpad = chosen.scratchpad_desc();
  for (int thread = 0; thread < device.threads; ++thread) {
    Seat seat{.stream = dnnl::stream(device.engine),
              .left = {left, device.engine, nullptr},
              .right = {right, device.engine, nullptr},
              .result = {result, device.engine, nullptr},
              .scratchpad = {scratchpad, device.engine},
              .arguments = {}};
    seat.arguments = {{{DNNL_ARG_SRC, seat.left.get()},
                       {DNNL_ARG_WEIGHTS, seat.right.get()},
                       {DNNL_ARG_DST, seat.result.get()},
                       {DNNL_ARG_SCRATCHPAD, seat.scratchpad.get()}}};
    scratch_ += Bytes(static_cast<double>(scratchpad.get_size()));
    seats_.push_back(std::move(seat));
  }
}

void Product::run(int thread, const void* left, const void* right, void* result) const {
  const Seat& seat = seats_[static_cast<std::size_t>(thread)];
  const auto place = [](const dnnl::memory& memory, const void* data) {
    return dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data)) == dnnl_success;
  };
  expects(place(seat.left, left) && place(seat.right, right) && place(seat.result, result),
          "oneDNN takes the place of an operand");
  expects(dnnl_primitive_execute(product_.get(), seat.stream.get(),
                                 static_cast<int>(seat.arguments.size()),
                                 seat.arguments.data()) == dnnl_success,
          "oneDNN runs a product that it made");
}

}  // namespace plimsoll::trainer::cpu
