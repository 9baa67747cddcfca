#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/row_block.hpp"
#include "driftsieve/base/views.hpp"

namespace driftsieve {

// A few consecutive open rows, as a block of their classes.
struct OpenChunk {
    std::size_t first = 0;               // row
    std::vector<std::uint32_t> classes;  // class c of the block is classes[c]
    RowBlock rows;

    std::size_t size() const { return rows.order.size(); }
    std::size_t end() const { return first + size(); }
};

// The open rows in chunks of a fixed number of rows; the last one may be shorter. Rows are added as
// they come; earlier ones are not read again.
class OpenChunks {
  public:
    static constexpr std::size_t kRows = 64;

    void clear() {
        chunks_.clear();
        weights_.clear();
        n_rows_ = 0;
        ++generation_;
    }

    // Adds the rows that are new in `info`, with weights relative to `epoch`.
    void extend(const RowInfo& info, const Fading& fading, std::int64_t epoch) {
        const std::size_t n = info.classes.size();
        const bool unit = info.weights.empty() && !fading.fades();
        const bool begins_weights = !unit && weights_.size() < n_rows_;  // rows that weighed 1
        if (epoch != epoch_ || begins_weights) clear();
        epoch_ = epoch;
        classes_ = info.classes;
        if (n == n_rows_) return;
        for (std::size_t i = n_rows_; !unit && i < n; ++i)
            weights_.push_back(info.weight(i) * fading.weight(info.time(i), epoch));
        chunks_.resize(n_rows_ / kRows);  // the last chunk is rebuilt if it was short
        for (std::size_t i = chunks_.size() * kRows; i < n; i += kRows)
            chunks_.push_back(chunk(info.classes, i, std::min(kRows, n - i)));
        n_rows_ = n;
    }

    std::size_t n_rows() const { return n_rows_; }
    // Increased by every clear(): results of earlier rows are then invalid.
    std::uint64_t generation() const { return generation_; }
    const std::vector<OpenChunk>& chunks() const { return chunks_; }
    double weight(std::size_t row) const { return weights_.empty() ? 1.0 : weights_[row]; }
    std::uint32_t cls(std::size_t row) const { return classes_[row]; }

  private:
    std::vector<OpenChunk> chunks_;
    std::span<const std::uint32_t> classes_;  // by row, of the rows that were last given
    std::vector<double> weights_;             // by row; empty: all 1
    std::size_t n_rows_ = 0;
    std::int64_t epoch_ = 0;
    std::uint64_t generation_ = 1;

    OpenChunk chunk(std::span<const std::uint32_t> classes, std::size_t first,
                    std::size_t count) const {
        OpenChunk result;
        result.first = first;
        const auto rows = classes.subspan(first, count);
        result.classes.assign(rows.begin(), rows.end());
        std::sort(result.classes.begin(), result.classes.end());
        result.classes.erase(std::unique(result.classes.begin(), result.classes.end()),
                             result.classes.end());
        std::vector<std::uint32_t> places;  // of the class of each row
        for (const std::uint32_t cls : rows)
            places.push_back(static_cast<std::uint32_t>(
                std::lower_bound(result.classes.begin(), result.classes.end(), cls) -
                result.classes.begin()));
        std::span<const double> weights(weights_);
        if (!weights.empty()) weights = weights.subspan(first, count);
        result.rows = RowBlock::of({places, weights, {}}, result.classes.size(), Fading(), 0);
        return result;
    }
};

}  // namespace driftsieve
