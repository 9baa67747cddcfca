#pragma once

#include <cstddef>
#include <cstdint>

#include "driftsieve/kernels.hpp"

// The kernels of order_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

void copy_rows(const Kernels::Rows& rows, const double* shifts, double* out,
               Kernels::StripSums& sums, Kernels::StripRange& range);
void find_keys(const double* rows, std::size_t n, const Kernels::KeyRule& rule, std::int16_t* keys);
void halve_cells(const std::int16_t* keys, std::size_t n, const std::int16_t* ranks,
                 std::int16_t width, Kernels::KeyCells& cells);
std::size_t find_in_cells(const std::int16_t* keys, std::size_t n, const std::int16_t* cells,
                          std::int16_t width, std::uint32_t* places);
void count_rows_above(const double* rows, std::size_t n, const double* edges, std::int16_t* counts);

}  // namespace driftsieve::DRIFTSIEVE_ISA
