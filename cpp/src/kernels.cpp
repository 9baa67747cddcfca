// Compiled once per instruction set: DRIFTSIEVE_ISA is the namespace and the name of this copy.
// Plain loops that the compiler turns into vector code; the number of partial sums is fixed, so
// every copy computes the same bits.

#include "driftsieve/kernels.hpp"

#include "cell_kernels.hpp"
#include "copy_kernels.hpp"
#include "order_kernels.hpp"
#include "sparse_kernels.hpp"
#include "strip_kernels.hpp"

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

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
    constexpr std::size_t kCacheLine = 8;
    const auto row = [&](std::size_t k) {
        return first_column + static_cast<std::ptrdiff_t>(order[k]) * row_stride;
    };
    std::size_t k = 0;
    for (; k + kRows <= n; k += kRows) {
        // rows are far apart: the machine does not see where the next ones lie
        for (std::size_t r = k + 2 * kRows; r < k + 3 * kRows && r < n; ++r)
            for (std::size_t j = 0; j < width; j += kCacheLine)
                __builtin_prefetch(row(r) + j, 0, 2);
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
    copy_values,
    copy_past_cache,
    read_rows,
    halve_cells,
    count_keys_above,
    find_in_cells,
    {add_weight<double, std::int32_t>, add_weight<double, std::int64_t>,
     add_weight<float, std::int32_t>, add_weight<float, std::int64_t>},
    add_values,
    sort_slots,
};

}  // namespace driftsieve::DRIFTSIEVE_ISA
