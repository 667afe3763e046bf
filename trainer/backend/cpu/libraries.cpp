// Which oneDNN was loaded. A file of its own: tests replace the backend at link time, not this.

#include <dnnl.hpp>

#include <string>

#include "trainer/backend/backend.hpp"

namespace plimsoll::trainer {

std::map<std::string, std::string> backend_libraries() {
  const dnnl_version_t* const version = dnnl_version();
  return {{"onednn", std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                         std::to_string(version->patch)}};
}

}  // namespace plimsoll::trainer
