#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "driftsieve/base/parallel.hpp"
#include "driftsieve/dense/dense_store.hpp"
#include "driftsieve/feature/column.hpp"
#include "driftsieve/sparse/sparse_moments.hpp"
#include "driftsieve/sparse/sparse_store.hpp"

namespace driftsieve {

// The rows of a sparse store in a dense one, their zeros written out.
template <class Sparse>
DenseStore written_out(const Sparse& sparse, const Config& config, const Ledger& now,
                       unsigned n_threads) {
    DenseStore::Features features(sparse.n_features());
    const auto take = [&](const Column& column, FeatureState& feature) {
        for (std::uint32_t c = 0; c < now.totals.size(); ++c) {
            if (now.totals[c].rows == 0) continue;
            ClassState& state = feature.of(c);
            state.missing = column.missing[c];
            state.missing_squared = column.missing_squared[c];
            state.moments = column.moments[c];
        }
        if (config.quantiles) feature.summary.store(column.summary);
    };
    const auto reader = sparse.reader(now, 0);
    parallel_chunks(features.size(), 64, n_threads, [&](std::size_t lo, std::size_t hi) {
        reader(
            lo, hi,
            [&](const Column& column) {
                for (std::size_t j = lo; j < hi; ++j) take(column, features[j]);
            },
            [&](std::size_t j, const Column& column) { take(column, features[j]); });
    });
    DenseStore dense(config, 0);
    dense.adopt(std::move(features), now);
    return dense;
}

}  // namespace driftsieve
