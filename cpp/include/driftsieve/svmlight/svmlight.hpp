// A stream of svmlight text, in pieces cut anywhere, to rows in CSR form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "driftsieve/base/queue.hpp"
#include "driftsieve/svmlight/svmlight_line.hpp"

namespace driftsieve {

template <class Index>
struct CsrPattern {
    std::shared_ptr<Index[]> indptr;
    std::shared_ptr<Index[]> indices;
};

// Rows in CSR form, in arrays with shared ownership. Rows that could not be parsed are counted in
// n_read and have a line number, but are absent from the other arrays.
struct SvmlightRows {
    std::size_t n_read = 0;
    std::size_t n_rows = 0;
    std::size_t n_pairs = 0;
    std::shared_ptr<double[]> labels;
    std::variant<CsrPattern<std::int32_t>, CsrPattern<std::int64_t>> pattern;
    std::shared_ptr<double[]> values;
    std::shared_ptr<std::int64_t[]> lines;  // counted from 1
    std::vector<std::pair<std::size_t, std::string>>
        bad;  // index among the rows read, and the cause
};

// Guarantees:
// - Every line is a row, blank, or a bad row: nothing is lost, and a bad row affects no other row.
//   The result does not depend on how the text is split into pieces.
// - No input makes it read or write out of bounds. Memory stays within four blocks, 16 times the
//   longest line (limited by max_line), 4 times the largest number of waiting rows, and 200 bytes
//   for each waiting bad row.
// - Pairs are kept as written: the caller handles unsorted and repeated indices.
// Not for use by two threads at once.
class SvmlightParser {
  public:
    // Index 1 is column 0, unless zero_based. A line has at most max_line bytes and a newline.
    SvmlightParser(bool zero_based, std::size_t max_line)
        : zero_based_(zero_based), max_line_(max_line) {}

    // Rows that wait to be taken, including bad ones.
    std::size_t rows() const noexcept { return row_lines_.size(); }

    void feed(std::string_view text) {
        if (finished_) throw std::invalid_argument("The text is finished. Use a new parser.");
        parse(text);
    }

    // The end of the text: its last line may lack a newline.
    void finish() {
        if (filled_ > 0) feed("\n");
        finished_ = true;
    }

    // The oldest rows that wait, at most max_rows of them, without copying their pairs.
    SvmlightRows take(std::size_t max_rows) {
        SvmlightRows taken;
        taken.n_read = std::min(max_rows, rows());
        const auto past = [end = rows_taken_ + taken.n_read](const auto& row) {
            return row.first >= end;
        };
        const auto bad_end = std::find_if(bad_.begin(), bad_.end(), past);
        for (auto row = bad_.begin(); row != bad_end; ++row) {
            taken.bad.emplace_back(row->first - rows_taken_, row->second);
        }
        const std::size_t n = taken.n_rows = taken.n_read - taken.bad.size();
        const std::int64_t n_pairs = n == 0 ? 0 : row_ends_.begin()[n - 1] - pairs_taken_;
        taken.n_pairs = static_cast<std::size_t>(n_pairs);
        if (n_pairs > std::numeric_limits<std::int32_t>::max()) widen();
        std::visit([&](auto& indices) { take_pattern(indices, taken); }, indices_);
        // Nothing below can fail, so rows are never lost.
        bad_.erase(bad_.begin(), bad_end);
        row_ends_.take(n);
        taken.labels = labels_.take(n);
        taken.values = values_.take(taken.n_pairs);
        taken.lines = row_lines_.take(taken.n_read);
        pairs_taken_ += n_pairs;
        rows_taken_ += taken.n_read;
        return taken;
    }

  private:
    template <class Index>
    void take_pattern(Queue<Index>& indices, SvmlightRows& taken) const {
        auto indptr = std::make_shared_for_overwrite<Index[]>(taken.n_rows + 1);
        indptr[0] = 0;
        std::transform(row_ends_.begin(), row_ends_.begin() + taken.n_rows, indptr.get() + 1,
                       [this](std::int64_t end) { return static_cast<Index>(end - pairs_taken_); });
        taken.pattern = CsrPattern<Index>{std::move(indptr), indices.take(taken.n_pairs)};
    }

    // Small enough to stay in the second-level cache from copying to parsing.
    static constexpr std::size_t block = std::size_t{64} << 10;

    // Text is copied in blocks after the unfinished line instead of being parsed in place. This
    // gives the padding that the line parser needs, joins lines that were split between two pieces,
    // and lets the caller change its memory at any time.
    void parse(std::string_view text) try {
        for (; !text.empty(); text.remove_prefix(std::min(block, text.size()))) {
            append(text.substr(0, block));
            parse_whole_lines();
        }
    } catch (...) {
        finished_ = true;  // out of memory: this text is lost, so none may follow
        throw;
    }

    void append(std::string_view piece) {
        const std::size_t needed = filled_ + piece.size() + text_padding;
        if (text_.size() < needed) text_.resize(std::max(needed, 2 * filled_));
        std::memcpy(text_.data() + filled_, piece.data(), piece.size());
        searched_ = filled_;
        filled_ += piece.size();
    }

    void parse_whole_lines() {
        const char* line = text_.data();
        const char* const end = line + filled_;
        const char* from = line + searched_;
        while (const void* found = std::memchr(from, '\n', static_cast<std::size_t>(end - from))) {
            const char* const newline = static_cast<const char*>(found);
            if (!std::exchange(dropping_line_, false)) parse_line({line, newline});
            line = from = newline + 1;
        }
        const std::string_view rest(line, end);
        if (!dropping_line_ && rest.size() > max_line_) {
            parse_line(rest);
            dropping_line_ = true;
        }
        filled_ = dropping_line_ ? 0 : rest.size();
        std::memmove(text_.data(), rest.data(), filled_);
    }

    void parse_line(std::string_view line) {
        ++lines_;
        if (line.size() > max_line_) {
            return reject("A line must have at most " + std::to_string(max_line_) +
                          " bytes, got more.");
        }
        const std::size_t room = svmlight::most_pairs(line.size());
        double* const values = values_.reserve(room);
        const auto into = [&](auto& indices) {
            return svmlight::parse_line(line.data(), zero_based_, indices.reserve(room), values);
        };
        svmlight::Row row = std::visit(into, indices_);
        if (row.fault == svmlight::Fault::wide_index) {
            widen();
            row = std::visit(into, indices_);
        }
        if (row.fault != svmlight::Fault::none) {
            return reject(describe(row.fault, svmlight::token_at(row.token)));
        }
        if (row.blank) return;
        pairs_seen_ += static_cast<std::int64_t>(row.n_pairs);
        row_ends_.push_back(pairs_seen_);
        labels_.push_back(row.label);
        values_.push(row.n_pairs);
        std::visit([&](auto& indices) { indices.push(row.n_pairs); }, indices_);
        row_lines_.push_back(lines_);  // last: the row is complete only now
    }

    void reject(std::string why) {
        bad_.emplace_back(rows_taken_ + rows(), std::move(why));
        row_lines_.push_back(lines_);
    }

    // Indices take 32 bits until one needs more, then 64 for the rest of the stream.
    void widen() {
        const auto* const narrow = std::get_if<Queue<std::int32_t>>(&indices_);
        if (narrow == nullptr) return;
        Queue<std::int64_t> wide;
        std::copy(narrow->begin(), narrow->end(), wide.reserve(narrow->size()));
        wide.push(narrow->size());
        indices_ = std::move(wide);
    }

    bool zero_based_;
    std::size_t max_line_;
    std::vector<char> text_;      // the unfinished line, and the block being parsed
    std::size_t filled_ = 0;      // bytes of text_ in use
    std::size_t searched_ = 0;    // bytes of text_ known to hold no newline
    bool dropping_line_ = false;  // inside a line that was rejected for its length
    bool finished_ = false;
    std::int64_t lines_ = 0;

    // Waiting rows. Rows and pairs are numbered from the start of the text.
    Queue<std::int64_t> row_lines_;
    std::deque<std::pair<std::size_t, std::string>> bad_;
    Queue<double> labels_;
    Queue<std::int64_t> row_ends_;
    Queue<double> values_;
    std::variant<Queue<std::int32_t>, Queue<std::int64_t>> indices_;
    std::size_t rows_taken_ = 0;
    std::int64_t pairs_seen_ = 0;
    std::int64_t pairs_taken_ = 0;
};

}  // namespace driftsieve
