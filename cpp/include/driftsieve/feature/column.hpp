#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/feature/feature_state.hpp"
#include "driftsieve/feature/open_column.hpp"
#include "driftsieve/quantiles/cut_bins.hpp"
#include "driftsieve/quantiles/exact/exact_strip.hpp"

namespace driftsieve {

// One feature as scoring sees it: every class, zeros and unfinished blocks included. Its values
// stand in a summary and in cells, or in those and rows that are in neither yet, or in a strip.
struct Column {
    std::vector<Moments> moments;
    std::vector<double> missing;
    std::vector<double> missing_squared;
    // By class, the sum of squared weights of the rows that have a value; empty where it is what
    // the class has less missing_squared.
    std::vector<double> observed_squared;
    // Of a sparse feature: what the rows weigh in which it is not 0, by class, and the sum of their
    // squared weights.
    std::vector<double> not_0;
    double not_0_squared = 0.0;
    Summary summary;
    const CountedCells* counted = nullptr;
    double factor = 1.0;  // for the cells
    // Where not null, it tells of all values, in place of the summary and the cells.
    const OpenValues* open = nullptr;
    // Column `place` of it is all there is, where not null; of what stands above, only the moments
    // are then of use.
    const ExactStrip* exact = nullptr;
    std::size_t place = 0;
    const CutBins* cut = nullptr;  // where not null, the bins; the summary is then empty

    // Empty, but for mini-bins that are to be written.
    void reset(std::size_t n_classes, std::size_t n_mini_bins = 0) {
        moments.assign(n_classes, Moments{});
        missing.assign(n_classes, 0.0);
        missing_squared.assign(n_classes, 0.0);
        observed_squared.clear();
        not_0.assign(n_classes, 0.0);
        not_0_squared = 0.0;
        summary.reset(n_mini_bins, n_classes);
        counted = nullptr;
        open = nullptr;
        exact = nullptr;
        cut = nullptr;
    }

    std::size_t n_classes() const { return moments.size(); }

    void load(const FeatureState& state, double by) {
        load_classes(state, by);
        state.summary.load(n_classes(), summary);
        if (by != 1.0) summary.scale(by);
        counted = by == 0.0 ? nullptr : state.counted();
        factor = by;
    }
    void load_classes(const FeatureState& state, double by) {
        for (std::size_t c = 0; c < state.classes.size(); ++c) {
            ClassState scaled = state.classes[c];
            scaled.scale(by);
            missing[c] = scaled.missing;
            missing_squared[c] = scaled.missing_squared;
            moments[c] = scaled.moments;
        }
    }

    // Where what is absent is missing: the weight of the rows of a class that have a value, and the
    // sum of their squared weights.
    void set_observed(std::size_t cls, const ClassTotal& total, double weight, double squared) {
        observed_squared.resize(n_classes(), 0.0);
        observed_squared[cls] = squared;
        missing[cls] = std::max(0.0, total.weight - weight);
        missing_squared[cls] = std::max(0.0, total.weight_squared - squared);
    }

    // What the rows of a class weigh whose values are here.
    double weight(std::size_t cls) const {
        if (exact != nullptr) return exact->rows(cls);
        if (cut != nullptr) return cls < cut->n_classes() ? cut->weight(cls) : 0.0;
        if (open != nullptr) return open->column.buckets().sum(cls);
        double sum = 0.0;
        for (std::size_t i = 0; i < summary.size(); ++i) sum += summary.of(i)[cls];
        if (counted != nullptr && cls < counted->n_classes())
            sum += counted->sum(cls, 0, counted->map().size() + 2) * factor;
        return sum;
    }
};

}  // namespace driftsieve
