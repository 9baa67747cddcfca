#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/moments.hpp"
#include "driftsieve/value_log.hpp"

namespace driftsieve {

// Moments of a run of logged values, class by class, as Moments::of has them: sums of the
// differences from the heaviest value. A run is short and its classes are mixed, so it is summed up
// where it lies.
class RunMoments {
  public:
    // take(cls, moments) for each class of the run; none of its values is missing.
    template <class Take>
    void sum_up(std::span<const LoggedValue> run, std::size_t n_classes, const Take& take) {
        sums_.resize(n_classes);
        for (const LoggedValue& item : run) {
            Sums& sums = sums_[item.cls];
            if (item.weight <= sums.heaviest) continue;
            sums.heaviest = item.weight;
            sums.shift = item.value;
        }
        for (const LoggedValue& item : run) {
            Sums& sums = sums_[item.cls];
            const double difference = item.value - sums.shift;
            const double weighted = item.weight * difference;
            sums.weight += item.weight;
            sums.sum += weighted;
            sums.squares += weighted * difference;
        }
        for (const LoggedValue& item : run) {
            Sums& sums = sums_[item.cls];
            if (sums.weight == 0.0) continue;  // taken before
            take(item.cls, Moments::from_sums(sums.weight, sums.sum, sums.squares, sums.shift));
            sums = Sums{};
        }
    }

  private:
    struct Sums {
        double heaviest = 0.0;
        double shift = 0.0;
        double weight = 0.0;
        double sum = 0.0;
        double squares = 0.0;
    };
    std::vector<Sums> sums_;  // by class, 0 between runs
};

}  // namespace driftsieve
