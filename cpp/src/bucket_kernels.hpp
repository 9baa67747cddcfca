#pragma once

#include <cstddef>
#include <cstdint>

// The kernels of bucket_kernels.cpp, for the table in kernels.cpp.
namespace driftsieve::DRIFTSIEVE_ISA {

void find_buckets(const double* values, std::size_t n, const double* ends, std::size_t n_ends,
                  std::uint8_t* out);
std::size_t find_key(const std::uint8_t* keys, std::size_t n, std::uint8_t wanted,
                     std::uint32_t* out);

}  // namespace driftsieve::DRIFTSIEVE_ISA
