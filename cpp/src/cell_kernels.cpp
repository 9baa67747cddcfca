// Counting values into cells, and sums over cells. Compiled once per instruction set, as
// kernels.cpp.

#include "cell_kernels.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

// Bits of a finest cell below those of its coarse one.
std::uint32_t inside_of(const Kernels::Cuts& cuts) {
    return (std::uint32_t{1} << cuts.bits) - 1;
}

#ifdef __AVX512BW__
// 256 numbers of 16 bits in registers, for lookups of 32 at a time: faster than from memory.
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

// As many as possible 32 at a time; returns how many.
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

// Calls add(i, index[i]) for all i, four per step, which takes half the time. Each step begins with
// between().
template <class Add, class Between>
void for_each_cell(const std::uint16_t* index, std::size_t n, const Add& add,
                   const Between& between) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        between();
        std::uint16_t four[4];
        std::memcpy(four, index + i, sizeof four);
        for (std::size_t k = 0; k < 4; ++k) add(i + k, four[k]);
    }
    for (; i < n; ++i) add(i, index[i]);
}

// Bit k is set where numbers[k] is `wanted`, for 16 numbers.
std::uint32_t match(const std::uint16_t* numbers, std::uint16_t wanted) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    return _mm256_cmpeq_epi16_mask(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers)),
                                   _mm256_set1_epi16(static_cast<short>(wanted)));
#elif defined(__SSE2__)
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

#ifdef __AVX512BW__
// A set of numbers, of which only the lowest ten bits are told apart.
struct RoughSet {
    __m512i low, high;  // 1024 bits

    RoughSet(const std::uint16_t* wanted, std::size_t n) {
        alignas(64) std::uint16_t words[64] = {};
        for (std::size_t k = 0; k < n; ++k)
            words[wanted[k] >> 4 & 63] |= static_cast<std::uint16_t>(1u << (wanted[k] & 15));
        low = _mm512_load_si512(words);
        high = _mm512_load_si512(words + 32);
    }

    // Bit k is set where numbers[k] may be in the set, for 32 numbers.
    std::uint32_t match(const std::uint16_t* numbers) const {
        const __m512i all = _mm512_loadu_si512(numbers);
        const __m512i word = _mm512_permutex2var_epi16(low, _mm512_srli_epi16(all, 4), high);
        const __m512i bit = _mm512_and_si512(all, _mm512_set1_epi16(15));
        return _mm512_test_epi16_mask(_mm512_srlv_epi16(word, bit), _mm512_set1_epi16(1));
    }
};

// Writes the positions of the bits in `mask`, counted from `begin`; returns how many.
std::size_t list_bits(std::uint16_t mask, std::size_t begin, std::uint32_t* out) {
    const __m512i places =
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(begin)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(mask, places));
    return static_cast<std::size_t>(__builtin_popcount(mask));
}
#endif

// Bit k is set where values[k] is not `expected`, for 16 values.
std::uint32_t differ(const double* values, double expected) {
    std::uint32_t mask = 0;
#if defined(__AVX512F__)
    const __m512d e = _mm512_set1_pd(expected);
    const __mmask8 low = _mm512_cmp_pd_mask(_mm512_loadu_pd(values), e, _CMP_NEQ_UQ);
    const __mmask8 high = _mm512_cmp_pd_mask(_mm512_loadu_pd(values + 8), e, _CMP_NEQ_UQ);
    // gcc 12 extends an 8-bit mask incorrectly when it spills it
    mask = _mm512_kunpackb(high, low);
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

// Adjacent cells. The compiler does not vectorize this for weights, because it cannot know that
// they are finite.
#if defined(__AVX512F__)
constexpr std::size_t kWide = 64;  // bytes of a register; larger vectors are compiled badly
#elif defined(__AVX2__)
constexpr std::size_t kWide = 32;
#else
constexpr std::size_t kWide = 16;
#endif
template <class Cell>
struct SideBySide {
    typedef Cell Lanes __attribute__((vector_size(kWide)));
};
template <class Cell>
using Lanes = typename SideBySide<Cell>::Lanes;
template <class Cell>
using Truths = decltype(Lanes<Cell>{} != Lanes<Cell>{});  // -1 where something is true

template <class Cell>
void load_sum(const Cell* cells, std::size_t n_classes, std::size_t stride, Lanes<Cell>& sum) {
    std::memcpy(&sum, cells, kWide);
    for (std::size_t c = 1; c < n_classes; ++c) {
        Lanes<Cell> next;
        std::memcpy(&next, cells + c * stride, kWide);
        sum += next;
    }
}

// As many bits for each lane as its bytes; with AVX-512, one.
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
template <class Cell>
constexpr std::size_t kBitsOf = 1;
#else
template <class Cell>
constexpr std::size_t kBitsOf = sizeof(Cell);
#endif
template <class Cell>
constexpr std::uint64_t kAllBits = (std::uint64_t{1} << kBitsOf<Cell>)-1;
template <class Cell>
std::uint64_t bits_of(const Truths<Cell>& truths) {
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
    if constexpr (sizeof(Cell) == 2)
        return _mm512_movepi16_mask((__m512i)truths);
    else
        return _mm512_movepi64_mask((__m512i)truths);
#elif defined(__AVX2__)
    return static_cast<std::uint32_t>(_mm256_movemask_epi8((__m256i)truths));
#elif defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)truths));
#else
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < kWide / sizeof(Cell); ++k)
        if (truths[k] != 0) bits |= kAllBits<Cell> << k * kBitsOf<Cell>;
    return bits;
#endif
}

// Most cells are passed over many at a time; those that are found may be few or many.
template <class Cell>
Kernels::Census census_of(const Cell* cells, std::size_t n_classes, std::size_t stride,
                          std::size_t n, Cell most, std::uint16_t* out) {
    constexpr std::size_t kLanes = kWide / sizeof(Cell);
    std::size_t used = 0;
    std::size_t found = 0;
    Cell rest = 0;
    Lanes<Cell> largest{};
    Truths<Cell> n_used{};
    std::size_t m = 0;
    for (; m + kLanes <= n; m += kLanes) {
        Lanes<Cell> sum;
        load_sum(cells + m, n_classes, stride, sum);
        const Truths<Cell> over = sum > most;
        n_used -= sum != Cell{0};
        const Lanes<Cell> within = over ? Lanes<Cell>{} : sum;
        largest = within > largest ? within : largest;
        for (std::uint64_t bits = bits_of<Cell>(over); bits != 0; ++found) {
            const auto lane = static_cast<std::size_t>(__builtin_ctzll(bits)) / kBitsOf<Cell>;
            out[found] = static_cast<std::uint16_t>(m + lane);
            bits &= ~(kAllBits<Cell> << lane * kBitsOf<Cell>);
        }
    }
    for (; m < n; ++m) {
        Cell sum = cells[m];
        for (std::size_t c = 1; c < n_classes; ++c)
            sum = static_cast<Cell>(sum + cells[c * stride + m]);
        used += sum != 0;
        out[found] = static_cast<std::uint16_t>(m);
        found += sum > most;
        rest = sum > rest && !(sum > most) ? sum : rest;
    }
    for (std::size_t k = 0; k < kLanes; ++k) {
        rest = largest[k] > rest ? largest[k] : rest;
        used += static_cast<std::size_t>(n_used[k]);
    }
    return {used, found, static_cast<double>(rest)};
}

}  // namespace

void find_cells(const std::uint32_t* finest, std::size_t n, const Kernels::Cuts& cuts,
                std::uint16_t* __restrict index) {
    const std::uint32_t inside = inside_of(cuts);
    for (std::size_t i = cells_by_table(finest, n, cuts, index); i < n; ++i) {
        const std::uint32_t entry = cuts.cut[finest[i] >> cuts.bits];
        index[i] =
            static_cast<std::uint16_t>((entry & 0xffff) + ((finest[i] & inside) >> (entry >> 16)));
    }
}

void count_cells(const std::uint16_t* index, std::size_t n, std::uint16_t* __restrict cells) {
    for_each_cell(index, n, [=](std::size_t, std::uint16_t m) { ++cells[m]; }, [] {});
}

void weigh_cells(const std::uint16_t* index, const double* weights, std::size_t n,
                 const Kernels::Ahead& ahead, double* __restrict cells) {
    std::size_t next = 0;
    for_each_cell(
        index, n, [=](std::size_t i, std::uint16_t m) { cells[m] += weights[i]; },
        [&] {
            if (next >= ahead.n) return;
            __builtin_prefetch(ahead.numbers + next, 1, 2);  // into the second-level cache
            next += 64 / sizeof(double);                     // a cache line
        });
}

std::size_t find_any(const std::uint16_t* numbers, std::size_t n, const std::uint16_t* wanted,
                     std::size_t n_wanted, [[maybe_unused]] const std::uint16_t* table,
                     std::uint32_t* __restrict out) {
    std::size_t found = 0;
    std::size_t i = 0;
#ifdef __AVX512BW__
    const RoughSet set(wanted, n_wanted);
    for (; i + 32 <= n; i += 32) {
        const std::uint32_t mask = set.match(numbers + i);
        found += list_bits(static_cast<std::uint16_t>(mask), i, out + found);
        found += list_bits(static_cast<std::uint16_t>(mask >> 16), i + 16, out + found);
    }
    const std::size_t candidates = std::exchange(found, 0);
    for (std::size_t k = 0; k < candidates; ++k) {
        const std::uint32_t at = out[k];
        out[found] = at;
        found += table[numbers[at]] != 0;
    }
#else
    constexpr std::size_t kFew = 16;
    for (; n_wanted <= kFew && i + 16 <= n; i += 16) {
        std::uint32_t mask = 0;
        for (std::size_t k = 0; k < n_wanted; ++k) mask |= match(numbers + i, wanted[k]);
        for (; mask != 0; mask &= mask - 1)
            out[found++] =
                static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(__builtin_ctz(mask));
    }
#endif
    for (; i < n; ++i) {
        out[found] = static_cast<std::uint32_t>(i);
        found += table[numbers[i]] != 0;
    }
    return found;
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
    // for most columns it is certain at once that they are none
    constexpr std::size_t kStretch = 512;
    for (std::size_t begin = 0; begin < n; begin += kStretch) {
        const std::size_t end = begin + kStretch < n ? begin + kStretch : n;
        std::uint64_t others = 0;
        for (std::size_t i = begin; i < end; ++i)
            others += std::floor(values[i] * per_width) * width != values[i] ? 1 : 0;
        if (others > 0) return false;
    }
    return true;
}

Kernels::Census census(const std::uint16_t* cells, std::size_t n_classes, std::size_t stride,
                       std::size_t n, std::uint16_t most, std::uint16_t* out) {
    return census_of(cells, n_classes, stride, n, most, out);
}

Kernels::Census census_weights(const double* cells, std::size_t n_classes, std::size_t stride,
                               std::size_t n, double most, std::uint16_t* out) {
    return census_of(cells, n_classes, stride, n, most, out);
}

std::uint64_t sum_cells(const std::uint16_t* cells, std::size_t n) {
    std::uint64_t sum = 0;
    constexpr std::size_t kStretch =
        4096;  // its sum fits into 32 bits, so more numbers fit into a register
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

}  // namespace driftsieve::DRIFTSIEVE_ISA
