// Compiled once per instruction set: DRIFTSIEVE_ISA is the namespace and the name of this copy.
// Plain loops that the compiler turns into vector code; the number of partial sums is fixed, so
// every copy computes the same bits.

#include "driftsieve/kernels.hpp"

#include <cmath>
#include <cstring>

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

void cell_indices(const double* values, std::size_t n, double per_width, double shift, double top,
                  std::uint16_t* out) {
    for (std::size_t i = 0; i < n; ++i) {
        // the floor first: subtracting first could round a value into the next cell
        double cell = std::floor(values[i] * per_width) - shift;
        cell = cell > 0.0 ? cell : 0.0;
        cell = cell < top ? cell : top;
        out[i] = static_cast<std::uint16_t>(static_cast<std::int32_t>(cell));
    }
}

template <class Cell>
Kernels::Census census_of(const Cell* cells, std::size_t n, Cell most) {
    std::uint64_t used = 0;
    Cell largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        used += cells[i] != Cell{0} ? 1 : 0;
        largest = cells[i] > largest ? cells[i] : largest;
    }
    return {used, largest > most};
}

Kernels::Census census(const std::int16_t* cells, std::size_t n, std::int16_t most) {
    return census_of(cells, n, most);
}

Kernels::Census census_weights(const double* cells, std::size_t n, double most) {
    return census_of(cells, n, most);
}

// Sixteen running sums at once: each step adds the lanes one, two, four and eight places before.
void sum_below(const std::int16_t* cells, std::size_t n, std::int16_t* below) {
    using Lanes = std::int16_t __attribute__((vector_size(32)));
    const Lanes none = {};
    std::int16_t before = 0;
    std::size_t m = 0;
    for (; m + 16 <= n; m += 16) {
        Lanes own;
        std::memcpy(&own, cells + m, sizeof own);
        Lanes sums = own;
        // lanes 16 and up are those of `none`
        sums += __builtin_shufflevector(sums, none, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                        13, 14);
        sums += __builtin_shufflevector(sums, none, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                        12, 13);
        sums += __builtin_shufflevector(sums, none, 16, 16, 16, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                        10, 11);
        sums += __builtin_shufflevector(sums, none, 16, 16, 16, 16, 16, 16, 16, 16, 0, 1, 2, 3, 4,
                                        5, 6, 7);
        const Lanes result = sums - own + before;
        std::memcpy(below + m, &result, sizeof result);
        before = static_cast<std::int16_t>(before + sums[15]);
    }
    for (; m < n; ++m) {
        below[m] = before;
        before = static_cast<std::int16_t>(before + cells[m]);
    }
    below[n] = before;
}

// Eight at a time, so that only one addition in eight waits for the one before it.
void sum_weights_below(const double* cells, std::size_t n, double* below) {
    double before = 0.0;
    std::size_t m = 0;
    for (; m + 8 <= n; m += 8) {
        const double* c = cells + m;
        const double c01 = c[0] + c[1];
        const double c23 = c[2] + c[3];
        const double c03 = c01 + c23;
        const double c45 = c[4] + c[5];
        below[m] = before;
        below[m + 1] = before + c[0];
        below[m + 2] = before + c01;
        below[m + 3] = before + (c01 + c[2]);
        below[m + 4] = before + c03;
        below[m + 5] = before + (c03 + c[4]);
        below[m + 6] = before + (c03 + c45);
        below[m + 7] = before + (c03 + (c45 + c[6]));
        before += c03 + (c45 + (c[6] + c[7]));
    }
    for (; m < n; ++m) {
        below[m] = before;
        before += cells[m];
    }
    below[n] = before;
}

void gather_strip(const double* first_column, std::ptrdiff_t row_stride,
                  const std::uint32_t* order, std::size_t n, double* out) {
    constexpr std::size_t kColumns = 8;
    constexpr std::size_t kRows = 8;
    constexpr std::size_t kAhead = 32;
    std::size_t k = 0;
    for (; k + kRows <= n; k += kRows) {
        double tile[kRows][kColumns];
        for (std::size_t r = 0; r < kRows; ++r) {
            if (k + r + kAhead < n)
                __builtin_prefetch(first_column +
                                   static_cast<std::ptrdiff_t>(order[k + r + kAhead]) * row_stride);
            std::memcpy(tile[r],
                        first_column + static_cast<std::ptrdiff_t>(order[k + r]) * row_stride,
                        sizeof tile[r]);
        }
        for (std::size_t j = 0; j < kColumns; ++j)
            for (std::size_t r = 0; r < kRows; ++r) out[j * n + k + r] = tile[r][j];
    }
    for (; k < n; ++k)
        for (std::size_t j = 0; j < kColumns; ++j)
            out[j * n + k] = first_column[static_cast<std::ptrdiff_t>(order[k]) * row_stride +
                                          static_cast<std::ptrdiff_t>(j)];
}

Kernels::PowerSums power_sums(const double* values, std::size_t n, double shift) {
    constexpr std::size_t kSums = 16;
    double sum[kSums] = {};
    double squares[kSums] = {};
    std::size_t i = 0;
    for (; i + kSums <= n; i += kSums)
        for (std::size_t k = 0; k < kSums; ++k) {
            const double delta = values[i + k] - shift;
            sum[k] += delta;
            squares[k] += delta * delta;
        }
    for (std::size_t k = 0; i < n; ++i, ++k) {
        const double delta = values[i] - shift;
        sum[k] += delta;
        squares[k] += delta * delta;
    }
    for (std::size_t half = kSums / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) {
            sum[k] += sum[k + half];
            squares[k] += squares[k + half];
        }
    return {sum[0], squares[0]};
}

void row_power_sums(const double* first_column, std::ptrdiff_t row_stride,
                    const std::uint32_t* order, const double* weights, std::size_t n,
                    std::size_t width, const double* shift, double* __restrict sum,
                    double* __restrict squares) {
    for (std::size_t k = 0; k < n; ++k) {
        const double* row = first_column + static_cast<std::ptrdiff_t>(order[k]) * row_stride;
        if (weights == nullptr) {
            for (std::size_t j = 0; j < width; ++j) {
                const double delta = row[j] - shift[j];
                sum[j] += delta;
                squares[j] += delta * delta;
            }
        } else {
            const double w = weights[k];
            for (std::size_t j = 0; j < width; ++j) {
                const double delta = row[j] - shift[j];
                sum[j] += w * delta;
                squares[j] += w * (delta * delta);
            }
        }
    }
}

}  // namespace

#define DRIFTSIEVE_STRING(x) #x
#define DRIFTSIEVE_NAME(x) DRIFTSIEVE_STRING(x)
extern const Kernels kernels;
const Kernels kernels = {
    DRIFTSIEVE_NAME(DRIFTSIEVE_ISA),
    cell_indices,
    census,
    census_weights,
    sum_below,
    sum_weights_below,
    gather_strip,
    power_sums,
    row_power_sums,
};

}  // namespace driftsieve::DRIFTSIEVE_ISA
