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

// One feature as it is scored: every class, with zeros and unfinished blocks. Its values are in a
// summary and in cells, or in these and in rows that are not summarized yet, or in a strip.
struct Column {
    std::vector<Moments> moments;
    std::vector<double> missing;
    std::vector<double> missing_squared;
    // By class, the sum of squared weights of the rows that have a value; empty if it is the sum of
    // the class minus missing_squared.
    std::vector<double> observed_squared;
    // Of a sparse feature: by class, the weight of the rows in which it is not 0, and the sum of
    // their squared weights.
    std::vector<double> not_0;
    double not_0_squared = 0.0;
    Summary summary;
    const CountedCells* counted = nullptr;
    double factor = 1.0;  // for the cells
    // If not null, it has all values, and replaces the summary and the cells.
    const OpenValues* open = nullptr;
    // If not null, its column `place` has everything; of the members above, only the moments are
    // then used.
    const ExactStrip* exact = nullptr;
    std::size_t place = 0;
    const CutBins* cut = nullptr;  // where not null, the bins; the summary is then empty

    // Empty, except for mini-bins that will be written.
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
    // With the two outer ones; 0 if there are none.
    std::size_t n_cells() const { return counted == nullptr ? 0 : counted->map().size() + 2; }

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

    // If absent values are missing: the weight of the rows of a class that have a value, and the
    // sum of their squared weights.
    void set_observed(std::size_t cls, const ClassTotal& total, double weight, double squared) {
        observed_squared.resize(n_classes(), 0.0);
        observed_squared[cls] = squared;
        missing[cls] = std::max(0.0, total.weight - weight);
        missing_squared[cls] = std::max(0.0, total.weight_squared - squared);
    }

    // Weight of the rows of a class whose values are here.
    double weight(std::size_t cls) const {
        if (exact != nullptr) return exact->rows(cls);
        if (cut != nullptr) return cls < cut->n_classes() ? cut->weight(cls) : 0.0;
        if (open != nullptr) return open->column.buckets().sum(cls);
        double sum = 0.0;
        for (std::size_t i = 0; i < summary.size(); ++i) sum += summary.of(i)[cls];
        if (counted != nullptr && cls < counted->n_classes())
            sum += counted->sum(cls, 0, n_cells()) * factor;
        return sum;
    }
};

}  // namespace driftsieve
