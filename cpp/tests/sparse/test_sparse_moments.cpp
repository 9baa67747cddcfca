#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "driftsieve/sparse/sparse_moments.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Source;

namespace {

struct Row {
    std::uint32_t cls;
    double weight;
    double time;
    std::vector<std::int64_t> columns;
    std::vector<double> values;
};

// Column 0 is never 0 and never 1, column 1 is always 1, column 2 never 0 and sometimes 1; of the
// others some are flags. The last one lies beyond those that have a slot from the beginning.
constexpr std::size_t kWidth = (std::size_t{1} << 22) / 2 + 10;

std::vector<Row> rows_of(std::size_t n, std::size_t n_classes, bool missing) {
    Source source(7);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < n; ++i) {
        Row row{static_cast<std::uint32_t>(source.below(n_classes)),
                0.5 + source.uniform(),
                static_cast<double>(i),
                {0, 1, 2},
                {1e6 + source.bell(), 1.0, 1.0}};
        if (source.below(2) == 0) row.values[2] = 5.0;
        if (missing && source.below(3) == 0) row.values[0] = std::nan("");
        for (std::int64_t j = 3; j < 40; ++j) {
            if (source.below(3) != 0) continue;
            row.columns.push_back(j);
            row.values.push_back(j % 3 == 0 ? source.bell() : source.below(50) == 0 ? 0.0 : 1.0);
        }
        if (source.below(4) == 0) {
            row.columns.push_back(static_cast<std::int64_t>(kWidth) - 1);
            row.values.push_back(source.below(2) == 0 ? 2.0 : 1.0);
        }
        rows.push_back(row);
    }
    return rows;
}

void add(SparseMoments& store, const Row& row, const Fading& fading) {
    const SparseRow<double, std::int64_t> values{row.values.data(), row.columns.data(),
                                                 row.values.size(), 0};
    store.add_row(row.cls, row.weight, row.time, fading, values);
}

SparseMoments store_of(const std::vector<Row>& rows, const Config& config, const Fading& fading) {
    SparseMoments store(config, kWidth);
    for (const Row& row : rows) add(store, row, fading);
    return store;
}

std::map<std::size_t, Column> read(const SparseMoments& store, std::size_t n_classes) {
    std::map<std::size_t, Column> columns;
    const Ledger now = store.ledger(n_classes);
    store.reader(now, 1)(
        0, store.n_features(), [](const Column&) {},
        [&](std::size_t j, const Column& column) { columns[j] = column; });
    return columns;
}

void check(const std::map<std::size_t, Column>& found, const std::vector<Row>& rows,
           std::size_t n_classes, const Fading& fading, std::int64_t epoch) {
    for (const auto& [j, column] : found)
        for (std::uint32_t c = 0; c < n_classes; ++c) {
            CAPTURE(j);
            CAPTURE(c);
            long double weight = 0.0L, sum = 0.0L, squares = 0.0L, missing = 0.0L;
            const auto each = [&](const auto& use) {
                for (const Row& row : rows) {
                    if (row.cls != c) continue;
                    const auto at = std::find(row.columns.begin(), row.columns.end(),
                                              static_cast<std::int64_t>(j));
                    const double value =
                        at == row.columns.end()
                            ? 0.0
                            : row.values[static_cast<std::size_t>(at - row.columns.begin())];
                    use(value, static_cast<long double>(row.weight) *
                                   static_cast<long double>(fading.weight(row.time, epoch)));
                }
            };
            const Moments& moments = column.moments[c];
            each([&](double value, long double w) {
                if (std::isnan(value)) {
                    missing += w;
                    return;
                }
                weight += w;
                sum += w * (value - static_cast<long double>(moments.mean));
            });
            each([&](double value, long double w) {
                const long double away = value - moments.mean - sum / weight;
                if (!std::isnan(value)) squares += w * away * away;
            });
            const double spread = static_cast<double>(squares / weight);
            CHECK(moments.weight == doctest::Approx(static_cast<double>(weight)).epsilon(1e-12));
            CHECK(column.missing[c] ==
                  doctest::Approx(static_cast<double>(missing)).epsilon(1e-12));
            CHECK(std::abs(static_cast<double>(sum / weight) - moments.mean_rest) <=
                  1e-9 * std::sqrt(spread));
            CHECK(moments.m2 / moments.weight == doctest::Approx(spread).epsilon(1e-9));
        }
}

}  // namespace

TEST_CASE("sparse moments are those of all values, zeros, ones and late columns included") {
    for (const bool missing : {false, true})
        for (const double half_life : {std::numeric_limits<double>::infinity(), 100.0, 0.5})
            for (const std::size_t n_classes : {1UL, 2UL, 5UL}) {
                const Fading fading(half_life);
                const std::vector<Row> rows = rows_of(300, n_classes, missing);
                const Config config{0.01, true, false, missing};
                const SparseMoments store = store_of(rows, config, fading);
                const auto found = read(store, n_classes);
                CHECK(found.size() == 41);
                check(found, rows, n_classes, fading, store.ledger(n_classes).epoch);
            }
}

TEST_CASE("nothing is left of zeros and ones where there were none") {
    const Fading fading(3.0);  // weights that are no whole numbers
    for (const bool missing : {false, true}) {
        const SparseMoments store =
            store_of(rows_of(2000, 2, missing), Config{0.01, true, false, missing}, fading);
        const auto found = read(store, 2);
        for (std::size_t c = 0; c < 2; ++c) {
            CHECK(found.at(1).moments[c].m2 == 0.0);
            CHECK(found.at(1).moments[c].mean == 1.0);
            // one zero or one of weight 1e-16 would make this 1e-4 more
            CHECK(found.at(0).moments[c].m2 / found.at(0).moments[c].weight < 10.0);
        }
    }
}

TEST_CASE("parts and merged stores equal one store of all rows") {
    const Fading fading(20.0);
    const Config config{0.01, true, false, true};
    const std::vector<Row> rows = rows_of(6000, 3, true);  // more than an epoch
    const std::vector<Row> first(rows.begin(), rows.begin() + 2500),
        rest(rows.begin() + 2500, rows.end());
    SparseMoments merged = store_of(first, config, fading);
    std::vector<std::size_t> same(kWidth);
    std::iota(same.begin(), same.end(), 0);
    const std::vector<std::uint32_t> classes{0, 1, 2};
    merged.merge(store_of(rest, config, fading), same, classes, 3);
    const std::int64_t epoch = merged.ledger(3).epoch;
    check(read(merged, 3), rows, 3, fading, epoch);
    const SparseMoments part = merged.cut(10, kWidth - 10);
    std::map<std::size_t, Column> back;
    for (const auto& [j, column] : read(part, 3)) back[j + 10] = column;
    CHECK(back.size() == 31);
    check(back, rows, 3, fading, epoch);
}

TEST_CASE("an infinite value throws NotFinite") {
    const Fading fading;
    for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
        SparseMoments store(Config{0.01, true, false, false}, 5);
        CHECK_THROWS_AS(add(store, {0, 1.0, 0.0, {3}, {bad}}, fading), NotFinite);
    }
}
