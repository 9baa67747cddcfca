#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/moments.hpp"
#include "driftsieve/rows.hpp"
#include "driftsieve/summary.hpp"

namespace driftsieve {

struct Config {
    double epsilon = 0.01;
    bool moments = true;
    bool quantiles = true;
    bool ignore_missing = false;

    // Up to this many distinct values a class summary is never pruned.
    std::size_t exact_entries() const { return static_cast<std::size_t>(1.0 / epsilon) + 1; }
};

// What one feature remembers of the rows of one class. Each class has a summary of its own, so its
// rank error is at most epsilon times the weight of *that* class, and a rare class keeps its shape.
struct ClassState {
    std::uint32_t cls = 0;
    double missing = 0.0;  // weight of the rows that do not count because the value was missing
    Moments moments;
    Entries entries;

    void scale(double factor) {
        missing *= factor;
        moments.scale(factor);
        scale_entries(entries, factor);
    }

    // Adds a summary of other rows; class_weight is what the class weighs with them, rows whose
    // value is missing left out.
    void absorb(std::span<const Entry> other, double class_weight, const Config& config,
                Entries& scratch) {
        merge_entries(entries, other, scratch);
        if (scratch.size() > config.exact_entries())
            prune_entries(scratch, config.epsilon * class_weight);
        // a vector keeps its capacity: give it back where it would be more than a quarter too much
        if (entries.capacity() > scratch.size() + scratch.size() / 4) entries = Entries();
        if (entries.capacity() < scratch.size()) entries.reserve(scratch.size());
        entries.assign(scratch.begin(), scratch.end());
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

    void scale(double factor) {
        if (factor == 1.0) return;
        for (ClassState& state : classes) state.scale(factor);
    }

    // `other` saw other rows; both stand at the same epoch. totals: class weights with both.
    void merge(const FeatureState& other, std::span<const std::uint32_t> class_map,
               std::span<const ClassTotal> totals, const Config& config, Entries& scratch) {
        for (const ClassState& theirs : other.classes) {
            const std::uint32_t cls = class_map[theirs.cls];
            ClassState& ours = of(cls);
            ours.missing += theirs.missing;
            ours.moments.merge(theirs.moments);
            if (!theirs.entries.empty())
                ours.absorb(theirs.entries, totals[cls].weight - ours.missing, config, scratch);
        }
    }

    void check(std::size_t n_classes) const {
        for (std::size_t k = 0; k < classes.size(); ++k) {
            require(classes[k].cls < n_classes);
            require(k == 0 || classes[k - 1].cls < classes[k].cls);
            const Entries& entries = classes[k].entries;
            for (std::size_t i = 0; i < entries.size(); ++i) {
                require(entries[i].weight >= 0.0 && entries[i].hidden >= 0.0);
                require(i == 0 || entries[i - 1].value < entries[i].value);
            }
        }
    }

    std::size_t nbytes() const {
        std::size_t bytes = classes.capacity() * sizeof(ClassState);
        for (const ClassState& state : classes) bytes += state.entries.capacity() * sizeof(Entry);
        return bytes;
    }
};

}  // namespace driftsieve
