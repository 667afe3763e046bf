// Pinned OpenMP teams, one of them timed.

#include "probes/kernel/crew.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/system/affinity.hpp"
#include "core/system/clock.hpp"

namespace plimsoll::probes {
namespace {

std::vector<int> first_cpus(const std::vector<int>& cpus, Load load) {
  expects(load.threads >= 1 && load.busy_cores >= 0, "somebody computes");
  const int teams = 1 + load.busy_cores / load.threads;
  expects(teams * load.threads <= std::ssize(cpus), "every thread has a CPU of its own");
  std::vector<int> first;
  for (int t = 0; t < teams; ++t) first.push_back(cpus[static_cast<std::size_t>(t * load.threads)]);
  return first;
}

// Pins every member of the calling thread's OpenMP team to its own CPU. The team stays: the same
// threads serve this thread's later parallel regions of this size.
void pin_members(const std::vector<int>& cpus) {
  std::exception_ptr failure;
  int members = 0;
  omp_set_dynamic(0);
  omp_set_num_threads(static_cast<int>(cpus.size()));
#pragma omp parallel
  {
#pragma omp master
    members = omp_get_num_threads();
    try {
      sys::pin(cpus[static_cast<std::size_t>(omp_get_thread_num())]);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (members != std::ssize(cpus)) {
    throw Error(
        "a team of " + std::to_string(cpus.size()) + " threads got " + std::to_string(members),
        "OpenMP", "unset OMP_THREAD_LIMIT");
  }
}

}  // namespace

const Arena& Arenas::of(int cpu) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Arena>& arena = arenas_[cpu];
  if (arena == nullptr) arena = std::make_unique<Arena>(bytes_);
  return *arena;
}

Crew::Crew(const std::vector<int>& cpus, Load load, std::shared_ptr<Arenas> arenas)
    : load_(load),
      shared_(std::move(arenas)),
      team_(first_cpus(cpus, load)),
      arenas_(static_cast<std::size_t>(team_.size())) {
  each([&](int team) {
    const auto begin = cpus.begin() + team * load.threads;
    pin_members({begin, begin + load.threads});
    arenas_[index(team)] = &shared_->of(*begin);
  });
}

void Crew::each(const std::function<void(int)>& work) { team_.run(work); }

void Crew::first(const std::function<void()>& work) {
  team_.run([&](int team) {
    if (team == 0) work();
  });
}

Seconds Crew::time(std::int64_t operations, const Operation& operation) {
  std::atomic<int> computing{0};
  std::atomic<bool> stop{false};
  Seconds taken;
  team_.run([&](int team) {
    if (team != 0) {
      for (std::int64_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
        try {
          operation(team, i);
        } catch (...) {
          computing.fetch_add(1);  // else the timed team would wait for ever
          throw;
        }
        if (i == 0) computing.fetch_add(1);
      }
      return;
    }
    try {
      while (computing.load() < teams() - 1) std::this_thread::yield();
      operation(0, operations);  // not timed; another set than the first one that is
      const Seconds begin = sys::now();
      for (std::int64_t i = 0; i < operations; ++i) operation(0, i);
      taken = sys::now() - begin;
    } catch (...) {
      stop.store(true);
      throw;
    }
    stop.store(true);
  });
  return taken;
}

std::shared_ptr<Crew> Crews::of(Load load) {
  std::shared_ptr<Crew>& crew = crews_[load];
  if (crew == nullptr) crew = std::make_shared<Crew>(cpus_, load, arenas_);
  return crew;
}

std::vector<Load> loads(const ProbeOptions& options) {
  const int cores = options.cores;
  std::vector<Load> all{{.threads = 1, .busy_cores = 0}};
  const auto add = [&](int threads) {
    all.push_back({.threads = threads, .busy_cores = cores - cores % threads - threads});
  };
  add(1);
  if (options.level != Level::quick) {
    for (int threads = 2; threads < cores; threads *= 2) add(threads);
  }
  add(cores);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace plimsoll::probes
