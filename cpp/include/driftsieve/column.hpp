#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/exact_strip.hpp"
#include "driftsieve/feature_state.hpp"

namespace driftsieve {

// One feature as scoring sees it: every class, zeros and unfinished blocks included. Its values
// stand in a summary, in cells and in rows that are in neither yet.
struct Column {
    std::vector<Moments> moments;
    std::vector<double> missing;
    Summary summary;
    const CountedCells* counted = nullptr;
    double factor = 1.0;  // for the cells
    BlockColumn raw;
    // Column `place` of it is all there is, where not null; of what stands above, only the moments
    // are then of use.
    const ExactStrip* exact = nullptr;
    std::size_t place = 0;

    // Empty, but for mini-bins that are to be written.
    void reset(std::size_t n_classes, std::size_t n_mini_bins = 0) {
        moments.assign(n_classes, Moments{});
        missing.assign(n_classes, 0.0);
        summary.reset(n_mini_bins, n_classes);
        counted = nullptr;
        raw = BlockColumn{};
        exact = nullptr;
    }

    std::size_t n_classes() const { return moments.size(); }

    void load(const FeatureState& state, double by) {
        for (std::size_t c = 0; c < state.classes.size(); ++c) {
            missing[c] = state.classes[c].missing * by;
            moments[c] = state.classes[c].moments;
            moments[c].scale(by);
        }
        state.summary.load(n_classes(), summary);
        if (by != 1.0) summary.scale(by);
        counted = state.counting.empty() || by == 0.0 ? nullptr : &state.counting[0];
        factor = by;
    }

    // What the rows of a class weigh whose values are here.
    double weight(std::size_t cls) const {
        if (exact != nullptr) return exact->rows(cls);
        double sum = 0.0;
        for (std::size_t i = 0; i < summary.size(); ++i) sum += summary.of(i)[cls];
        if (counted != nullptr && cls < counted->n_classes())
            sum += counted->sum(cls, 0, counted->map().size() + 2) * factor;
        if (raw.size() > 0)
            for (std::size_t i = raw.begin[cls]; i < raw.begin[cls + 1]; ++i) sum += raw.weight(i);
        return sum;
    }
};

}  // namespace driftsieve
