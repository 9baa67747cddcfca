#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/sparse/grouped_values.hpp"

using namespace driftsieve;

namespace {

// Two rows, with a zero of each sign and a missing value.
const std::vector<double> kData = {1.0, -0.0, 3.0, 4.0, std::nan(""), 0.0};
const std::vector<std::int32_t> kIndices = {0, 70, 300, 0, 65, 300};
const std::vector<std::int32_t> kIndptr = {0, 3, 6};
const CsrView<double, std::int32_t> kRows{kData.data(), kIndices.data(), kIndptr.data(), 2, 301};

}  // namespace

TEST_CASE("groups are whole pages, and few enough for the values") {
    for (const std::size_t n_columns : {1UL, 64UL, 65UL, 100000UL, 3000000UL})
        for (const std::size_t n_values : {0UL, 100UL, 1000000UL}) {
            const ColumnGroups groups = ColumnGroups::of(n_columns, n_values, 64);
            CHECK(groups.width() % 64 == 0);
            CHECK(groups.count * groups.width() >= n_columns);
            CHECK((groups.count - 1) * groups.width() < n_columns);
            CHECK(groups.count <= 2048);
            CHECK((groups.count == 1 || 4 * groups.count <= n_values));
        }
    CHECK(ColumnGroups::of(100000, 1000000, 64).width() == 64);
}

TEST_CASE("values are ordered by group, and in a group by row") {
    GroupedValues values;
    for (const bool zeros_count : {false, true}) {
        values.take(kRows, 5, zeros_count, {5, 6});
        REQUIRE(values.of(0).size() == 2);
        CHECK(values.of(0)[0].value == 1.0);
        CHECK(values.of(0)[0].row == 5);
        CHECK(values.of(0)[1].value == 4.0);
        CHECK(values.of(0)[1].row == 6);
        REQUIRE(values.of(1).size() == (zeros_count ? 2 : 1));
        const GroupedValue missing = values.of(1).back();
        CHECK(std::isnan(missing.value));
        CHECK(missing.column == 65 - 64);
        if (zeros_count) CHECK_FALSE(std::signbit(values.of(1)[0].value));
        CHECK(values.of(2).empty());
        CHECK(values.of(4).size() == (zeros_count ? 2 : 1));
        CHECK(values.of(4)[0].column == 300 - 4 * 64);
    }
}

TEST_CASE("a group is divided into smaller ones") {
    GroupedValues values, by_page;
    values.take(kRows, 0, true, {1, 9});
    by_page.take(values.of(0), {8, 6});
    CHECK(by_page.of(0).size() == 2);
    CHECK(by_page.of(1).size() == 2);
    CHECK(by_page.of(1)[0].column == 70 - 64);
    CHECK(by_page.of(4)[0].row == 0);
    CHECK(by_page.of(7).empty());
}

TEST_CASE("rows are divided by their number of values, each part with one row or more") {
    CHECK(end_of_values(kRows, 0, 2, 1) == 1);
    CHECK(end_of_values(kRows, 0, 2, 5) == 1);
    CHECK(end_of_values(kRows, 0, 2, 6) == 2);
    CHECK(end_of_values(kRows, 1, 2, 0) == 2);
    const MatrixView<double> dense{nullptr, 3, 1, 10, 3};
    CHECK(end_of_values(dense, 2, 10, 7) == 4);
}
