#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/moments.hpp"
#include "driftsieve/base/require.hpp"
#include "driftsieve/feature/feature_state.hpp"
#include "driftsieve/ladder/ladder_absorber.hpp"
#include "driftsieve/ladder/ladder_cells.hpp"
#include "driftsieve/ladder/ladder_list.hpp"

namespace driftsieve {

// Weight of the rows of one class that have no value for a feature.
struct MissingWeight {
    double weight = 0.0;
    double squared = 0.0;
};

// The state of one feature at R half-lives.
struct LadderFeature {
    // By class, at each half-life; missing entries have no rows.
    std::vector<Moments> moments;
    std::vector<MissingWeight> missing;  // likewise; empty if no value was missing
    LadderList list;
    // At most one, beside the list: see FeatureState. Sparse features have none.
    std::vector<LadderCells> counting;

    void scale(std::span<const double> factors) {
        const std::size_t rungs = factors.size();
        if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1.0; })) return;
        for (std::size_t i = 0; i < moments.size(); ++i) moments[i].scale(factors[i % rungs]);
        for (std::size_t i = 0; i < missing.size(); ++i) {
            missing[i].weight *= factors[i % rungs];
            missing[i].squared *= factors[i % rungs] * factors[i % rungs];
        }
        list.scale(factors);
        for (LadderCells& cells : counting) cells.scale(factors);
    }

    Moments* moments_of(std::size_t cls, std::size_t rungs) {
        if (moments.size() < (cls + 1) * rungs) moments.resize((cls + 1) * rungs);
        return moments.data() + cls * rungs;
    }
    MissingWeight* missing_of(std::size_t cls, std::size_t rungs) {
        if (missing.size() < (cls + 1) * rungs) missing.resize((cls + 1) * rungs);
        return missing.data() + cls * rungs;
    }

    // Weight of the rows in the list and the cells at each half-life.
    void add_weights(std::span<double> into) const {
        list.add_weights(into);
        for (const LadderCells& cells : counting) cells.add_weights(into);
    }

    // Adds the rows of another feature at the same epochs.
    void merge(LadderFeature other, std::span<const std::uint32_t> class_map, std::size_t n_classes,
               LadderAbsorber& absorber) {
        const std::size_t rungs = absorber.rungs();
        for (std::size_t i = 0; i < other.moments.size(); ++i)
            moments_of(class_map[i / rungs], rungs)[i % rungs].merge(other.moments[i]);
        for (std::size_t i = 0; i < other.missing.size(); ++i) {
            MissingWeight& ours = missing_of(class_map[i / rungs], rungs)[i % rungs];
            ours.weight += other.missing[i].weight;
            ours.squared += other.missing[i].squared;
        }
        absorber.fold(list, counting);
        absorber.fold(other.list, other.counting);
        if (other.list.empty()) return;
        other.list.map_classes(class_map, n_classes, rungs);
        std::vector<double> weight(rungs, 0.0);
        list.add_weights(weight);
        other.list.add_weights(weight);
        absorber.absorb(list, other.list, weight, n_classes);
    }

    // The state at one half-life. There must be no cells.
    FeatureState alone(std::size_t rung, std::size_t rungs) const {
        FeatureState state;
        for (std::uint32_t c = 0; c * rungs < std::max(moments.size(), missing.size()); ++c) {
            ClassState& of_class = state.of(c);
            const std::size_t at = c * rungs + rung;
            if (at < moments.size()) of_class.moments = moments[at];
            if (at >= missing.size()) continue;
            of_class.missing = missing[at].weight;
            of_class.missing_squared = missing[at].squared;
        }
        if (list.empty()) return state;
        Summary summary;
        list.load(rung, rungs, list.n_classes(), summary);
        state.summary.store(summary);
        return state;
    }

    std::size_t nbytes() const {
        return moments.capacity() * sizeof(Moments) + missing.capacity() * sizeof(MissingWeight) +
               list.nbytes() + counting.capacity() * sizeof(LadderCells) +
               (counting.empty() ? 0 : counting[0].nbytes());
    }

    template <class Archive>
    void archive(Archive& ar) {
        ar(moments, missing, list, counting);
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
        require(counting.size() <= 1);
        for (const LadderCells& cells : counting) cells.check(n_classes, rungs);
    }
};

}  // namespace driftsieve
