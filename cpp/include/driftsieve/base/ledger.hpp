#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/require.hpp"

namespace driftsieve {

struct ClassTotal {
    double weight = 0.0;
    double weight_squared = 0.0;
    std::uint64_t rows = 0;

    void add(double w) {
        weight += w;
        weight_squared += w * w;
        ++rows;
    }
    // Adds rows [begin, end), which are summed up separately: added one by one to a large total,
    // they would lose digits.
    template <class WeightOf>
    void add_block(std::size_t begin, std::size_t end, const WeightOf& weight_of) {
        ClassTotal block;
        for (std::size_t k = begin; k < end; ++k) block.add(weight_of(k));
        weight += block.weight;
        weight_squared += block.weight_squared;
        rows += block.rows;
    }
};

// Weight of the rows of each class, and the epoch (see Fading) that weights are relative to.
struct Ledger {
    std::vector<ClassTotal> totals;
    std::int64_t epoch = std::numeric_limits<std::int64_t>::min();

    bool empty() const { return epoch == std::numeric_limits<std::int64_t>::min(); }

    // The same with rows of more classes to come.
    Ledger with_classes(std::size_t n_classes) const {
        Ledger wide = *this;
        wide.totals.resize(n_classes);
        return wide;
    }

    // Validates a deserialized state.
    void check(std::size_t n_classes, const Fading& fading, double now) const {
        require(totals.size() <= n_classes);
        for (const ClassTotal& total : totals) {
            require_weight(total.weight);
            require(total.weight_squared >= 0.0);
        }
        if (empty()) return;
        require(fading.fades() ? std::abs(epoch) < (std::int64_t{1} << 54) : epoch == 0);
        require(epoch <= fading.epoch_of(now));
    }

    // Moves to `target` if that is later; returns the factor for stored weights.
    double advance(std::int64_t target) {
        if (target <= epoch) return 1.0;
        const double factor = empty() ? 1.0 : Fading::rebase_factor(target - epoch);
        epoch = target;
        for (ClassTotal& total : totals) {
            total.weight *= factor;
            total.weight_squared *= factor * factor;
        }
        return factor;
    }

    // Adds the weights of other rows; factor converts them to our epoch.
    void add(const Ledger& other, std::span<const std::uint32_t> class_map, std::size_t n_classes,
             double factor) {
        totals.resize(n_classes);
        for (std::size_t c = 0; c < other.totals.size(); ++c) {
            ClassTotal& total = totals[class_map[c]];
            total.weight += other.totals[c].weight * factor;
            total.weight_squared += other.totals[c].weight_squared * factor * factor;
            total.rows += other.totals[c].rows;
        }
    }

    // Shifts the clock readings of all rows by `ticks`, so that `latest` is the last one; returns
    // the factor for stored weights.
    double shift(double ticks, double latest, const Fading& fading) {
        if (!fading.fades() || ticks == 0.0) return 1.0;
        const std::int64_t target = fading.epoch_of(latest);
        const double factor = fading.weight(ticks, target - epoch - 1);
        epoch = target;
        for (ClassTotal& total : totals) {
            total.weight *= factor;
            total.weight_squared *= factor * factor;
        }
        return factor;
    }

    double weight() const {
        return std::accumulate(
            totals.begin(), totals.end(), 0.0,
            [](double sum, const ClassTotal& total) { return sum + total.weight; });
    }
    std::uint64_t rows() const {
        return std::accumulate(
            totals.begin(), totals.end(), std::uint64_t{0},
            [](std::uint64_t sum, const ClassTotal& total) { return sum + total.rows; });
    }
};

}  // namespace driftsieve
