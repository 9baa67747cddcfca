#pragma once

#include <cstddef>

#include "driftsieve/kernels.hpp"

// The kernels of copy_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

bool copy_values(const double* from, std::size_t n, double* to);
bool copy_past_cache(const double* from, std::size_t n, double* to);

}  // namespace driftsieve::DRIFTSIEVE_ISA
