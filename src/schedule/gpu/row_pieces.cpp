#include "schedule/gpu/rows.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

void Rows::runPiece(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial) {
  const ExprId piece = w_.let("piece", w_.binary(BinaryKind::fmod, b, w_.dim(pieces.count)));
  placeThread(t);
  placeRow(w_.let("row", w_.binary(BinaryKind::div, b, w_.dim(pieces.count))));
  const Sweep& sweep = phases_.sweeps[0];
  SweepFolds folds = begin(sweep, true);
  overLoops(sweep, folds, w_.let("begin", w_.mul(piece, w_.i64(pieces.size))), pieces.size);
  const std::vector<Found> found = join(folds, hasNoHalves(l_));
  w_.when(w_.binary(BinaryKind::eq, t, w_.i64(0)), [&] {
    for (size_t k = 0; k < found.size(); ++k) storePiece(w_, partial[k], b, found[k]);
  });
}

void Rows::runPieces(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial) {
  placeThread(t);
  placeRow(b);
  const Sweep& sweep = phases_.sweeps[0];
  std::vector<PieceFold> folds;
  const auto types = stagedTypes(l_.graph, sweep);
  for (size_t k = 0; k < types.size(); ++k) folds.emplace_back(w_, types[k].kind, partial[k], 1);
  const ExprId first = w_.let("first", w_.mul(b, w_.dim(pieces.count)));
  l_.e.loop("p", t, w_.dim(pieces.count), plan_.threads, Binding::serial, [&](ExprId p) {
    const ExprId at = w_.let("at", w_.add(first, p));
    for (size_t k = 0; k < folds.size(); ++k) folds[k].take(loadPiece(w_, partial[k], types[k].kind, at, 1));
  });
  std::vector<Found> found;
  for (PieceFold& fold : folds) found.push_back(fold.found());
  SweepFolds binder(l_, sweep, domain_.foldedCount);
  finish(sweep, binder, joinThreads(w_, {.thread = t, .threads = plan_.threads, .exact = hasNoHalves(l_)}, found));
  storeOnce();
}

void lowerRowPieces(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                    const std::vector<PartialBuffers>& partial) {
  const Phases phases = planPhases(l.graph, l.region, {.pairs = true});
  if (plan.resident) l.w.setResidentBlocks(plan.resident);
  overGrid(l, rowsOf(domain) * pieces.count, plan.threads,
           rowSlack(domain, plan) + rowsOf(domain) * pieces.count + Dim(2 * pieces.size),
           [&](ExprId b, ExprId t) { Rows(l, domain, plan, phases).runPiece(b, t, pieces, partial); });
}

void lowerRowFinish(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                    const std::vector<PartialBuffers>& partial) {
  const Phases phases = planPhases(l.graph, l.region, {.pairs = true});
  overGrid(l, rowsOf(domain), plan.threads,
           rowSlack(domain, plan) + rowsOf(domain) * pieces.count + Dim(2 * pieces.size),
           [&](ExprId b, ExprId t) { Rows(l, domain, plan, phases).runPieces(b, t, pieces, partial); });
}

}  // namespace tokamak::schedule::gpu
