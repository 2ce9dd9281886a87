#pragma once

#include <span>

#include "sparse/stream/run/block_math.h"
#include "sparse/stream/run/fold.h"
#include "sparse/stream/run/node.h"

/// The blocks that compute, on streams whose values are matrices. A token's word says only that there is a value; its
/// elements lie beside it in the channel.
namespace tokamak::stream {

/// Elements of the token that an input stands at; zeros for N.
template <class In>
const double* elementsOf(const In& in, const std::vector<double>& zeros) {
  return in.head() == kAbsent ? zeros.data() : in.block();
}

/// Loads a block for each reference. N x N elements take N * N cycles.
template <class P>
class BlockArrayNode final : public RunNode<P> {
 public:
  BlockArrayNode(typename RunNode<P>::Site site, std::span<const double> values, BlockShape shape)
      : RunNode<P>(std::move(site)), values_(values), elements_(static_cast<size_t>(shape.elements())) {}

 private:
  void step() override {
    typename P::In in(this->input(0));
    typename P::Out out(this->output(0));
    P clock = this->clock_;
    for (; clock.may() && !in.empty() && !out.full(); in.pop(clock)) {
      const Word head = in.head();
      clock.see(in);
      ++this->steps_;
      if (isControl(head) && head != kAbsent) {
        clock.put(out, head);
        if (head == kDone) {
          this->done_ = true;
          break;
        }
        clock.tick();
        continue;
      }
      if (head == kAbsent) {
        std::fill_n(out.block(), elements_, 0.0);
      } else if (head < values_.size() / elements_) {
        std::memcpy(out.block(), values_.data() + head * elements_, elements_ * sizeof(double));
      } else {
        this->fail("T0961", 0, in, fmt::format("reference {} into {} blocks", head, values_.size() / elements_),
                   "the stream belongs to another tensor or level");
        break;
      }
      clock.putLate(out, 0, elements_);
      clock.tick(elements_);
      this->work_ += elements_;
    }
    this->clock_ = clock;
  }

  std::span<const double> values_;
  size_t elements_;
};

/// Any operation, token by token.
template <class P>
class BlockAluNode final : public RunNode<P> {
 public:
  BlockAluNode(typename RunNode<P>::Site site, const Alu& alu) : RunNode<P>(std::move(site)), alu_(alu) {
    const Node& node = this->site().graph->node(this->site().id);
    int64_t extent = 1;
    std::vector<BlockShape> shapes;
    for (StreamId input : node.inputs) {
      shapes.push_back(this->site().graph->stream(input).block);
      extent = std::max(extent, shapes.back().extent());
      zeros_.resize(std::max(zeros_.size(), static_cast<size_t>(std::max<int64_t>(shapes.back().elements(), 1))));
    }
    shapes_ = shapes;
    if (alu.scalar) shapes.emplace_back();
    shape_ = *resultShape(alu.op, shapes);
    timing_ = blockTiming(alu.op, extent);
  }

 private:
  using In = typename P::In;

  void step() override {
    std::vector<std::unique_ptr<In>> ins;
    ins.reserve(shapes_.size());
    for (size_t i = 0; i < shapes_.size(); ++i) ins.push_back(std::make_unique<In>(this->input(i)));
    typename P::Out out(this->output(0));
    P clock = this->clock_;
    while (clock.may() && !this->done_ && !out.full() &&
           std::ranges::none_of(ins, [](const auto& in) { return in->empty(); })) {
      const Word first = ins[0]->head();
      const bool isValue = !isControl(first) || first == kAbsent;
      if (!agree(isValue, first, ins)) break;
      for (const auto& in : ins) clock.see(*in);
      ++this->steps_;
      if (isValue) {
        compute(ins, out.block());
        this->work_ += operationsOf(alu_.op, shapes_, shape_);
        clock.putLate(out, 0, timing_.latency);
      } else {
        clock.put(out, first);
      }
      if (first == kDone) {
        this->done_ = true;
        break;
      }
      for (const auto& in : ins) in->pop(clock);
      clock.tick(timing_.interval);
    }
    this->clock_ = clock;
  }

  bool agree(bool isValue, Word first, const std::vector<std::unique_ptr<In>>& ins) {
    for (size_t i = 1; i < ins.size(); ++i) {
      const Word head = ins[i]->head();
      if (isValue ? !isControl(head) || head == kAbsent : sameControl(head, first)) continue;
      this->failStops(i, *ins[i], first);
      return false;
    }
    return true;
  }

  void compute(const std::vector<std::unique_ptr<In>>& ins, double* out) {
    operands_.clear();
    numbers_.resize(ins.size());
    for (size_t i = 0; i < ins.size(); ++i) {
      const bool isNumber = shapes_[i].isNumber();
      if (isNumber) numbers_[i] = ins[i]->head() == kAbsent ? 0.0 : valueOf(ins[i]->head());
      operands_.push_back({isNumber ? &numbers_[i] : elementsOf(*ins[i], zeros_), shapes_[i]});
    }
    if (alu_.scalar) operands_.insert(alu_.scalarFirst ? operands_.begin() : operands_.end(), {&*alu_.scalar, {}});
    computeBlock(alu_.op, operands_, shape_, out);
  }

  Alu alu_;
  std::vector<BlockShape> shapes_;
  BlockShape shape_;
  BlockTiming timing_;
  std::vector<double> zeros_, numbers_;
  std::vector<BlockOperand> operands_;
};

/// Folds each innermost fiber element by element; a block takes as many cycles as it has elements.
template <class P>
class BlockReduceNode final : public RunNode<P> {
 public:
  BlockReduceNode(typename RunNode<P>::Site site, const Reduce& reduce, BlockShape shape)
      : RunNode<P>(std::move(site)),
        op_(reduce.op),
        init_(static_cast<size_t>(shape.elements()), reduce.init.value_or(foldIdentity(reduce.op))),
        value_(init_),
        zeros_(init_.size(), 0.0) {}

 private:
  void step() override {
    typename P::In in(this->input(0));
    typename P::Out out(this->output(0));
    P clock = this->clock_;
    for (; clock.may() && !in.empty() && out.room() >= 2; in.pop(clock)) {
      const Word head = in.head();
      clock.see(in);
      ++this->steps_;
      if (!isControl(head) || head == kAbsent) {
        foldBlock(op_, value_.data(), elementsOf(in, zeros_), value_.size());
        clock.tick(value_.size());
        this->work_ += value_.size();
        continue;
      }
      if (head == kDone) {
        clock.put(out, kDone);
        this->done_ = true;
        break;
      }
      if (hollowLevels(head) == 0) {
        std::ranges::copy(value_, out.block());
        clock.putLate(out, 0, value_.size());
      }
      value_ = init_;
      if (stopLevel(head) > 0) clock.put(out, loweredStop(head));
      clock.tick();
    }
    this->clock_ = clock;
  }

  FoldOp op_;
  std::vector<double> init_, value_, zeros_;
};

/// Stores blocks, element by element in one step.
template <class P>
class BlockWriteNode final : public RunNode<P> {
 public:
  BlockWriteNode(typename RunNode<P>::Site site, std::vector<double>* values, BlockShape shape)
      : RunNode<P>(std::move(site)), values_(values), zeros_(static_cast<size_t>(shape.elements()), 0.0) {}

 private:
  void step() override {
    typename P::In in(this->input(0));
    P clock = this->clock_;
    for (; clock.may() && !in.empty(); in.pop(clock)) {
      const Word head = in.head();
      clock.see(in);
      ++this->steps_;
      if (isStop(head)) continue;
      clock.tick();
      if (head == kDone) {
        this->done_ = true;
        break;
      }
      const double* elements = elementsOf(in, zeros_);
      values_->insert(values_->end(), elements, elements + zeros_.size());
    }
    this->clock_ = clock;
  }

  std::vector<double>* values_;
  std::vector<double> zeros_;
};

}  // namespace tokamak::stream
