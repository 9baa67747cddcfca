#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/row_block.hpp"
#include "driftsieve/base/views.hpp"

namespace driftsieve {

// A block of rows permuted by class, as RowBlock is, with the weight of each row at R half-lives.
struct LadderBlock {
    std::size_t rungs = 0;
    RowBlock rows;                      // unweighted; `heaviest` is chosen for all half-lives
    std::vector<double> weights;        // by position, at each half-life
    std::vector<double> class_weights;  // by class, at each half-life
    std::vector<double> total;          // of all classes, at each half-life
    // By class, at each half-life: whether the heaviest row weighs too little to measure the spread
    // around it, which needs very different sample weights.
    std::vector<std::uint8_t> needs_own_shift;

    // Weights are relative to the epochs of the ledgers.
    static LadderBlock of(const RowInfo& info, std::size_t n_classes,
                          std::span<const Fading> fadings, std::span<const Ledger> ledgers) {
        LadderBlock block;
        const std::size_t rungs = block.rungs = fadings.size();
        block.rows = RowBlock::of({info.classes, {}, {}}, n_classes, Fading(), 0);
        const std::vector<std::uint32_t>& order = block.rows.order;
        block.weights.resize(order.size() * rungs);
        for (std::size_t k = 0; k < order.size(); ++k)
            for (std::size_t r = 0; r < rungs; ++r)
                block.weights[k * rungs + r] =
                    info.weight(order[k]) *
                    fadings[r].weight(info.time(order[k]), ledgers[r].epoch);
        block.total.assign(rungs, 0.0);
        for (std::size_t c = 0; c < n_classes; ++c) block.weigh_class(c);
        return block;
    }

    double weight(std::size_t place, std::size_t rung) const {
        return weights[place * rungs + rung];
    }

    void add_to(Ledger& ledger, std::size_t rung) const {
        if (ledger.totals.size() < rows.n_classes()) ledger.totals.resize(rows.n_classes());
        for (std::size_t c = 0; c < rows.n_classes(); ++c)
            ledger.totals[c].add_block(rows.begin[c], rows.begin[c + 1],
                                       [&](std::size_t k) { return weight(k, rung); });
    }

  private:
    // The heaviest row is the one whose smallest share of the weight, over all half-lives, is
    // largest.
    void weigh_class(std::size_t cls) {
        const std::size_t first = rows.begin[cls];
        const std::size_t last = rows.begin[cls + 1];
        std::vector<double> sums(rungs, 0.0);
        for (std::size_t k = first; k < last; ++k)
            for (std::size_t r = 0; r < rungs; ++r) sums[r] += weight(k, r);
        double largest = -1.0;
        for (std::size_t k = first; k < last; ++k) {
            double share = std::numeric_limits<double>::infinity();
            for (std::size_t r = 0; r < rungs; ++r)
                if (sums[r] > 0.0) share = std::min(share, weight(k, r) / sums[r]);
            if (share >= largest) {
                largest = share;
                rows.heaviest[cls] = k;
            }
        }
        for (std::size_t r = 0; r < rungs; ++r) {
            class_weights.push_back(sums[r]);
            total[r] += sums[r];
            needs_own_shift.push_back(last > first &&
                                      weight(rows.heaviest[cls], r) *
                                              (8.0 * static_cast<double>(last - first)) <
                                          sums[r]);
        }
    }
};

}  // namespace driftsieve
