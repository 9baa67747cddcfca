// The buckets of values, and the rows of a bucket. Compiled once per instruction set, as
// kernels.cpp.

#include "bucket_kernels.hpp"

#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

// Bit k is set where keys[k] is `wanted`, for kKeys keys.
#if defined(__AVX512BW__)
constexpr std::size_t kKeys = 64;
std::uint64_t match(const std::uint8_t* keys, std::uint8_t wanted) {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(keys),
                                  _mm512_set1_epi8(static_cast<char>(wanted)));
}
#elif defined(__SSE2__)
constexpr std::size_t kKeys = 16;
std::uint64_t match(const std::uint8_t* keys, std::uint8_t wanted) {
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(keys));
    return static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(wanted)))));
}
#else
constexpr std::size_t kKeys = 8;
std::uint64_t match(const std::uint8_t* keys, std::uint8_t wanted) {
    std::uint64_t mask = 0;
    for (unsigned k = 0; k < kKeys; ++k) mask |= std::uint64_t{keys[k] == wanted} << k;
    return mask;
}
#endif

// How many of eight ascending ends are below a value.
std::size_t count_below(const double* ends, double value) {
#if defined(__AVX512F__)
    const __mmask8 below =
        _mm512_cmp_pd_mask(_mm512_loadu_pd(ends), _mm512_set1_pd(value), _CMP_LT_OQ);
    return static_cast<std::size_t>(__builtin_popcount(below));
#elif defined(__AVX2__)
    const __m256d v = _mm256_set1_pd(value);
    const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(ends), v, _CMP_LT_OQ));
    const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(ends + 4), v, _CMP_LT_OQ));
    return static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(low | high << 4)));
#else
    std::size_t count = 0;
    for (std::size_t k = 0; k < 8; ++k) count += ends[k] < value ? 1 : 0;
    return count;
#endif
}

}  // namespace

// First the group of eight ends, by the last of each; then the position in the group. No branch
// depends on a value.
void find_buckets(const double* values, std::size_t n, const double* ends, std::size_t n_ends,
                  std::uint8_t* out) {
    constexpr std::size_t kGroup = 8, kGroups = 32;
    constexpr double inf = __builtin_inf();
    if (n_ends == 0) {
        for (std::size_t i = 0; i < n; ++i) out[i] = 0;
        return;
    }
    double last[kGroups];
    double all[kGroup * kGroups];
    const std::size_t n_groups = n_ends / kGroup + 1;
    std::memcpy(all, ends, n_ends * sizeof(double));
    for (std::size_t k = n_ends; k < n_groups * kGroup; ++k) all[k] = inf;
    const std::size_t n_last = (n_groups + kGroup - 1) / kGroup * kGroup;
    for (std::size_t g = 0; g < n_last; ++g)
        last[g] = g < n_groups ? all[g * kGroup + kGroup - 1] : inf;
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t group = 0;
        for (std::size_t g = 0; g < n_last; g += kGroup) group += count_below(last + g, values[i]);
        out[i] = static_cast<std::uint8_t>(group * kGroup +
                                           count_below(all + group * kGroup, values[i]));
    }
}

std::size_t find_key(const std::uint8_t* keys, std::size_t n, std::uint8_t wanted,
                     std::uint32_t* out) {
    std::size_t found = 0;
    std::size_t i = 0;
    for (; i + kKeys <= n; i += kKeys)
        for (std::uint64_t mask = match(keys + i, wanted); mask != 0; mask &= mask - 1)
            out[found++] =
                static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(__builtin_ctzll(mask));
    for (; i < n; ++i)
        if (keys[i] == wanted) out[found++] = static_cast<std::uint32_t>(i);
    return found;
}

}  // namespace driftsieve::DRIFTSIEVE_ISA
