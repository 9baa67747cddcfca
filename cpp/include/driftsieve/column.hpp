#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/feature_state.hpp"

namespace driftsieve {

// One feature as scoring sees it: every class, zeros and unfinished blocks included.
struct Column {
    std::vector<Moments> moments;
    std::vector<double> missing;
    Summary summary;
    BlockColumn raw;  // rows in no summary yet, beside it

    void reset(std::size_t n_classes) {
        moments.assign(n_classes, Moments{});
        missing.assign(n_classes, 0.0);
        summary.reset(0, n_classes);
        raw = BlockColumn{};
    }

    std::size_t n_classes() const { return moments.size(); }

    void load(const FeatureState& state, double factor) {
        for (std::size_t c = 0; c < state.classes.size(); ++c) {
            missing[c] = state.classes[c].missing * factor;
            moments[c] = state.classes[c].moments;
            moments[c].scale(factor);
        }
        state.summary.load(n_classes(), summary);
        if (factor != 1.0) summary.scale(factor);
    }

    // What the rows of a class weigh whose values are here.
    double weight(std::size_t cls) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < summary.size(); ++i) sum += summary.of(i)[cls];
        if (raw.size() > 0)
            for (std::size_t i = raw.begin[cls]; i < raw.begin[cls + 1]; ++i) sum += raw.weight(i);
        return sum;
    }

    // No true rank differs from the running sums by more.
    double rank_error() const {
        return summary.empty() ? 0.0
                               : *std::max_element(summary.hidden.begin(), summary.hidden.end());
    }
};

}  // namespace driftsieve
