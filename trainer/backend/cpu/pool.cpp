// Largest and average pooling on NHWC activations.
//
// The index of each window's largest element is kept in the caller's workspace from forward to
// backward. Without a workspace, forward still works (inference) and backward is refused.
//
// Where windows overlap, gradients add up, and the library adds bf16 ones in bf16: those go through
// f32 copies, which the kernel keeps.

#include "core/error.hpp"
#include "trainer/backend/cpu/operators.hpp"

namespace plimsoll::trainer::cpu {
namespace {

using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

struct Shapes {
  Desc x, y;
  Dims kernel, stride, padding;
  dnnl::algorithm algorithm;
};

Shapes shapes_of(const Shape& x, const Shape& y, const Pool& pool, std::int64_t batch,
                 DType dtype) {
  return {.x = plain({batch, x[2], x[0], x[1]}, dtype, Tag::nhwc),
          .y = plain({batch, y[2], y[0], y[1]}, dtype, Tag::nhwc),
          .kernel = {pool.kernel, pool.kernel},
          .stride = {pool.stride, pool.stride},
          .padding = {pool.padding, pool.padding},
          .algorithm = pool.mode == Pool::Mode::max ? dnnl::algorithm::pooling_max
                                                    : dnnl::algorithm::pooling_avg_exclude_padding};
}

Forward::primitive_desc choose_forward(const Device& device, const Shapes& s, bool training) {
  const Forward::desc operation(
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference,
      s.algorithm, s.x, s.y, s.stride, s.kernel, s.padding, s.padding);
  return {operation, own_scratchpad(), device.engine};
}

// A window visits an output once per window element; the workspace is not counted.
Cost cost(const Desc& x, const Desc& y, const Shapes& s) {
  const auto window = static_cast<double>(s.kernel[0] * s.kernel[1]);
  return {Flop(elements_of(y) * window), Bytes(static_cast<double>(x.get_size() + y.get_size()))};
}

void* need_workspace(const Request& r, const Desc& desc) {
  const View& view = r.operands.workspace;
  const auto size = static_cast<std::int64_t>(desc.get_size());
  if (view.data == nullptr || view.elements * size_of(view.dtype) < size) {
    throw Error("operator '" + r.op.name + "' got a workspace of " +
                    std::to_string(view.data == nullptr ? 0 : view.elements * size_of(view.dtype)) +
                    " bytes and needs " + std::to_string(size),
                "cpu backend", "give it what Backend::workspace() asks for");
  }
  return view.data;
}

void add_backward(Sequence& sequence, const Request& r, const Pool& pool, const Shapes& s,
                  DType dtype) {
  const Operands& o = r.operands;
  const DType summed = pool.stride < pool.kernel ? DType::f32 : dtype;
  const Shapes inner = shapes_of(r.x_shape(), r.y_shape(), pool, o.batch, summed);
  const Backward::primitive_desc chosen(
      Backward::desc(s.algorithm, inner.x, inner.y, s.stride, s.kernel, s.padding, s.padding),
      own_scratchpad(), r.device.engine, choose_forward(r.device, inner, true));
  const auto dy = sequence.wrap(s.y, r.need(o.dy, r.y_elements(), "dy", dtype).data);
  const auto dx = sequence.wrap(s.x, r.need(o.dx, r.x_elements(), "dx", dtype).data);
  const auto written = sequence.output(dx, inner.x);
  Sequence::Arguments arguments{{DNNL_ARG_DIFF_DST, sequence.input(dy, inner.y)},
                                {DNNL_ARG_DIFF_SRC, written}};
  if (pool.mode == Pool::Mode::max) {
    const Desc kept = chosen.workspace_desc();
    expects(kept == choose_forward(r.device, s, true).workspace_desc(),
            "forward and backward keep the places of the largest in one form");
    arguments.emplace_back(DNNL_ARG_WORKSPACE, sequence.wrap(kept, need_workspace(r, kept)));
  }
  sequence.count(cost(s.x, s.y, s));
  sequence.add<Backward>(chosen, std::move(arguments));
  sequence.output_done(written, dx);
}

}  // namespace

Bytes pool_workspace(const Device& device, const Graph& graph, const Op& op, const Pool& pool,
                     std::int64_t batch, DType dtype) {
  if (pool.mode != Pool::Mode::max) return Bytes(0);
  const auto shape = [&](int id) { return graph.tensors[static_cast<std::size_t>(id)].shape; };
  const Shapes s = shapes_of(shape(op.inputs.front()), shape(op.output), pool, batch, dtype);
  return Bytes(static_cast<double>(choose_forward(device, s, true).workspace_desc().get_size()));
}

KernelPtr make_pool(const Request& r, const Pool& pool) {
  if (r.direction == Direction::backward_weights) return nullptr;
  const Operands& o = r.operands;
  const DType dtype = r.direction == Direction::forward ? o.x.dtype : o.dy.dtype;
  const Shapes s = shapes_of(r.x_shape(), r.y_shape(), pool, o.batch, dtype);
  const bool largest = pool.mode == Pool::Mode::max;
  auto sequence = std::make_unique<Sequence>(r.device);

  if (r.direction == Direction::forward) {
    const bool keep_index = largest && o.workspace.data != nullptr;
    const auto chosen = choose_forward(r.device, s, keep_index);
    Sequence::Arguments arguments{
        {DNNL_ARG_SRC, sequence->wrap(s.x, r.need(o.x, r.x_elements(), "x", dtype).data)},
        {DNNL_ARG_DST, sequence->wrap(s.y, r.need(o.y, r.y_elements(), "y", dtype).data)}};
    if (keep_index) {
      arguments.emplace_back(
          DNNL_ARG_WORKSPACE,
          sequence->wrap(chosen.workspace_desc(), need_workspace(r, chosen.workspace_desc())));
    }
    sequence->count(cost(chosen.src_desc(), chosen.dst_desc(), s));
    sequence->add<Forward>(chosen, std::move(arguments));
    return sequence;
  }

  add_backward(*sequence, r, pool, s, dtype);
  return sequence;
}

}  // namespace plimsoll::trainer::cpu
