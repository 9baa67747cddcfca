#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/sparse/column_runs.hpp"
#include "rows.hpp"

using namespace driftsieve;

TEST_CASE("logged values are sorted by column and class and keep the order of their rows") {
    tests::Source source(1);
    for (const std::size_t n_classes : {1UL, 2UL, 30UL})
        for (const std::size_t n : {0UL, 1UL, 2UL, 50UL, 3000UL})
            for (const bool weighted : {false, true}) {
                const std::uint64_t wanted = source.below(2) == 0 ? ~std::uint64_t{0} : 0xf0f0;
                std::vector<LoggedValue> log;
                std::vector<double> weights;
                for (std::size_t i = 0; i < n; ++i) {
                    log.push_back({source.below(9) == 0 ? std::nan("") : static_cast<double>(i),
                                   static_cast<std::uint32_t>(source.below(n_classes)),
                                   static_cast<std::uint32_t>(source.below(64))});
                    if (weighted) weights.push_back(0.5 + source.uniform());
                }
                ColumnRuns runs;
                runs.take(log, weights, 2.0, 64, n_classes, [&](std::size_t i) {
                    return (wanted >> log[i].place & 1) != 0 ? log[i].place : ColumnRuns::kNoList;
                });
                std::size_t n_missing = 0;
                for (std::uint32_t place = 0; place < 64; ++place) {
                    if ((wanted >> place & 1) == 0) continue;
                    const BlockColumn run = runs.of(place, n_classes);
                    REQUIRE(run.n_classes() == n_classes);
                    std::size_t at = 0;
                    for (std::uint32_t c = 0; c < n_classes; ++c) {
                        CHECK(run.begin[c] == at);
                        for (std::size_t i = 0; i < n; ++i) {
                            if (log[i].place != place || log[i].cls != c) continue;
                            if (std::isnan(log[i].value)) {
                                ++n_missing;
                                continue;
                            }
                            REQUIRE(at < run.size());
                            CHECK(run.value(at) == log[i].value);
                            CHECK(run.weight(at++) == 2.0 * (weighted ? weights[i] : 1.0));
                        }
                    }
                    CHECK(run.size() == at);
                }
                CHECK(runs.missing().size() == n_missing);
            }
}

TEST_CASE("weights that are all 1 are no weights") {
    const std::vector<LoggedValue> log{{3.0, 0, 1}, {4.0, 0, 1}, {5.0, 0, 2}};
    ColumnRuns runs;
    runs.take(log, std::vector<double>{1.0, 1.0, 0.5}, 1.0, 3, 1,
              [&](std::size_t i) { return log[i].place; });
    CHECK(runs.of(1, 1).weights == nullptr);
    CHECK(runs.of(2, 1).weights != nullptr);
}
