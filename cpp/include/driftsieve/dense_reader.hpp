#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driftsieve/column.hpp"
#include "driftsieve/exact_strip.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/row_block.hpp"
#include "driftsieve/strip.hpp"

namespace driftsieve {

// Reads features of a dense store as columns, the rows of its open block included.
class DenseReader {
  public:
    // Features stand at the epoch of `ledger`, columns at that of `now`.
    DenseReader(const Config& config, std::span<const FeatureState> features, const Ledger& ledger,
                const MatrixView<double>& open_values, const RowBlock& open, const Ledger& now)
        : config_(config),
          features_(features),
          ledger_(ledger),
          open_values_(open_values),
          open_(open),
          now_(now) {}

    // Features [lo, hi): visit(j, column) for each, which may be cut into n_bins already (0: that
    // is not asked for).
    template <class Visit>
    void read(std::size_t lo, std::size_t hi, std::size_t n_bins, const Visit& visit) const {
        const std::size_t n_open = open_values_.n_rows;
        const bool exact = ledger_.empty() && ExactStrip::serves(open_);
        ExactStrip strip;
        Column column;
        Room<double> values(kStrip * n_open);
        const double factor =
            ledger_.empty() ? 1.0 : Fading::rebase_factor(now_.epoch - ledger_.epoch);
        for (std::size_t j = lo; j < hi; ++j) {
            const std::size_t in_strip = (j - lo) % kStrip;
            if (in_strip == 0 && n_open > 0) {
                const std::size_t end = std::min(j + kStrip, hi);
                if (exact)
                    strip.read(open_values_, open_, j, end, n_bins);
                else
                    gather(j, end, values.data());
            }
            if (exact && strip.is_whole(in_strip)) {
                column.moments.resize(now_.totals.size());
                column.exact = &strip;
                column.place = in_strip;
                for (std::size_t c = 0; c < column.n_classes(); ++c)
                    column.moments[c] = strip.moments(c, in_strip);
                visit(j, column);
                continue;
            }
            column.reset(now_.totals.size());
            double* of_column = values.data() + in_strip * n_open;
            if (exact) strip.values(in_strip, of_column);
            column.load(features_[j], factor);
            const PresentValues present(of_column, open_, config_.ignore_missing);
            if (n_open > 0) column.raw = present.column();
            for (std::size_t c = 0; c + 1 < open_.begin.size(); ++c) {
                column.missing[c] += present.missing(c);
                if (config_.moments) column.moments[c].merge(present.moments(c));
            }
            visit(j, column);
        }
    }

  private:
    static constexpr std::size_t kStrip = Strip::kWidth;

    const Config& config_;
    std::span<const FeatureState> features_;
    const Ledger& ledger_;
    MatrixView<double> open_values_;
    const RowBlock& open_;
    const Ledger& now_;

    // The open rows of columns [lo, hi), one column after another, in the order of the block.
    void gather(std::size_t lo, std::size_t hi, double* out) const {
        const std::vector<std::uint32_t>& order = open_.order;
        if (hi - lo == kStrip) {
            kernels().gather_strip(open_values_.data + lo, open_values_.row_stride, order.data(),
                                   order.size(), out);
            return;
        }
        for (std::size_t k = 0; k < order.size(); ++k)
            for (std::size_t j = lo; j < hi; ++j)
                out[(j - lo) * order.size() + k] = open_values_.at(order[k], j);
    }
};

}  // namespace driftsieve
