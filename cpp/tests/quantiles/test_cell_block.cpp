#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "driftsieve/quantiles/cell_block.hpp"
#include "rows.hpp"

using namespace driftsieve;
using tests::Block;
using tests::Kind;
using tests::Source;
using tests::Truth;
using tests::Weights;

namespace {

constexpr double kEpsilon = 0.02;
constexpr std::size_t kFew = 51;

// A summary that blocks are counted into, as a feature does it.
template <class Weight>
struct Counted {
    SummaryOf<Weight> ours, merged, exact;
    CellBlock<Weight> cells;
    CellMap map;
    std::vector<std::uint32_t> finest;
    int blocks = 0;  // that went through cells

    explicit Counted(std::size_t n_classes) { ours.reset(0, n_classes); }

    void add(const Block& block, std::vector<Weighed> rows, Weight budget) {
        map.fit(block.sample(), 6 * kFew);
        finest.resize(block.values.size());
        kernels().finest_cells(block.values.data(), finest.size(), map.rule(), finest.data());
        const bool counted =
            cells.fill(block.column, map, finest.data(), kEpsilon * block.total, kFew);
        if (!counted) exact_summary<Weight>(rows, ours.n_classes, exact);
        merge_summaries(ours, counted ? cells.exact() : exact, merged);
        std::swap(ours, merged);
        if (counted && cells.has_cells()) {
            cells.merge(ours, budget, block.column, merged);
            std::swap(ours, merged);
            ++blocks;
        } else if (ours.size() > kFew) {
            prune_summary(ours, budget);
        }
    }
};

template <class Weight>
int check_stream(Kind kind, Weights weights, std::size_t n_classes, double rounding) {
    CAPTURE(static_cast<int>(kind));
    CAPTURE(static_cast<int>(weights));
    CAPTURE(n_classes);
    Source source(5);
    Truth truth(n_classes);
    Counted<Weight> counted(n_classes);
    for (std::size_t batch = 0; batch < 5; ++batch) {
        const auto rows = source.rows(300 + source.below(900), n_classes, kind, weights, batch);
        truth.add(rows);
        const auto budget = static_cast<Weight>(kEpsilon * truth.total());
        counted.add(Block(rows, n_classes, std::is_integral_v<Weight>), rows, budget);
        CHECK(truth.fault(counted.ours, budget, rounding) == "");
    }
    return counted.blocks;
}

}  // namespace

TEST_CASE("summaries of counted blocks equal brute force within their bounds") {
    int counted = 0;
    for (const Kind kind : tests::all_kinds())
        for (const std::size_t n_classes : {1, 2, 3, 100}) {
            counted += check_stream<std::uint32_t>(kind, Weights::unit, n_classes, 0.0);
            counted += check_stream<double>(kind, Weights::whole, n_classes, 0.0);
            counted += check_stream<double>(kind, Weights::real, n_classes, 1e-13);
            counted += check_stream<double>(kind, Weights::all_orders, n_classes, 1e-13);
        }
    CHECK(counted > 400);  // most kinds are spread
}

TEST_CASE("few distinct values stay exact") {
    for (const Kind kind : {Kind::few, Kind::constant})
        for (const std::size_t n_classes : {1, 3, 100}) {
            Source source(6);
            Counted<std::uint32_t> counted(n_classes);
            std::vector<Weighed> all;
            for (std::size_t batch = 0; batch < 3; ++batch) {
                const auto rows = source.rows(2000, n_classes, kind, Weights::unit);
                all.insert(all.end(), rows.begin(), rows.end());
                counted.add(Block(rows, n_classes, true), rows, 1000);
            }
            NarrowSummary exact;
            exact_summary<std::uint32_t>(all, n_classes, exact);
            CHECK(counted.ours.values == exact.values);
            CHECK(counted.ours.weights == exact.weights);
            CHECK(counted.ours.hidden == exact.hidden);
        }
}

TEST_CASE("a mini-bin at the end of a cell is joined with it for any budget") {
    Source source(8);
    for (const double budget : {0.0, 1.0, 1000.0}) {
        const auto rows = source.rows(2000, 2, Kind::bell, Weights::real);
        const Block block(rows, 2, false);
        Counted<double> counted(2);
        counted.map.fit(block.sample(), 6 * kFew);
        // of each cell one, at its end, heavier than what the cell may be joined with
        const std::size_t n = counted.map.size();
        counted.ours.reset(n, 2);
        std::size_t coarse = 0;
        for (std::size_t m = 1; m <= n; ++m) {
            counted.ours.values[m - 1] = counted.map.upper(m, coarse);
            counted.ours.hidden[m - 1] = 0.0;
            std::fill_n(counted.ours.of(m - 1), 2, 600.0);
        }
        counted.add(block, rows, budget);
        CHECK(counted.blocks == 1);
        CHECK(std::is_sorted(counted.ours.values.begin(), counted.ours.values.end()));
        CHECK(std::adjacent_find(counted.ours.values.begin(), counted.ours.values.end()) ==
              counted.ours.values.end());
        double weight = -1200.0 * static_cast<double>(n);
        for (std::size_t i = 0; i < counted.ours.size(); ++i) weight += counted.ours.total(i);
        CHECK(weight == doctest::Approx(block.total));
    }
}

TEST_CASE("the tail of a class of little weight is not lost") {
    // what is added to a large sum may leave it as it is; a class must keep its total all the same
    Source source(7);
    for (const Kind kind : {Kind::bell, Kind::uniform, Kind::cauchy}) {
        auto rows = source.rows(2000, 2, kind, Weights::real);
        for (Weighed& row : rows)
            if (row.cls == 1) row.weight *= 1e-25;
        Truth truth(2);
        truth.add(rows);
        Counted<double> counted(2);
        counted.add(Block(rows, 2, false), rows, kEpsilon * truth.total());
        REQUIRE(counted.blocks == 1);
        CHECK(truth.fault(counted.ours, kEpsilon * truth.total(), 1e-13) == "");
    }
}

TEST_CASE("a cell as light as the last digit of the sum before it") {
    // The budget ends half a digit below that sum, and rounding takes it to what lies before the
    // cell: the walk must not go on to the cells that lie below the mini-bin at 2.5.
    const std::vector<Weighed> rows = {
        {2.0, 1.0 - 0x1p-52, 0}, {3.0, 0x1p-53, 0}, {4.0, 0x1p-10, 0}};
    const Block block(rows, 1, false);
    CellMap map;
    REQUIRE(map.fit(std::vector<double>{1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5}, 100));
    std::vector<std::uint32_t> finest(rows.size());
    kernels().finest_cells(block.values.data(), finest.size(), map.rule(), finest.data());
    CellBlock<double> cells;
    REQUIRE(cells.fill(block.column, map, finest.data(), 2.0, 0));
    std::vector<Weighed> old = {{2.5, 1.0, 0}};
    Summary summary, merged;
    exact_summary<double>(old, 1, summary);
    cells.merge(summary, 0x1p-10 + 3 * 0x1p-54, block.column, merged);
    Truth truth(1);
    truth.add(old);
    truth.add(rows);
    CHECK(truth.fault(merged, 1.0, 1e-15) == "");
}

TEST_CASE("too few or too many rows are not counted") {
    Source source(8);
    CellMap map;
    CellBlock<std::uint32_t> cells;
    for (const std::size_t n : {kFew, std::size_t{65535} + 1}) {
        const Block block(source.rows(n, 1, Kind::uniform, Weights::unit), 1, true);
        REQUIRE(map.fit(block.sample(), 100));
        std::vector<std::uint32_t> finest(n);
        kernels().finest_cells(block.values.data(), n, map.rule(), finest.data());
        CHECK_FALSE(cells.fill(block.column, map, finest.data(), kEpsilon * block.total, kFew));
    }
}

TEST_CASE("as many rows as a cell can count, in one cell") {
    const auto n = static_cast<std::size_t>(CellBlock<std::uint32_t>::kMostInCell);
    Source source(9);
    auto rows = source.rows(n, 2, Kind::uniform, Weights::unit);
    for (std::size_t i = 0; i < n; ++i)
        if (i % 256 != 0) rows[i].value = 0.5;
    Truth truth(2);
    truth.add(rows);
    Counted<std::uint32_t> counted(2);
    const auto budget = static_cast<std::uint32_t>(kEpsilon * truth.total());
    counted.add(Block(rows, 2, true), rows, budget);
    CHECK(truth.fault(counted.ours, budget) == "");
}

TEST_CASE("counting continues in the same cells, and the counts become part of a summary") {
    for (const std::size_t n_classes : {1, 2, 4}) {
        Source source(11);
        Truth truth(n_classes);
        CellBlock<std::uint32_t> cells;
        CellMap map;
        Room<std::uint16_t> counted;
        SummaryOf<std::uint32_t> exact, merged, whole;
        exact.reset(0, n_classes);
        for (std::size_t batch = 0; batch < 6; ++batch) {
            auto rows = source.rows(1000, n_classes, Kind::uniform, Weights::unit, batch);
            for (Weighed& row : rows) row.weight = 1.0;
            truth.add(rows);
            const Block block(rows, n_classes, true);
            if (batch == 0) map.fit(block.sample(), 6 * kFew);
            std::vector<std::uint32_t> finest(block.values.size());
            kernels().finest_cells(block.values.data(), finest.size(), map.rule(), finest.data());
            const double most = kEpsilon * truth.total();
            if (batch == 0) {
                REQUIRE(cells.fill(block.column, map, finest.data(), most, kFew));
                counted = cells.class_cells();
            } else {
                REQUIRE(cells.fill_up(block.column, map, finest.data(), counted, most));
            }
            CHECK(cells.largest() <= most);
            merge_summaries(exact, cells.exact(), merged);
            std::swap(exact, merged);
            CellBlock<std::uint32_t> folder;
            folder.resume(map, counted.data(), n_classes);
            const auto budget = static_cast<std::uint32_t>(kEpsilon * truth.total());
            folder.merge(exact, budget, {}, whole);
            CHECK(truth.fault(whole, budget) == "");
        }
    }
}

TEST_CASE("rows that have moved away leave the cells as they were") {
    Source source(12);
    const Block block(source.rows(1000, 2, Kind::uniform, Weights::real), 2, false);
    CellMap map;
    map.fit(block.sample(), 6 * kFew);
    std::vector<std::uint32_t> finest(block.values.size());
    kernels().finest_cells(block.values.data(), finest.size(), map.rule(), finest.data());
    CellBlock<double> cells;
    REQUIRE(cells.fill(block.column, map, finest.data(), kEpsilon * block.total, kFew));
    Room<double> counted = cells.class_cells();
    const Room<double> before = counted;
    std::fill(finest.begin(), finest.begin() + 300, 0u);  // below the grid
    CHECK(!cells.fill_up(block.column, map, finest.data(), counted, 2 * kEpsilon * block.total));
    CHECK(counted == before);
}

TEST_CASE("announcing the next columns changes no result") {
    // columns one after another, first into new cells and then into those again
    Source source(13);
    CellBlock<double> told, other;
    std::vector<CellMap> maps(4);
    std::vector<Room<double>> counted(maps.size()), others(maps.size());
    for (int round = 0; round < 2; ++round)
        for (std::size_t j = 0; j < maps.size(); ++j) {
            const Block block(source.rows(500 + 100 * j, 2, Kind::bell, Weights::real), 2, false);
            if (round == 0)
                for (std::size_t k = j; k < maps.size(); ++k) maps[k].fit(block.sample(), 200 + k);
            std::vector<std::uint32_t> finest(block.values.size());
            kernels().finest_cells(block.values.data(), finest.size(), maps[j].rule(),
                                   finest.data());
            if (j + 1 < maps.size())
                told.expect(counted[j + 1], maps[j + 1], 2);
            else
                told.expect_nothing();
            for (const bool tell : {true, false}) {
                CellBlock<double>& cells = tell ? told : other;
                Room<double>& into = tell ? counted[j] : others[j];
                const double most = kEpsilon * block.total * (round + 1);
                if (round == 0) {
                    REQUIRE(cells.fill(block.column, maps[j], finest.data(), most, kFew));
                    into = std::move(cells.class_cells());
                } else {
                    REQUIRE(cells.fill_up(block.column, maps[j], finest.data(), into, most));
                }
            }
            CHECK(counted[j] == others[j]);
            CHECK(told.exact().values == other.exact().values);
            CHECK(told.exact().weights == other.exact().weights);
        }
}
