// Isotonic regression by pooling adjacent violators.
//
//     minimise sum_i w_i (z_i - y_i)^2  with  z_1 <= z_2 <= ... <= z_n
//
// Source    Barlow, Bartholomew, Bremner, Brunk, "Statistical Inference under Order Restrictions",
//           1972, section 1.2.
// Assumes   -
// Fails     -
// Limits    Values that do not decrease stay as they are.
// Tests     tests/models/numeric/sweep_test.cpp.

#include "models/numeric/isotonic.hpp"

#include <cstddef>

#include "core/error.hpp"

namespace plimsoll::models {

std::vector<double> isotonic(const std::vector<double>& values,
                             const std::vector<double>& weights) {
  expects(values.size() == weights.size(), "isotonic: a weight for every value");
  struct Block {
    double mean, weight;
    std::size_t count;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    blocks.push_back({values[i], weights[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& into = blocks.back();
      const double weight = into.weight + last.weight;
      into.mean = (into.mean * into.weight + last.mean * last.weight) / weight;
      into.weight = weight;
      into.count += last.count;
    }
  }
  std::vector<double> result;
  for (const Block& block : blocks) result.insert(result.end(), block.count, block.mean);
  return result;
}

}  // namespace plimsoll::models
