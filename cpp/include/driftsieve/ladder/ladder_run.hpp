#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/block_column.hpp"
#include "driftsieve/base/moments.hpp"
#include "driftsieve/ladder/ladder_feature.hpp"

namespace driftsieve {

// Values of one feature, class by class, with their weights at R half-lives. Buffers are reused.
struct LadderRun {
    std::vector<double> values;
    std::vector<double> weights;     // by value, at each half-life
    std::vector<double> total;       // at each half-life
    std::vector<std::size_t> begin;  // first value of each class, and the end: C + 1

    void clear(std::size_t n_classes, std::size_t rungs) {
        values.clear();
        weights.clear();
        total.assign(rungs, 0.0);
        begin.assign(n_classes + 1, 0);
    }

    // Adds a value with its weights, class after class. The weight of a missing value is added to
    // the feature; then this returns false.
    bool add(double value, std::uint32_t cls, const double* row, LadderFeature& feature) {
        const std::size_t rungs = total.size();
        if (std::isnan(value)) {
            MissingWeight* missing = feature.missing_of(cls, rungs);
            for (std::size_t r = 0; r < rungs; ++r) {
                missing[r].weight += row[r];
                missing[r].squared += row[r] * row[r];
            }
            return false;
        }
        values.push_back(value);
        weights.insert(weights.end(), row, row + rungs);
        for (std::size_t r = 0; r < rungs; ++r) total[r] += row[r];
        ++begin[cls + 1];
        return true;
    }

    // Called after the last value.
    void close() {
        for (std::size_t c = 1; c < begin.size(); ++c) begin[c] += begin[c - 1];
    }

    BlockColumn column() const { return {values.data(), 1, nullptr, nullptr, begin}; }

    void add_moments_to(LadderFeature& feature) {
        const std::size_t rungs = total.size();
        for (std::size_t c = 0; c + 1 < begin.size(); ++c) {
            const std::size_t first = begin[c];
            const std::size_t count = begin[c + 1] - first;
            if (count == 0) continue;
            of_rung_.resize(count);
            for (std::size_t r = 0; r < rungs; ++r) {
                for (std::size_t k = 0; k < count; ++k)
                    of_rung_[k] = weights[(first + k) * rungs + r];
                feature.moments_of(c, rungs)[r].merge(
                    Moments::of(values.data() + first, of_rung_.data(), count));
            }
        }
    }

  private:
    std::vector<double> of_rung_;
};

}  // namespace driftsieve
