// y = x Phi(x), by the error function or by the tanh that approximates it. Both forms and their
// derivatives are generated code of the library; backward looks at x.

#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer::cpu {

KernelPtr make_gelu(const Request& r, const Gelu& gelu) {
  if (r.direction == Direction::backward_weights) return nullptr;
  using Forward = dnnl::eltwise_forward;
  using Backward = dnnl::eltwise_backward;
  const bool tanh = gelu.form == Gelu::Form::tanh;
  const auto form = tanh ? dnnl::algorithm::eltwise_gelu_tanh : dnnl::algorithm::eltwise_gelu_erf;
  const Operands& o = r.operands;
  const std::int64_t count = r.x_elements();
  const DType dtype = o.x.dtype;
  const Desc flat = plain({count}, dtype, Tag::a);
  const Forward::primitive_desc forward(
      Forward::desc(dnnl::prop_kind::forward_training, form, flat, 0.0F, 0.0F), own_scratchpad(),
      r.device.engine);

  auto sequence = std::make_unique<Sequence>(r.device);
  const auto wrap = [&](const View& view, const char* name) {
    return sequence->wrap(flat, r.need(view, count, name, dtype).data);
  };
  // FLOP as core/cost.cpp lists the formulas.
  const double elements = elements_of(flat);
  const auto bytes = static_cast<double>(flat.get_size());
  if (r.direction == Direction::forward) {
    sequence->count({Flop((tanh ? 9 : 5) * elements), Bytes(2 * bytes)});
    sequence->add<Forward>(forward,
                           {{DNNL_ARG_SRC, wrap(o.x, "x")}, {DNNL_ARG_DST, wrap(o.y, "y")}});
  } else {
    const Backward::primitive_desc backward(Backward::desc(form, flat, flat, 0.0F, 0.0F),
                                            own_scratchpad(), r.device.engine, forward);
    sequence->count({Flop((tanh ? 17 : 11) * elements), Bytes(3 * bytes)});
    sequence->add<Backward>(backward, {{DNNL_ARG_SRC, wrap(o.x, "x")},
                                       {DNNL_ARG_DIFF_DST, wrap(o.dy, "dy")},
                                       {DNNL_ARG_DIFF_SRC, wrap(o.dx, "dx")}});
  }
  return sequence;
}

}  // namespace plimsoll::trainer::cpu
