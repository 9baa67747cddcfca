#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "driftsieve/ladder/sparse_ladder.hpp"

using namespace driftsieve;

TEST_CASE("squares are the weights at half the half-life while rows weigh 1") {
    std::vector<Fading> fadings;
    for (const double half_life : {10.0, 20.0, 30.0, 40.0, HUGE_VAL})
        fadings.emplace_back(half_life);
    const LadderLayout layout(fadings, Squares::together);
    REQUIRE(layout.own().size() == 2);  // of 10 and 30
    CHECK(layout.own()[1] == 2);
    CHECK(layout.stride() == 2 * 5 + 2);
    const LadderLayout all = layout.with_weights();
    CHECK(all.stride() == 2 * 5 + 5);

    for (const double now : {3000.0, 6000.0, 12'000.0}) {  // other epochs at half the half-life
        std::vector<std::int64_t> epochs;
        for (const Fading& fading : fadings) epochs.push_back(fading.epoch_of(now));
        std::vector<double> record(layout.stride());
        std::vector<double> squares(fadings.size());
        for (int i = 0; i < 50; ++i) {
            std::vector<double> weights;
            for (std::size_t r = 0; r < fadings.size(); ++r) {
                weights.push_back(fadings[r].weight(now - i, epochs[r]));
                squares[r] += weights[r] * weights[r];
            }
            layout.add(record.data(), static_cast<std::size_t>(i % 2), weights.data());
        }
        std::vector<double> wide(all.stride());
        all.convert(layout, record.data(), epochs, wide.data());
        for (std::size_t r = 0; r < fadings.size(); ++r) {
            CHECK(layout.squared(record.data(), epochs, 0, r) ==
                  doctest::Approx(squares[r]).epsilon(1e-12));
            CHECK(all.squared(wide.data(), epochs, 0, r) ==
                  doctest::Approx(squares[r]).epsilon(1e-12));
        }
        for (std::size_t k = 0; k < 2 * fadings.size(); ++k)
            CHECK(wide[all.weight_at(k / 5) + k % 5] == record[layout.weight_at(k / 5) + k % 5]);
    }
}

TEST_CASE("an atom is logged until it is frequent enough, then it has a record") {
    const std::vector<double> half_lives{5.0, 10.0, std::numeric_limits<double>::infinity()};
    const Config config;
    SparseLadder store(config, half_lives, 1);
    const std::vector<double> ones(3, 1.0);
    const std::vector<int> columns(3, 0);
    const std::vector<int> ends{0, 1, 2, 3};
    const std::vector<std::uint32_t> classes{0, 1, 0};
    const std::vector<double> times{0.0, 1.0, 2.0};
    std::vector<std::size_t> bytes;
    for (std::size_t i = 0; i < 3; ++i) {
        const CsrView<double, int> row{ones.data(), columns.data(), ends.data(), 1, 1, true, 1};
        const RowInfo info{classes, {}, times};
        store.update(row, info.part(i, 1), Fading(5.0), 1);
        bytes.push_back(store.nbytes());
    }
    CHECK(bytes[1] != bytes[0]);
    CHECK(bytes[2] == bytes[1]);  // added to the record
    for (std::size_t r = 0; r < 3; ++r) {
        const Ledger now = store.ledger(r, 2);
        double of_class[2] = {};
        SparseLadder::Reader(store, {&r, 1}, {&now, 1}, 5)
            .read(
                0, 1, [](auto&&...) { FAIL("the column was seen"); },
                [&](std::size_t, std::size_t, const Column& column) {
                    for (std::size_t c = 0; c < 2; ++c) of_class[c] = column.not_0[c];
                });
        for (std::size_t c = 0; c < 2; ++c)
            CHECK(of_class[c] == doctest::Approx(now.totals[c].weight).epsilon(1e-14));
    }
}
