// Makes the sets of operands, goes through them, checks the first and the last.

#include "probes/kernel/rotation.hpp"

#include <utility>

namespace plimsoll::probes {

Rotation::Rotation(std::shared_ptr<Crew> crew, const MakeJob& make, double work, std::string source)
    : crew_(std::move(crew)),
      jobs_(static_cast<std::size_t>(crew_->teams())),
      work_(work),
      source_(std::move(source)) {
  crew_->each([&](int team) {
    std::vector<Job>& jobs = jobs_[static_cast<std::size_t>(team)];
    Placement placement(crew_->arena(team));
    jobs.push_back(make(placement));
    const std::int64_t sets = placement.sets();
    while (std::ssize(jobs) < sets) {
      placement.next_set();
      jobs.push_back(make(placement));
    }
  });
}

Rotation::~Rotation() = default;

Seconds Rotation::run(std::int64_t operations) {
  return crew_->time(operations, [this](int team, std::int64_t i) {
    const std::vector<Job>& jobs = jobs_[static_cast<std::size_t>(team)];
    jobs[static_cast<std::size_t>(i) % jobs.size()].kernel->execute();
  });
}

void Rotation::call(std::int64_t i) {
  jobs_.front()[static_cast<std::size_t>(i) % jobs_.front().size()].kernel->execute();
}

std::optional<std::string> Rotation::verify() {
  std::optional<std::string> wrong;
  crew_->first([&] {
    wrong = jobs_.front().front().check();
    if (!wrong) wrong = jobs_.front().back().check();
  });
  return wrong;
}

std::string Rotation::source() const {
  return source_ + ", " + jobs_.front().front().kernel->implementation();
}

}  // namespace plimsoll::probes
