// y = max(x, 0). Backward looks at y, so that x may have been overwritten by it.

#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer::cpu {

KernelPtr make_relu(const Request& r) {
  if (r.direction == Direction::backward_weights) return nullptr;
  using Forward = dnnl::eltwise_forward;
  using Backward = dnnl::eltwise_backward;
  constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
  const Operands& o = r.operands;
  const std::int64_t count = r.x_elements();
  const DType dtype = r.direction == Direction::forward ? o.x.dtype : o.y.dtype;
  const Desc flat = plain({count}, dtype, Tag::a);
  const Forward::primitive_desc forward(
      Forward::desc(dnnl::prop_kind::forward_training, kRelu, flat, 0.0F, 0.0F), own_scratchpad(),
      r.device.engine);

  auto sequence = std::make_unique<Sequence>(r.device);
  const auto wrap = [&](const View& view, const char* name) {
    return sequence->wrap(flat, r.need(view, count, name, dtype).data);
  };
  const double elements = elements_of(flat);
  const auto bytes = static_cast<double>(flat.get_size());
  if (r.direction == Direction::forward) {
    sequence->count({Flop(elements), Bytes(2 * bytes)});
    sequence->add<Forward>(forward,
                           {{DNNL_ARG_SRC, wrap(o.x, "x")}, {DNNL_ARG_DST, wrap(o.y, "y")}});
  } else {
    const Backward::primitive_desc backward(Backward::desc(kRelu, flat, flat, 0.0F, 0.0F),
                                            own_scratchpad(), r.device.engine, forward);
    sequence->count({Flop(elements), Bytes(3 * bytes)});
    sequence->add<Backward>(backward, {{DNNL_ARG_DST, wrap(o.y, "y")},
                                       {DNNL_ARG_DIFF_DST, wrap(o.dy, "dy")},
                                       {DNNL_ARG_DIFF_SRC, wrap(o.dx, "dx")}});
  }
  return sequence;
}

}  // namespace plimsoll::trainer::cpu
