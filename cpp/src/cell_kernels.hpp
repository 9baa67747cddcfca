#pragma once

#include <cstddef>
#include <cstdint>

#include "driftsieve/kernels.hpp"

// The kernels of cell_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

void find_cells(const std::uint32_t* finest, std::size_t n, const Kernels::Cuts& cuts,
                std::uint16_t* __restrict index);
void count_cells(const std::uint16_t* index, std::size_t n, std::uint16_t* __restrict cells);
void weigh_cells(const std::uint16_t* index, const double* weights, std::size_t n,
                 const Kernels::Ahead& ahead, double* __restrict cells);
Kernels::Census census(const std::uint16_t* cells, std::size_t n_classes, std::size_t stride,
                       std::size_t n, std::uint16_t most, std::uint16_t* out);
Kernels::Census census_weights(const double* cells, std::size_t n_classes, std::size_t stride,
                               std::size_t n, double most, std::uint16_t* out);
std::uint64_t sum_cells(const std::uint16_t* cells, std::size_t n);
void add_cells(const std::uint16_t* cells, std::size_t n, double* into);
void sum_weights_below(const double* cells, std::size_t n, double* below);
std::size_t find_any(const std::uint16_t* numbers, std::size_t n, const std::uint16_t* wanted,
                     std::size_t n_wanted, const std::uint16_t* table,
                     std::uint32_t* __restrict out);
std::size_t find_others(const double* values, const std::uint16_t* numbers, std::size_t n,
                        const std::uint16_t* wanted, const double* expected, std::size_t n_wanted,
                        std::uint32_t* out);
bool are_multiples(const double* values, std::size_t n, double width);

}  // namespace driftsieve::DRIFTSIEVE_ISA
