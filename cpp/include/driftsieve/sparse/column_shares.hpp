#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driftsieve/base/sparse_row.hpp"
#include "driftsieve/base/views.hpp"

namespace driftsieve {

inline constexpr std::size_t kNoEnd = static_cast<std::size_t>(-1);

// The columns of a batch, cut into ranges with about equally many values, one for each thread:
// thread k has [cuts[k], cuts[k + 1]). All cuts are multiples of `page`, except for the last one,
// kNoEnd. The columns of a row ascend, so each thread finds its part of a row by a short search,
// and no value has to be moved.
struct ColumnShares {
    std::vector<std::size_t> cuts;

    std::size_t size() const { return cuts.size() - 1; }
};

// One share for every kFewest values, but no more shares than threads.
inline std::size_t count_shares(std::size_t n_values, unsigned n_threads) {
    constexpr std::size_t kFewest = std::size_t{1} << 13;
    return std::clamp<std::size_t>(n_values / kFewest, 1, std::max(n_threads, 1u));
}

template <class T, class Index>
ColumnShares column_shares(const CsrView<T, Index>& rows, std::size_t n_columns, std::size_t page,
                           unsigned n_threads) {
    constexpr std::size_t kSample = 4096;
    const auto first = rows.is_canonical ? static_cast<std::size_t>(rows.indptr[0]) : 0;
    const auto last =
        rows.is_canonical ? static_cast<std::size_t>(rows.indptr[rows.n_rows]) : rows.n_stored;
    const std::size_t n_shares = count_shares(last - first, n_threads);
    ColumnShares shares{{0}};
    if (n_shares > 1) {
        std::vector<std::size_t> sample;
        for (std::size_t k = 0; k < kSample; ++k)
            sample.push_back(
                static_cast<std::size_t>(rows.indices[first + (last - first) * k / kSample]));
        std::sort(sample.begin(), sample.end());
        for (std::size_t k = 1; k < n_shares; ++k) {
            const std::size_t cut = (sample[k * kSample / n_shares] + page / 2) / page * page;
            if (cut > shares.cuts.back() && cut < n_columns) shares.cuts.push_back(cut);
        }
    }
    shares.cuts.push_back(kNoEnd);
    return shares;
}

template <class T>
ColumnShares column_shares(const MatrixView<T>&, std::size_t, std::size_t, unsigned) {
    return {{0, kNoEnd}};
}

// The values of a row in the columns [lo, hi). Both ends are searched for in the whole row, so
// parts never overlap, even if the columns do not ascend.
template <class T, class Index>
SparseRow<T, Index> part_of(const SparseRow<T, Index>& row, std::size_t lo, std::size_t hi) {
    const auto find = [&](std::size_t cut) {
        // without branches, which would often be mispredicted
        const Index* at = row.columns;
        for (std::size_t n = row.count; n > 0;) {
            const std::size_t half = n / 2;
            at += static_cast<std::size_t>(at[half]) < cut ? n - half : 0;
            n = half;
        }
        return static_cast<std::size_t>(at - row.columns);
    };
    const std::size_t begin = lo == 0 ? 0 : find(lo);
    const std::size_t end = std::max(begin, hi == kNoEnd ? row.count : find(hi));
    return {row.values + begin, row.columns + begin, end - begin, row.count - end + row.more,
            row.is_canonical};
}

}  // namespace driftsieve
