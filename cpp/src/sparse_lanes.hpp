#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

// kLanes values of a sparse row, and their columns, processed together. Requires AVX2.
namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kLanes = 8;

// An unused mask, without which gcc 12 emits a warning.
constexpr __mmask8 kAll = 0xff;

// gcc 12 widens a mask of 8 bits wrongly where it spills it, but not one of 16.
unsigned joined(__mmask8 high, __mmask8 low) {
    return _mm512_kunpackb(high, low);
}

__m512d load_lanes(const double* values) {
    return _mm512_loadu_pd(values);
}
__m512d load_lanes(const float* values) {
    return _mm512_maskz_cvtps_pd(kAll, _mm256_loadu_ps(values));
}
// None is negative or too large, so the lower halves of 64 bits are enough.
__m256i load_lanes(const std::int32_t* columns) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns));
}
__m256i load_lanes(const std::int64_t* columns) {
    return _mm512_maskz_cvtepi64_epi32(kAll, _mm512_loadu_si512(columns));
}

// Bit i: whether value i is not 1. Bit kLanes + i: whether it is 0.
unsigned kinds_of(__m512d values) {
    return joined(_mm512_cmp_pd_mask(values, _mm512_setzero_pd(), _CMP_EQ_OQ),
                  _mm512_cmp_pd_mask(values, _mm512_set1_pd(1.0), _CMP_NEQ_UQ));
}

// Writes those whose bit is set in `mask`, contiguously, and unspecified ones after them.
void store_some(unsigned mask, __m512d values, double* to) {
    _mm512_storeu_pd(to, _mm512_maskz_compress_pd(static_cast<__mmask8>(mask), values));
}
void store_some(unsigned mask, __m256i columns, std::uint32_t* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_maskz_compress_epi32(static_cast<__mmask8>(mask), columns));
}

// Whether columns ascend, except for the first of them, which has none before it.
bool rise(const std::int32_t* columns) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns));
    const __m256i before = _mm256_permutexvar_epi32(_mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6), x);
    return joined(0, _mm256_cmple_epi32_mask(x, before)) == 1;
}
bool rise(const std::int64_t* columns) {
    const __m512i x = _mm512_loadu_si512(columns);
    const __m512i before =
        _mm512_maskz_permutexvar_epi64(kAll, _mm512_setr_epi64(0, 0, 1, 2, 3, 4, 5, 6), x);
    return joined(0, _mm512_cmple_epi64_mask(x, before)) == 1;
}

#elif defined(__AVX2__)
// The same for four.
constexpr std::size_t kLanes = 4;

__m256d load_lanes(const double* values) {
    return _mm256_loadu_pd(values);
}
__m256d load_lanes(const float* values) {
    return _mm256_cvtps_pd(_mm_loadu_ps(values));
}
__m128i load_lanes(const std::int32_t* columns) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(columns));
}
__m128i load_lanes(const std::int64_t* columns) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns));
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)));
}

unsigned kinds_of(__m256d values) {
    const __m256d is_0 = _mm256_cmp_pd(values, _mm256_setzero_pd(), _CMP_EQ_OQ);
    const __m256d is_not_1 = _mm256_cmp_pd(values, _mm256_set1_pd(1.0), _CMP_NEQ_UQ);
    return static_cast<unsigned>(_mm256_movemask_pd(is_0) << kLanes | _mm256_movemask_pd(is_not_1));
}

// By mask: the lanes whose bits are set, contiguously, each of two numbers of 32 bits, or of one.
template <std::size_t Numbers>
constexpr auto make_places() {
    std::array<std::array<std::int32_t, kLanes * Numbers>, 1 << kLanes> places{};
    for (std::size_t mask = 0; mask < places.size(); ++mask) {
        std::size_t n = 0;
        for (std::size_t i = 0; i < kLanes * Numbers; ++i)
            if ((mask >> i / Numbers & 1) != 0) places[mask][n++] = static_cast<std::int32_t>(i);
    }
    return places;
}
alignas(32) constexpr auto kPlacesOfTwo = make_places<2>();
alignas(16) constexpr auto kPlacesOfOne = make_places<1>();

void store_some(unsigned mask, __m256d values, double* to) {
    const auto* places = reinterpret_cast<const __m256i*>(kPlacesOfTwo[mask].data());
    const __m256i moved =
        _mm256_permutevar8x32_epi32(_mm256_castpd_si256(values), _mm256_load_si256(places));
    _mm256_storeu_pd(to, _mm256_castsi256_pd(moved));
}
void store_some(unsigned mask, __m128i columns, std::uint32_t* to) {
    const auto* places = reinterpret_cast<const __m128i*>(kPlacesOfOne[mask].data());
    const __m128 moved = _mm_permutevar_ps(_mm_castsi128_ps(columns), _mm_load_si128(places));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_castps_si128(moved));
}

bool rise(const std::int32_t* columns) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(columns));
    const __m128i before = _mm_shuffle_epi32(x, _MM_SHUFFLE(2, 1, 0, 0));
    return _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(x, before))) == 0b1110;
}
bool rise(const std::int64_t* columns) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns));
    const __m256i before = _mm256_permute4x64_epi64(x, _MM_SHUFFLE(2, 1, 0, 0));
    return _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(x, before))) == 0b1110;
}
#endif

}  // namespace
}  // namespace driftsieve::DRIFTSIEVE_ISA
