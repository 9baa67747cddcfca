#pragma once

#include <cstddef>
#include <span>

#include "driftsieve/base/fading.hpp"
#include "driftsieve/base/ledger.hpp"
#include "driftsieve/base/require.hpp"

namespace driftsieve {

// Validates the deserialized ledgers of the same rows at several half-lives.
inline void check_ledgers(std::span<const Ledger> ledgers, std::span<const Fading> fadings,
                          std::size_t n_classes, double now) {
    require(ledgers.size() == fadings.size());
    for (std::size_t r = 0; r < ledgers.size(); ++r) {
        require((r == 0 ? 0.0 : fadings[r - 1].half_life()) < fadings[r].half_life());
        ledgers[r].check(n_classes, fadings[r], now);
        require(ledgers[r].empty() == ledgers[0].empty());
        require(ledgers[r].totals.size() == ledgers[0].totals.size());
        for (std::size_t c = 0; c < ledgers[r].totals.size(); ++c)
            require(ledgers[r].totals[c].rows == ledgers[0].totals[c].rows);
    }
}

}  // namespace driftsieve
