// Sparse rows of which most values are 1. Compiled once per instruction set, as kernels.cpp.

#include "sparse_kernels.hpp"

#include <cstdint>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

constexpr std::size_t kAhead = 24;  // values, whose sums are asked for meanwhile

#ifdef __AVX512F__
constexpr std::size_t kLanes = 8;    // values that are looked at together
constexpr std::size_t kInput = 256;  // values ahead that memory is asked for

// gcc 12 widens a mask of 8 bits wrongly where it spills it, but not one of 16.
unsigned joined(__mmask8 high, __mmask8 low) {
    return _mm512_kunpackb(high, low);
}

// Bit i: whether value i is not 1. Bit 8 + i: whether it is 0.
unsigned look(const double* values) {
    const __m512d x = _mm512_loadu_pd(values);
    return joined(_mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ),
                  _mm512_cmp_pd_mask(x, _mm512_set1_pd(1.0), _CMP_NEQ_UQ));
}
unsigned look(const float* values) {
    const __m256 x = _mm256_loadu_ps(values);
    return joined(_mm256_cmp_ps_mask(x, _mm256_setzero_ps(), _CMP_EQ_OQ),
                  _mm256_cmp_ps_mask(x, _mm256_set1_ps(1.0F), _CMP_NEQ_UQ));
}

// Whether columns rise, but for the first of them, which has none before it.
bool rise(const std::int32_t* columns) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns));
    const __m256i before = _mm256_permutexvar_epi32(_mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6), x);
    return joined(0, _mm256_cmple_epi32_mask(x, before)) == 1;
}
bool rise(const std::int64_t* columns) {
    const __m512i x = _mm512_loadu_si512(columns);
    // without a mask, which is of no use here, gcc 12 warns of itself
    const __m512i before =
        _mm512_maskz_permutexvar_epi64(0xff, _mm512_setr_epi64(0, 0, 1, 2, 3, 4, 5, 6), x);
    return joined(0, _mm512_cmple_epi64_mask(x, before)) == 1;
}
#endif

}  // namespace

template <class T, class Index>
std::size_t add_weight(const SparseRow<T, Index>& row, double weight, double* weights,
                       std::size_t stride, std::size_t n_columns, std::uint32_t* found) {
    const T* const values = row.values;
    const Index* const columns = row.columns;
    const std::size_t count = row.count;
    const auto sum_at = [&](std::size_t k) {
        return weights + static_cast<std::size_t>(columns[k]) * stride;
    };
    // One column or more, from k to last, of which the last is the largest if they rise.
    const auto is_next = [&](std::size_t k, std::size_t last) {
        return (k == 0 ? columns[k] >= 0 : columns[k] > columns[k - 1]) &&
               static_cast<std::size_t>(columns[last]) < n_columns;
    };
    std::size_t n_found = 0;
    const auto add_one = [&](std::size_t k) {
        if (values[k] == T{0}) return;
        *sum_at(k) += weight;
        found[n_found] = static_cast<std::uint32_t>(k);
        n_found += values[k] != T{1} ? 1 : 0;  // no branch, which would be foretold wrongly
    };
    const std::size_t after = count + row.more;
    const std::size_t ahead = after < kAhead ? 0 : after - kAhead;
    std::size_t k = 0;
#ifdef __AVX512F__
    __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (; k + kLanes <= count && k + kLanes <= ahead; k += kLanes) {
        __builtin_prefetch(values + k + kInput, 0, 0);  // needed once, so sums stay near
        __builtin_prefetch(columns + k + kInput, 0, 0);
        if (!row.is_canonical && !(rise(columns + k) && is_next(k, k + kLanes - 1)))
            return Kernels::kRefused;
        const unsigned looks = look(values + k);
        if (looks >> kLanes != 0) [[unlikely]] {
            for (std::size_t i = 0; i < kLanes; ++i) add_one(k + i);
        } else {
            for (std::size_t i = 0; i < kLanes; ++i) {
                __builtin_prefetch(sum_at(k + i + kAhead));
                *sum_at(k + i) += weight;
            }
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(found + n_found),
                                _mm256_maskz_compress_epi32(static_cast<__mmask8>(looks), places));
            n_found += static_cast<std::size_t>(__builtin_popcount(looks));
        }
        places = _mm256_add_epi32(places, _mm256_set1_epi32(kLanes));
    }
#endif
    for (; k < count; ++k) {
        if (!row.is_canonical && !is_next(k, k)) return Kernels::kRefused;
        if (k < ahead) __builtin_prefetch(sum_at(k + kAhead));
        add_one(k);
    }
    return n_found;
}

#define DRIFTSIEVE_ADD_WEIGHT(T, Index)                                                       \
    template std::size_t add_weight(const SparseRow<T, Index>&, double, double*, std::size_t, \
                                    std::size_t, std::uint32_t*);
DRIFTSIEVE_ADD_WEIGHT(double, std::int32_t)
DRIFTSIEVE_ADD_WEIGHT(double, std::int64_t)
DRIFTSIEVE_ADD_WEIGHT(float, std::int32_t)
DRIFTSIEVE_ADD_WEIGHT(float, std::int64_t)

}  // namespace driftsieve::DRIFTSIEVE_ISA
