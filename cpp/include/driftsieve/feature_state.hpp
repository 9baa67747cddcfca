#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/cell_block.hpp"
#include "driftsieve/moments.hpp"
#include "driftsieve/packed_entries.hpp"
#include "driftsieve/rows.hpp"

namespace driftsieve {

struct Config {
    double epsilon = 0.01;
    bool moments = true;
    bool quantiles = true;
    bool ignore_missing = false;

    // Up to this many distinct values a class summary is never pruned.
    std::size_t exact_entries() const { return static_cast<std::size_t>(1.0 / epsilon) + 1; }

    void check_value(double value) const {
        require(std::isfinite(value) || (ignore_missing && std::isnan(value)));
    }
};

// Room to work in for rows of one kind of weight; each thread has its own.
template <class Weight>
struct ScratchOf {
    EntriesOf<Weight> ours;
    EntriesOf<Weight> theirs;
    EntriesOf<Weight> merged;
    CellBlock<Weight> cells;
};
struct Scratch : ScratchOf<double> {
    ScratchOf<std::uint32_t> narrow;
    std::vector<double> ones;
};

// What one feature remembers of the rows of one class. Each class has a summary of its own, so its
// rank error is at most epsilon times the weight of *that* class, and a rare class keeps its shape.
struct ClassState {
    std::uint32_t cls = 0;
    double missing = 0.0;  // weight of the rows that do not count because the value was missing
    Moments moments;
    PackedEntries entries;

    void scale(double factor, Entries& scratch) {
        missing *= factor;
        moments.scale(factor);
        entries.load(scratch);
        scale_entries(scratch, factor);
        entries.store(scratch);
    }

    // Adds a summary of other rows; class_weight is what the class weighs with them, rows whose
    // value is missing left out.
    void absorb(std::span<const Entry> other, double class_weight, const Config& config,
                Scratch& scratch) {
        entries.load(scratch.ours);
        merge_and_prune<double>(scratch.ours, other, class_weight, config, scratch.merged);
        entries.store(scratch.merged);
    }

    // Adds rows of a block: values, and weights unless all are 1. Their weight must be new in
    // class_weight: the last time it was block_weight less.
    void absorb(std::span<const double> values, const double* weights, double block_weight,
                double class_weight, const Config& config, Scratch& scratch) {
        // whole weights stay narrow as long as no sum of them can overflow
        if (weights == nullptr && entries.is_narrow() && class_weight >= 0.0 &&
            class_weight < 0x1p31) {
            absorb_rows<std::uint32_t>(entries.narrow(), values, nullptr, block_weight,
                                       class_weight, config, scratch.narrow);
        } else {
            if (weights == nullptr) {
                scratch.ones.assign(values.size(), 1.0);
                weights = scratch.ones.data();
            }
            entries.load(scratch.ours);
            absorb_rows<double>(scratch.ours, values, weights, block_weight, class_weight, config,
                                scratch);
        }
    }

  private:
    template <class Weight>
    static void merge_and_prune(std::span<const EntryOf<Weight>> ours,
                                std::span<const EntryOf<Weight>> theirs, double class_weight,
                                const Config& config, EntriesOf<Weight>& out) {
        merge_entries<Weight>(ours, theirs, out);
        if (out.size() > config.exact_entries())
            prune_entries<Weight>(out, static_cast<Weight>(config.epsilon * class_weight));
    }

    // Counts where that is allowed: cells of up to epsilon times the block's weight keep the
    // promise, since then neither an entry nor a cell can come to hide more than epsilon of all.
    template <class Weight>
    void absorb_rows(std::span<const EntryOf<Weight>> ours, std::span<const double> values,
                     const double* weights, double block_weight, double class_weight,
                     const Config& config, ScratchOf<Weight>& scratch) {
        CellBlock<Weight>& cells = scratch.cells;
        if (!cells.fill(values, weights, config.epsilon * block_weight, config.exact_entries())) {
            exact_entries_of<Weight>(values, weights, scratch.theirs);
            merge_and_prune<Weight>(ours, scratch.theirs, class_weight, config, scratch.merged);
            entries.store(std::span<const EntryOf<Weight>>(scratch.merged));
            return;
        }
        if (!cells.exact().empty()) {
            merge_entries<Weight>(ours, cells.exact(), scratch.theirs);
            ours = scratch.theirs;
        }
        entries.store(
            cells.merge(ours, static_cast<Weight>(config.epsilon * class_weight), scratch.merged));
    }
};

// The classes one feature has met, sorted by class.
struct FeatureState {
    std::vector<ClassState> classes;

    ClassState& of(std::uint32_t cls) {
        // dense features meet every class, so the class is most often its own position
        if (cls < classes.size() && classes[cls].cls == cls) return classes[cls];
        auto place = std::lower_bound(
            classes.begin(), classes.end(), cls,
            [](const ClassState& state, std::uint32_t wanted) { return state.cls < wanted; });
        if (place == classes.end() || place->cls != cls) {
            place = classes.emplace(place);
            place->cls = cls;
        }
        return *place;
    }

    void scale(double factor, Entries& scratch) {
        if (factor == 1.0) return;
        for (ClassState& state : classes) state.scale(factor, scratch);
    }

    // `other` saw other rows; both stand at the same epoch. totals: class weights with both.
    void merge(const FeatureState& other, std::span<const std::uint32_t> class_map,
               std::span<const ClassTotal> totals, const Config& config, Scratch& scratch) {
        for (const ClassState& theirs : other.classes) {
            const std::uint32_t cls = class_map[theirs.cls];
            ClassState& ours = of(cls);
            ours.missing += theirs.missing;
            ours.moments.merge(theirs.moments);
            if (theirs.entries.empty()) continue;
            theirs.entries.load(scratch.theirs);
            ours.absorb(scratch.theirs, totals[cls].weight - ours.missing, config, scratch);
        }
    }

    void check(std::size_t n_classes) const {
        Entries entries;
        for (std::size_t k = 0; k < classes.size(); ++k) {
            require(classes[k].cls < n_classes);
            require(k == 0 || classes[k - 1].cls < classes[k].cls);
            require_weight(classes[k].missing);
            require_weight(classes[k].moments.weight);
            require(!(classes[k].moments.m2 < 0.0));
            require(classes[k].entries.sound());
            classes[k].entries.load(entries);
            for (std::size_t i = 0; i < entries.size(); ++i) {
                require_weight(entries[i].weight);
                require_weight(entries[i].hidden);
                require(std::isfinite(entries[i].value));
                require(i == 0 || entries[i - 1].value < entries[i].value);
            }
        }
    }

    std::size_t nbytes() const {
        std::size_t bytes = classes.capacity() * sizeof(ClassState);
        for (const ClassState& state : classes) bytes += state.entries.nbytes();
        return bytes;
    }
};

}  // namespace driftsieve
