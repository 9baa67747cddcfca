#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/feature_state.hpp"

namespace driftsieve {

// Values that are in no summary yet, unsorted; weights == nullptr: all 1.
struct RawValues {
    std::span<const double> values;
    const double* weights = nullptr;

    double weight(std::size_t i) const { return weights == nullptr ? 1.0 : weights[i]; }
};

// One feature as scoring sees it: every class, zeros and unfinished blocks included.
struct Column {
    std::vector<Moments> moments;
    std::vector<double> missing;
    std::vector<Entries> entries;
    std::vector<RawValues> raw;  // beside the entries

    void reset(std::size_t n_classes) {
        moments.assign(n_classes, Moments{});
        missing.assign(n_classes, 0.0);
        raw.assign(n_classes, RawValues{});
        entries.resize(n_classes);
        for (Entries& list : entries) list.clear();
    }

    void load(const FeatureState& state, double factor) {
        for (const ClassState& source : state.classes) {
            missing[source.cls] = source.missing * factor;
            moments[source.cls] = source.moments;
            moments[source.cls].scale(factor);
            source.entries.load(entries[source.cls]);
            if (factor != 1.0) scale_entries(entries[source.cls], factor);
        }
    }

    // Adds what other rows of the class hold.
    void add(std::size_t cls, const Moments& more, std::span<const Entry> other, Entries& scratch) {
        moments[cls].merge(more);
        if (other.empty()) return;
        merge_entries<double>(entries[cls], other, scratch);
        entries[cls].swap(scratch);
    }

    double weight(std::size_t cls) const {
        double sum = 0.0;
        for (const Entry& entry : entries[cls]) sum += entry.weight;
        for (std::size_t i = 0; i < raw[cls].values.size(); ++i) sum += raw[cls].weight(i);
        return sum;
    }

    // No true rank differs from the running sums by more.
    double rank_error() const {
        double sum = 0.0;
        for (const Entries& list : entries) sum += largest_hidden(list);
        return sum;
    }
};

}  // namespace driftsieve
