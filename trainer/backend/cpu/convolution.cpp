// Convolution on NHWC activations, weights [out, kernel, kernel, in].
//
// The library chooses the layout of the weights: on plain ones it has nothing but its reference
// loop. They are reordered inside the kernel at every execution, since an optimizer step lies
// between two of them; that costs microseconds and is part of the kernel's time. Activations stay
// NHWC unless no direct kernel exists for them (older instruction sets): then the library chooses
// their layout as well, and the copies are part of the time too.
//
// With groups, and depthwise when every channel is a group of its own, the weights have a side
// more. In bf16 the sums and the gradients of weights are f32.

#include <string>

#include "trainer/backend/cpu/epilogue.hpp"

namespace plimsoll::trainer::cpu {
namespace {

struct Shapes {
  Dims x, w, y, bias, stride, padding;
  DType dtype;       // of activations and of weights that are read
  DType gradient;    // of weights' and biases' gradients
  DType bias_dtype;  // of the bias that is read

  // Weights [out, kernel, kernel, in / groups] are, with groups, [group, out / groups, ...].
  [[nodiscard]] Tag plain_weights() const { return w.size() == 5 ? Tag::gohwi : Tag::ohwi; }
  [[nodiscard]] Desc plain_x() const { return plain(x, dtype, Tag::nhwc); }
  [[nodiscard]] Desc plain_w() const { return plain(w, dtype, plain_weights()); }
  [[nodiscard]] Desc plain_dw() const { return plain(w, gradient, plain_weights()); }
  [[nodiscard]] Desc plain_y() const { return plain(y, dtype, Tag::nhwc); }
  [[nodiscard]] Desc plain_bias() const { return plain(bias, bias_dtype, Tag::a); }
  [[nodiscard]] Desc plain_dbias() const { return plain(bias, gradient, Tag::a); }
};

Shapes shapes_of(const Request& request, const Convolution& c) {
  const Shape& x = request.x_shape();
  const Shape& y = request.y_shape();
  const Operands& o = request.operands;
  const std::int64_t batch = o.batch, groups = c.groups;
  const Dims whole = {c.out_channels, c.in_channels, c.kernel, c.kernel};
  const Dims grouped = {groups, c.out_channels / groups, c.in_channels / groups, c.kernel,
                        c.kernel};
  return {.x = {batch, c.in_channels, x[0], x[1]},
          .w = groups == 1 ? whole : grouped,
          .y = {batch, c.out_channels, y[0], y[1]},
          .bias = {c.out_channels},
          .stride = {c.stride, c.stride},
          .padding = {c.padding, c.padding},
          .dtype = request.direction == Direction::backward_data ? o.dy.dtype : o.x.dtype,
          .gradient = Request::type_of(o.dw, 0),
          .bias_dtype = Request::type_of(o.w, 1)};
}

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

Forward::primitive_desc choose_forward(const Device& device, const Shapes& s, bool bias, Tag tag,
                                       const Epilogue& epilogue = {}) {
  const auto training = dnnl::prop_kind::forward_training;
  const Desc x = plain(s.x, s.dtype, tag), w = plain(s.w, s.dtype, Tag::any),
             y = plain(s.y, s.dtype, tag);
  const auto operation =
      bias ? Forward::desc(training, kDirect, x, w, s.plain_bias(), y, s.stride, s.padding,
                           s.padding)
           : Forward::desc(training, kDirect, x, w, y, s.stride, s.padding, s.padding);
  return {operation, ending(epilogue, y), device.engine};
}

BackwardData::primitive_desc choose_backward_data(const Device& device, const Shapes& s, bool bias,
                                                  Tag tag) {
  const BackwardData::desc operation(kDirect, plain(s.x, s.dtype, tag),
                                     plain(s.w, s.dtype, Tag::any), plain(s.y, s.dtype, tag),
                                     s.stride, s.padding, s.padding);
  return {operation, own_scratchpad(), device.engine, choose_forward(device, s, bias, tag)};
}

BackwardWeights::primitive_desc choose_backward_weights(const Device& device, const Shapes& s,
                                                        bool bias, Tag tag) {
  const Desc x = plain(s.x, s.dtype, tag), w = plain(s.w, s.gradient, Tag::any),
             y = plain(s.y, s.dtype, tag);
  const auto operation =
      bias
          ? BackwardWeights::desc(kDirect, x, w, s.plain_dbias(), y, s.stride, s.padding, s.padding)
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

// Weights of [out, in / groups, kernel, kernel], with or without a side for the groups: what one
// output sums up is the weights over the outputs' channels. `w` as it lies before any reorder.
Cost cost(const Desc& x, const Desc& w, const Desc& y, const Desc* bias) {
  const auto channels = static_cast<double>(y.dims()[1]);
  const double outputs = elements_of(y), filter = elements_of(w) / channels;
  const auto moved =
      x.get_size() + w.get_size() + y.get_size() + (bias != nullptr ? bias->get_size() : 0);
  return {Flop(2 * outputs * filter + (bias != nullptr ? outputs : 0)),
          Bytes(static_cast<double>(moved))};
}

void add_forward(Sequence& sequence, const Request& r, const Shapes& s, bool bias) {
  const Epilogue epilogue = epilogue_of(r);
  const auto chosen =
      choose([&](Tag tag) { return choose_forward(r.device, s, bias, tag, epilogue); });
  const Operands& o = r.operands;
  const auto x = sequence.wrap(s.plain_x(), r.need(o.x, r.x_elements(), "x", s.dtype).data);
  const auto w = sequence.wrap(s.plain_w(), r.need_weight(0, s.dtype).data);
  const auto y = sequence.wrap(s.plain_y(), r.need(o.y, r.y_elements(), "y", s.dtype).data);
  const auto written = sequence.output(y, chosen.dst_desc());
  Sequence::Arguments arguments{{DNNL_ARG_SRC, sequence.input(x, chosen.src_desc())},
                                {DNNL_ARG_WEIGHTS, sequence.input(w, chosen.weights_desc())},
                                {DNNL_ARG_DST, written}};
  if (bias)
    arguments.emplace_back(DNNL_ARG_BIAS,
                           sequence.wrap(s.plain_bias(), r.need_weight(1, s.bias_dtype).data));
  sequence.add<Forward>(chosen, std::move(arguments));
  sequence.output_done(written, y);
  const Desc added = s.plain_bias();
  const Cost own = cost(s.plain_x(), s.plain_w(), s.plain_y(), bias ? &added : nullptr);
  const Cost end = epilogue_cost(epilogue, elements_of(s.plain_y()), s.dtype);
  sequence.count({own.flop + end.flop, own.bytes + end.bytes});
}

void add_backward_data(Sequence& sequence, const Request& r, const Shapes& s, bool bias) {
  const auto chosen = choose([&](Tag tag) { return choose_backward_data(r.device, s, bias, tag); });
  const Operands& o = r.operands;
  const auto dy = sequence.wrap(s.plain_y(), r.need(o.dy, r.y_elements(), "dy", s.dtype).data);
  const auto w = sequence.wrap(s.plain_w(), r.need_weight(0, s.dtype).data);
  const auto dx = sequence.wrap(s.plain_x(), r.need(o.dx, r.x_elements(), "dx", s.dtype).data);
  const auto written = sequence.output(dx, chosen.diff_src_desc());
  sequence.add<BackwardData>(chosen,
                             {{DNNL_ARG_DIFF_DST, sequence.input(dy, chosen.diff_dst_desc())},
                              {DNNL_ARG_WEIGHTS, sequence.input(w, chosen.weights_desc())},
                              {DNNL_ARG_DIFF_SRC, written}});
  sequence.output_done(written, dx);
  sequence.count(cost(s.plain_x(), s.plain_w(), s.plain_y(), nullptr));
}

void add_backward_weights(Sequence& sequence, const Request& r, const Shapes& s, bool bias) {
  const auto chosen =
      choose([&](Tag tag) { return choose_backward_weights(r.device, s, bias, tag); });
  const Operands& o = r.operands;
  const auto x = sequence.wrap(s.plain_x(), r.need(o.x, r.x_elements(), "x", s.dtype).data);
  const auto dy = sequence.wrap(s.plain_y(), r.need(o.dy, r.y_elements(), "dy", s.dtype).data);
  const auto dw = sequence.wrap(
      s.plain_dw(), r.need_gradient(0, elements(r.op.parameters[0].shape), s.gradient).data);
  const auto written = sequence.output(dw, chosen.diff_weights_desc());
  Sequence::Arguments arguments{{DNNL_ARG_SRC, sequence.input(x, chosen.src_desc())},
                                {DNNL_ARG_DIFF_DST, sequence.input(dy, chosen.diff_dst_desc())},
                                {DNNL_ARG_DIFF_WEIGHTS, written}};
  if (bias) {
    arguments.emplace_back(
        DNNL_ARG_DIFF_BIAS,
        sequence.wrap(s.plain_dbias(), r.need_gradient(1, s.bias.front(), s.gradient).data));
  }
  sequence.add<BackwardWeights>(chosen, std::move(arguments));
  sequence.output_done(written, dw);
  const Desc summed = s.plain_dbias();
  sequence.count(cost(s.plain_x(), s.plain_dw(), s.plain_y(), bias ? &summed : nullptr));
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
