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
  const Desc flat = f32({count}, Tag::a);
  const Forward::primitive_desc forward(
      Forward::desc(dnnl::prop_kind::forward_training, kRelu, flat, 0.0F, 0.0F), own_scratchpad(),
      r.device.engine);

  auto sequence = std::make_unique<Sequence>(r.device);
  if (r.direction == Direction::forward) {
    const double elements = elements_of(forward.src_desc());
    sequence->count({Flop(elements), Bytes(sizeof(float) * 2 * elements)});
    sequence->add<Forward>(forward,
                           {{DNNL_ARG_SRC, sequence->wrap(flat, r.need(o.x, count, "x"))},
                            {DNNL_ARG_DST, sequence->wrap(flat, r.need(o.y, count, "y"))}});
  } else {
    const Backward::primitive_desc backward(Backward::desc(kRelu, flat, flat, 0.0F, 0.0F),
                                            own_scratchpad(), r.device.engine, forward);
    const double elements = elements_of(backward.diff_src_desc());
    sequence->count({Flop(elements), Bytes(sizeof(float) * 3 * elements)});
    sequence->add<Backward>(backward,
                            {{DNNL_ARG_DST, sequence->wrap(flat, r.need(o.y, count, "y"))},
                             {DNNL_ARG_DIFF_DST, sequence->wrap(flat, r.need(o.dy, count, "dy"))},
                             {DNNL_ARG_DIFF_SRC, sequence->wrap(flat, r.need(o.dx, count, "dx"))}});
  }
  return sequence;
}

}  // namespace plimsoll::trainer::cpu
