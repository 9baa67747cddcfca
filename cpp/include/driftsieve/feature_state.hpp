#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/cell_block.hpp"
#include "driftsieve/moments.hpp"
#include "driftsieve/packed_summary.hpp"
#include "driftsieve/rows.hpp"

namespace driftsieve {

struct Config {
    double epsilon = 0.01;
    bool moments = true;
    bool quantiles = true;
    bool ignore_missing = false;

    // Up to this many distinct values a summary is never pruned.
    std::size_t exact_values() const { return static_cast<std::size_t>(1.0 / epsilon) + 1; }

    void check_value(double value) const {
        require(std::isfinite(value) || (ignore_missing && std::isnan(value)));
    }
};

// Room to work in for rows of one kind of weight; each thread has its own.
template <class Weight>
struct ScratchOf {
    SummaryOf<Weight> ours;
    SummaryOf<Weight> theirs;
    SummaryOf<Weight> merged;
    CellBlock<Weight> cells;
};
struct Scratch : ScratchOf<double> {
    ScratchOf<std::uint32_t> narrow;
    std::vector<double> ones;
    std::vector<Weighed> rows;
    CellMap map;
    Room<std::uint32_t> finest;
    std::vector<double> values;
};

// What one feature remembers of the rows of one class, its summary apart.
struct ClassState {
    double missing = 0.0;  // weight of the rows that do not count because the value was missing
    Moments moments;
};

// What one feature remembers of its rows.
struct FeatureState {
    std::vector<ClassState> classes;  // by class; those that are not there have met nothing
    PackedSummary summary;

    ClassState& of(std::uint32_t cls) {
        if (cls >= classes.size()) classes.resize(cls + 1);
        return classes[cls];
    }

    void scale(double factor, Summary& scratch) {
        if (factor == 1.0) return;
        for (ClassState& state : classes) {
            state.missing *= factor;
            state.moments.scale(factor);
        }
        if (summary.empty()) return;
        summary.load(summary.n_classes(), scratch);
        scratch.scale(factor);
        summary.store(scratch);
    }

    // What the rows weigh that count for this feature, of those in `totals`.
    double weight(std::span<const ClassTotal> totals) const {
        double sum = 0.0;
        for (std::size_t c = 0; c < totals.size(); ++c)
            sum += totals[c].weight - (c < classes.size() ? classes[c].missing : 0.0);
        return sum;
    }

    // Adds a summary of other rows; `weight` is what all rows weigh with them.
    void absorb(const Summary& other, double weight, const Config& config, Scratch& scratch) {
        summary.load(other.n_classes, scratch.ours);
        merge_summaries(scratch.ours, other, scratch.merged);
        prune(scratch.merged, weight, config);
        summary.store(scratch.merged);
    }

    // Adds the rows of a block, their values with their cells. Their weight must be new in `weight`:
    // the last time that was block_weight less.
    void absorb(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
                double block_weight, double weight, const Config& config, Scratch& scratch) {
        // whole weights stay narrow as long as no sum of them can overflow
        if (column.weights == nullptr && summary.is_narrow() && weight >= 0.0 &&
            weight < 0x1p31) {
            absorb_rows<std::uint32_t>(column, map, finest, block_weight, weight, config,
                                       scratch.narrow, scratch.rows);
            return;
        }
        BlockColumn weighted = column;
        if (column.weights == nullptr) {
            scratch.ones.assign(column.size(), 1.0);
            weighted.weights = scratch.ones.data();
        }
        absorb_rows<double>(weighted, map, finest, block_weight, weight, config, scratch,
                            scratch.rows);
    }

    // `other` saw other rows; both stand at the same epoch. totals: class weights with both.
    void merge(const FeatureState& other, std::span<const std::uint32_t> class_map,
               std::span<const ClassTotal> totals, const Config& config, Scratch& scratch) {
        for (std::size_t c = 0; c < other.classes.size(); ++c) {
            ClassState& ours = of(class_map[c]);
            ours.missing += other.classes[c].missing;
            ours.moments.merge(other.classes[c].moments);
        }
        if (other.summary.empty()) return;
        other.summary.load(other.summary.n_classes(), scratch.ours);
        Summary& theirs = scratch.theirs;  // with the classes where they are here
        theirs.reset(scratch.ours.size(), totals.size());
        theirs.values = scratch.ours.values;
        theirs.hidden = scratch.ours.hidden;
        std::fill(theirs.weights.begin(), theirs.weights.end(), 0.0);
        for (std::size_t i = 0; i < theirs.size(); ++i)
            for (std::size_t c = 0; c < scratch.ours.n_classes; ++c)
                theirs.of(i)[class_map[c]] += scratch.ours.of(i)[c];
        absorb(theirs, weight(totals), config, scratch);
    }

    void check(std::size_t n_classes) const {
        require(classes.size() <= n_classes);
        for (const ClassState& state : classes) {
            require_weight(state.missing);
            require_weight(state.moments.weight);
            require(!(state.moments.m2 < 0.0));
        }
        require(summary.sound() && summary.n_classes() <= n_classes);
    }

    std::size_t nbytes() const {
        return classes.capacity() * sizeof(ClassState) + summary.nbytes();
    }

  private:
    template <class Weight>
    static void prune(SummaryOf<Weight>& merged, double weight, const Config& config) {
        if (merged.size() > config.exact_values())
            prune_summary(merged, static_cast<Weight>(config.epsilon * weight));
    }

    // Counts where that is allowed: cells of up to epsilon times the block's weight keep the
    // promise, since then neither a mini-bin nor a cell can come to hide more than epsilon of all.
    template <class Weight>
    void absorb_rows(const BlockColumn& column, const CellMap& map, const std::uint32_t* finest,
                     double block_weight, double weight, const Config& config,
                     ScratchOf<Weight>& scratch, std::vector<Weighed>& rows) {
        const std::size_t n_classes = column.n_classes();
        summary.load(n_classes, scratch.ours);
        CellBlock<Weight>& cells = scratch.cells;
        const bool counted =
            cells.fill(column, map, finest, config.epsilon * block_weight, config.exact_values());
        if (!counted) {
            rows.clear();
            for (std::uint32_t c = 0; c < n_classes; ++c)
                for (std::size_t i = column.begin[c]; i < column.begin[c + 1]; ++i)
                    rows.push_back({column.value(i), column.weight(i), c});
            exact_summary<Weight>(rows, n_classes, scratch.theirs);
        }
        const SummaryOf<Weight>& exact = counted ? cells.exact() : scratch.theirs;
        if (!exact.empty()) {
            merge_summaries(scratch.ours, exact, scratch.merged);
            std::swap(scratch.ours, scratch.merged);
        }
        if (counted && cells.has_cells()) {
            cells.merge(scratch.ours, static_cast<Weight>(config.epsilon * weight), column,
                        scratch.merged);
            std::swap(scratch.ours, scratch.merged);
        } else {
            prune(scratch.ours, weight, config);
        }
        summary.store(scratch.ours);
    }
};

}  // namespace driftsieve
