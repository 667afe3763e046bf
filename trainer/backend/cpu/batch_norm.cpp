// Batch norm over batch and positions by channel, on NHWC activations by oneDNN, whose statistics
// come out as the mean and the variance of this batch; the running ones are ours.
//
// The workspace holds the batch's mean and variance, which backward reads. Moments, running state,
// parameters and their gradients are f32 with both data types. The running variance takes the
// batch's without bias, n / (n - 1), as PyTorch does; of a single row there is no such thing and
// its own variance, 0, is taken.

#include <algorithm>

#include "core/error.hpp"
#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer::cpu {
namespace {

using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;
using Flags = dnnl::normalization_flags;

struct Shapes {
  Desc x, channels;
  std::int64_t rows;
  float epsilon;
};

// Positions of any number of sides are the rows of an image one pixel wide.
Shapes shapes_of(const Request& r, const BatchNorm& norm, DType dtype) {
  const Shape& x = r.x_shape();
  const std::int64_t channels = norm.channels, rows = r.x_elements() / channels;
  const Dims dims = x.size() == 3 ? Dims{r.operands.batch, channels, x[0], x[1]}
                                  : Dims{r.operands.batch, channels, rows / r.operands.batch, 1};
  return {.x = plain(dims, dtype, Tag::nhwc),
          .channels = f32({channels}, Tag::a),
          .rows = rows,
          .epsilon = static_cast<float>(norm.epsilon)};
}

Flags flags_of(bool relu) {
  const auto flags = Flags::use_scale | Flags::use_shift;
  return relu ? flags | Flags::fuse_norm_relu : flags;
}

Forward::primitive_desc choose_forward(const Device& device, const Shapes& s, Mode mode,
                                       bool relu) {
  auto flags = flags_of(relu);
  if (mode == Mode::evaluate) flags = flags | Flags::use_global_stats;
  const auto kind = mode == Mode::evaluate ? dnnl::prop_kind::forward_inference
                                           : dnnl::prop_kind::forward_training;
  return {Forward::desc(kind, s.x, s.epsilon, flags), own_scratchpad(), device.engine};
}

// Moments and normalised values, as core/cost.cpp lists them; x and y, or x, dy and dx.
Cost cost(const Desc& x, double flop_per_element, double tensors) {
  const double count = elements_of(x);
  return {Flop(flop_per_element * count), Bytes(tensors * static_cast<double>(x.get_size()))};
}

struct Running {
  float* mean;
  float* variance;
  float momentum;
};

void move(const Running& running, const float* moments, std::int64_t channels, std::int64_t rows) {
  const float keep = 1.0F - running.momentum;
  const float unbiased = running.momentum * static_cast<float>(rows) /
                         static_cast<float>(std::max<std::int64_t>(1, rows - 1));
  for (std::int64_t c = 0; c < channels; ++c) {
    running.mean[c] = keep * running.mean[c] + running.momentum * moments[c];
    running.variance[c] = keep * running.variance[c] + unbiased * moments[channels + c];
  }
}

// What the relu cut off lies behind the moments, as the library packs it.
void add_mask(const Sequence& sequence, const Request& r, const Desc& mask,
              Sequence::Arguments& arguments) {
  const auto floats = static_cast<std::int64_t>((mask.get_size() + 3) / 4);
  const std::int64_t moments = 2 * r.x_shape().back();
  float* const begin = r.need(r.operands.workspace, moments + floats, "workspace");
  arguments.emplace_back(DNNL_ARG_WORKSPACE, sequence.wrap(mask, begin + moments));
}

KernelPtr make_forward(const Request& r, const BatchNorm& norm) {
  const Operands& o = r.operands;
  const DType dtype = o.x.dtype;
  const std::int64_t channels = norm.channels;
  const Shapes s = shapes_of(r, norm, dtype);
  const auto chosen = choose_forward(r.device, s, o.mode, o.relu);
  const auto state = [&](std::size_t i) {
    return r.need(i < o.state.size() ? o.state[i] : View{}, channels,
                  "state[" + std::to_string(i) + "]");
  };
  const Running running{state(0), state(1), static_cast<float>(norm.momentum)};
  auto sequence = std::make_unique<Sequence>(r.device);
  Sequence::Arguments arguments{
      {DNNL_ARG_SRC, sequence->wrap(s.x, r.need(o.x, r.x_elements(), "x", dtype).data)},
      {DNNL_ARG_DST, sequence->wrap(s.x, r.need(o.y, r.y_elements(), "y", dtype).data)},
      {DNNL_ARG_SCALE, sequence->wrap(s.channels, r.need_weight(0))},
      {DNNL_ARG_SHIFT, sequence->wrap(s.channels, r.need_weight(1))}};
  float* mean = running.mean;
  float* variance = running.variance;
  if (o.mode == Mode::train) {
    mean = r.need(o.workspace, 2 * channels, "workspace");
    variance = mean + channels;
    if (o.relu) add_mask(*sequence, r, chosen.workspace_desc(), arguments);
  }
  arguments.emplace_back(DNNL_ARG_MEAN, sequence->wrap(s.channels, mean));
  arguments.emplace_back(DNNL_ARG_VARIANCE, sequence->wrap(s.channels, variance));
  sequence->count(cost(chosen.src_desc(), o.relu ? 9 : 8, 2));
  sequence->add<Forward>(chosen, std::move(arguments));
  if (o.mode == Mode::train) {
    sequence->then(
        [running, mean, channels, rows = s.rows] { move(running, mean, channels, rows); });
  }
  return sequence;
}

KernelPtr make_backward(const Request& r, const BatchNorm& norm) {
  const Operands& o = r.operands;
  const DType dtype = o.x.dtype;
  const Shapes s = shapes_of(r, norm, dtype);
  const Backward::primitive_desc chosen(
      Backward::desc(dnnl::prop_kind::backward, s.x, s.x, s.epsilon, flags_of(o.relu)),
      own_scratchpad(), r.device.engine, choose_forward(r.device, s, Mode::train, o.relu));
  float* const moments = r.need(o.workspace, 2 * norm.channels, "workspace");
  auto sequence = std::make_unique<Sequence>(r.device);
  const auto dx = o.dx.data == nullptr
                      ? sequence->own(s.x)
                      : sequence->wrap(s.x, r.need(o.dx, r.x_elements(), "dx", dtype).data);
  sequence->count(cost(chosen.src_desc(), o.relu ? 12 : 11, 3));
  Sequence::Arguments arguments{
      {DNNL_ARG_SRC, sequence->wrap(s.x, r.need(o.x, r.x_elements(), "x", dtype).data)},
      {DNNL_ARG_DIFF_DST, sequence->wrap(s.x, r.need(o.dy, r.y_elements(), "dy", dtype).data)},
      {DNNL_ARG_DIFF_SRC, dx},
      {DNNL_ARG_SCALE, sequence->wrap(s.channels, r.need_weight(0))},
      {DNNL_ARG_SHIFT, sequence->wrap(s.channels, r.need_weight(1))},
      {DNNL_ARG_MEAN, sequence->wrap(s.channels, moments)},
      {DNNL_ARG_VARIANCE, sequence->wrap(s.channels, moments + norm.channels)},
      {DNNL_ARG_DIFF_SCALE, sequence->wrap(s.channels, r.need_gradient(0))},
      {DNNL_ARG_DIFF_SHIFT, sequence->wrap(s.channels, r.need_gradient(1))}};
  if (o.relu) add_mask(*sequence, r, chosen.workspace_desc(), arguments);
  sequence->add<Backward>(chosen, std::move(arguments));
  return sequence;
}

}  // namespace

// With room for the mask of a relu, one byte an element at most, whether there is one or not.
Bytes batch_norm_workspace(const BatchNorm& norm, std::int64_t elements) {
  return Bytes(2.0 * sizeof(float) * static_cast<double>(norm.channels) +
               static_cast<double>((elements + 3) / 4 * 4));
}

KernelPtr make_batch_norm(const Request& r, const BatchNorm& norm) {
  switch (r.direction) {
    case Direction::forward:
      return make_forward(r, norm);
    case Direction::backward_data:
      return make_backward(r, norm);
    case Direction::backward_weights:
      return nullptr;  // both gradients come from one pass
  }
  return nullptr;
}

}  // namespace plimsoll::trainer::cpu
