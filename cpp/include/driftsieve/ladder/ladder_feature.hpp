#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/moments.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/ladder/ladder_list.hpp"

namespace driftsieve {

// What the rows of one class weigh that have no value for a feature.
struct MissingWeight {
    double weight = 0.0;
    double squared = 0.0;
};

// What one feature remembers of its rows at R half-lives.
struct LadderFeature {
    // By class, at each half-life; classes that are not there have met nothing.
    std::vector<Moments> moments;
    std::vector<MissingWeight> missing;  // likewise; empty: nothing was missing
    LadderList list;

    void scale(std::span<const double> factors) {
        const std::size_t rungs = factors.size();
        if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1.0; })) return;
        for (std::size_t i = 0; i < moments.size(); ++i) moments[i].scale(factors[i % rungs]);
        for (std::size_t i = 0; i < missing.size(); ++i) {
            missing[i].weight *= factors[i % rungs];
            missing[i].squared *= factors[i % rungs] * factors[i % rungs];
        }
        list.scale(factors);
    }

    Moments* moments_of(std::size_t cls, std::size_t rungs) {
        if (moments.size() < (cls + 1) * rungs) moments.resize((cls + 1) * rungs);
        return moments.data() + cls * rungs;
    }
    MissingWeight* missing_of(std::size_t cls, std::size_t rungs) {
        if (missing.size() < (cls + 1) * rungs) missing.resize((cls + 1) * rungs);
        return missing.data() + cls * rungs;
    }

    std::size_t nbytes() const {
        return moments.capacity() * sizeof(Moments) + missing.capacity() * sizeof(MissingWeight) +
               list.nbytes();
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(moments, missing, list);
    }

    // Validates a deserialized state.
    void check(std::size_t n_classes, std::size_t rungs) const {
        for (const std::size_t size : {moments.size(), missing.size()})
            require(size % rungs == 0 && size / rungs <= n_classes);
        for (const Moments& of_class : moments) {
            require_weight(of_class.weight);
            require(!(of_class.m2 < 0.0));
        }
        for (const MissingWeight& of_class : missing) {
            require_weight(of_class.weight);
            require_weight(of_class.squared);
        }
        list.check(n_classes, rungs);
    }
};

}  // namespace driftsieve
