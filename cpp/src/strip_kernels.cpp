// Reading rows of adjacent columns. Compiled once per instruction set, as kernels.cpp.

#include "strip_kernels.hpp"

#include <cmath>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

constexpr std::size_t kStrip = Kernels::kStrip;
constexpr std::size_t kAhead = 64;  // rows to prefetch

// Eight adjacent columns.
constexpr std::size_t kLanes = 8;
using Doubles = double __attribute__((vector_size(8 * kLanes)));
using Whole = std::int32_t __attribute__((vector_size(4 * kLanes)));

void round_down(Doubles& x) {
#ifdef __AVX512F__  // the compiler does not find this by itself
    x = (Doubles)_mm512_maskz_roundscale_pd(0xff, (__m512d)x, _MM_FROUND_TO_NEG_INF);
#else
    for (std::size_t j = 0; j < kLanes; ++j) x[j] = std::floor(x[j]);
#endif
}

// Transposes eight rows of eight: three rounds of interleaving halves.
void store_transposed(const Whole (&tile)[kLanes], std::uint32_t* out, std::size_t out_stride) {
    Whole rows[kLanes], next[kLanes];
    std::memcpy(rows, tile, sizeof rows);
    for (int round = 0; round < 3; ++round) {
        for (std::size_t r = 0; r < kLanes / 2; ++r) {
            const Whole a = rows[r];
            const Whole b = rows[r + kLanes / 2];
            next[2 * r] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
            next[2 * r + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
        }
        std::memcpy(rows, next, sizeof rows);
    }
    for (std::size_t j = 0; j < kLanes; ++j)
        std::memcpy(out + j * out_stride, &rows[j], sizeof rows[j]);
}

// Eight columns of a strip: their rules and their sums so far.
struct StripLanes {
    Doubles per_width, base, top, shift, sum, squares;

    StripLanes(const Kernels::CellRule* rules, const double* shifts) {
        for (std::size_t j = 0; j < kLanes; ++j) {
            per_width[j] = rules[j].per_width;
            base[j] = rules[j].base;
            top[j] = rules[j].top;
        }
        std::memcpy(&shift, shifts, sizeof shift);
        sum = squares = Doubles{};
    }

    void take(const double* row, const double* weight, Whole& cells) {
        Doubles x;
        std::memcpy(&x, row, sizeof x);
        const Doubles delta = x - shift;
        if (weight == nullptr) {
            sum += delta;
            squares += delta * delta;
        } else {
            const Doubles weighed = *weight * delta;
            sum += weighed;
            squares += weighed * delta;  // 0 without weight, however far away the value
        }
        // the floor first: subtracting first could round a value into the next cell
        Doubles cell = x * per_width;
        round_down(cell);
        cell -= base;
        const Doubles none = {};
        cell = cell > none ? cell : none;
        cell = cell < top ? cell : top;
        cells = __builtin_convertvector(cell, Whole);
    }
};

}  // namespace

void finest_cells(const double* values, std::size_t n, const Kernels::CellRule& rule,
                  std::uint32_t* out) {
    const double per_width = rule.per_width;
    const double base = rule.base;
    const double top = rule.top;
    for (std::size_t i = 0; i < n; ++i) {
        // the floor first: subtracting first could round a value into the next cell
        double cell = std::floor(values[i] * per_width) - base;
        cell = cell > 0.0 ? cell : 0.0;
        cell = cell < top ? cell : top;
        out[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(cell));
    }
}

Kernels::StripSums read_strip(const Kernels::Rows& rows, const Kernels::CellRule* rules,
                              const double* shifts, std::uint32_t* out, std::size_t out_stride) {
    StripLanes low(rules, shifts);
    StripLanes high(rules + kLanes, shifts + kLanes);
    std::uint32_t* out_high = out + kLanes * out_stride;
    const auto row = [&](std::size_t k) {
        return rows.first_column + static_cast<std::ptrdiff_t>(rows.order[k]) * rows.stride;
    };
    const auto weight = [&](std::size_t k) {
        return rows.weights == nullptr ? nullptr : rows.weights + k;
    };
    std::size_t k = 0;
    for (; k + kLanes <= rows.n; k += kLanes) {
        Whole tile_low[kLanes], tile_high[kLanes];
        for (std::size_t r = 0; r < kLanes; ++r) {
            const double* ahead = row(k + r + kAhead < rows.n ? k + r + kAhead : k + r);
            // into the second-level cache, because it is needed later
            __builtin_prefetch(ahead, 0, 2);
            __builtin_prefetch(ahead + kLanes, 0, 2);
            low.take(row(k + r), weight(k + r), tile_low[r]);
            high.take(row(k + r) + kLanes, weight(k + r), tile_high[r]);
        }
        store_transposed(tile_low, out + k, out_stride);
        store_transposed(tile_high, out_high + k, out_stride);
    }
    for (; k < rows.n; ++k) {
        Whole cells_low, cells_high;
        low.take(row(k), weight(k), cells_low);
        high.take(row(k) + kLanes, weight(k), cells_high);
        for (std::size_t j = 0; j < kLanes; ++j) {
            out[j * out_stride + k] = static_cast<std::uint32_t>(cells_low[j]);
            out_high[j * out_stride + k] = static_cast<std::uint32_t>(cells_high[j]);
        }
    }
    Kernels::StripSums sums;
    std::memcpy(sums.sum, &low.sum, sizeof low.sum);
    std::memcpy(sums.sum + kLanes, &high.sum, sizeof high.sum);
    std::memcpy(sums.squares, &low.squares, sizeof low.squares);
    std::memcpy(sums.squares + kLanes, &high.squares, sizeof high.squares);
    return sums;
}

void gather_strip(const double* first_column, std::ptrdiff_t row_stride, const std::uint32_t* order,
                  std::size_t n, double* out) {
    constexpr std::size_t kColumns = kStrip;
    constexpr std::size_t kRows = 8;
    std::size_t k = 0;
    for (; k + kRows <= n; k += kRows) {
        double tile[kRows][kColumns];
        for (std::size_t r = 0; r < kRows; ++r) {
            if (k + r + kAhead < n)
                __builtin_prefetch(
                    first_column + static_cast<std::ptrdiff_t>(order[k + r + kAhead]) * row_stride,
                    0, 2);
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

}  // namespace driftsieve::DRIFTSIEVE_ISA
