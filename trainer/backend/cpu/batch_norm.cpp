// Batch norm over batch and positions by channel, on NHWC activations by oneDNN, whose statistics
// come out as the mean and the variance of this batch; the running ones are ours.
//
// The workspace holds the batch's mean and variance, which backward reads. Moments, running state,
// parameters and their gradients are f32 with both data types. The running variance takes the
// batch's without bias, n / (n - 1), as PyTorch does; of a single row there is no such thing and
// its own variance, 0, is taken.
//
// One that ends in a relu keeps behind the moments which outputs were positive, and its backward
// starts from the gradient of the relu's output: a pass over memory less each way.

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
Shapes shapes_of(const Shape& x, const BatchNorm& norm, std::int64_t batch, DType dtype) {
  const std::int64_t channels = norm.channels, rows = batch * elements(x) / channels;
  const Dims dims =
      x.size() == 3 ? Dims{batch, channels, x[0], x[1]} : Dims{batch, channels, rows / batch, 1};
  return {.x = plain(dims, dtype, Tag::nhwc),
          .channels = f32({channels}, Tag::a),
          .rows = rows,
          .epsilon = static_cast<float>(norm.epsilon)};
}

Flags flags_of(bool relu) {
  const Flags plain = Flags::use_scale | Flags::use_shift;
  return relu ? plain | Flags::fuse_norm_relu : plain;
}

Forward::primitive_desc choose_forward(const Device& device, const Shapes& s, Mode mode,
                                       bool relu) {
  auto flags = flags_of(relu);
  if (mode == Mode::evaluate) flags = flags | Flags::use_global_stats;
  const auto kind = mode == Mode::evaluate ? dnnl::prop_kind::forward_inference
                                           : dnnl::prop_kind::forward_training;
  return {Forward::desc(kind, s.x, s.epsilon, flags), own_scratchpad(), device.engine};
}

Backward::primitive_desc choose_backward(const Device& device, const Shapes& s, bool relu) {
  return {Backward::desc(dnnl::prop_kind::backward, s.x, s.x, s.epsilon, flags_of(relu)),
          own_scratchpad(), device.engine, choose_forward(device, s, Mode::train, relu)};
}

// The mask lies on the cache line behind the moments.
std::int64_t mask_begin(std::int64_t channels) { return (2 * channels + 15) / 16 * 16; }

// Moments and normalised values, as core/cost.cpp lists them; x and y, or x, dy and dx.
Cost cost(const Desc& x, double flop_per_element, double tensors) {
  const double count = elements_of(x);
  return {Flop(flop_per_element * count), Bytes(tensors * static_cast<double>(x.get_size()))};
}

template <class Chosen>
std::int64_t workspace_floats(const Chosen& chosen, std::int64_t channels, bool relu) {
  if (!relu) return 2 * channels;
  return mask_begin(channels) +
         static_cast<std::int64_t>((chosen.workspace_desc().get_size() + 3) / 4);
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

KernelPtr make_forward(const Request& r, const BatchNorm& norm) {
  const Operands& o = r.operands;
  const DType dtype = o.x.dtype;
  const std::int64_t channels = norm.channels;
  const Shapes s = shapes_of(r.x_shape(), norm, o.batch, dtype);
  const bool relu = o.activation == Activation::relu;
  const auto chosen = choose_forward(r.device, s, o.mode, relu);
  const auto state = [&](std::size_t i) {
    return r.need(i < o.state.size() ? o.state[i] : View{}, channels,
                  "state[" + std::to_string(i) + "]");
  };
  float* mean = state(0);
  float* variance = state(1);
  auto sequence = std::make_unique<Sequence>(r.device);
  Sequence::Arguments arguments{
      {DNNL_ARG_SRC, sequence->wrap(s.x, r.need(o.x, r.x_elements(), "x", dtype).data)},
      {DNNL_ARG_DST, sequence->wrap(s.x, r.need(o.y, r.y_elements(), "y", dtype).data)},
      {DNNL_ARG_SCALE, sequence->wrap(s.channels, r.need_weight(0))},
      {DNNL_ARG_SHIFT, sequence->wrap(s.channels, r.need_weight(1))}};
  if (o.mode == Mode::train) {
    mean = r.need(o.workspace, workspace_floats(chosen, channels, relu), "workspace");
    variance = mean + channels;
    if (relu) {
      arguments.emplace_back(DNNL_ARG_WORKSPACE,
                             sequence->wrap(chosen.workspace_desc(), mean + mask_begin(channels)));
    }
  }
  arguments.emplace_back(DNNL_ARG_MEAN, sequence->wrap(s.channels, mean));
  arguments.emplace_back(DNNL_ARG_VARIANCE, sequence->wrap(s.channels, variance));
  sequence->count(cost(chosen.src_desc(), relu ? 9 : 8, 2));
  sequence->add<Forward>(chosen, std::move(arguments));
  if (o.mode == Mode::train) {
    const auto momentum = static_cast<float>(norm.momentum);
    sequence->then([momentum, channels, rows = s.rows](const Operands& at) {
      const auto floats = [](const View& view) { return static_cast<float*>(view.data); };
      move({floats(at.state[0]), floats(at.state[1]), momentum}, floats(at.workspace), channels,
           rows);
    });
  }
  return sequence;
}

KernelPtr make_backward(const Request& r, const BatchNorm& norm) {
  const Operands& o = r.operands;
  const DType dtype = o.x.dtype;
  const Shapes s = shapes_of(r.x_shape(), norm, o.batch, dtype);
  const bool relu = o.activation == Activation::relu;
  const auto chosen = choose_backward(r.device, s, relu);
  float* const moments =
      r.need(o.workspace, workspace_floats(chosen, norm.channels, relu), "workspace");
  auto sequence = std::make_unique<Sequence>(r.device);
  const auto dx = o.dx.data == nullptr
                      ? sequence->own(s.x)
                      : sequence->wrap(s.x, r.need(o.dx, r.x_elements(), "dx", dtype).data);
  sequence->count(cost(chosen.src_desc(), relu ? 12 : 11, 3));
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
  if (relu) {
    arguments.emplace_back(DNNL_ARG_WORKSPACE, sequence->wrap(chosen.workspace_desc(),
                                                              moments + mask_begin(norm.channels)));
  }
  sequence->add<Backward>(chosen, std::move(arguments));
  return sequence;
}

}  // namespace

Bytes batch_norm_workspace(const BatchNorm& norm) {
  return Bytes(2.0 * sizeof(float) * static_cast<double>(norm.channels));
}

Bytes batch_norm_relu_workspace(const Device& device, const Graph& graph, const Op& op,
                                std::int64_t batch, DType dtype) {
  const auto& norm = std::get<BatchNorm>(op.attributes);
  const Shape& x = graph.tensors[static_cast<std::size_t>(op.inputs[0])].shape;
  const auto chosen = choose_forward(device, shapes_of(x, norm, batch, dtype), Mode::train, true);
  return Bytes(4.0 * static_cast<double>(workspace_floats(chosen, norm.channels, true)));
}

bool batch_norm_fuses(const Device& device, const Graph& graph, const Op& op, std::int64_t batch,
                      DType dtype, Mode mode) {
  const auto& norm = std::get<BatchNorm>(op.attributes);
  const Shape& x = graph.tensors[static_cast<std::size_t>(op.inputs[0])].shape;
  const Shapes s = shapes_of(x, norm, batch, dtype);
  // The reference loops, and the variant that adds in several passes, are no gain.
  const auto fast = [](const std::string& name) { return name.find("jit") != std::string::npos; };
  if (!fast(choose_forward(device, s, mode, true).impl_info_str())) return false;
  return mode == Mode::evaluate || fast(choose_backward(device, s, true).impl_info_str());
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
