// Numbers at several half-lives side by side. Compiled once per instruction set, as kernels.cpp.

#include "driftsieve/ladder/ladder_kernels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "driftsieve/memory/coming.hpp"
#include "driftsieve/quantiles/edge_goal.hpp"

namespace driftsieve::DRIFTSIEVE_ISA {
namespace {

using Four = double __attribute__((vector_size(32)));
using Eight = double __attribute__((vector_size(64)));

// Whether a comparison holds, in any of its lanes.
bool is_any(bool holds) {
    return holds;
}
template <class Mask>
    requires(sizeof(Mask) > sizeof(bool))
[[gnu::always_inline]] inline bool is_any(const Mask& holds) {
#if defined(__AVX512F__)
    if constexpr (sizeof(Mask) == 64)
        return _mm512_movepi64_mask((__m512i)holds) != 0;
    else
        return _mm256_movemask_pd((__m256d)holds) != 0;
#elif defined(__AVX2__)
    __m256d half[sizeof(Mask) / 32];
    std::memcpy(half, &holds, sizeof holds);
    __m256d any = half[0];
    for (std::size_t k = 1; k < std::size(half); ++k) any = _mm256_or_pd(any, half[k]);
    return _mm256_movemask_pd(any) != 0;
#else
    std::int64_t any = 0;
    for (std::size_t k = 0; k < sizeof(Mask) / sizeof any; ++k) any |= holds[k];
    return any != 0;
#endif
}

// One number for each of R half-lives.
template <std::size_t R>
struct Line {
    static constexpr std::size_t kEights = R / 8;
    static constexpr std::size_t kFours = R % 8 / 4;
    static constexpr std::size_t kRest = R % 4;
    static constexpr std::size_t kFirstFour = 8 * kEights;
    static constexpr std::size_t kFirstRest = kFirstFour + 4 * kFours;
    Eight eight[kEights + 1];  // one too many, since there may be none
    Four four[kFours + 1];
    double rest[kRest + 1];

    // Calls use() with the same part of all lines, part after part.
    template <class Use, class... Lines>
    [[gnu::always_inline]] static void each(const Use& use, Lines&... lines) {
        for (std::size_t k = 0; k < kEights; ++k) use(lines.eight[k]...);
        for (std::size_t k = 0; k < kFours; ++k) use(lines.four[k]...);
        for (std::size_t k = 0; k < kRest; ++k) use(lines.rest[k]...);
    }
    void clear() {
        each([](auto& part) { part = std::remove_reference_t<decltype(part)>{}; }, *this);
    }
    void load(const double* from) {
        std::memcpy(eight, from, 64 * kEights);
        std::memcpy(four, from + kFirstFour, 32 * kFours);
        std::memcpy(rest, from + kFirstRest, 8 * kRest);
    }
    void store(double* to) const {
        std::memcpy(to, eight, 64 * kEights);
        std::memcpy(to + kFirstFour, four, 32 * kFours);
        std::memcpy(to + kFirstRest, rest, 8 * kRest);
    }
    void add(const Line& other) {
        each([](auto& part, const auto& more) { part += more; }, *this, other);
    }
    void add(const double* from) {
        Line other;
        other.load(from);
        add(other);
    }
    void take_larger(const Line& other) {
        each([](auto& part, const auto& more) { part = part < more ? more : part; }, *this, other);
    }
    // Sets the number of one half-life to 0, and returns what it was.
    double take(std::size_t r) {
        double numbers[R];
        store(numbers);
        const double number = std::exchange(numbers[r], 0.0);
        load(numbers);
        return number;
    }
    // Whether a number of this line is at least that of `goal`.
    bool reaches(const Line& goal) const {
        bool any = false;
        each([&](const auto& part, const auto& least) { any |= is_any(part >= least); }, *this,
             goal);
        return any;
    }
    // Whether a number of this line is above that of `most`.
    bool exceeds(const Line& most) const {
        bool any = false;
        each([&](const auto& part, const auto& limit) { any |= is_any(part > limit); }, *this,
             most);
        return any;
    }
};

template <std::size_t R>
void sum_of_classes(const double* weights, std::size_t n_classes, Line<R>& total) {
    total.load(weights);
    for (std::size_t c = 1; c < n_classes; ++c) total.add(weights + c * R);
}

// The cells of a class, see LadderKernels: the line of a cell is in two parts.
template <std::size_t R, class Number = double>
struct Cells {
    static constexpr std::size_t kFirst = R / 8 * 8;
    static constexpr std::size_t kSecond = R % 8;
    Number* first;
    Number* second;

    Cells(Number* cells, std::size_t n_cells) : first(cells), second(cells + n_cells * kFirst) {}
    void prefetch(std::size_t m) const {
        __builtin_prefetch(first + m * kFirst);
        __builtin_prefetch(second + m * kSecond);
    }
    void load(std::size_t m, Line<R>& line) const {
        std::memcpy(line.eight, first + m * kFirst, 8 * kFirst);
        std::memcpy(line.four, second + m * kSecond, 32 * Line<R>::kFours);
        std::memcpy(line.rest, second + m * kSecond + 4 * Line<R>::kFours, 8 * Line<R>::kRest);
    }
    void store(std::size_t m, const Line<R>& line) const {
        std::memcpy(first + m * kFirst, line.eight, 8 * kFirst);
        std::memcpy(second + m * kSecond, line.four, 32 * Line<R>::kFours);
        std::memcpy(second + m * kSecond + 4 * Line<R>::kFours, line.rest, 8 * Line<R>::kRest);
    }
};

template <std::size_t R>
void power_sums(const LadderKernels::Rows& rows, std::size_t width, const double* shifts,
                double* sum, double* squares) {
    // A few rows at a time, column after column: they are far apart, and the next ones are fetched
    // meanwhile.
    constexpr std::size_t kRows = 16;
    const auto row = [&](std::size_t k) {
        return rows.first_column + static_cast<std::ptrdiff_t>(rows.order[k]) * rows.stride;
    };
    std::memset(sum, 0, R * width * sizeof *sum);
    std::memset(squares, 0, R * width * sizeof *squares);
    for (std::size_t begin = 0; begin < rows.n; begin += kRows)
        for (std::size_t j = 0; j < width; j += 8) {
            Eight shift;
            std::memcpy(&shift, shifts + j, sizeof shift);
            Eight sums[R], sums_of_squares[R];
            for (std::size_t r = 0; r < R; ++r) {
                std::memcpy(&sums[r], sum + r * width + j, sizeof sums[r]);
                std::memcpy(&sums_of_squares[r], squares + r * width + j, sizeof sums[r]);
            }
            const std::size_t end = std::min(begin + kRows, rows.n);
            for (std::size_t k = begin; k < end; ++k) {
                if (k + kRows < rows.n) __builtin_prefetch(row(k + kRows) + j);
                Eight delta;
                std::memcpy(&delta, row(k) + j, sizeof delta);
                delta -= shift;
                const double* weights = rows.weights + k * R;
                for (std::size_t r = 0; r < R; ++r) {
                    const Eight weighed = weights[r] * delta;
                    sums[r] += weighed;
                    sums_of_squares[r] += weighed * delta;  // nothing where nothing is weighed
                }
            }
            for (std::size_t r = 0; r < R; ++r) {
                std::memcpy(sum + r * width + j, &sums[r], sizeof sums[r]);
                std::memcpy(squares + r * width + j, &sums_of_squares[r], sizeof sums[r]);
            }
        }
}

template <std::size_t R>
void weigh_cells(const std::uint32_t* finest, const double* weights, std::size_t n,
                 const LadderKernels::Cuts& cuts, std::uint16_t* __restrict index,
                 double* __restrict first_cell, std::size_t n_cells) {
    const std::uint32_t inside = (std::uint32_t{1} << cuts.bits) - 1;
    for (std::size_t k = 0; k < n; ++k) {
        const std::uint32_t cut = cuts.cut[finest[k] >> cuts.bits];
        index[k] =
            static_cast<std::uint16_t>((cut & 0xffff) + ((finest[k] & inside) >> (cut >> 16)));
    }
    const Cells<R> cells(first_cell, n_cells);
    for (std::size_t k = 0; k < n; ++k) {
        Line<R> line, more;
        cells.load(index[k], line);
        more.load(weights + k * R);
        line.add(more);
        cells.store(index[k], line);
    }
}

template <std::size_t R>
std::size_t census(double* first_cell, std::size_t n_cells, std::size_t n_classes,
                   const double* most, std::uint16_t* __restrict used,
                   std::uint8_t* __restrict too_full, double* __restrict lines) {
    Line<R> limit, none;
    limit.load(most);
    none.clear();
    std::size_t n_used = 0;
    for (std::size_t m = 0; m < n_cells; ++m) {
        Line<R> total = none;
        double* out = lines + n_used * n_classes * R;
        for (std::size_t c = 0; c < n_classes; ++c) {
            const Cells<R> cells(first_cell + c * LadderKernels::room_of(n_cells, R), n_cells);
            Line<R> line;
            cells.load(m, line);
            cells.store(m, none);
            line.store(out + c * R);
            total.add(line);
        }
        used[n_used] = static_cast<std::uint16_t>(m);
        too_full[n_used] = total.exceeds(limit);
        n_used += total.exceeds(none);
    }
    return n_used;
}

template <std::size_t R>
std::size_t add_cells(double* first_of_block, std::size_t n_cells, std::size_t n_classes,
                      const double* most, double* first_cell, std::uint16_t* __restrict taken,
                      double* __restrict lines) {
    const std::size_t room = LadderKernels::room_of(n_cells, R);
    Line<R> limit, none;
    limit.load(most);
    none.clear();
    std::size_t n_taken = 0;
    for (std::size_t m = 0; m < n_cells; ++m) {
        Line<R> sums[kFewClasses];
        Line<R> arriving = none;
        Line<R> total = none;
        for (std::size_t c = 0; c < n_classes; ++c) {
            const Cells<R> block(first_of_block + c * room, n_cells);
            Line<R> more;
            block.load(m, more);
            block.store(m, none);
            more.store(lines + (n_taken * n_classes + c) * R);
            arriving.add(more);
            Cells<R>(first_cell + c * room, n_cells).load(m, sums[c]);
            sums[c].add(more);
            total.add(sums[c]);
        }
        const bool is_outside = m == 0 || m + 1 == n_cells;
        if ((is_outside || total.exceeds(limit)) && arriving.exceeds(none)) {
            taken[n_taken++] = static_cast<std::uint16_t>(m);
            continue;
        }
        for (std::size_t c = 0; c < n_classes; ++c)
            Cells<R>(first_cell + c * room, n_cells).store(m, sums[c]);
    }
    return n_taken;
}

template <std::size_t R>
void unpack(const float* packed, std::size_t n, const double* unit, double* __restrict out) {
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = 0; r < R; ++r)
            out[i * R + r] = static_cast<double>(packed[i * R + r]) * unit[r];
}

template <std::size_t R>
void largest(const double* lines, std::size_t n, double* __restrict out) {
    for (std::size_t r = 0; r < R; ++r) out[r] = 0.0;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = 0; r < R; ++r)
            out[r] = out[r] < lines[i * R + r] ? lines[i * R + r] : out[r];
}

template <std::size_t R>
void pack(const double* lines, std::size_t n, const double* per_unit, float* __restrict out) {
    constexpr std::uint64_t kBeyondFloat = (std::uint64_t{1} << 29) - 1;  // digits of a double
    constexpr double kSmallest = 0x1p-126;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = 0; r < R; ++r) {
            double share = lines[i * R + r] * per_unit[r];
            share = share < kSmallest ? (share > 0.0 ? kSmallest : 0.0) : share;
            const auto bits = std::bit_cast<std::uint64_t>(share) + kBeyondFloat;
            out[i * R + r] = static_cast<float>(std::bit_cast<double>(bits & ~kBeyondFloat));
        }
}

template <std::size_t R>
std::size_t merge(const LadderKernels::Merge& lists) {
    const std::size_t width = lists.n_classes * R;
    const std::size_t end = lists.n + lists.n_items;
    Line<R> budget, hidden, ours_after, theirs_after, total;
    budget.load(lists.budget);
    hidden.clear();
    ours_after.clear();
    theirs_after.clear();
    std::size_t i = lists.n;
    std::size_t j = lists.n_items;
    std::size_t out = end;
    int sign = 2;  // of the mini-bin that was kept last
    while (i > 0 || j > 0) {
        const bool ours = i > 0 && (j == 0 || lists.values[i - 1] >= lists.items[j - 1].value);
        const bool theirs = j > 0 && (i == 0 || lists.items[j - 1].value >= lists.values[i - 1]);
        const double value = ours ? lists.values[i - 1] : lists.items[j - 1].value;
        const int its_sign = (value > 0.0) - (value < 0.0);
        if (its_sign < 0 && sign >= 0) {  // nothing below 0 is hidden above it
            ours_after.clear();
            theirs_after.clear();
        }
        const double* first = nullptr;
        const double* second = nullptr;
        total.clear();
        if (ours) {
            --i;
            first = lists.weights + i * width;
            sum_of_classes<R>(first, lists.n_classes, total);
            ours_after.load(lists.hidden + i * R);
        }
        if (theirs) {
            --j;
            Line<R> more;
            (ours ? second : first) = lists.items[j].weights;
            sum_of_classes<R>(lists.items[j].weights, lists.n_classes, more);
            total.add(more);
            theirs_after = more;
            if (!lists.items[j].is_cell) theirs_after.clear();
            if (lists.items[j].besides != nullptr) theirs_after.add(lists.items[j].besides);
        }
        Line<R> joined = hidden;
        joined.add(total);
        const bool joins = sign == its_sign && !joined.exceeds(budget);
        if (joins) {
            hidden = joined;
        } else {
            if (out < end) hidden.store(lists.out_hidden + out * R);
            hidden = ours_after;
            hidden.add(theirs_after);
            sign = its_sign;
            lists.out_values[--out] = value;
        }
        double* into = lists.out_weights + out * width;
        for (std::size_t c = 0; c < width; c += R) {
            Line<R> line;
            line.load(first + c);
            if (second != nullptr) line.add(second + c);
            if (joins) line.add(into + c);
            line.store(into + c);
        }
    }
    if (out < end) hidden.store(lists.out_hidden + out * R);
    return out;
}

template <std::size_t R>
struct RunningSums {  // RunningSum of each half-life
    Line<R> before, stretch;
    std::size_t count = 0;

    RunningSums() {
        before.clear();
        stretch.clear();
    }
    void add(const Line<R>& weights) {
        stretch.add(weights);
        if (++count % RunningSum::kStretch != 0) return;
        before.add(stretch);
        stretch.clear();
    }
    Line<R> value() const {
        Line<R> sum = before;
        sum.add(stretch);
        return sum;
    }
};

template <std::size_t R>
void cut(const LadderKernels::Cut& list) {
    const std::size_t width = list.n_classes * R;
    RunningSums<R> all;
    Line<R> line;
    for (std::size_t k = 0; k < list.n * width; k += R) {
        line.load(list.weights + k);
        all.add(line);
    }
    double total[R], goal[R], reached[R];
    all.value().store(total);
    std::size_t edge[R] = {};
    const auto next_goal = [&](std::size_t r) {
        const bool is_reached = edge[r] + 1 == list.n_bins || total[r] == 0.0;
        goal[r] = is_reached ? std::numeric_limits<double>::infinity()
                             : edge_goal(edge[r], total[r], list.n_bins);
    };
    for (std::size_t r = 0; r < R; ++r) next_goal(r);
    Line<R> goals, bin[kFewClasses];
    goals.load(goal);
    for (std::size_t c = 0; c < list.n_classes; ++c) bin[c].clear();
    const auto close_bin = [&](std::size_t r) {
        double* into = list.bins + (r * list.n_bins + edge[r]) * list.n_classes;
        for (std::size_t c = 0; c < list.n_classes; ++c) into[c] = bin[c].take(r);
    };
    RunningSums<R> so_far;
    for (std::size_t i = 0; i < list.n; ++i) {
        for (std::size_t c = 0; c < list.n_classes; ++c) {
            line.load(list.weights + i * width + c * R);
            bin[c].add(line);
            so_far.add(line);
        }
        // the last one reaches everything, whatever rounding says
        const bool last = i + 1 == list.n;
        const Line<R> now = so_far.value();
        if (!last && !now.reaches(goals)) continue;
        now.store(reached);
        for (std::size_t r = 0; r < R; ++r) {
            const bool ends = last && total[r] != 0.0 && edge[r] + 1 < list.n_bins;
            if (!ends && !(reached[r] >= goal[r])) continue;
            close_bin(r);
            while (edge[r] + 1 < list.n_bins && (last || reached[r] >= goal[r])) {
                list.edges[r * (list.n_bins - 1) + edge[r]++] = list.values[i];
                next_goal(r);
            }
        }
        goals.load(goal);
    }
    for (std::size_t r = 0; r < R; ++r)
        if (total[r] != 0.0) close_bin(r);
}

template <std::size_t R>
void add_up(const double* earlier, std::size_t n_earlier, const LadderKernels::Cells& block,
            double* total, double* fullest) {
    constexpr std::size_t kAhead = 24;  // cells to prefetch: pages change often
    const std::size_t room = LadderKernels::room_of(block.n_cells, R);
    RunningSums<R> all;
    Line<R> most;
    most.clear();
    for (std::size_t m = 0; m < block.n_cells; ++m) {
        Line<R> before;
        before.clear();
        const std::size_t ahead = std::min(m + kAhead, block.n_cells - 1);
        for (std::size_t c = 0; c < n_earlier; ++c)
            Cells<R, const double>(earlier + c * room, block.n_cells).prefetch(ahead);
        for (std::size_t c = 0; c < block.n_classes; ++c) {
            const Cells<R> cells(block.cells + c * room, block.n_cells);
            Line<R> sum;
            cells.load(m, sum);
            if (c < n_earlier) {
                Line<R> line;
                Cells<R, const double>(earlier + c * room, block.n_cells).load(m, line);
                before.add(line);
                sum.add(line);
                cells.store(m, sum);
            }
            all.add(sum);
        }
        most.take_larger(before);
    }
    all.value().store(total);
    most.store(fullest);
}

template <std::size_t R>
std::size_t find_edges(const LadderKernels::Cells& block, const double* total, std::size_t n_bins,
                       LadderKernels::EdgeCell* found, double* lines, double* rest) {
    const std::size_t room = LadderKernels::room_of(block.n_cells, R);
    std::size_t edge[R] = {};
    double goal[R], reached[R], reached_before[R];
    const auto next_goal = [&](std::size_t r) {
        const bool is_last = edge[r] + 1 == n_bins || total[r] == 0.0;
        goal[r] = is_last ? std::numeric_limits<double>::infinity()
                          : edge_goal(edge[r], total[r], n_bins);
    };
    for (std::size_t r = 0; r < R; ++r) next_goal(r);
    Line<R> goals, none, before, since[kFewClasses], line[kFewClasses];
    goals.load(goal);
    none.clear();
    before.clear();
    for (std::size_t c = 0; c < block.n_classes; ++c) since[c].clear();
    RunningSums<R> so_far;
    std::size_t n_found = 0;
    for (std::size_t m = 0; m < block.n_cells; ++m) {
        for (std::size_t c = 0; c < block.n_classes; ++c) {
            const Cells<R> cells(block.cells + c * room, block.n_cells);
            cells.load(m, line[c]);
            cells.store(m, none);
            so_far.add(line[c]);
        }
        const Line<R> now = so_far.value();
        if (now.reaches(goals)) {
            now.store(reached);
            before.store(reached_before);
            for (std::size_t r = 0; r < R; ++r) {
                if (!(reached[r] >= goal[r])) continue;
                for (std::size_t c = 0; c < block.n_classes; ++c) {
                    lines[n_found * block.n_classes + c] = since[c].take(r);
                    line[c].take(r);
                }
                found[n_found++] = {static_cast<std::uint16_t>(m), static_cast<std::uint16_t>(r),
                                    reached_before[r], reached[r]};
                while (reached[r] >= goal[r]) {
                    ++edge[r];
                    next_goal(r);
                }
            }
            goals.load(goal);
        }
        for (std::size_t c = 0; c < block.n_classes; ++c) since[c].add(line[c]);
        before = now;
    }
    for (std::size_t c = 0; c < block.n_classes; ++c) since[c].store(rest + c * R);
    return n_found;
}

// Calls the one of these functions that is for so many half-lives.
template <class Function, std::size_t... K, class... Args>
auto dispatch(std::size_t rungs, const Function& function, std::index_sequence<K...>,
              const Args&... args) {
    using Result = decltype(function.template operator()<2>(args...));
    using Pointer = Result (*)(const Function&, const Args&...);
    static constexpr std::array<Pointer, sizeof...(K)> table = {
        [](const Function& call, const Args&... with) -> Result {
            return call.template operator()<K + 2>(with...);
        }...};
    return table[rungs - 2](function, args...);
}
using Numbers = std::make_index_sequence<kMostRungs - 1>;

}  // namespace

// The kernel of so many half-lives, which is called with these arguments.
#define DRIFTSIEVE_FOR_RUNGS(kernel, ...) \
    dispatch(rungs, [&]<std::size_t R>() { return kernel<R>(__VA_ARGS__); }, Numbers())

extern const LadderKernels ladder_kernels;
const LadderKernels ladder_kernels = {
    [](std::size_t rungs, const LadderKernels::Rows& rows, std::size_t width, const double* shifts,
       double* sum,
       double* squares) { DRIFTSIEVE_FOR_RUNGS(power_sums, rows, width, shifts, sum, squares); },
    [](std::size_t rungs, const std::uint32_t* finest, const double* weights, std::size_t n,
       const LadderKernels::Cuts& cuts, std::uint16_t* index, double* cells, std::size_t width) {
        DRIFTSIEVE_FOR_RUNGS(weigh_cells, finest, weights, n, cuts, index, cells, width);
    },
    [](std::size_t rungs, double* cells, std::size_t n_cells, std::size_t n_classes,
       const double* most, std::uint16_t* used, std::uint8_t* too_full, double* lines) {
        return DRIFTSIEVE_FOR_RUNGS(census, cells, n_cells, n_classes, most, used, too_full, lines);
    },
    [](std::size_t rungs, double* block, std::size_t n_cells, std::size_t n_classes,
       const double* most, double* cells, std::uint16_t* taken, double* lines) {
        return DRIFTSIEVE_FOR_RUNGS(add_cells, block, n_cells, n_classes, most, cells, taken,
                                    lines);
    },
    [](std::size_t rungs, const LadderKernels::Merge& lists) {
        return DRIFTSIEVE_FOR_RUNGS(merge, lists);
    },
    [](std::size_t rungs, const LadderKernels::Cut& list) { DRIFTSIEVE_FOR_RUNGS(cut, list); },
    [](std::size_t rungs, const double* earlier, std::size_t n_earlier,
       const LadderKernels::Cells& block, double* total, double* fullest) {
        DRIFTSIEVE_FOR_RUNGS(add_up, earlier, n_earlier, block, total, fullest);
    },
    [](std::size_t rungs, const LadderKernels::Cells& cells, const double* total,
       std::size_t n_bins, LadderKernels::EdgeCell* found, double* lines, double* rest) {
        return DRIFTSIEVE_FOR_RUNGS(find_edges, cells, total, n_bins, found, lines, rest);
    },
    [](std::size_t rungs, const float* packed, std::size_t n, const double* unit, double* out) {
        DRIFTSIEVE_FOR_RUNGS(unpack, packed, n, unit, out);
    },
    [](std::size_t rungs, const double* lines, std::size_t n, double* out) {
        DRIFTSIEVE_FOR_RUNGS(largest, lines, n, out);
    },
    [](std::size_t rungs, const double* lines, std::size_t n, const double* per_unit, float* out) {
        DRIFTSIEVE_FOR_RUNGS(pack, lines, n, per_unit, out);
    },
};

}  // namespace driftsieve::DRIFTSIEVE_ISA
