#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "driftsieve/cell_block.hpp"
#include "driftsieve/fading.hpp"
#include "driftsieve/summary.hpp"

using driftsieve::CellBlock;
using driftsieve::CellGrid;
using driftsieve::Entries;
using driftsieve::Entry;
using driftsieve::Fading;

namespace {

struct Rows {
    std::vector<double> values, weights;

    double below(double v) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] < v ? weights[i] : 0.0;
        return sum;
    }
    double total() const { return below(std::numeric_limits<double>::infinity()); }
    Entries exact() const {
        Entries out;
        driftsieve::exact_entries_of<double>(values, weights.data(), out);
        return out;
    }
    void add(const Rows& other) {
        values.insert(values.end(), other.values.begin(), other.values.end());
        weights.insert(weights.end(), other.weights.begin(), other.weights.end());
    }
};

// Whole weights, so that all sums are exact; kind 0: spread, 1: few values, 2: all scales.
Rows random_rows(std::mt19937_64& random, std::size_t n, int kind) {
    Rows rows;
    for (std::size_t i = 0; i < n; ++i) {
        const double u = static_cast<double>(random() % 100000) / 1000.0 - 40.0;
        rows.values.push_back(kind == 0   ? u
                              : kind == 1 ? std::floor(u / 20.0)
                                          : std::copysign(std::exp2(u), u));
        rows.weights.push_back(static_cast<double>(random() % 4));
    }
    return rows;
}

// A_{i-1} <= R-(value_i) <= A_{i-1} + hidden_i, nothing lost, nothing hidden beyond `most`.
void check_valid(std::span<const Entry> entries, const Rows& rows, double most) {
    double before = 0.0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i > 0) CHECK(entries[i - 1].value < entries[i].value);
        const double truth = rows.below(entries[i].value);
        CHECK(before <= truth);
        CHECK(truth <= before + entries[i].hidden);
        CHECK(entries[i].hidden <= most);
        before += entries[i].weight;
    }
    CHECK(before == rows.total());
}

}  // namespace

TEST_CASE("merging and pruning keep a summary valid, against brute force") {
    std::mt19937_64 random(1);
    for (int kind = 0; kind < 3; ++kind) {
        Rows all;
        Entries summary, merged;
        for (int round = 0; round < 12; ++round) {
            const Rows more = random_rows(random, 1 + random() % 60, kind);
            all.add(more);
            driftsieve::merge_entries<double>(summary, more.exact(), merged);
            check_valid(merged, all, 0.1 * all.total());
            driftsieve::prune_entries<double>(merged, 0.1 * all.total());
            check_valid(merged, all, 0.1 * all.total());
            summary.swap(merged);
        }
    }
}

TEST_CASE("blocks counted into cells keep a summary valid, against brute force") {
    std::mt19937_64 random(2);
    CellBlock<double> cells;
    int counted = 0;
    for (int kind = 0; kind < 3; ++kind) {
        Rows all;
        Entries summary, with_exact, room;
        for (int round = 0; round < 6; ++round) {
            const Rows more = random_rows(random, 400, kind);
            all.add(more);
            const double budget = 0.1 * all.total();
            if (cells.fill(more.values, more.weights.data(), 0.1 * more.total(), 11)) {
                ++counted;
                driftsieve::merge_entries<double>(summary, cells.exact(), with_exact);
                const auto result = cells.merge(with_exact, budget, room);
                summary.assign(result.begin(), result.end());
            } else {
                driftsieve::merge_entries<double>(summary, more.exact(), with_exact);
                driftsieve::prune_entries<double>(with_exact, budget);
                summary = with_exact;
            }
            check_valid(summary, all, budget);
        }
    }
    CHECK(counted >= 6);
}

TEST_CASE("a value lies in its cell and the cell ends where the next begins") {
    std::mt19937_64 random(3);
    for (const double scale : {1e-200, 1e-3, 1.0, 1e9, 1e200}) {
        std::vector<double> values;
        for (int i = 0; i < 500; ++i)
            values.push_back((static_cast<double>(random() % 9999) - 3000.0) * scale);
        const CellGrid grid = CellGrid::over(values, 1024);
        REQUIRE(grid.size() > 0);
        CHECK(grid.size() <= 1024);
        for (std::size_t m = 1; m <= grid.size(); ++m) {
            CHECK(grid.index(grid.upper(m)) == m);
            CHECK(grid.index(std::nextafter(grid.upper(m), 1e308)) == m + 1);
        }
    }
}

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
