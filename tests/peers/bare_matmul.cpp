// A bare loop around oneDNN's matmul: the peer of kernel.matmul, with nothing of plimsoll in it.
//
//   bare_matmul M N K [SECONDS]     prints the median GFLOP/s of C[MxN] = A[MxK] B[NxK]^T + bias
//
// The primitive and the layouts of a linear layer's forward; A stays in place, as what the layer
// before just wrote, B, bias and C rotate through 32 MiB (32 sets at most). One thread.

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bare_matmul M N K [SECONDS]\n");
    return 2;
  }
  const long m = std::atol(argv[1]), n = std::atol(argv[2]), k = std::atol(argv[3]);
  const double seconds = argc > 4 ? std::atof(argv[4]) : 1.0;
  omp_set_num_threads(1);
  using dnnl::memory;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc src({m, k}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc weights({k, n}, memory::data_type::f32, memory::format_tag::ba);
  const memory::desc bias({1, n}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc dst({m, n}, memory::data_type::f32, memory::format_tag::ab);
  const dnnl::matmul::desc desc(src, weights, bias, dst);
  const dnnl::matmul product(dnnl::matmul::primitive_desc(desc, engine));

  const double set_bytes = 4.0 * static_cast<double>(n * k + n + m * n);
  const auto sets =
      static_cast<std::size_t>(std::clamp(32.0 * (1 << 20) / set_bytes + 1, 1.0, 32.0));
  std::vector<std::unordered_map<int, memory>> arguments;
  const auto make = [&](const memory::desc& d) {
    memory made(d, engine);  // aligned by the library
    std::fill_n(static_cast<float*>(made.get_data_handle()), d.get_size() / sizeof(float), 0.25F);
    return made;
  };
  const memory a = make(src);
  for (std::size_t i = 0; i < sets; ++i) {
    arguments.push_back({{DNNL_ARG_SRC, a},
                         {DNNL_ARG_WEIGHTS, make(weights)},
                         {DNNL_ARG_BIAS, make(bias)},
                         {DNNL_ARG_DST, make(dst)}});
  }
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const double flop = static_cast<double>(2 * m * n * k + m * n);
  std::vector<double> rates;
  std::size_t next = 0;
  const int calls = static_cast<int>(std::clamp(5e8 / flop, 1.0, 10000.0));
  for (const auto end = now() + std::chrono::duration<double>(seconds); now() < end;) {
    const auto start = now();
    for (int i = 0; i < calls; ++i) product.execute(stream, arguments[next++ % sets]);
    stream.wait();
    rates.push_back(flop * calls / std::chrono::duration<double>(now() - start).count());
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%.4g\n", rates[rates.size() / 2] * 1e-9);
  return 0;
}
