#pragma once

#include "driftsieve/ladder/ladder_kernels.hpp"

// The kernels of ladder_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

extern const LadderKernels ladder_kernels;

}  // namespace driftsieve::DRIFTSIEVE_ISA
