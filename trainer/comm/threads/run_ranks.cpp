// Starts a thread per rank, pins it, and brings every one of them home again.

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/system/affinity.hpp"
#include "trainer/comm/threads/communicator.hpp"
#include "trainer/comm/threads/threads.hpp"

namespace plimsoll::trainer {
namespace {

// What a rank threw, as the Error that its companions will throw. The first one is kept whole.
class FirstFailure {
 public:
  // Called inside a catch clause.
  void keep(ThreadsGroup& group, int rank) {
    const std::exception_ptr current = std::current_exception();
    {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = current;
    }
    const std::string where = "rank " + std::to_string(rank);
    try {
      std::rethrow_exception(current);
    } catch (const Error& error) {
      group.fail(error);
    } catch (const std::exception& error) {
      group.fail(
          Error(error.what(), where, "this may be a fault of the program: please report it"));
    } catch (...) {
      group.fail(Error("an unknown exception", where, "please report it"));
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

bool is_crowded(const ThreadsOptions& options) {
  if (options.cpus.empty()) return options.ranks > sys::affinity().count();
  std::vector<int> all;
  for (const sys::CpuSet& cpus : options.cpus) all.insert(all.end(), cpus.begin(), cpus.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return options.ranks > static_cast<int>(all.size());
}

}  // namespace

void run_ranks(const ThreadsOptions& options, const std::function<void(Communicator&)>& work) {
  expects(options.cpus.empty() || static_cast<int>(options.cpus.size()) == options.ranks,
          "run_ranks: CPUs for each rank or for none");
  const AllReduceAlgorithm& algorithm = all_reduce_algorithm(options.algorithm);
  ThreadsGroup group(options.ranks, options.deadline, is_crowded(options));
  FirstFailure failure;
  const auto run = [&](int rank) {
    try {
      if (!options.cpus.empty()) sys::pin(options.cpus[static_cast<std::size_t>(rank)]);
      ThreadsCommunicator communicator(group, rank, algorithm);
      work(communicator);
    } catch (...) {
      failure.keep(group, rank);
    }
    group.leave(rank);
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(options.ranks));
  try {
    for (int rank = 0; rank < options.ranks; ++rank) threads.emplace_back(run, rank);
  } catch (const std::system_error& error) {
    group.fail(Error(std::string("cannot start a thread: ") + error.what(),
                     "rank " + std::to_string(threads.size()),
                     "raise the limit of processes (ulimit -u) or use fewer workers"));
  }
  for (std::thread& thread : threads) thread.join();
  failure.rethrow();
  group.throw_if_failed();
}

}  // namespace plimsoll::trainer
