// Compiled once per instruction set: DRIFTSIEVE_ISA is the namespace and the name of this copy.
// Plain loops that the compiler turns into vector code; the number of partial sums is fixed, so
// every copy computes the same bits.

#include "driftsieve/kernels.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "order_kernels.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

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

constexpr std::size_t kStrip = Kernels::kStrip;
constexpr std::size_t kAhead = 64;  // rows to ask for before they are needed

// Eight columns side by side.
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

// Eight rows of eight become eight columns: three rounds of putting halves side by side.
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
            sum += *weight * delta;
            squares += *weight * (delta * delta);
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
            __builtin_prefetch(ahead, 0, 2);  // into the second cache, which can wait for more
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

// Bits of a finest cell beyond those of its coarse one.
std::uint32_t inside_of(const Kernels::Cuts& cuts) {
    return (std::uint32_t{1} << cuts.bits) - 1;
}

#ifdef __AVX512BW__
// 256 numbers of 16 bits in registers, to be looked up 32 at a time: faster than from memory.
struct Table {
    __m512i parts[8];

    __m512i look_up(__m512i at) const {
        const __mmask32 odd = _mm512_test_epi16_mask(at, _mm512_set1_epi16(64));
        const __mmask32 high = _mm512_test_epi16_mask(at, _mm512_set1_epi16(128));
        __m512i quarters[4];
        for (int q = 0; q < 4; ++q)
            quarters[q] = _mm512_permutex2var_epi16(parts[2 * q], at, parts[2 * q + 1]);
        return _mm512_mask_blend_epi16(high, _mm512_mask_blend_epi16(odd, quarters[0], quarters[1]),
                                       _mm512_mask_blend_epi16(odd, quarters[2], quarters[3]));
    }
};

// The lower halves of 32 numbers, or the upper ones.
__m512i halves(__m512i a, __m512i b, bool upper) {
    alignas(64) std::uint16_t at[32];
    for (unsigned i = 0; i < 32; ++i) at[i] = static_cast<std::uint16_t>(2 * i + (upper ? 1 : 0));
    return _mm512_permutex2var_epi16(a, _mm512_load_si512(at), b);
}

// As many as can be done 32 at a time; returns how many.
std::size_t cells_by_table(const std::uint32_t* finest, std::size_t n, const Kernels::Cuts& cuts,
                           std::uint16_t* index) {
    if (cuts.n > 256 || n < 256) return 0;
    const auto cut = [&](std::size_t k) {
        const std::size_t left = cuts.n > 16 * k ? cuts.n - 16 * k : 0;
        const auto there = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
        return _mm512_maskz_loadu_epi32(there, cuts.cut + 16 * k);
    };
    Table first, shift;
    for (std::size_t k = 0; k < 8; ++k) {
        first.parts[k] = halves(cut(2 * k), cut(2 * k + 1), false);
        shift.parts[k] = halves(cut(2 * k), cut(2 * k + 1), true);
    }
    const __m512i inside = _mm512_set1_epi16(static_cast<short>(inside_of(cuts)));
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512i a = _mm512_loadu_si512(finest + i);
        const __m512i b = _mm512_loadu_si512(finest + i + 16);
        const __m512i coarse = halves(_mm512_maskz_srli_epi32(0xffff, a, cuts.bits),
                                      _mm512_maskz_srli_epi32(0xffff, b, cuts.bits), false);
        const __m512i rest = _mm512_and_si512(halves(a, b, false), inside);
        _mm512_storeu_si512(index + i,
                            _mm512_add_epi16(first.look_up(coarse),
                                             _mm512_srlv_epi16(rest, shift.look_up(coarse))));
    }
    return i;
}
#else
std::size_t cells_by_table(const std::uint32_t*, std::size_t, const Kernels::Cuts&,
                           std::uint16_t*) {
    return 0;
}
#endif

void cells_of(const std::uint32_t* finest, std::size_t n, const Kernels::Cuts& cuts,
              std::uint16_t* index) {
    const std::uint32_t inside = inside_of(cuts);
    for (std::size_t i = cells_by_table(finest, n, cuts, index); i < n; ++i) {
        const std::uint32_t entry = cuts.cut[finest[i] >> cuts.bits];
        index[i] =
            static_cast<std::uint16_t>((entry & 0xffff) + ((finest[i] & inside) >> (entry >> 16)));
    }
}

void count_cells(const std::uint32_t* finest, std::size_t n, const Kernels::Cuts& cuts,
                 std::uint16_t* __restrict index, std::uint16_t* __restrict cells) {
    cells_of(finest, n, cuts, index);
    for (std::size_t i = 0; i < n; ++i) ++cells[index[i]];
}

void weigh_cells(const std::uint32_t* finest, const double* weights, std::size_t n,
                 const Kernels::Cuts& cuts, std::uint16_t* __restrict index,
                 double* __restrict cells) {
    cells_of(finest, n, cuts, index);
    for (std::size_t i = 0; i < n; ++i) cells[index[i]] += weights[i];
}

// Bit k is set where numbers[k] is `wanted`, for 16 numbers.
std::uint32_t match(const std::uint16_t* numbers, std::uint16_t wanted) {
#ifdef __SSE2__
    const __m128i w = _mm_set1_epi16(static_cast<short>(wanted));
    const auto* at = reinterpret_cast<const __m128i*>(numbers);
    const __m128i low = _mm_cmpeq_epi16(_mm_loadu_si128(at), w);
    const __m128i high = _mm_cmpeq_epi16(_mm_loadu_si128(at + 1), w);
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
#else
    std::uint32_t mask = 0;
    for (unsigned k = 0; k < 16; ++k) mask |= std::uint32_t{numbers[k] == wanted} << k;
    return mask;
#endif
}

std::size_t find_any(const std::uint16_t* numbers, std::size_t n, const std::uint16_t* wanted,
                     std::size_t n_wanted, std::uint32_t* out) {
    std::size_t found = 0;
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        std::uint32_t mask = 0;
        for (std::size_t k = 0; k < n_wanted; ++k) mask |= match(numbers + i, wanted[k]);
        for (; mask != 0; mask &= mask - 1)
            out[found++] =
                static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(__builtin_ctz(mask));
    }
    for (; i < n; ++i)
        for (std::size_t k = 0; k < n_wanted; ++k)
            if (numbers[i] == wanted[k]) out[found++] = static_cast<std::uint32_t>(i);
    return found;
}

// Bit k is set where values[k] is not `expected`, for 16 values.
std::uint32_t differ(const double* values, double expected) {
    std::uint32_t mask = 0;
#if defined(__AVX512F__)
    const __m512d e = _mm512_set1_pd(expected);
    mask = _mm512_cmp_pd_mask(_mm512_loadu_pd(values), e, _CMP_NEQ_UQ);
    mask |= std::uint32_t{_mm512_cmp_pd_mask(_mm512_loadu_pd(values + 8), e, _CMP_NEQ_UQ)} << 8;
#elif defined(__SSE2__)
    const __m128d e = _mm_set1_pd(expected);
    for (unsigned k = 0; k < 16; k += 2)
        mask |=
            static_cast<std::uint32_t>(_mm_movemask_pd(_mm_cmpneq_pd(_mm_loadu_pd(values + k), e)))
            << k;
#else
    for (unsigned k = 0; k < 16; ++k) mask |= std::uint32_t{values[k] != expected} << k;
#endif
    return mask;
}

std::size_t find_others(const double* values, const std::uint16_t* numbers, std::size_t n,
                        const std::uint16_t* wanted, const double* expected, std::size_t n_wanted,
                        std::uint32_t* out) {
    std::size_t found = 0;
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        std::uint32_t mask = 0;
        for (std::size_t k = 0; k < n_wanted; ++k)
            mask |= match(numbers + i, wanted[k]) & differ(values + i, expected[k]);
        for (; mask != 0; mask &= mask - 1)
            out[found++] =
                static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(__builtin_ctz(mask));
    }
    for (; i < n; ++i)
        for (std::size_t k = 0; k < n_wanted; ++k)
            if (numbers[i] == wanted[k] && values[i] != expected[k])
                out[found++] = static_cast<std::uint32_t>(i);
    return found;
}

bool are_multiples(const double* values, std::size_t n, double width) {
    const double per_width = 1.0 / width;
    constexpr std::size_t kStretch = 512;  // most columns show at once that they are none
    for (std::size_t begin = 0; begin < n; begin += kStretch) {
        const std::size_t end = begin + kStretch < n ? begin + kStretch : n;
        std::uint64_t others = 0;
        for (std::size_t i = begin; i < end; ++i)
            others += std::floor(values[i] * per_width) * width != values[i] ? 1 : 0;
        if (others > 0) return false;
    }
    return true;
}

template <class Cell>
Kernels::Census census_of(const Cell* cells, std::size_t n_classes, std::size_t n, Cell* sums) {
    // counted in numbers as wide as the cells, of which more fit side by side
    using Count = std::conditional_t<std::is_integral_v<Cell>, Cell, std::uint64_t>;
    constexpr std::size_t kStretch = 1024;
    std::uint64_t used = 0;
    Cell largest = 0;
    for (std::size_t begin = 0; begin < n; begin += kStretch) {
        const std::size_t end = begin + kStretch < n ? begin + kStretch : n;
        if (sums != cells) std::memcpy(sums + begin, cells + begin, (end - begin) * sizeof(Cell));
        for (std::size_t c = 1; c < n_classes; ++c)
            for (std::size_t i = begin; i < end; ++i)
                sums[i] = static_cast<Cell>(sums[i] + cells[c * n + i]);
        Count here = 0;
        for (std::size_t i = begin; i < end; ++i) {
            here = static_cast<Count>(here + (sums[i] != Cell{0} ? 1 : 0));
            largest = sums[i] > largest ? sums[i] : largest;
        }
        used += here;
    }
    return {used, static_cast<double>(largest)};
}

Kernels::Census census(const std::uint16_t* cells, std::size_t n_classes, std::size_t n,
                       std::uint16_t* sums) {
    return census_of(cells, n_classes, n, sums);
}

Kernels::Census census_weights(const double* cells, std::size_t n_classes, std::size_t n,
                               double* sums) {
    return census_of(cells, n_classes, n, sums);
}

std::uint64_t sum_cells(const std::uint16_t* cells, std::size_t n) {
    std::uint64_t sum = 0;
    constexpr std::size_t kStretch =
        4096;  // its sum fits into 32 bits, of which more fit side by side
    for (std::size_t begin = 0; begin < n; begin += kStretch) {
        const std::size_t end = begin + kStretch < n ? begin + kStretch : n;
        std::uint32_t part = 0;
        for (std::size_t m = begin; m < end; ++m) part += cells[m];
        sum += part;
    }
    return sum;
}

void add_cells(const std::uint16_t* cells, std::size_t n, double* into) {
    for (std::size_t m = 0; m < n; ++m) into[m] += static_cast<double>(cells[m]);
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
    return {static_cast<double>(n), sum[0], squares[0]};
}

Kernels::PowerSums weighted_power_sums(const double* values, const double* weights, std::size_t n,
                                       double shift) {
    constexpr std::size_t kSums = 16;
    double weight[kSums] = {};
    double sum[kSums] = {};
    double squares[kSums] = {};
    const auto add = [&](std::size_t i, std::size_t k) {
        const double delta = values[i] - shift;
        weight[k] += weights[i];
        sum[k] += weights[i] * delta;
        squares[k] += weights[i] * (delta * delta);
    };
    std::size_t i = 0;
    for (; i + kSums <= n; i += kSums)
        for (std::size_t k = 0; k < kSums; ++k) add(i + k, k);
    for (std::size_t k = 0; i < n; ++i, ++k) add(i, k);
    for (std::size_t half = kSums / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) {
            weight[k] += weight[k + half];
            sum[k] += sum[k + half];
            squares[k] += squares[k + half];
        }
    return {weight[0], sum[0], squares[0]};
}

std::size_t count_above(const double* values, std::size_t n, double edge) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += values[i] > edge ? 1 : 0;
    return count;
}

void row_power_sums(const double* first_column, std::ptrdiff_t row_stride,
                    const std::uint32_t* order, const double* weights, std::size_t n,
                    std::size_t width, const double* shift, double* __restrict sum,
                    double* __restrict squares) {
    constexpr std::size_t kRows = 4;  // at a time: the sums are touched once for all of them
    const auto row = [&](std::size_t k) {
        return first_column + static_cast<std::ptrdiff_t>(order[k]) * row_stride;
    };
    std::size_t k = 0;
    for (; k + kRows <= n; k += kRows) {
        // rows are far apart: the machine does not see where the next ones lie
        for (std::size_t r = k + kRows; r < k + 2 * kRows && r < n; ++r)
            for (std::size_t j = 0; j < width; j += kLanes) __builtin_prefetch(row(r) + j, 0, 2);
        const double *a = row(k), *b = row(k + 1), *c = row(k + 2), *d = row(k + 3);
        if (weights == nullptr) {
            for (std::size_t j = 0; j < width; ++j) {
                const double from = shift[j];
                const double x = a[j] - from, y = b[j] - from, z = c[j] - from, u = d[j] - from;
                sum[j] += (x + y) + (z + u);
                squares[j] += (x * x + y * y) + (z * z + u * u);
            }
        } else {
            const double* w = weights + k;
            for (std::size_t j = 0; j < width; ++j) {
                const double from = shift[j];
                const double x = a[j] - from, y = b[j] - from, z = c[j] - from, u = d[j] - from;
                sum[j] += (w[0] * x + w[1] * y) + (w[2] * z + w[3] * u);
                squares[j] += (w[0] * (x * x) + w[1] * (y * y)) + (w[2] * (z * z) + w[3] * (u * u));
            }
        }
    }
    for (; k < n; ++k) {
        const double w = weights == nullptr ? 1.0 : weights[k];
        for (std::size_t j = 0; j < width; ++j) {
            const double delta = row(k)[j] - shift[j];
            sum[j] += w * delta;
            squares[j] += w * (delta * delta);
        }
    }
}

}  // namespace

#define DRIFTSIEVE_STRING(x) #x
#define DRIFTSIEVE_NAME(x) DRIFTSIEVE_STRING(x)
extern const Kernels kernels;
const Kernels kernels = {
    DRIFTSIEVE_NAME(DRIFTSIEVE_ISA),
    finest_cells,
    read_strip,
    count_cells,
    weigh_cells,
    census,
    census_weights,
    sum_weights_below,
    sum_cells,
    add_cells,
    find_any,
    find_others,
    are_multiples,
    gather_strip,
    power_sums,
    weighted_power_sums,
    count_above,
    row_power_sums,
    copy_rows,
    find_keys,
    halve_cells,
    find_in_cells,
    count_rows_above,
};

}  // namespace driftsieve::DRIFTSIEVE_ISA
