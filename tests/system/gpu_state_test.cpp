// What is said about a GPU that is not there.

#include "core/system/cuda.hpp"
#include "core/system/files.hpp"
#include "tests/catch.hpp"
#include "tests/system/doctor_run.hpp"

namespace plimsoll::sys {

using testing::doctor_report;
using testing::find;
using testing::run_doctor;
using testing::Variables;

namespace {

std::string driver_message(const Variables& variables) {
  const Report report = doctor_report(variables);
  const Finding* finding = find(report, "gpu.driver");
  return finding == nullptr ? "" : finding->message;
}

}  // namespace

TEST_CASE("the program needs no driver and no management library to start") {
  ChildOptions options;
  options.argv = {"readelf", "-d", PLIMSOLL_PROGRAM};
  options.capture_out = true;
  const ChildResult result = run_child(options);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("NEEDED") != std::string::npos);
  CHECK(result.out.find("libcuda.so") == std::string::npos);
  CHECK(result.out.find("libnvidia-ml") == std::string::npos);
}

TEST_CASE("driver problems do not look alike") {
  if (cuda_facts().state == CudaState::not_built) {
    CHECK(driver_message({{"LD_LIBRARY_PATH", LAME_DRIVER}}).empty());
    std::puts("SKIPPED: built without CUDA, the driver is never asked");
    return;
  }
  struct Case {
    const char *code, *version, *expected;
  };
  for (const Case& c : {Case{"100", "13000", "no device"}, Case{"802", "13000", "not ready"},
                        Case{"803", "13000", "driver mismatch"}, Case{"999", "13000", "error"},
                        Case{"3", "13000", "error"}, Case{"34", "13000", "error"},
                        Case{"0", "11000", "driver too old"}}) {
    const Variables variables = {{"LD_LIBRARY_PATH", LAME_DRIVER},
                                 {"LAME_DRIVER_CODE", c.code},
                                 {"LAME_DRIVER_VERSION", c.version}};
    const std::string message = driver_message(variables);
    INFO(c.code << ": " << message);
    CHECK(message.rfind(std::string(c.expected) + ":", 0) == 0);
    const bool bad = std::string(c.expected) != "no device";
    CHECK(run_doctor({"--strict", "--only", "gpu.driver"}, variables).exit_code == (bad ? 3 : 0));
    CHECK(run_doctor({}, variables).out.find("gpu       7") == std::string::npos);
  }
  const std::string old = driver_message({{"LD_LIBRARY_PATH", LAME_DRIVER},
                                          {"LAME_DRIVER_CODE", "0"},
                                          {"LAME_DRIVER_VERSION", "11000"}});
  CHECK(old.find("11.0") != std::string::npos);
  CHECK(old.find("needs ") != std::string::npos);
}

TEST_CASE("a management library that refuses is said, and nothing stops") {
  for (const char* code : {"18", "9", "12", "999"}) {
    const Variables variables = {{"LD_LIBRARY_PATH", LAME_MANAGEMENT},
                                 {"LAME_MANAGEMENT_CODE", code}};
    const Report report = doctor_report(variables);
    const Finding* finding = find(report, "gpu.management");
    REQUIRE(finding != nullptr);
    CHECK(finding->message.find(code) != std::string::npos);
    CHECK(finding->severity == Severity::warning);
    const ChildResult text = run_doctor({}, variables);
    CHECK(text.exit_code == 0);
    CHECK(text.out.find("gpu ") != std::string::npos);
  }
}

TEST_CASE("this machine's GPUs: a state, and a reason unless it is ready") {
  const CudaFacts facts = cuda_facts();
  CHECK(facts.reason.empty() == (facts.state == CudaState::ready));
  CHECK(facts.devices.empty() == (facts.state != CudaState::ready));
  for (const CudaDevice& device : facts.devices) {
    CHECK_FALSE(device.name.empty());
    CHECK(device.free_memory > Bytes(0));
    CHECK(device.free_memory <= device.total_memory);
  }
  const NvmlFacts management = nvml_facts();
  CHECK(management.reason.empty() == management.usable);
}

}  // namespace plimsoll::sys
