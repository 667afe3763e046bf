// Stands in for uring_engine.cpp in builds without liburing.

#include "probes/storage/engine.hpp"

namespace plimsoll::probes {

std::unique_ptr<Engine> make_uring_engine(int) { return nullptr; }

std::string uring_refused() { return "this build has no liburing"; }

}  // namespace plimsoll::probes
