// Finding the k-th smallest of many columns at once, row after row, as the rows lie in memory: a
// register holds one row of several columns. See EdgeFinder. Compiled once per instruction set, as
// kernels.cpp; columns have nothing to do with each other, so every copy computes the same bits.

#include "order_kernels.hpp"

#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

constexpr std::size_t kStrip = Kernels::kStrip;
constexpr std::size_t kPivots = Kernels::kPivots;

// As many columns as a register holds.
#if defined(__AVX512F__)
constexpr std::size_t kDoubleLanes = 8, kKeyLanes = 16;
#elif defined(__AVX2__)
constexpr std::size_t kDoubleLanes = 4, kKeyLanes = 16;
#else
constexpr std::size_t kDoubleLanes = 2, kKeyLanes = 8;
#endif
using Doubles = double __attribute__((vector_size(8 * kDoubleLanes)));
using Whole = std::int32_t __attribute__((vector_size(4 * kDoubleLanes)));
using Counts = std::int64_t __attribute__((vector_size(8 * kDoubleLanes)));
using Keys = std::int16_t __attribute__((vector_size(2 * kKeyLanes)));

template <class Vector, class T>
void load(Vector& x, const T* from) {
    std::memcpy(&x, from, sizeof x);
}
template <class Vector, class T>
void store(const Vector& x, T* to) {
    std::memcpy(to, &x, sizeof x);
}

// Bit j is set where lane j is.
std::uint32_t bits_of(const Keys& lanes) {
#ifdef __SSE2__
    __m128i half[2] = {};
    std::memcpy(half, &lanes, sizeof lanes);
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(half[0], half[1])));
#else
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < kKeyLanes; ++j) bits |= (lanes[j] != 0 ? 1u : 0u) << j;
    return bits;
#endif
}

}  // namespace

void copy_rows(const Kernels::Rows& rows, const double* shifts, double* out,
               Kernels::StripSums& sums, Kernels::StripRange& range) {
    constexpr std::size_t kParts = kStrip / kDoubleLanes;
    Doubles shift[kParts], sum[kParts] = {}, squares[kParts] = {}, low[kParts], high[kParts];
    std::memcpy(shift, shifts, sizeof shift);
    std::memcpy(low, range.low, sizeof low);
    std::memcpy(high, range.high, sizeof high);
    const double* first = rows.first_column;
    const std::ptrdiff_t stride = rows.stride;
    const std::uint32_t* order = rows.order;
    for (std::size_t k = 0, n = rows.n; k < n; ++k) {
        const double* row = first + static_cast<std::ptrdiff_t>(order[k]) * stride;
        // the next columns, which will be wanted when these have been dealt with
        __builtin_prefetch(row + kStrip, 0, 2);
        __builtin_prefetch(row + kStrip + kStrip / 2, 0, 2);
        for (std::size_t i = 0; i < kParts; ++i) {
            Doubles x;
            load(x, row + i * kDoubleLanes);
            store(x, out + k * kStrip + i * kDoubleLanes);
            const Doubles delta = x - shift[i];
            sum[i] += delta;
            squares[i] += delta * delta;
            low[i] = x < low[i] ? x : low[i];
            high[i] = x > high[i] ? x : high[i];
        }
    }
    std::memcpy(sums.sum, sum, sizeof sum);
    std::memcpy(sums.squares, squares, sizeof squares);
    std::memcpy(range.low, low, sizeof low);
    std::memcpy(range.high, high, sizeof high);
}

void find_keys(const double* rows, std::size_t n, const Kernels::KeyRule& rule,
               std::int16_t* __restrict keys) {
    constexpr std::size_t kParts = kStrip / kDoubleLanes;
    Doubles low[kParts], per_key[kParts];
    std::memcpy(low, rule.low, sizeof low);
    std::memcpy(per_key, rule.per_key, sizeof per_key);
    const Doubles none = {};
    const Doubles top = none + static_cast<double>(Kernels::kTopKey);
    for (std::size_t k = 0; k < n; ++k) {
        Whole whole[kParts];
        for (std::size_t i = 0; i < kParts; ++i) {
            Doubles key;
            load(key, rows + k * kStrip + i * kDoubleLanes);
            key = (key - low[i]) * per_key[i];
            key = key > none ? key : none;  // NaN is not
            key = key < top ? key : top;
            whole[i] = __builtin_convertvector(key, Whole);
        }
        for (std::size_t j = 0; j < kStrip; ++j)
            keys[k * kStrip + j] =
                static_cast<std::int16_t>(whole[j / kDoubleLanes][j % kDoubleLanes]);
    }
}

void halve_cells(const std::int16_t* keys, std::size_t n, const std::int16_t* ranks,
                 std::int16_t width, Kernels::KeyCells& cells) {
    for (std::size_t j = 0; j < kStrip; j += kKeyLanes) {
        Keys pivot[kPivots], count[kPivots] = {};
        for (std::size_t e = 0; e < kPivots; ++e) {
            load(pivot[e], cells.key + e * kStrip + j);
            pivot[e] += width;
        }
        for (std::size_t k = 0; k < n; ++k) {
            Keys key;
            load(key, keys + k * kStrip + j);
            for (std::size_t e = 0; e < kPivots; ++e) count[e] -= pivot[e] > key;  // true is -1
        }
        for (std::size_t e = 0; e < kPivots; ++e) {
            const std::size_t at = e * kStrip + j;
            Keys rank, key, below, size;
            load(rank, ranks + at);
            load(key, cells.key + at);
            load(below, cells.below + at);
            load(size, cells.size + at);
            const Keys upper = count[e] < rank;  // the row is in the upper half
            const Keys lower_size = count[e] - below;
            store(upper ? pivot[e] : key, cells.key + at);
            store(upper ? count[e] : below, cells.below + at);
            store(upper ? size - lower_size : lower_size, cells.size + at);
        }
    }
}

std::size_t find_in_cells(const std::int16_t* keys, std::size_t n, const std::int16_t* cells,
                          std::int16_t width, std::uint32_t* places) {
    const auto mask = static_cast<std::int16_t>(-width);
    constexpr std::size_t kParts = kStrip / kKeyLanes;
    constexpr std::size_t kRows = 256;  // at a time
    Keys cell[kParts][kPivots];
    for (std::size_t i = 0; i < kParts; ++i)
        for (std::size_t e = 0; e < kPivots; ++e)
            load(cell[i][e], cells + e * kStrip + i * kKeyLanes);
    std::size_t n_places = 0;
    for (std::size_t begin = 0; begin < n; begin += kRows) {
        // First the rows where there is something, without a branch that nobody could foresee.
        std::uint32_t row[kRows + 1], bits[kRows + 1];
        std::size_t n_rows = 0;
        const std::size_t end = begin + kRows < n ? begin + kRows : n;
        for (std::size_t k = begin; k < end; ++k) {
            std::uint32_t in_row = 0;
            for (std::size_t i = 0; i < kParts; ++i) {
                Keys key;
                load(key, keys + k * kStrip + i * kKeyLanes);
                key &= mask;
                Keys found = key == cell[i][0];
                for (std::size_t e = 1; e < kPivots; ++e) found |= key == cell[i][e];
                in_row |= bits_of(found) << (i * kKeyLanes);
            }
            row[n_rows] = static_cast<std::uint32_t>(k * kStrip);
            bits[n_rows] = in_row;
            n_rows += in_row != 0 ? 1 : 0;
        }
        for (std::size_t r = 0; r < n_rows; ++r)
            for (std::uint32_t left = bits[r]; left != 0; left &= left - 1)
                places[n_places++] = row[r] + static_cast<std::uint32_t>(__builtin_ctz(left));
    }
    return n_places;
}

void count_rows_above(const double* rows, std::size_t n, const double* edges,
                      std::int16_t* counts) {
    for (std::size_t j = 0; j < kStrip; j += kDoubleLanes) {
        Doubles edge[kPivots];
        Counts count[kPivots] = {};
        for (std::size_t e = 0; e < kPivots; ++e) load(edge[e], edges + e * kStrip + j);
        for (std::size_t k = 0; k < n; ++k) {
            Doubles x;
            load(x, rows + k * kStrip + j);
            for (std::size_t e = 0; e < kPivots; ++e) count[e] -= x > edge[e];
        }
        for (std::size_t e = 0; e < kPivots; ++e)
            for (std::size_t lane = 0; lane < kDoubleLanes; ++lane)
                counts[e * kStrip + j + lane] = static_cast<std::int16_t>(count[e][lane]);
    }
}

}  // namespace driftsieve::DRIFTSIEVE_ISA
