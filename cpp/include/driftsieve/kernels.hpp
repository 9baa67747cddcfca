#pragma once

#include <cstddef>
#include <cstdint>

namespace driftsieve {

// The inner loops that wide registers speed up. They are compiled once per instruction set from one
// source (cpp/src/kernels.cpp) and picked when the library is first used; DRIFTSIEVE_SIMD=baseline,
// avx2 or avx512 picks one for testing. All of them compute the same bits.
struct Kernels {
    const char* name;

    // Cell of each value: floor(value * per_width) - shift, held within [0, top].
    void (*cell_indices)(const double* values, std::size_t n, double per_width, double shift,
                         double top, std::uint16_t* out);
    // Cells that are not empty, and whether any holds more than `most`.
    struct Census {
        std::size_t used;
        bool crowded;
    };
    Census (*census)(const std::int16_t* cells, std::size_t n, std::int16_t most);
    Census (*census_weights)(const double* cells, std::size_t n, double most);
    // below[m] = sum of the cells before m, for m <= n.
    void (*sum_below)(const std::int16_t* cells, std::size_t n, std::int16_t* below);
    void (*sum_weights_below)(const double* cells, std::size_t n, double* below);
    // Columns of a strip: out[j * n + k] = row order[k], column j, for 8 columns side by side.
    void (*gather_strip)(const double* first_column, std::ptrdiff_t row_stride,
                         const std::uint32_t* order, std::size_t n, double* out);
    // Sum of the values less `shift`, and of their squares.
    struct PowerSums {
        double sum;
        double squares;
    };
    PowerSums (*power_sums)(const double* values, std::size_t n, double shift);
    // The same for columns side by side, row after row: `width` columns from first_column on, the
    // rows order[0..n), weights == nullptr: all 1. Results are added to sum and squares.
    void (*row_power_sums)(const double* first_column, std::ptrdiff_t row_stride,
                           const std::uint32_t* order, const double* weights, std::size_t n,
                           std::size_t width, const double* shift, double* sum, double* squares);
};

const Kernels& kernels();

}  // namespace driftsieve
