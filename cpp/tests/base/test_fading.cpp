#include <doctest/doctest.h>

#include "driftsieve/base/fading.hpp"

using driftsieve::Fading;

TEST_CASE("moving to the next landmark is exact") {
    const Fading fading(3.0);
    for (const double t : {0.0, 1.0, 767.5, 1e6 + 0.25}) {
        const auto epoch = fading.epoch_of(t);
        const double weight = fading.weight(t, epoch);
        CHECK(weight <= 1.0);
        CHECK(fading.weight(t, epoch + 1) ==
              doctest::Approx(weight * Fading::rebase_factor(1)).epsilon(1e-13));
        CHECK(weight * Fading::rebase_factor(1) / Fading::rebase_factor(1) == weight);
    }
    CHECK(Fading::rebase_factor(5) == 0.0);
}
