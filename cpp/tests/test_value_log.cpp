#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/value_log.hpp"
#include "rows.hpp"

using driftsieve::LoggedValue;

TEST_CASE("a log is sorted by slot and keeps the order of its rows") {
    tests::Source source(1);
    // slots that fit one, two and three digits of the radix sort, and the largest there is
    for (const std::size_t n_slots : {1UL, 2UL, 2048UL, 2049UL, 100000UL, 1UL << 22, 1UL << 32})
        for (const std::size_t n : {0UL, 1UL, 2UL, 50UL, 3000UL}) {
            std::vector<LoggedValue> log;
            driftsieve::LargeRoom<LoggedValue> scratch(7);
            for (std::size_t i = 0; i < n; ++i) {
                // repeats, so that there is an order to keep
                const std::size_t slot = source.below(3) == 0 ? n_slots - 1 : source.below(n_slots);
                log.push_back({static_cast<std::uint32_t>(slot), 0, static_cast<double>(i), 1.0});
            }
            std::vector<LoggedValue> expected = log;
            std::stable_sort(
                expected.begin(), expected.end(),
                [](const LoggedValue& a, const LoggedValue& b) { return a.slot < b.slot; });
            const auto sorted = driftsieve::sorted_by_slot(log, scratch);
            CHECK(std::equal(sorted.begin(), sorted.end(), expected.begin(), expected.end(),
                             [](const LoggedValue& a, const LoggedValue& b) {
                                 return a.slot == b.slot && a.value == b.value;
                             }));
        }
}
