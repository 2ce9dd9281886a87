#pragma once

#include <map>

#include "library/conv_sums.h"
#include "library/onednn_primitive.h"
#include "library/recent.h"

namespace tokamak::library {

/// Convolutions read and write channels first or last; where oneDNN is faster in a layout of its own, arguments are
/// reordered around the primitive.
class OneDnnConv final : public ConvCall {
 public:
  /// With `parts` above one: over one part of the channels, as `partOf` says; the weights given are those of the part,
  /// within those of all channels.
  OneDnnConv(std::shared_ptr<const OneDnn> lib, ConvDesc desc, int64_t parts = 1);

  static Decision accepts(const std::shared_ptr<const OneDnn>& lib, const ConvDesc& desc);

  const ConvDesc& desc() const override { return desc_; }
  Result<> prepare(const ConvDims& dims) const override;
  Result<> run(const ConvDims& dims, std::span<void* const> buffers) const override;
  Result<std::string> implementation(const ConvDims& dims) const override;

 private:
  /// One buffer of the call: how the caller lays it out and, where the primitive wants another layout, the way there.
  struct Argument {
    int arg = 0;
    std::vector<int64_t> shape;
    MemoryDesc plain{nullptr, nullptr};
    std::unique_ptr<Primitive> turn;       // before `in`, to a copy at turnedOffset: see turnWeights
    std::unique_ptr<Primitive> in, out;    // reorders before and after
    int64_t offset = 0, turnedOffset = 0;  // of the copies, in scratch
    bool packed = false;                   // constant weights, whose copy is kept
  };
  using Parts = std::vector<std::unique_ptr<const OneDnnConv>>;
  struct Prepared {
    std::shared_ptr<const Parts> parts;  // where there are any, they are called and nothing else is here
    std::unique_ptr<Primitive> primitive;
    std::vector<Argument> arguments;
    int64_t scratchBytes = 0;  // primitive's and reorders' first, then the copies
  };
  enum class Layouts { plain, free, blocks };

  Result<std::shared_ptr<const Prepared>> find(const ConvDims& dims) const;
  Result<std::shared_ptr<const Prepared>> make(const ConvDims& dims, Layouts layouts) const;
  std::shared_ptr<const Prepared> makeShort(const ConvDims& dims) const;
  std::shared_ptr<const Parts> findParts(int64_t count) const;
  Result<> runParts(const Parts& parts, const ConvDims& dims, std::span<void* const> buffers) const;
  Result<MemoryDesc> imageDesc(std::span<const int64_t> shape, DType dtype, Layouts layouts) const;
  Result<std::vector<Argument>> describe(const ConvDims& dims) const;
  Result<> reorder(Prepared& prepared) const;
  Result<MemoryDesc> turnWeights(Argument& weights) const;
  bool knownEmpty(const ConvDims& dims) const;
  Result<> check(const ConvDims& dims) const;

  std::shared_ptr<const OneDnn> lib_;
  ConvDesc desc_;
  int64_t parts_ = 1;
  std::vector<PostOp> postOps_;  // as oneDNN gets them
  Recent<ConvDims, Prepared> prepared_;
  PackedWeights weights_;
  mutable std::mutex partsMutex_;
  mutable std::map<int64_t, std::shared_ptr<const Parts>> allParts_;  // by their number
};

}  // namespace tokamak::library
