#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "driftsieve/kernels.hpp"
#include "driftsieve/ladder/ladder_list.hpp"
#include "driftsieve/quantiles/cut_bins.hpp"

namespace driftsieve {

// Cuts a list into quantile bins at all half-lives in one pass. The results have the same bits as
// those of BinCutter at each half-life.
class LadderCutter {
  public:
    LadderCutter(std::size_t rungs, std::size_t n_bins) : rungs_(rungs), n_bins_(n_bins) {}

    void cut(const LadderList& list) {
        n_classes_ = list.n_classes();
        edges_.assign(rungs_ * (n_bins_ - 1), std::numeric_limits<double>::quiet_NaN());
        bins_.assign(rungs_ * n_bins_ * n_classes_, 0.0);
        hidden_.assign(rungs_, 0.0);
        if (list.empty()) return;
        list.largest_hidden(hidden_);
        kernels().ladder->cut(rungs_, {n_classes_, list.values(), list.weights(), list.size(),
                                       n_bins_, edges_.data(), bins_.data()});
    }
    // The bins at one half-life. Valid until the next list is cut.
    CutBins at(std::size_t rung) const {
        const std::size_t n_edges = n_bins_ - 1;
        const std::size_t n_cells = n_bins_ * n_classes_;
        return {{edges_.data() + rung * n_edges, n_edges},
                {bins_.data() + rung * n_cells, n_cells},
                std::isnan(edges_[rung * n_edges]) ? 0.0 : hidden_[rung]};
    }

  private:
    std::size_t rungs_;
    std::size_t n_bins_;
    std::size_t n_classes_ = 0;
    std::vector<double> edges_;
    std::vector<double> bins_;
    std::vector<double> hidden_;
};

}  // namespace driftsieve
