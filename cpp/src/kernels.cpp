// Compiled once per instruction set: DRIFTSIEVE_ISA is the namespace and the name of this copy.
// Plain loops that the compiler turns into vector code; the number of partial sums is fixed, so
// every copy computes the same bits.

#include "driftsieve/kernels.hpp"

#include <cstring>

#include "bucket_kernels.hpp"
#include "cell_kernels.hpp"
#include "copy_kernels.hpp"
#include "order_kernels.hpp"
#include "sparse_kernels.hpp"
#include "strip_kernels.hpp"

namespace driftsieve::DRIFTSIEVE_ISA {

extern const LadderKernels ladder_kernels;

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
        const double weighed = weights[i] * delta;
        weight[k] += weights[i];
        sum[k] += weighed;
        squares[k] += weighed * delta;  // 0 without weight, however far away the value
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

void weigh_above(const double* __restrict values, std::size_t n, const Kernels::Edges& edges,
                 double weight, double* sums, std::size_t sums_stride) {
    for (std::size_t e = 0; e < edges.n; ++e) {
        const double* __restrict edge = edges.first + e * edges.stride;
        double* __restrict sum = sums + e * sums_stride;
        for (std::size_t j = 0; j < n; ++j) sum[j] += values[j] > edge[j] ? weight : 0.0;
    }
}

std::size_t count_above(const double* values, std::size_t n, double edge) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += values[i] > edge ? 1 : 0;
    return count;
}

// Eight adjacent columns, a cache line.
constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(8 * kLanes)));

template <class Values>
void load(Values& values, const double* from) {
    std::memcpy(&values, from, sizeof values);
}

// Four rows, so that the sums are loaded once for all of them. The columns from `j` on, as many as
// in Values.
template <class Values, bool kWeighted>
void add_rows(const double* const* rows, const double* w, std::size_t j, const double* shift,
              double* sum, double* squares) {
    Values from, x, y, z, u, sums, sums_of_squares;
    load(from, shift + j);
    load(x, rows[0] + j), load(y, rows[1] + j), load(z, rows[2] + j), load(u, rows[3] + j);
    load(sums, sum + j), load(sums_of_squares, squares + j);
    x -= from, y -= from, z -= from, u -= from;
    if constexpr (kWeighted) {
        const Values a = w[0] * x, b = w[1] * y, c = w[2] * z, d = w[3] * u;
        sums += (a + b) + (c + d);
        sums_of_squares += (a * x + b * y) + (c * z + d * u);
    } else {
        sums += (x + y) + (z + u);
        sums_of_squares += (x * x + y * y) + (z * z + u * u);
    }
    std::memcpy(sum + j, &sums, sizeof sums);
    std::memcpy(squares + j, &sums_of_squares, sizeof sums_of_squares);
}

template <bool kWeighted>
void row_power_sums(const Kernels::Rows& rows, std::size_t width, const double* shift, double* sum,
                    double* squares) {
    constexpr std::size_t kRows = 4, kAhead = 2 * kRows;
    const auto row = [&](std::size_t k) {
        return rows.first_column + static_cast<std::ptrdiff_t>(rows.order[k]) * rows.stride;
    };
    const double* w = rows.weights;
    std::size_t k = 0;
    for (; k + kRows <= rows.n; k += kRows, w += kWeighted ? kRows : 0) {
        const double* const now[kRows] = {row(k), row(k + 1), row(k + 2), row(k + 3)};
        const double* later[kRows];
        for (std::size_t r = 0; r < kRows; ++r)
            later[r] = k + kAhead + r < rows.n ? row(k + kAhead + r) : now[r];
        std::size_t j = 0;
        for (; j + kLanes <= width; j += kLanes) {
            // rows are far apart, and the hardware prefetcher does not find the next ones
            for (const double* ahead : later) __builtin_prefetch(ahead + j, 0, 2);
            add_rows<Lanes, kWeighted>(now, w, j, shift, sum, squares);
        }
        for (; j < width; ++j) add_rows<double, kWeighted>(now, w, j, shift, sum, squares);
    }
    for (; k < rows.n; ++k)
        for (std::size_t j = 0; j < width; ++j) {
            const double delta = row(k)[j] - shift[j];
            const double weighed = kWeighted ? rows.weights[k] * delta : delta;
            sum[j] += weighed;
            squares[j] += weighed * delta;
        }
}

void row_power_sums(const double* first_column, std::ptrdiff_t row_stride,
                    const std::uint32_t* order, const double* weights, std::size_t n,
                    std::size_t width, const double* shift, double* sum, double* squares) {
    const Kernels::Rows rows{first_column, row_stride, order, weights, n};
    if (weights == nullptr)
        row_power_sums<false>(rows, width, shift, sum, squares);
    else
        row_power_sums<true>(rows, width, shift, sum, squares);
}

}  // namespace

#define DRIFTSIEVE_STRING(x) #x
#define DRIFTSIEVE_NAME(x) DRIFTSIEVE_STRING(x)
extern const Kernels kernels;
const Kernels kernels = {
    DRIFTSIEVE_NAME(DRIFTSIEVE_ISA),
    finest_cells,
    read_strip,
    find_cells,
    count_cells,
    weigh_cells,
    census,
    census_weights,
    sum_weights_below,
    sum_cells,
    add_cells,
    find_any,
    find_others,
    find_buckets,
    find_key,
    are_multiples,
    gather_strip,
    power_sums,
    weighted_power_sums,
    count_above,
    weigh_above,
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
    &ladder_kernels,
};

}  // namespace driftsieve::DRIFTSIEVE_ISA
