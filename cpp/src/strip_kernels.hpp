#pragma once

#include <cstddef>
#include <cstdint>

#include "driftsieve/kernels.hpp"

// The kernels of strip_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

void finest_cells(const double* values, std::size_t n, const Kernels::CellRule& rule,
                  std::uint32_t* out);
Kernels::StripSums read_strip(const Kernels::Rows& rows, const Kernels::CellRule* rules,
                              const double* shifts, std::uint32_t* out, std::size_t out_stride);
void gather_strip(const double* first_column, std::ptrdiff_t row_stride, const std::uint32_t* order,
                  std::size_t n, double* out);

}  // namespace driftsieve::DRIFTSIEVE_ISA
