#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "driftsieve/bank/forecast.hpp"

using namespace driftsieve;

namespace {

constexpr auto kSound = [] { return true; };

struct Sparse {
    std::vector<double> values;
    std::vector<std::int32_t> columns;
    std::vector<std::int32_t> begin{0};
    std::vector<std::uint32_t> classes;

    Sparse(std::size_t n_rows, std::int32_t n_columns, bool flags, std::uint32_t n_classes,
           unsigned seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        for (std::size_t i = 0; i < n_rows; ++i) {
            for (std::int32_t j = random() % 40; j < n_columns; j += 1 + random() % 80) {
                columns.push_back(j);
                values.push_back(flags ? 1.0 : normal(random));
            }
            begin.push_back(static_cast<std::int32_t>(columns.size()));
            classes.push_back(random() % n_classes);
        }
    }
    CsrView<double, std::int32_t> view(std::size_t n_columns) const {
        return {values.data(), columns.data(), begin.data(), classes.size(),
                n_columns,     true,           values.size()};
    }
};

}  // namespace

TEST_CASE("a forecast is not less than the size with the rows, and close to it within the limit") {
    for (const bool quantiles : {true, false})
        for (const bool flags : {true, false})
            for (const std::uint32_t n_classes : {2u, 20u}) {
                Bank bank(Config{0.01, true, quantiles, false}, Clock::row,
                          std::numeric_limits<double>::infinity());
                for (unsigned k = 0; k < 6; ++k) {
                    const std::size_t n_columns = 1000 + 250 * k;
                    const Sparse rows(60 + 100 * (k % 2), 1000 + 250 * static_cast<int>(k), flags,
                                      n_classes, k);
                    const RowInfo info{rows.classes, {}, {}};
                    Bank after = bank;
                    after.update(rows.view(n_columns), info, n_classes, 1);
                    const std::size_t bytes = after.nbytes();
                    const auto forecast = [&](std::size_t limit) {
                        Bank copy = bank;
                        return Forecast(copy, limit, true, 1)
                            .with_rows(rows.view(n_columns), info, n_classes, kSound);
                    };
                    CHECK(forecast(std::size_t{1} << 60) >= bytes);
                    CHECK(forecast(bytes - 1) >= bytes);
                    CHECK(forecast(bytes + bytes / 4) <= bytes + bytes / 4);
                    bank.update(rows.view(n_columns), info, n_classes, 1);
                    CHECK(bank.most_bytes_with({}, true) >= bank.nbytes());
                }
            }
}

TEST_CASE("invalid rows need no memory") {
    Bank bank(Config{}, Clock::row, std::numeric_limits<double>::infinity());
    const std::vector<double> values(100, std::numeric_limits<double>::quiet_NaN());
    const std::vector<std::uint32_t> classes(10, 0);
    const MatrixView<double> matrix{values.data(), 10, 1, 10, 10};
    CHECK(Forecast(bank, 1, true, 1).with_rows(matrix, RowInfo{classes, {}, {}}, 1, [] {
        return false;
    }) == 0);
}
