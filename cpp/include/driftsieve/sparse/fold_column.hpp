#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "driftsieve/base/block_column.hpp"
#include "driftsieve/feature/feature_state.hpp"

namespace driftsieve {

// The last values of a run: those whose rows were added to the totals after the feature was last
// pruned. Cells hide a share of the weight of these rows, so it must not have been used for pruning
// before.
struct NewValues {
    std::size_t count = 0;
    double weight = 0.0;
};

inline double weight_of(const BlockColumn& column) {
    return column.weights == nullptr
               ? static_cast<double>(column.size())
               : std::accumulate(column.weights, column.weights + column.size(), 0.0);
}

// Moments of a class of a run of values.
inline Moments moments_of(const BlockColumn& run, std::size_t cls) {
    const std::size_t begin = run.begin[cls];
    return Moments::of(run.data + begin, run.weights == nullptr ? nullptr : run.weights + begin,
                       run.begin[cls + 1] - begin);
}

// Whether the cells of a long run are kept, for later runs to be counted into. With more classes
// they would take more memory than a summary does.
inline bool keeps_cells(std::size_t n_classes) {
    return n_classes <= kFewClasses;
}

// Adds a run of values of a sparse feature to its moments and its summary. Long runs are counted
// into cells, others are sorted.
inline void fold_column(FeatureState& state, const BlockColumn& run, const NewValues& added,
                        std::span<const ClassTotal> totals, const Config& config,
                        Scratch& scratch) {
    if (config.moments)
        for (std::uint32_t c = 0; c < run.n_classes(); ++c)
            if (run.begin[c + 1] != run.begin[c]) state.of(c).moments.merge(moments_of(run, c));
    const bool is_long = added.count >= config.long_run();
    if (!is_long) {
        scratch.map = CellMap();  // no cells: the values are sorted
    } else if (state.counting.empty()) {
        scratch.fit({run.data, run.size()}, config.cells());
    } else {
        scratch.map = state.counting[0].map();
        scratch.find({run.data, run.size()});
    }
    const double weight = state.weight(totals, weight_of(run), config);
    state.absorb({run, scratch.map, scratch.finest.data(), added.weight, weight}, config, scratch,
                 is_long && keeps_cells(run.n_classes()) ? Counting::goes_on : Counting::ends);
    for (CountedCells& cells : state.counting) cells.shrink();
}

}  // namespace driftsieve
