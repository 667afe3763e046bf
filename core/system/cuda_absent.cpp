// The GPUs of a build without CUDA.

#include "core/system/cuda.hpp"

namespace plimsoll::sys {

CudaFacts cuda_facts() {
  CudaFacts facts;
  facts.state = CudaState::not_built;
  facts.reason = "this build has no CUDA";
  facts.fix = "install the CUDA toolkit and configure again, with -DPLIMSOLL_CUDA=ON";
  return facts;
}

}  // namespace plimsoll::sys
