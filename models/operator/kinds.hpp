// What each kind of operator contributes: which table of the machine speaks for it, by which
// features a shape is compared with the measured ones, and how time should grow with them. One
// file a kind; operators.cpp holds the list.

#pragma once

#include <string>
#include <vector>

#include "core/machine.hpp"
#include "core/workload.hpp"
#include "models/operator/selection.hpp"

namespace plimsoll::models {

struct KindTable {
  std::string metric;  // "kernel.matmul.rate"
  std::string probe;   // what to run when it is missing: "kernel.matmul"
  std::vector<LoadedPoint> points;
  SurfacePrior prior;
};

[[nodiscard]] KindTable linear_table(const Machine& machine, DType dtype, Direction direction);
[[nodiscard]] std::vector<double> linear_features(const Linear& linear, double rows);

[[nodiscard]] KindTable convolution_table(const Machine& machine, DType dtype, Direction direction);
[[nodiscard]] std::vector<double> convolution_features(const Convolution& convolution,
                                                       std::int64_t image, std::int64_t batch);

[[nodiscard]] KindTable pool_table(const Machine& machine, Pool::Mode mode, Direction direction);
[[nodiscard]] std::vector<double> pool_features(const Pool& pool, std::int64_t image,
                                                std::int64_t channels, std::int64_t batch);

// Element-wise operations, the optimizer's update and the loader's gather: time by bytes moved.
[[nodiscard]] KindTable elementwise_table(const Machine& machine, const std::string& operation);
[[nodiscard]] std::vector<double> elementwise_features(Bytes bytes);

}  // namespace plimsoll::models
