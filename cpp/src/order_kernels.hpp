#pragma once

#include <cstddef>
#include <cstdint>

#include "driftsieve/kernels.hpp"

// The kernels of order_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

void read_rows(const Kernels::Rows& rows, const double* shifts, const Kernels::KeyRule& rule,
               Kernels::StripSums& sums, std::int8_t* keys);
void halve_cells(const std::int8_t* keys, std::size_t n, const std::int16_t* ranks, int width,
                 Kernels::KeyCells& cells);
void count_keys_above(const std::int8_t* keys, std::size_t n, const std::int8_t* edges,
                      std::int16_t* counts);
std::size_t find_in_cells(const std::int8_t* keys, std::size_t n, const std::int8_t* wanted,
                          std::uint32_t* places);
void sort_slots(double* slots);

}  // namespace driftsieve::DRIFTSIEVE_ISA
