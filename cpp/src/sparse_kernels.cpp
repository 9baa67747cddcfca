// Sparse rows of which most values are 1. Compiled once per instruction set, as kernels.cpp.

#include "sparse_kernels.hpp"

#include <cstdint>

#include "sparse_lanes.hpp"

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

constexpr std::size_t kAhead = 24;  // values whose sums are prefetched meanwhile

#ifdef __AVX2__
constexpr std::size_t kInput = 256;  // values ahead for which memory is prefetched
#endif

// Position of the sum of squares: next to that of the weights, so that both are added at once.
enum class Where { nowhere, after, before, apart };
typedef double Pair __attribute__((vector_size(16), aligned(8), may_alias));

// add_weight(), given the position of the squares.
template <Where kSquares, class T, class Index>
std::size_t add_row(const SparseRow<T, Index>& row, double weight, const ColumnSums& sums,
                    const SparseValues& found) {
    const T* const values = row.values;
    const Index* const columns = row.columns;
    const std::size_t count = row.count;
    const std::size_t n_columns = sums.n_columns;
    double* const weights = kSquares == Where::before ? sums.squares : sums.weights;
    double* const squares = sums.squares;
    const double squared = weight * weight;
    const Pair both = kSquares == Where::before ? Pair{squared, weight} : Pair{weight, squared};
    const std::size_t stride = sums.stride;
    const int shift = __builtin_ctzll(stride);  // faster than to multiply
    double* const found_values = found.values;
    std::uint32_t* const found_columns = found.columns;
    const auto place = [&](std::size_t k) {
        const auto column = static_cast<std::size_t>(columns[k]);
        return kSquares == Where::nowhere ? column << shift : column * stride;
    };
    const auto add = [&](std::size_t k) {
        double* const sum = weights + place(k);
        if constexpr (kSquares == Where::after || kSquares == Where::before)
            *reinterpret_cast<Pair*>(sum) += both;
        else
            *sum += weight;
        if constexpr (kSquares == Where::apart) squares[place(k)] += squared;
    };
    // One column or more, from k to last; if they ascend, the last is the largest.
    const auto is_next = [&](std::size_t k, std::size_t last) {
        return (k == 0 ? columns[k] >= 0 : columns[k] > columns[k - 1]) &&
               static_cast<std::size_t>(columns[last]) < n_columns;
    };
    std::size_t n_found = 0;
    const auto add_one = [&](std::size_t k) {
        if (values[k] == T{0}) return;
        add(k);
        found_values[n_found] = static_cast<double>(values[k]);
        found_columns[n_found] = static_cast<std::uint32_t>(columns[k]);
        n_found += values[k] != T{1} ? 1 : 0;  // no branch, which would often be mispredicted
    };
    const std::size_t after = count + row.more;
    const std::size_t ahead = after < kAhead ? 0 : after - kAhead;
    std::size_t k = 0;
#ifdef __AVX2__
    for (; k + kLanes <= count && k + kLanes <= ahead; k += kLanes) {
        __builtin_prefetch(values + k + kInput, 0, 0);  // needed once, so sums stay near
        __builtin_prefetch(columns + k + kInput, 0, 0);
        if (!row.is_canonical && !(rise(columns + k) && is_next(k, k + kLanes - 1)))
            return Kernels::kRefused;
        const auto x = load_lanes(values + k);
        const unsigned kinds = kinds_of(x);
        if (kinds >> kLanes != 0) [[unlikely]] {
            for (std::size_t i = 0; i < kLanes; ++i) add_one(k + i);
        } else {
            for (std::size_t i = 0; i < kLanes; ++i) {
                __builtin_prefetch(weights + place(k + i + kAhead));
                add(k + i);
            }
            store_some(kinds, x, found_values + n_found);
            store_some(kinds, load_lanes(columns + k), found_columns + n_found);
            n_found += static_cast<std::size_t>(__builtin_popcount(kinds));
        }
    }
#endif
    for (; k < count; ++k) {
        if (!row.is_canonical && !is_next(k, k)) return Kernels::kRefused;
        if (k < ahead) __builtin_prefetch(weights + place(k + kAhead));
        add_one(k);
    }
    return n_found;
}

}  // namespace

template <class T, class Index>
std::size_t add_weight(const SparseRow<T, Index>& row, double weight, const ColumnSums& sums,
                       const SparseValues& found) {
    if (sums.squares == nullptr) return add_row<Where::nowhere>(row, weight, sums, found);
    if (sums.squares == sums.weights + 1) return add_row<Where::after>(row, weight, sums, found);
    if (sums.squares == sums.weights - 1) return add_row<Where::before>(row, weight, sums, found);
    return add_row<Where::apart>(row, weight, sums, found);
}

#define DRIFTSIEVE_ADD_WEIGHT(T, Index)                                                    \
    template std::size_t add_weight(const SparseRow<T, Index>&, double, const ColumnSums&, \
                                    const SparseValues&);
DRIFTSIEVE_ADD_WEIGHT(double, std::int32_t)
DRIFTSIEVE_ADD_WEIGHT(double, std::int64_t)
DRIFTSIEVE_ADD_WEIGHT(float, std::int32_t)
DRIFTSIEVE_ADD_WEIGHT(float, std::int64_t)

namespace {

#ifdef __AVX2__
// Rows of four numbers become columns.
void transpose(__m256d& a, __m256d& b, __m256d& c, __m256d& d) {
    const __m256d ab_even = _mm256_unpacklo_pd(a, b);
    const __m256d ab_odd = _mm256_unpackhi_pd(a, b);
    const __m256d cd_even = _mm256_unpacklo_pd(c, d);
    const __m256d cd_odd = _mm256_unpackhi_pd(c, d);
    a = _mm256_permute2f128_pd(ab_even, cd_even, 0x20);
    b = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20);
    c = _mm256_permute2f128_pd(ab_even, cd_even, 0x31);
    d = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31);
}

__m256d choose(__m256d mask, __m256d yes, __m256d no) {
    return _mm256_blendv_pd(no, yes, mask);
}

// add_value(), below, for four values.
void add_four(double* const* moments, __m256d value, __m256d by) {
    __m256d weight = _mm256_loadu_pd(moments[0]);
    __m256d mean = _mm256_loadu_pd(moments[1]);
    __m256d rest = _mm256_loadu_pd(moments[2]);
    __m256d m2 = _mm256_loadu_pd(moments[3]);
    transpose(weight, mean, rest, m2);
    const __m256d zero = _mm256_setzero_pd();
    const __m256d total = weight + by;
    const __m256d share = by / total;
    const __m256d delta = (value - mean) - rest;
    const __m256d is_heavier = _mm256_cmp_pd(by, weight, _CMP_GT_OQ);
    const __m256d step = choose(is_heavier, -delta * (weight / total), delta * share);
    const __m256d spread = delta * delta * (weight * share);
    mean = choose(is_heavier, value, mean);
    const __m256d moved = mean + step;
    const __m256d part = moved - mean;
    const __m256d lost = (mean - (moved - part)) + (step - part);
    const __m256d is_finite = _mm256_cmp_pd(lost - lost, zero, _CMP_EQ_OQ);
    rest = choose(is_heavier, zero, rest) + _mm256_and_pd(is_finite, lost);
    m2 = m2 + _mm256_and_pd(_mm256_cmp_pd(weight, zero, _CMP_NEQ_UQ), spread);
    weight = total;
    mean = moved;
    transpose(weight, mean, rest, m2);
    _mm256_storeu_pd(moments[0], weight);
    _mm256_storeu_pd(moments[1], mean);
    _mm256_storeu_pd(moments[2], rest);
    _mm256_storeu_pd(moments[3], m2);
}
#else
// The same as Moments::merge(), without its branches, which would often be mispredicted while a
// feature has few values.
void add_value(double* moments, double value, double by) {
    const double weight = moments[0];
    const double total = weight + by;
    const double share = by / total;
    const double delta = (value - moments[1]) - moments[2];
    const bool is_heavier = by > weight;
    const double step = is_heavier ? -delta * (weight / total) : delta * share;
    const double spread = delta * delta * (weight * share);
    const double mean = is_heavier ? value : moments[1];
    const double moved = mean + step;
    const double part = moved - mean;
    const double lost = (mean - (moved - part)) + (step - part);
    moments[0] = total;
    moments[1] = moved;
    moments[2] = (is_heavier ? 0.0 : moments[2]) + (lost - lost == 0.0 ? lost : 0.0);
    moments[3] += weight == 0.0 ? 0.0 : spread;  // not a number if delta is very large
}
#endif

}  // namespace

bool add_values(const double* values, const std::uint32_t* places, std::size_t n, double weight,
                double* moments) {
    const auto at = [&](std::size_t i) { return moments + std::size_t{places[i]} * 4; };
    // 0 * value is 0 unless value is infinite or NaN
#ifdef __AVX2__
    const __m256d by = _mm256_set1_pd(weight);
    __m256d all = _mm256_setzero_pd();
    for (std::size_t k = 0; k < n; k += Kernels::kFill) {
        double* const four[] = {at(k), at(k + 1), at(k + 2), at(k + 3)};
        const __m256d x = _mm256_loadu_pd(values + k);
        all = all + x * _mm256_setzero_pd();
        if (weight != 0.0) add_four(four, x, by);
    }
    return _mm256_movemask_pd(_mm256_cmp_pd(all, all, _CMP_UNORD_Q)) == 0;
#else
    double all = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
        all += 0.0 * values[k];
        if (weight != 0.0) add_value(at(k), values[k], weight);
    }
    return all == 0.0;
#endif
}

}  // namespace driftsieve::DRIFTSIEVE_ISA
