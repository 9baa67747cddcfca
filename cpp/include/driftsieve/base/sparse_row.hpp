#pragma once

#include <cstddef>

namespace driftsieve {

// The values of a sparse row and their columns, in ascending order, followed by `more` columns of
// later rows.
template <class T, class Index>
struct SparseRow {
    const T* values;
    const Index* columns;
    std::size_t count;
    std::size_t more;
    bool is_canonical = true;  // false: order and range of the columns are not validated
};

}  // namespace driftsieve
