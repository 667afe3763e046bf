// Instruction sets, asked from the CPU and the operating system at run time.

#include <algorithm>
#include <cstdint>

#include "core/system/provenance.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace plimsoll::sys {
namespace {

#if defined(__x86_64__)

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf result;
  __get_cpuid_count(leaf, subleaf, &result.eax, &result.ebx, &result.ecx, &result.edx);
  return result;
}

// Which register states the operating system saves: without that an instruction set is unusable
// although the CPU has it.
std::uint64_t saved_states() {
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

std::vector<std::string> ask() {
  const Leaf basic = cpuid(1, 0), extended = cpuid(7, 0), more = cpuid(7, 1);
  const auto bit = [](unsigned word, int position) { return ((word >> position) & 1U) != 0; };
  const std::uint64_t saved = bit(basic.ecx, 27) ? saved_states() : 0;
  const bool ymm = (saved & 0x6) == 0x6, zmm = ymm && (saved & 0xE0) == 0xE0;
  const bool tiles = (saved & 0x60000) == 0x60000;
  std::vector<std::string> sets;
  const auto add = [&](bool present, const char* name) {
    if (present) sets.emplace_back(name);
  };
  add(bit(basic.edx, 26), "sse2");
  add(bit(basic.ecx, 20), "sse4_2");
  add(ymm && bit(basic.ecx, 28), "avx");
  add(ymm && bit(basic.ecx, 12), "fma");
  add(ymm && bit(extended.ebx, 5), "avx2");
  add(ymm && bit(more.eax, 4), "avx_vnni");
  add(zmm && bit(extended.ebx, 16), "avx512f");
  add(zmm && bit(extended.ebx, 17), "avx512dq");
  add(zmm && bit(extended.ebx, 30), "avx512bw");
  add(zmm && bit(extended.ebx, 31), "avx512vl");
  add(zmm && bit(extended.ecx, 11), "avx512_vnni");
  add(zmm && bit(more.eax, 5), "avx512_bf16");
  add(zmm && bit(extended.edx, 23), "avx512_fp16");
  add(tiles && bit(extended.edx, 24), "amx_tile");
  add(tiles && bit(extended.edx, 22), "amx_bf16");
  add(tiles && bit(extended.edx, 25), "amx_int8");
  return sets;
}

std::string ask_hypervisor() {
  if (((cpuid(1, 0).ecx >> 31) & 1U) == 0) return "";
  Leaf leaf;
  __cpuid(0x40000000, leaf.eax, leaf.ebx, leaf.ecx, leaf.edx);
  std::string text;
  for (unsigned word : {leaf.ebx, leaf.ecx, leaf.edx})
    for (int shift = 0; shift < 32; shift += 8)
      if (const auto byte = static_cast<char>((word >> shift) & 0xFF); byte >= ' ' && byte <= '~')
        text += byte;
  return std::string(trim(text));
}

#elif defined(__aarch64__)

std::string ask_hypervisor() { return ""; }

std::vector<std::string> ask() {
  // Bits of the kernel's ABI (arch/arm64 hwcap); spelled out because old headers lack some.
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  const auto bit = [](unsigned long word, int position) { return ((word >> position) & 1UL) != 0; };
  std::vector<std::string> sets;
  const auto add = [&](bool present, const char* name) {
    if (present) sets.emplace_back(name);
  };
  add(bit(first, 1), "asimd");
  add(bit(first, 8), "atomics");
  add(bit(first, 10), "asimdhp");
  add(bit(first, 20), "asimddp");
  add(bit(first, 22), "sve");
  add(bit(second, 1), "sve2");
  add(bit(second, 13), "i8mm");
  add(bit(second, 14), "bf16");
  return sets;
}

#else

std::string ask_hypervisor() { return ""; }

std::vector<std::string> ask() { return {}; }

#endif

}  // namespace

std::string hypervisor_signature() { return ask_hypervisor(); }

std::vector<std::string> instruction_sets() { return ask(); }

bool has_instruction_set(const std::string& name) {
  const std::vector<std::string> sets = ask();
  return std::find(sets.begin(), sets.end(), name) != sets.end();
}

}  // namespace plimsoll::sys
