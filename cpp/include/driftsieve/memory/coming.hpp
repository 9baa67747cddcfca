#pragma once

#include <cstddef>

namespace driftsieve {

// Largest number of classes for which a summary keeps all weights.
inline constexpr std::size_t kFewClasses = 4;
// Largest number of classes with separate cells that are counted into from block to block.
inline constexpr std::size_t kCountedClasses = 32;

// Properties of new rows that the size of the state depends on.
struct Coming {
    std::size_t rows = 0;
    std::size_t columns = 0;  // of the bank, with these rows
    std::size_t classes = 0;  // likewise
    std::size_t values = 0;   // upper bound of the non-zeros
    bool is_wide = false;     // some weights may not be small whole numbers
    bool may_shrink = false;  // weights may decrease without bound, the worst case for a summary
};

}  // namespace driftsieve
