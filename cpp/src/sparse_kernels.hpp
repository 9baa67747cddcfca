#pragma once

#include "driftsieve/kernels.hpp"

// The kernels of sparse_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

template <class T, class Index>
std::size_t add_weight(const SparseRow<T, Index>& row, double weight, const ColumnSums& sums,
                       const SparseValues& found);
bool add_values(const double* values, const std::uint32_t* places, std::size_t n, double weight,
                double* moments);

}  // namespace driftsieve::DRIFTSIEVE_ISA
