#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "driftsieve/column.hpp"
#include "driftsieve/dense_store.hpp"
#include "driftsieve/parallel.hpp"
#include "driftsieve/sparse_moments.hpp"
#include "driftsieve/sparse_store.hpp"

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
            state.moments = column.moments[c];
        }
        if (config.quantiles) feature.summary.store(column.summary);
    };
    const auto reader = sparse.reader(0, features.size(), now);
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

// Sparse banks without quantiles used to be stored as if they had them.
inline SparseMoments without_quantiles(const SparseStore& stored, const Config& config) {
    const Ledger now = stored.ledger(stored.n_classes());
    const std::size_t n = stored.n_features();
    std::size_t n_seen = 0;
    for (std::size_t j = 0; j < n; ++j) n_seen += stored.seen(j) ? 1 : 0;
    SparseMoments made = SparseMoments::after(now, config, n, n_seen);
    stored.reader(0, n, now)(
        0, n, [](const Column&) {},
        [&](std::size_t j, const Column& column) { made.set(j, column); });
    return made;
}

}  // namespace driftsieve
