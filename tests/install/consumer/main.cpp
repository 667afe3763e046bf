// Somebody else's program: uses installed headers and libraries only.

#include <cstdio>
#include <vector>

#include "core/statistics.hpp"
#include "core/units.hpp"

int main() {
  const std::vector<double> samples{1, 2, 3};
  const plimsoll::Seconds time = plimsoll::Bytes(10) / plimsoll::BytesPerSecond(5);
  std::printf("median %g, %g s\n", plimsoll::median(samples), time.value());
}
