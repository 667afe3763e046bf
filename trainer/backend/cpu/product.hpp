// One small matrix product of the library that several threads run side by side, each alone and on
// operands of its own.

#pragma once

#include <array>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "trainer/backend/cpu/sequence.hpp"

namespace plimsoll::trainer::cpu {

inline Desc strided(const Dims& dims, DType dtype, const Dims& strides) {
  using Type = dnnl::memory::data_type;
  return {dims, dtype == DType::bf16 ? Type::bf16 : Type::f32, strides};
}

class Product {
 public:
  Product(const Device& device, const Desc& left, const Desc& right, const Desc& result);

  // result = left right, by the calling thread alone: number `thread` of the device's team.
  void run(int thread, const void* left, const void* right, void* result) const;
  [[nodiscard]] const std::string& implementation() const { return implementation_; }
  [[nodiscard]] Bytes scratch() const { return scratch_; }

 private:
  struct Seat {  // of one thread
    dnnl::stream stream;
    dnnl::memory left, right, result, scratchpad;
    std::array<dnnl_exec_arg_t, 4> arguments;
  };
  dnnl::matmul product_;
  std::vector<Seat> seats_;
  std::string implementation_;
  Bytes scratch_{};
};

}  // namespace plimsoll::trainer::cpu
