#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace driftsieve {

// The inner loops that wide registers speed up. They are compiled once per instruction set from one
// source (cpp/src/kernels.cpp) and picked when the library is first used; DRIFTSIEVE_SIMD=baseline,
// avx2 or avx512 picks one for testing. All of them compute the same bits.
struct Kernels {
    const char* name;

    // How a value finds its finest cell (see CellMap): floor(value * per_width) - base, held within
    // [0, top].
    struct CellRule {
        double per_width;
        double base;
        double top;
    };
    void (*finest_cells)(const double* values, std::size_t n, const CellRule& rule,
                         std::uint32_t* out);
    // Rows order[0..n) of kStrip columns side by side, read once for all that is needed of them:
    // the finest cell of each value, out[j * out_stride + k] for row k and column j, and the power
    // sums of the values less shifts[j]. weights == nullptr: all 1.
    static constexpr std::size_t kStrip = 8;
    struct Rows {
        const double* first_column;
        std::ptrdiff_t stride;
        const std::uint32_t* order;
        const double* weights;
        std::size_t n;
    };
    struct StripSums {
        double sum[kStrip];
        double squares[kStrip];
    };
    StripSums (*read_strip)(const Rows& rows, const CellRule* rules, const double* shifts,
                            std::uint32_t* out, std::size_t out_stride);
    // Counts values into cells. The finest cell f lies in coarse cell f >> bits, whose entry of `cut`
    // has the first cell of that coarse cell and, 16 bits higher, by how much to shift the rest of
    // f. The cell of each value is kept in `index`; weights == nullptr: all 1.
    struct Cuts {
        const std::uint32_t* cut;
        unsigned bits;
    };
    void (*count_cells)(const std::uint32_t* finest, std::size_t n, const Cuts& cuts,
                        std::uint16_t* index, std::uint16_t* cells);
    void (*weigh_cells)(const std::uint32_t* finest, const double* weights, std::size_t n,
                        const Cuts& cuts, std::uint16_t* index, double* cells);
    // Cells that are not empty, and whether any holds more than `most`.
    struct Census {
        std::size_t used;
        bool crowded;
    };
    Census (*census)(const std::uint16_t* cells, std::size_t n, std::uint16_t most);
    Census (*census_weights)(const double* cells, std::size_t n, double most);
    // below[m] = sum of the cells before m, for m <= n.
    void (*sum_below)(const std::uint16_t* cells, std::size_t n, std::uint16_t* below);
    void (*sum_weights_below)(const double* cells, std::size_t n, double* below);
    // Positions of the numbers that are among the `n_wanted` wanted ones, in order.
    std::size_t (*find_any)(const std::uint16_t* numbers, std::size_t n,
                            const std::uint16_t* wanted, std::size_t n_wanted, std::uint32_t* out);
    // Columns of a strip: out[j * n + k] = row order[k], column j, for kStrip columns side by side.
    void (*gather_strip)(const double* first_column, std::ptrdiff_t row_stride,
                         const std::uint32_t* order, std::size_t n, double* out);
    // Sum of the values less `shift`, and of their squares.
    struct PowerSums {
        double weight;
        double sum;
        double squares;
    };
    PowerSums (*power_sums)(const double* values, std::size_t n, double shift);
    PowerSums (*weighted_power_sums)(const double* values, const double* weights, std::size_t n,
                                     double shift);
    // How many values are larger than `edge`.
    std::size_t (*count_above)(const double* values, std::size_t n, double edge);
    // The same for columns side by side, row after row: `width` columns from first_column on, the
    // rows order[0..n), weights == nullptr: all 1. Results are added to sum and squares.
    void (*row_power_sums)(const double* first_column, std::ptrdiff_t row_stride,
                           const std::uint32_t* order, const double* weights, std::size_t n,
                           std::size_t width, const double* shift, double* sum, double* squares);
};

const Kernels& kernels();

// Those of one instruction set; nullptr where there is no such name or the machine does not have it.
const Kernels* kernels_named(std::string_view name);

}  // namespace driftsieve
