// Copying values while they are checked. Compiled once per instruction set, as kernels.cpp.

#include "copy_kernels.hpp"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

constexpr std::size_t kLine = 8;  // values in a cache line
#if defined(__AVX512F__)
constexpr std::size_t kLanes = 8;
#elif defined(__AVX2__)
constexpr std::size_t kLanes = 4;
#else
constexpr std::size_t kLanes = 2;
#endif
using Doubles = double __attribute__((vector_size(8 * kLanes)));

void store(const Doubles& x, double* to) {
    std::memcpy(to, &x, sizeof x);
}

// Writes to memory, without reading the cache line first; `to` is aligned.
void store_past_cache(const Doubles& x, double* to) {
#if defined(__AVX512F__)
    _mm512_stream_pd(to, x);
#elif defined(__AVX2__)
    _mm256_stream_pd(to, x);
#elif defined(__SSE2__)
    _mm_stream_pd(to, x);
#else
    store(x, to);
#endif
}

// Lines of values, and whether all are finite: 0 * v is 0 unless v is infinite or NaN.
template <class Store>
bool copy_lines(const double* from, std::size_t n, double* to, const Store& store_at) {
    constexpr std::size_t kParts = kLine / kLanes;
    Doubles sum[kParts] = {};
    for (std::size_t i = 0; i + kLine <= n; i += kLine)
        for (std::size_t k = 0; k < kParts; ++k) {
            Doubles x;
            std::memcpy(&x, from + i + k * kLanes, sizeof x);
            store_at(x, to + i + k * kLanes);
            sum[k] += x * 0.0;
        }
    double all = 0.0;
    for (std::size_t k = 0; k < kLine; ++k) all += sum[k / kLanes][k % kLanes];
    for (std::size_t i = n / kLine * kLine; i < n; ++i) {
        to[i] = from[i];
        all += from[i] * 0.0;
    }
    return all == 0.0;
}

}  // namespace

bool copy_values(const double* from, std::size_t n, double* to) {
    return copy_lines(from, n, to, store);
}

bool copy_past_cache(const double* from, std::size_t n, double* to) {
    std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(to) / sizeof(double)) % kLine;
    before = before < n ? before : n;
    const bool finite = copy_values(from, before, to);
    const bool rest = copy_lines(from + before, n - before, to + before, store_past_cache);
#ifdef __SSE2__
    _mm_sfence();  // other threads see what this one has written
#endif
    return finite && rest;
}

}  // namespace driftsieve::DRIFTSIEVE_ISA
