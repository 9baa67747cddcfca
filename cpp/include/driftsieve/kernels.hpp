#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "driftsieve/base/sparse_row.hpp"
#include "driftsieve/ladder/ladder_kernels.hpp"

namespace driftsieve {

// Some values of a sparse row, which may be those of float.
struct SparseValues {
    double* values;
    std::uint32_t* columns;
};
// Sums of columns: that of column j is weights[j * stride], and squares[j * stride] if squares are
// added too. Otherwise squares is null, and stride is a power of two.
struct ColumnSums {
    double* weights;
    double* squares;
    std::size_t stride;
    std::size_t n_columns;
};
// See Kernels::add_weight.
template <class T, class Index>
using AddWeight = std::size_t (*)(const SparseRow<T, Index>& row, double weight,
                                  const ColumnSums& sums, const SparseValues& found);

// Inner loops that benefit from wide registers. They are compiled once per instruction set from one
// source (cpp/src/*kernels.cpp) and chosen when the library is first used;
// DRIFTSIEVE_SIMD=baseline, avx2 or avx512 chooses one for testing. All of them compute the same
// bits.
struct Kernels {
    const char* name;

    // Computes the finest cell of a value (see CellMap): floor(value * per_width) - base, limited
    // to [0, top].
    struct CellRule {
        double per_width;
        double base;
        double top;
    };
    void (*finest_cells)(const double* values, std::size_t n, const CellRule& rule,
                         std::uint32_t* out);
    // Rows order[0..n) of kStrip adjacent columns, read once for all results: the finest cell of
    // each value, out[j * out_stride + k] for row k and column j, and the power sums of the values
    // minus shifts[j]. weights == nullptr: all 1.
    static constexpr std::size_t kStrip = 16;
    struct Rows {
        const double* first_column;
        std::ptrdiff_t stride;
        const std::uint32_t* order;
        const double* weights;
        std::size_t n;
    };
    struct StripSums {
        double sum[kStrip];
        double squares[kStrip];
    };
    StripSums (*read_strip)(const Rows& rows, const CellRule* rules, const double* shifts,
                            std::uint32_t* out, std::size_t out_stride);
    // The cells of values. The finest cell f is in coarse cell f >> bits, whose entry of `cut` has
    // the first cell of that coarse cell and, 16 bits higher, the shift of the other bits of f.
    struct Cuts {
        const std::uint32_t* cut;
        std::size_t n;
        unsigned bits;
    };
    void (*find_cells)(const std::uint32_t* finest, std::size_t n, const Cuts& cuts,
                       std::uint16_t* index);
    // Counts values, given their cell numbers.
    void (*count_cells)(const std::uint16_t* index, std::size_t n, std::uint16_t* cells);
    // The same with weights. It also prefetches numbers that will be needed soon.
    struct Ahead {
        const double* numbers;
        std::size_t n;
    };
    void (*weigh_cells)(const std::uint16_t* index, const double* weights, std::size_t n,
                        const Ahead& ahead, double* cells);
    // Weights of all classes together in n cells; those of consecutive classes are `stride` apart.
    // Returns how many cells are not empty, and the numbers, in order, of those with more than
    // `most`: their count, and the largest weight of the others. The output must have space for
    // all.
    struct Census {
        std::size_t used;
        std::size_t found;
        double rest;
    };
    Census (*census)(const std::uint16_t* cells, std::size_t n_classes, std::size_t stride,
                     std::size_t n, std::uint16_t most, std::uint16_t* out);
    Census (*census_weights)(const double* cells, std::size_t n_classes, std::size_t stride,
                             std::size_t n, double most, std::uint16_t* out);
    // below[m] = sum of the cells before m, for m <= n.
    void (*sum_weights_below)(const double* cells, std::size_t n, double* below);
    // Sum of the cells; and into[m] += cells[m].
    std::uint64_t (*sum_cells)(const std::uint16_t* cells, std::size_t n);
    void (*add_cells)(const std::uint16_t* cells, std::size_t n, double* into);
    // Positions of the numbers that are among the `n_wanted` wanted ones, in order. table[m] is not
    // 0 for these m alone. The output must have space for kPastFound more than n positions.
    static constexpr std::size_t kPastFound = 16;
    std::size_t (*find_any)(const std::uint16_t* numbers, std::size_t n,
                            const std::uint16_t* wanted, std::size_t n_wanted,
                            const std::uint16_t* table, std::uint32_t* out);
    // Positions of the values, each with a number, whose number is wanted[k] for some k and which
    // do not equal expected[k], in order.
    std::size_t (*find_others)(const double* values, const std::uint16_t* numbers, std::size_t n,
                               const std::uint16_t* wanted, const double* expected,
                               std::size_t n_wanted, std::uint32_t* out);
    // How many of n_ends ascending numbers, at most 254, are below each value; unspecified for NaN.
    void (*find_buckets)(const double* values, std::size_t n, const double* ends,
                         std::size_t n_ends, std::uint8_t* out);
    // Positions of the keys that are `wanted`, in order.
    std::size_t (*find_key)(const std::uint8_t* keys, std::size_t n, std::uint8_t wanted,
                            std::uint32_t* out);
    // Whether all values are multiples of `width`, a power of two.
    bool (*are_multiples)(const double* values, std::size_t n, double width);
    // Transposes a strip: out[j * n + k] = row order[k], column j, for kStrip adjacent columns.
    void (*gather_strip)(const double* first_column, std::ptrdiff_t row_stride,
                         const std::uint32_t* order, std::size_t n, double* out);
    // Sum of the values less `shift`, and of their squares.
    struct PowerSums {
        double weight;
        double sum;
        double squares;
    };
    PowerSums (*power_sums)(const double* values, std::size_t n, double shift);
    PowerSums (*weighted_power_sums)(const double* values, const double* weights, std::size_t n,
                                     double shift);
    // How many values are larger than `edge`.
    std::size_t (*count_above)(const double* values, std::size_t n, double edge);
    // Adds the weight of a row, for each of its n values, to the sums of the edges that are below
    // it. Edges of the same number are side by side, those of the next one `stride` further on.
    struct Edges {
        const double* first;
        std::size_t n;
        std::size_t stride;
    };
    void (*weigh_above)(const double* values, std::size_t n, const Edges& edges, double weight,
                        double* sums, std::size_t sums_stride);
    // The same for adjacent columns, row after row: `width` columns from first_column on, the rows
    // order[0..n), weights == nullptr: all 1. Results are added to sum and squares.
    void (*row_power_sums)(const double* first_column, std::ptrdiff_t row_stride,
                           const std::uint32_t* order, const double* weights, std::size_t n,
                           std::size_t width, const double* shift, double* sum, double* squares);
    // Copies values and returns whether all are finite. Bypasses the cache, which is faster for
    // more values than it can hold.
    bool (*copy_values)(const double* from, std::size_t n, double* to);
    bool (*copy_past_cache)(const double* from, std::size_t n, double* to);

    // All below: kStrip adjacent columns, row after row; see EdgeFinder.
    //
    // The key of a value is monotonic: its distance from the centre times `below` or `above`,
    // truncated to an integer and limited to -kTopKey and kTopKey.
    static constexpr std::int8_t kTopKey = 127;
    static constexpr std::int8_t kNoKey = -128;
    struct KeyRule {
        double centre[kStrip];
        double below[kStrip];
        double above[kStrip];
    };
    // Adds rows minus shifts[j], and computes their keys. Weights are ignored. It also prefetches
    // the next kStrip columns.
    void (*read_rows)(const Rows& rows, const double* shifts, const KeyRule& rule, StripSums& sums,
                      std::int8_t* keys);
    // For each column, kPivots cells of keys: those from key[e * kStrip + j] on. `below` rows have
    // smaller keys, `size` rows have these. All counts are of up to 32767 rows.
    static constexpr std::size_t kPivots = 4;
    struct KeyCells {
        std::int8_t key[kPivots * kStrip];
        std::int16_t below[kPivots * kStrip];
        std::int16_t size[kPivots * kStrip];
    };
    // Keeps that half of each cell, of `width` keys, in which the row of a rank is.
    void (*halve_cells)(const std::int8_t* keys, std::size_t n, const std::int16_t* ranks,
                        int width, KeyCells& cells);
    // How many keys of column j are larger than edges[e * kStrip + j], for kPivots edges.
    void (*count_keys_above)(const std::int8_t* keys, std::size_t n, const std::int8_t* edges,
                             std::int16_t* counts);
    // Positions k * kStrip + j, in order, of the rows k whose key in column j is one of the wanted
    // ones of this column. The output needs space for one position per key and four more.
    std::size_t (*find_in_cells)(const std::int8_t* keys, std::size_t n, const std::int8_t* wanted,
                                 std::uint32_t* places);
    // Adds `weight`, and its square, to the sums of the columns in which a row is not 0. Those that
    // are not 1 either (NaN is neither) are written to `found`, in order, and their number is
    // returned; the output needs space for kPast more. If the row is not known to be canonical and
    // its columns are not ascending, at least 0 and below n_columns, the result is kRefused, with
    // the row partly added.
    static constexpr std::size_t kPast = 8;
    static constexpr std::size_t kRefused = static_cast<std::size_t>(-1);
    std::tuple<AddWeight<double, std::int32_t>, AddWeight<double, std::int64_t>,
               AddWeight<float, std::int32_t>, AddWeight<float, std::int64_t>>
        add_weight;
    // Adds values[i], which is not 0 and has weight `weight`, to the moments at places[i], 4
    // numbers each, as Moments::merge() would. All places differ; up to kFill - 1 more places and
    // values may be read and added. Returns whether all values are finite.
    static constexpr std::size_t kFill = 4;
    bool (*add_values)(const double* values, const std::uint32_t* places, std::size_t n,
                       double weight, double* moments);
    // Sorts lists of kSlots values, kPivots * kStrip of them side by side.
    static constexpr std::size_t kSlots = 8;
    void (*sort_slots)(double* slots);
    // Kernels for numbers at several half-lives.
    const LadderKernels* ladder;
};

const Kernels& kernels();

// The kernels of an instruction set; nullptr if the name is unknown or the machine does not support
// it.
const Kernels* kernels_named(std::string_view name);

}  // namespace driftsieve
