#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "driftsieve/run_moments.hpp"
#include "rows.hpp"

using driftsieve::LoggedValue;
using driftsieve::Moments;
using driftsieve::RunMoments;

TEST_CASE("a run has the moments of its values, class by class") {
    RunMoments run_moments;
    tests::Source source{7};
    for (const std::size_t n : {0UL, 1UL, 2UL, 7UL, 100UL}) {
        std::vector<LoggedValue> run;
        std::vector<std::vector<double>> values(5), weights(5);
        for (std::size_t i = 0; i < n; ++i) {
            const auto cls = static_cast<std::uint32_t>(source.below(4));  // never class 4
            const double value = 1e8 + source.bell();
            const double weight = source.below(9) == 0 ? 0.0 : std::exp(source.bell());
            run.push_back({0, cls, value, weight});
            values[cls].push_back(value);
            weights[cls].push_back(weight);
        }
        std::vector<Moments> found(5);
        run_moments.sum_up(run, 5, [&](std::uint32_t cls, const Moments& moments) {
            CHECK(found[cls].weight == 0.0);
            found[cls] = moments;
        });
        for (std::size_t c = 0; c < 5; ++c) {
            const Moments expected =
                Moments::of(values[c].data(), weights[c].data(), values[c].size());
            CHECK(found[c].weight == doctest::Approx(expected.weight).epsilon(1e-14));
            CHECK((found[c].mean - expected.mean) + (found[c].mean_rest - expected.mean_rest) ==
                  doctest::Approx(0.0).epsilon(1e-12));
            CHECK(found[c].m2 == doctest::Approx(expected.m2).epsilon(1e-12));
        }
    }
}
