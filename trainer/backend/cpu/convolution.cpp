// Convolution on NHWC activations, weights [out, kernel, kernel, in].
//
// The library chooses the layout of the weights: on plain ones it has nothing but its reference
// loop. They are reordered inside the kernel at every execution, since an optimizer step lies
// between two of them; that costs microseconds and is part of the kernel's time. Activations stay
// NHWC unless no direct kernel exists for them (older instruction sets): then the library chooses
// their layout as well, and the copies are part of the time too.

#include <string>

#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer::cpu {
namespace {

struct Shapes {
  Dims x, w, y, bias, stride, padding;

  [[nodiscard]] Desc plain_x() const { return f32(x, Tag::nhwc); }
  [[nodiscard]] Desc plain_w() const { return f32(w, Tag::ohwi); }
  [[nodiscard]] Desc plain_y() const { return f32(y, Tag::nhwc); }
  [[nodiscard]] Desc plain_bias() const { return f32(bias, Tag::a); }
};

Shapes shapes_of(const Request& request, const Convolution& c) {
  const Shape& x = request.x_shape();
  const Shape& y = request.y_shape();
  const std::int64_t batch = request.operands.batch;
  return {.x = {batch, c.in_channels, x[0], x[1]},
          .w = {c.out_channels, c.in_channels, c.kernel, c.kernel},
          .y = {batch, c.out_channels, y[0], y[1]},
          .bias = {c.out_channels},
          .stride = {c.stride, c.stride},
          .padding = {c.padding, c.padding}};
}

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

Forward::primitive_desc choose_forward(const Device& device, const Shapes& s, bool bias, Tag tag) {
  const auto training = dnnl::prop_kind::forward_training;
  const Desc x = f32(s.x, tag), w = f32(s.w, Tag::any), y = f32(s.y, tag);
  const auto operation =
      bias ? Forward::desc(training, kDirect, x, w, s.plain_bias(), y, s.stride, s.padding,
                           s.padding)
           : Forward::desc(training, kDirect, x, w, y, s.stride, s.padding, s.padding);
  return {operation, own_scratchpad(), device.engine};
}

BackwardData::primitive_desc choose_backward_data(const Device& device, const Shapes& s, bool bias,
                                                  Tag tag) {
  const BackwardData::desc operation(kDirect, f32(s.x, tag), f32(s.w, Tag::any), f32(s.y, tag),
                                     s.stride, s.padding, s.padding);
  return {operation, own_scratchpad(), device.engine, choose_forward(device, s, bias, tag)};
}

BackwardWeights::primitive_desc choose_backward_weights(const Device& device, const Shapes& s,
                                                        bool bias, Tag tag) {
  const Desc x = f32(s.x, tag), w = f32(s.w, Tag::any), y = f32(s.y, tag);
  const auto operation =
      bias ? BackwardWeights::desc(kDirect, x, w, s.plain_bias(), y, s.stride, s.padding, s.padding)
           : BackwardWeights::desc(kDirect, x, w, y, s.stride, s.padding, s.padding);
  return {operation, own_scratchpad(), device.engine, choose_forward(device, s, bias, tag)};
}

// NHWC where the library has a direct kernel for it, the library's own layout where it does not.
template <class Choose>
auto choose(const Choose& with_activations) {
  auto nhwc = with_activations(Tag::nhwc);
  const std::string name = nhwc.impl_info_str();
  if (name.find("ref") == std::string::npos && name.find("gemm") == std::string::npos) return nhwc;
  auto any = with_activations(Tag::any);
  const std::string other = any.impl_info_str();
  return other.find("ref") == std::string::npos && other.find("gemm") == std::string::npos ? any
                                                                                           : nhwc;
}

template <class Chosen>
Cost cost(const Chosen& x, const Chosen& w, const Chosen& y, bool bias) {
  const double filter = elements_of(w) / static_cast<double>(w.dims()[0]);
  const double outputs = elements_of(y);
  const double moved =
      elements_of(x) + elements_of(w) + outputs + (bias ? static_cast<double>(w.dims()[0]) : 0);
  return {Flop(2 * outputs * filter + (bias ? outputs : 0)), Bytes(sizeof(float) * moved)};
}

void add_forward(Sequence& sequence, const Request& r, const Shapes& s, bool bias) {
  const auto chosen = choose([&](Tag tag) { return choose_forward(r.device, s, bias, tag); });
  const Operands& o = r.operands;
  const auto x = sequence.wrap(s.plain_x(), r.need(o.x, r.x_elements(), "x"));
  const auto w = sequence.wrap(s.plain_w(), r.need_weight(0));
  const auto y = sequence.wrap(s.plain_y(), r.need(o.y, r.y_elements(), "y"));
  const auto written = sequence.output(y, chosen.dst_desc());
  Sequence::Arguments arguments{{DNNL_ARG_SRC, sequence.input(x, chosen.src_desc())},
                                {DNNL_ARG_WEIGHTS, sequence.input(w, chosen.weights_desc())},
                                {DNNL_ARG_DST, written}};
  if (bias) arguments.emplace_back(DNNL_ARG_BIAS, sequence.wrap(s.plain_bias(), r.need_weight(1)));
  sequence.add<Forward>(chosen, std::move(arguments));
  sequence.output_done(written, y);
  sequence.count(cost(chosen.src_desc(), chosen.weights_desc(), chosen.dst_desc(), bias));
}

void add_backward_data(Sequence& sequence, const Request& r, const Shapes& s, bool bias) {
  const auto chosen = choose([&](Tag tag) { return choose_backward_data(r.device, s, bias, tag); });
  const Operands& o = r.operands;
  const auto dy = sequence.wrap(s.plain_y(), r.need(o.dy, r.y_elements(), "dy"));
  const auto w = sequence.wrap(s.plain_w(), r.need_weight(0));
  const auto dx = sequence.wrap(s.plain_x(), r.need(o.dx, r.x_elements(), "dx"));
  const auto written = sequence.output(dx, chosen.diff_src_desc());
  sequence.add<BackwardData>(chosen,
                             {{DNNL_ARG_DIFF_DST, sequence.input(dy, chosen.diff_dst_desc())},
                              {DNNL_ARG_WEIGHTS, sequence.input(w, chosen.weights_desc())},
                              {DNNL_ARG_DIFF_SRC, written}});
  sequence.output_done(written, dx);
  sequence.count(
      cost(chosen.diff_src_desc(), chosen.weights_desc(), chosen.diff_dst_desc(), false));
}

void add_backward_weights(Sequence& sequence, const Request& r, const Shapes& s, bool bias) {
  const auto chosen =
      choose([&](Tag tag) { return choose_backward_weights(r.device, s, bias, tag); });
  const Operands& o = r.operands;
  const auto x = sequence.wrap(s.plain_x(), r.need(o.x, r.x_elements(), "x"));
  const auto dy = sequence.wrap(s.plain_y(), r.need(o.dy, r.y_elements(), "dy"));
  const auto dw = sequence.wrap(s.plain_w(), r.need_gradient(0));
  const auto written = sequence.output(dw, chosen.diff_weights_desc());
  Sequence::Arguments arguments{{DNNL_ARG_SRC, sequence.input(x, chosen.src_desc())},
                                {DNNL_ARG_DIFF_DST, sequence.input(dy, chosen.diff_dst_desc())},
                                {DNNL_ARG_DIFF_WEIGHTS, written}};
  if (bias)
    arguments.emplace_back(DNNL_ARG_DIFF_BIAS, sequence.wrap(s.plain_bias(), r.need_gradient(1)));
  sequence.add<BackwardWeights>(chosen, std::move(arguments));
  sequence.output_done(written, dw);
  sequence.count(cost(chosen.src_desc(), chosen.diff_weights_desc(), chosen.diff_dst_desc(), bias));
}

}  // namespace

KernelPtr make_convolution(const Request& request, const Convolution& convolution) {
  const Shapes shapes = shapes_of(request, convolution);
  auto sequence = std::make_unique<Sequence>(request.device);
  switch (request.direction) {
    case Direction::forward:
      add_forward(*sequence, request, shapes, convolution.bias);
      break;
    case Direction::backward_data:
      add_backward_data(*sequence, request, shapes, convolution.bias);
      break;
    case Direction::backward_weights:
      add_backward_weights(*sequence, request, shapes, convolution.bias);
      break;
  }
  return sequence;
}

}  // namespace plimsoll::trainer::cpu
