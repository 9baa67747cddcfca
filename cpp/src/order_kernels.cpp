// Finds the k-th smallest value of many columns at once, row after row, as the rows are in memory:
// a register holds one row of several columns. See EdgeFinder. Compiled once per instruction set,
// as kernels.cpp; columns are independent, so every copy computes the same bits.

#include "order_kernels.hpp"

#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

constexpr std::size_t kStrip = Kernels::kStrip;
constexpr std::size_t kPivots = Kernels::kPivots;
constexpr std::size_t kLine = 8;  // doubles in a cache line

// As many columns as fit into a register; of keys, it may hold more than one row.
#if defined(__AVX512F__)
constexpr std::size_t kDoubleLanes = 8, kKeyLanes = 32;
#elif defined(__AVX2__)
constexpr std::size_t kDoubleLanes = 4, kKeyLanes = 32;
#else
constexpr std::size_t kDoubleLanes = 2, kKeyLanes = 16;
#endif
constexpr std::size_t kParts = kStrip / kDoubleLanes;
constexpr std::size_t kKeyRows = kKeyLanes / kStrip;
using Doubles = double __attribute__((vector_size(8 * kDoubleLanes)));
using Keys = std::int8_t __attribute__((vector_size(kKeyLanes)));
#ifdef __AVX512F__
using WordOfKeys = std::int8_t __attribute__((vector_size(64)));
#else
using WordOfKeys = Keys;
#endif
using RowOfKeys = std::int8_t __attribute__((vector_size(kStrip)));
using KeyCounts = std::uint8_t __attribute__((vector_size(kKeyLanes)));
using RowOfCounts = std::uint8_t __attribute__((vector_size(kStrip)));

template <class Vector, class T>
void load(Vector& x, const T* from) {
    std::memcpy(&x, from, sizeof x);
}

// a > b ? a : b and a < b ? a : b, in one instruction each; the compiler uses two.
Doubles larger(const Doubles& a, const Doubles& b) {
#if defined(__AVX512F__)
    return _mm512_maskz_max_pd(0xff, a, b);
#elif defined(__AVX2__)
    return _mm256_max_pd(a, b);
#elif defined(__SSE2__)
    return _mm_max_pd(a, b);
#else
    return a > b ? a : b;
#endif
}
Doubles smaller(const Doubles& a, const Doubles& b) {
#if defined(__AVX512F__)
    return _mm512_maskz_min_pd(0xff, a, b);
#elif defined(__AVX2__)
    return _mm256_min_pd(a, b);
#elif defined(__SSE2__)
    return _mm_min_pd(a, b);
#else
    return a < b ? a : b;
#endif
}

// Numbers that fit, without their fractions, as keys.
void store_keys(const Doubles* numbers, std::int8_t* keys) {
#if defined(__AVX512F__)
    const __m512i whole = _mm512_maskz_inserti64x4(
        0xff, _mm512_castsi256_si512(_mm512_maskz_cvttpd_epi32(0xff, numbers[0])),
        _mm512_maskz_cvttpd_epi32(0xff, numbers[1]), 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(keys), _mm512_maskz_cvtepi32_epi8(0xffff, whole));
#elif defined(__SSE2__)
    __m128i quarter[4];
    for (std::size_t i = 0; i < 4; ++i) {
#ifdef __AVX2__
        quarter[i] = _mm256_cvttpd_epi32(numbers[i]);
#else
        quarter[i] = _mm_unpacklo_epi64(_mm_cvttpd_epi32(numbers[2 * i]),
                                        _mm_cvttpd_epi32(numbers[2 * i + 1]));
#endif
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(keys),
                     _mm_packs_epi16(_mm_packs_epi32(quarter[0], quarter[1]),
                                     _mm_packs_epi32(quarter[2], quarter[3])));
#else
    using Whole = std::int32_t __attribute__((vector_size(4 * kDoubleLanes)));
    using Bytes = std::int8_t __attribute__((vector_size(kDoubleLanes)));
    for (std::size_t i = 0; i < kParts; ++i) {
        const Bytes bytes =
            __builtin_convertvector(__builtin_convertvector(numbers[i], Whole), Bytes);
        std::memcpy(keys + i * kDoubleLanes, &bytes, sizeof bytes);
    }
#endif
}

// Lanes where it is true are -1, others 0. With mask registers the compiler would use these, which
// takes longer.
template <class Vector>
Vector is_above(const Vector& a, const Vector& b) {
#ifdef __AVX2__
    if constexpr (sizeof(Vector) == 32)
        return (Vector)_mm256_cmpgt_epi8((__m256i)a, (__m256i)b);
    else
        return (Vector)_mm_cmpgt_epi8((__m128i)a, (__m128i)b);
#else
    return a > b;
#endif
}
template <class Vector>
Vector is_same(const Vector& a, const Vector& b) {
#ifdef __AVX2__
    if constexpr (sizeof(Vector) == 32)
        return (Vector)_mm256_cmpeq_epi8((__m256i)a, (__m256i)b);
    else
        return (Vector)_mm_cmpeq_epi8((__m128i)a, (__m128i)b);
#else
    return a == b;
#endif
}

// Bit j is set where lane j is.
template <class Vector>
std::uint32_t bits_of(const Vector& lanes) {
#if defined(__AVX2__)
    if constexpr (sizeof(Vector) == 32)
        return static_cast<std::uint32_t>(_mm256_movemask_epi8((__m256i)lanes));
    else
        return static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)lanes));
#elif defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8((__m128i)lanes));
#else
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < sizeof lanes; ++j) bits |= (lanes[j] != 0 ? 1u : 0u) << j;
    return bits;
#endif
}

// Keys of kPivots edges in registers, for each row that those hold.
template <class Vector>
struct Edges {
    Vector of[kPivots];
    explicit Edges(const std::int8_t* keys) {
        for (std::size_t e = 0; e < kPivots; ++e) {
            std::int8_t lanes[sizeof(Vector)];
            for (std::size_t lane = 0; lane < sizeof lanes; lane += kStrip)
                std::memcpy(lanes + lane, keys + e * kStrip, kStrip);
            load(of[e], lanes);
        }
    }
};

// Adds to counts[e * kStrip + j] how often is_counted(key, edge e) in column j of up to 255
// registers.
template <class Vector, class Counts, class IsCounted>
void count_registers(const std::int8_t* keys, std::size_t n, const std::int8_t* edge_keys,
                     const IsCounted& is_counted, std::int16_t* __restrict counts) {
    constexpr std::size_t kAtOnce = 4;
    const Edges<Vector> edges(edge_keys);
    Counts count[kPivots] = {};
    const auto add = [&](std::size_t i) {
        Vector key;
        load(key, keys + i * sizeof key);
        for (std::size_t e = 0; e < kPivots; ++e)
            count[e] -= reinterpret_cast<Counts>(is_counted(key, edges.of[e]));  // true is -1
    };
    std::size_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce)
        for (std::size_t k = 0; k < kAtOnce; ++k) add(i + k);
    for (; i < n; ++i) add(i);
    std::uint8_t lanes[sizeof count];
    std::memcpy(lanes, count, sizeof lanes);
    for (std::size_t e = 0; e < kPivots; ++e)
        for (std::size_t lane = e * sizeof(Vector); lane < (e + 1) * sizeof(Vector); lane += kStrip)
            for (std::size_t j = 0; j < kStrip; ++j)
                counts[e * kStrip + j] =
                    static_cast<std::int16_t>(counts[e * kStrip + j] + lanes[lane + j]);
}

template <class IsCounted>
void count_keys(const std::int8_t* keys, std::size_t n, const std::int8_t* edges,
                const IsCounted& is_counted, std::int16_t* counts) {
    std::memset(counts, 0, kPivots * kStrip * sizeof *counts);
    std::size_t left = n / kKeyRows;
    for (std::size_t count; left > 0; left -= count, keys += count * sizeof(Keys)) {
        count = left < 255 ? left : 255;
        count_registers<Keys, KeyCounts>(keys, count, edges, is_counted, counts);
    }
    if (n % kKeyRows != 0)
        count_registers<RowOfKeys, RowOfCounts>(keys, n % kKeyRows, edges, is_counted, counts);
}

// A bit for each lane of so many registers, at most 64 bits in total: whether the key there is
// wanted.
template <class Vector>
std::uint64_t find_keys(const std::int8_t* keys, std::size_t n, const Edges<Vector>& wanted) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < n; ++i) {
        Vector key;
        load(key, keys + i * sizeof key);
        Vector found = is_same(key, wanted.of[0]);
        for (std::size_t e = 1; e < kPivots; ++e) found |= is_same(key, wanted.of[e]);
        bits |= std::uint64_t{bits_of(found)} << (i * sizeof key);
    }
    return bits;
}

// The same for 64 keys.
std::uint64_t find_word(const std::int8_t* keys, const Edges<WordOfKeys>& wanted) {
#ifdef __AVX512F__
    WordOfKeys key;
    load(key, keys);
    std::uint64_t bits = 0;
    for (std::size_t e = 0; e < kPivots; ++e)
        bits |= _mm512_cmpeq_epi8_mask((__m512i)key, (__m512i)wanted.of[e]);
    return bits;
#else
    return find_keys(keys, 64 / sizeof(WordOfKeys), wanted);
#endif
}

// Positions of the bits that are set, from `first` on, in a list with space for four more.
std::size_t list_bits(std::uint64_t bits, std::uint32_t first, std::uint32_t* list) {
    constexpr std::uint64_t kLast = std::uint64_t{1} << 63;
    // Their number cannot be predicted, but is rarely above four.
    constexpr std::size_t kMostly = 4;
    const auto n = static_cast<std::size_t>(std::popcount(bits));
    for (std::size_t i = 0; i < kMostly; ++i, bits &= bits - 1)
        list[i] = first + static_cast<std::uint32_t>(std::countr_zero(bits | kLast));
    for (std::size_t i = kMostly; i < n; ++i, bits &= bits - 1)
        list[i] = first + static_cast<std::uint32_t>(std::countr_zero(bits));
    return n;
}

}  // namespace

void read_rows(const Kernels::Rows& rows, const double* shifts, const Kernels::KeyRule& rule,
               Kernels::StripSums& sums, std::int8_t* keys) {
    Doubles shift[kParts], sum[kParts] = {}, squares[kParts] = {};
    Doubles centre[kParts], below[kParts], above[kParts];
    std::memcpy(shift, shifts, sizeof shift);
    std::memcpy(centre, rule.centre, sizeof centre);
    std::memcpy(below, rule.below, sizeof below);
    std::memcpy(above, rule.above, sizeof above);
    const Doubles top = Doubles{} + static_cast<double>(Kernels::kTopKey);
    const double* first = rows.first_column;
    const std::ptrdiff_t stride = rows.stride;
    const std::uint32_t* order = rows.order;
    for (std::size_t k = 0, n = rows.n; k < n; ++k) {
        const double* row = first + static_cast<std::ptrdiff_t>(order[k]) * stride;
        // prefetches the next columns, for which there is enough time
        for (std::size_t j = kStrip; j < 2 * kStrip; j += kLine) __builtin_prefetch(row + j, 0, 2);
        Doubles key[kParts];
        for (std::size_t i = 0; i < kParts; ++i) {
            Doubles x;
            load(x, row + i * kDoubleLanes);
            const Doubles delta = x - shift[i];
            sum[i] += delta;
            squares[i] += delta * delta;
            const Doubles from = x - centre[i];
            key[i] = from * (from < 0.0 ? below[i] : above[i]);
            key[i] = smaller(larger(key[i], -top), top);  // NaN is not larger
        }
        store_keys(key, keys + k * kStrip);
    }
    std::memcpy(sums.sum, sum, sizeof sum);
    std::memcpy(sums.squares, squares, sizeof squares);
}

void halve_cells(const std::int8_t* keys, std::size_t n, const std::int16_t* ranks, int width,
                 Kernels::KeyCells& cells) {
    constexpr std::size_t kCells = kPivots * kStrip;
    std::int8_t pivots[kCells];
    std::int16_t counts[kCells];
    for (std::size_t at = 0; at < kCells; ++at)
        pivots[at] = static_cast<std::int8_t>(cells.key[at] + width);
    count_keys(
        keys, n, pivots, [](const auto& key, const auto& pivot) { return is_above(pivot, key); },
        counts);
    for (std::size_t at = 0; at < kCells; ++at) {
        const bool upper = counts[at] < ranks[at];  // the row is in the upper half
        const auto lower_size = static_cast<std::int16_t>(counts[at] - cells.below[at]);
        cells.key[at] = upper ? pivots[at] : cells.key[at];
        cells.below[at] = upper ? counts[at] : cells.below[at];
        cells.size[at] =
            upper ? static_cast<std::int16_t>(cells.size[at] - lower_size) : lower_size;
    }
}

void count_keys_above(const std::int8_t* keys, std::size_t n, const std::int8_t* edges,
                      std::int16_t* counts) {
    count_keys(
        keys, n, edges, [](const auto& key, const auto& edge) { return is_above(key, edge); },
        counts);
}

std::size_t find_in_cells(const std::int8_t* keys, std::size_t n, const std::int8_t* wanted,
                          std::uint32_t* places) {
    constexpr std::size_t kWord = 64;  // keys
    const Edges<WordOfKeys> cells(wanted);
    std::size_t n_places = 0;
    std::size_t i = 0;
    for (; i + kWord <= n * kStrip; i += kWord)
        n_places +=
            list_bits(find_word(keys + i, cells), static_cast<std::uint32_t>(i), places + n_places);
    const std::uint64_t rest = find_keys(keys + i, n - i / kStrip, Edges<RowOfKeys>(wanted));
    return n_places + list_bits(rest, static_cast<std::uint32_t>(i), places + n_places);
}

void sort_slots(double* slots) {
    constexpr std::size_t kStride = kPivots * kStrip;
    for (std::size_t at = 0; at < kStride; at += kDoubleLanes) {
        Doubles slot[Kernels::kSlots];
        for (std::size_t i = 0; i < Kernels::kSlots; ++i) load(slot[i], slots + i * kStride + at);
        const auto order = [&](std::size_t i, std::size_t k) {
            const Doubles a = slot[i], b = slot[k];
            slot[i] = smaller(a, b);
            slot[k] = larger(b, a);
        };
        // Batcher's network: afterwards all lists of eight are sorted, for any input.
        order(0, 1), order(2, 3), order(4, 5), order(6, 7);
        order(0, 2), order(1, 3), order(4, 6), order(5, 7);
        order(1, 2), order(5, 6);
        order(0, 4), order(1, 5), order(2, 6), order(3, 7);
        order(2, 4), order(3, 5);
        order(1, 2), order(3, 4), order(5, 6);
        for (std::size_t i = 0; i < Kernels::kSlots; ++i)
            std::memcpy(slots + i * kStride + at, &slot[i], sizeof slot[i]);
    }
}

}  // namespace driftsieve::DRIFTSIEVE_ISA
