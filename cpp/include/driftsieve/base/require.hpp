#pragma once

#include <limits>
#include <stdexcept>

namespace driftsieve {

// Rejects a deserialized state that no stream could have left.
inline void require(bool sound) {
    if (!sound) throw std::invalid_argument("the bytes do not describe a valid bank");
}

inline void require_weight(double weight) {
    require(weight >= 0.0 && weight < std::numeric_limits<double>::infinity());
}

}  // namespace driftsieve
