// The hot loops on fixed data, one a run: callgrind counts the instructions of the function
// named hot_*, so what is counted does not depend on what the machine is doing. A second argument
// is the number of threads of those with sparse rows. Data are made
// without the standard distributions and libm, which differ from one library to the next.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driftsieve/bank.hpp"
#include "driftsieve/bank/careful_update.hpp"
#include "driftsieve/kernels.hpp"
#include "driftsieve/svmlight/svmlight.hpp"

namespace {

using namespace driftsieve;

constexpr std::size_t kRows = 16000;  // two blocks at this epsilon
constexpr std::size_t kBlock = kRows / 2;
constexpr std::size_t kColumns = 16;
constexpr std::size_t kStrips = kColumns / Strip::kWidth;
const Config kConfig{0.001};

std::mt19937_64 random_bits(1);

double uniform() {
    return static_cast<double>(random_bits() >> 11) * 0x1p-53;
}

// The sum of twelve uniforms: near enough to a bell.
double bell() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
}

struct Rows {
    std::vector<std::uint32_t> classes = std::vector<std::uint32_t>(kRows);
    std::vector<double> values = std::vector<double>(kRows * kColumns);

    Rows() {
        for (std::uint32_t& cls : classes) cls = random_bits() & 1;
        for (double& value : values) value = bell();
    }
    MatrixView<double> matrix() const { return {values.data(), kColumns, 1, kRows, kColumns}; }
    RowInfo info() const { return {classes, {}, {}}; }
};

// Adds the second of two blocks to the summaries of the first, step by step.
struct SecondBlock {
    explicit SecondBlock(const Rows& rows)
        : matrix(rows.matrix().rows(kBlock, kBlock)),
          block(RowBlock::of(rows.info().part(kBlock, kBlock), 2, Fading(), 0)) {
        const RowBlock first = RowBlock::of(rows.info().part(0, kBlock), 2, Fading(), 0);
        for (std::size_t j = 0; j < kColumns; ++j) {
            std::vector<Weighed> weighed;
            for (std::uint32_t c = 0; c < 2; ++c)
                for (std::size_t k = first.begin[c]; k < first.begin[c + 1]; ++k)
                    weighed.push_back({rows.matrix().at(first.order[k], j), 1.0, c});
            exact_summary<std::uint32_t>(weighed, 2, summaries[j]);
            prune_summary(summaries[j], budget(kBlock));
        }
    }
    void read() {
        for (std::size_t s = 0; s < kStrips; ++s)
            strips[s].read(matrix, block, s * Strip::kWidth, (s + 1) * Strip::kWidth,
                           kConfig.cells(), [](std::size_t) { return nullptr; });
    }
    void count() {
        for (std::size_t j = 0; j < kColumns; ++j)
            if (!cells[j].fill(column(j), strip(j).map(j % Strip::kWidth),
                               strip(j).finest(j % Strip::kWidth), kConfig.epsilon * kBlock,
                               kConfig.exact_values()))
                std::abort();
    }
    // Number of values that had to be taken out of the cells.
    void merge_exact() {
        for (std::size_t j = 0; j < kColumns; ++j) {
            merge_summaries(summaries[j], cells[j].exact(), merged[j]);
            std::swap(summaries[j], merged[j]);
        }
    }
    void walk() {
        for (std::size_t j = 0; j < kColumns; ++j)
            cells[j].merge(summaries[j], budget(kRows), column(j), merged[j]);
    }

    static std::uint32_t budget(std::size_t n_rows) {
        return static_cast<std::uint32_t>(kConfig.epsilon * static_cast<double>(n_rows));
    }
    const Strip& strip(std::size_t j) const { return strips[j / Strip::kWidth]; }
    BlockColumn column(std::size_t j) const { return strip(j).column(j % Strip::kWidth); }

    MatrixView<double> matrix;
    RowBlock block;
    std::array<Strip, kStrips> strips;
    std::array<CellBlock<std::uint32_t>, kColumns> cells;
    std::array<NarrowSummary, kColumns> summaries, merged;
};

Bank empty_bank() {
    return Bank(kConfig, Clock::row, std::numeric_limits<double>::infinity());
}

// A bank without rows in summaries, and buffers for its bins.
struct UnfinishedBlock {
    static constexpr std::size_t kBins = 5;

    explicit UnfinishedBlock(const Rows& rows) {
        const std::size_t n = kBlock - 1;
        bank.update(rows.matrix().rows(0, n), rows.info().part(0, n), 2, 1);
        out.class_place = place;
        out.n_bins = kBins;
        out.n_features = kColumns;
        out.bins = bins.data();
        out.edges = edges.data();
        out.rank_error = rank_error.data();
    }

    Bank bank = empty_bank();
    SnapshotArrays out;
    std::array<std::uint32_t, 2> place = {0, 1};
    std::array<double, kColumns * kBins * 2> bins;
    std::array<double, kColumns*(kBins - 1)> edges;
    std::array<double, kColumns> rank_error;
};

struct SparseRows {
    static constexpr std::size_t kWidth = 5000;
    static constexpr std::size_t kNonZeros = 50;
    static constexpr std::size_t kStretch = kWidth / kNonZeros;

    std::vector<std::uint32_t> classes;
    std::vector<double> data;
    std::vector<std::int32_t> indices;
    std::vector<std::int32_t> indptr{0};

    // Nine columns of ten are flags.
    SparseRows() {
        for (std::size_t i = 0; i < kRows; ++i) {
            for (std::size_t k = 0; k < kNonZeros; ++k) {
                const std::size_t column = k * kStretch + random_bits() % kStretch;
                add(column, column % 10 == 0 ? uniform() : 1.0);
            }
            end_row();
        }
    }
    // All values differ, and some columns are far more common than others.
    static SparseRows real() {
        SparseRows rows{kWidth};
        for (std::size_t i = 0; i < kRows; ++i) {
            std::set<std::size_t> columns;
            while (columns.size() < kNonZeros) {
                const double share = uniform();
                columns.insert(static_cast<std::size_t>(kWidth * share * share * share));
            }
            for (const std::size_t column : columns) rows.add(column, bell());
            rows.end_row();
        }
        return rows;
    }
    CsrView<double, std::int32_t> matrix() const {
        return {data.data(), indices.data(), indptr.data(), kRows, kWidth, false, data.size()};
    }

  private:
    explicit SparseRows(std::size_t) {}

    void add(std::size_t column, double value) {
        indices.push_back(static_cast<std::int32_t>(column));
        data.push_back(value);
    }
    void end_row() {
        classes.push_back(random_bits() & 1);
        indptr.push_back(static_cast<std::int32_t>(indices.size()));
    }
};

std::size_t update(Bank bank, const SparseRows& rows, unsigned n_threads) {
    if (!update_if_sound(bank, rows.matrix(), RowInfo{rows.classes, {}, {}}, 2, n_threads))
        std::abort();
    return bank.nbytes();
}

std::string svmlight_text() {
    std::string text;
    for (std::size_t i = 0; i < 2000; ++i) {
        text += random_bits() & 1 ? "+1" : "-1";
        for (std::size_t k = 0; k < 100; ++k) {
            text += ' ' + std::to_string(1 + 32000 * k + random_bits() % 32000) + ':';
            text += k % 10 == 0 ? std::to_string(uniform()) : "1";
        }
        text += '\n';
    }
    return text;
}

}  // namespace

// The functions whose instructions callgrind counts. Each returns something, so that nothing is
// optimized away.
#define HOT extern "C" [[gnu::noinline]]

// Cells and moments of a strip of columns, from one pass over its rows.
HOT double hot_strip(SecondBlock& second) {
    second.read();
    return second.strips.back().moments(1, 0).mean;
}

HOT std::size_t hot_count(SecondBlock& second) {
    second.count();
    return second.cells.back().exact().size();
}

HOT std::size_t hot_walk(SecondBlock& second) {
    second.walk();
    return second.merged.back().size();
}

HOT double hot_bins(UnfinishedBlock& open) {
    open.bank.take_snapshot(0, open.out, 1);
    return open.edges.back();
}

HOT std::size_t hot_sparse(const SparseRows& rows, unsigned n_threads) {
    return update(empty_bank(), rows, n_threads);
}

HOT std::size_t hot_real(const SparseRows& rows, unsigned n_threads) {
    return update(Bank(Config{0.01}, Clock::row, 1000.0), rows, n_threads);
}

HOT std::size_t hot_moments(const SparseRows& rows, unsigned n_threads) {
    return update(Bank(Config{0.01, true, false, false}, Clock::row, 1000.0), rows, n_threads);
}

HOT std::size_t hot_svmlight(const std::string& text) {
    SvmlightParser parser(false, std::size_t{1} << 26);
    parser.feed(text);
    parser.finish();
    return parser.take(parser.rows()).n_pairs;
}

int main(int argc, char** argv) {
    const std::string which = argc >= 2 ? argv[1] : "";
    const unsigned n_threads = argc == 3 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
    double result = 0.0;
    if (which == "compiler") {
        std::printf("%s %s\n",
#ifdef __clang__
                    "clang",
#else
                    "gcc",
#endif
                    __VERSION__);
        return 0;
    } else if (which == "strip" || which == "count" || which == "walk") {
        const Rows rows;
        SecondBlock second(rows);
        if (which == "strip") {
            result = hot_strip(second);
        } else {
            second.read();
            if (which == "count") {
                result = static_cast<double>(hot_count(second));
            } else {
                second.count();
                second.merge_exact();
                result = static_cast<double>(hot_walk(second));
            }
        }
    } else if (which == "bins") {
        UnfinishedBlock open{Rows()};
        result = hot_bins(open);
    } else if (which == "sparse") {
        result = static_cast<double>(hot_sparse(SparseRows(), n_threads));
    } else if (which == "real") {
        result = static_cast<double>(hot_real(SparseRows::real(), n_threads));
    } else if (which == "moments") {
        result = static_cast<double>(hot_moments(SparseRows(), n_threads));
    } else if (which == "svmlight") {
        result = static_cast<double>(hot_svmlight(svmlight_text()));
    } else {
        std::fprintf(
            stderr,
            "usage: %s strip|count|walk|bins|sparse|real|moments|svmlight|compiler [n_threads]\n",
            argv[0]);
        return 2;
    }
    std::printf("%s %s %g\n", kernels().name, which.c_str(), result);
    return 0;
}
