#include "sim/one_block_test.h"

#include <fmt/format.h>

#include <sstream>

#include "sim/hbm/nodes.h"
#include "sim/hbm/run.h"
#include "sparse/stream/run/make_node.h"

namespace tokamak::sim {

using namespace stream;

namespace {

Word wordOf(const std::string& text, StreamKind kind) {
  if (text == "D") return kDone;
  if (text == "N") return kAbsent;
  if (text[0] == 'S') {  // S1'2: two hollow levels
    const size_t mark = text.find('\'');
    const unsigned hollow = mark == std::string::npos ? 0 : static_cast<unsigned>(std::stoul(text.substr(mark + 1)));
    return stop(static_cast<unsigned>(std::stoul(text.substr(1)))) + hollow * kHollow;
  }
  return kind == StreamKind::val ? bitsOf(std::stod(text)) : static_cast<Word>(std::stoull(text));
}

std::string textOf(Word word, StreamKind kind) {
  std::string text = tokenText(word, kind == StreamKind::val);
  if (isStop(word) && hollowLevels(word) > 0) text += fmt::format("'{}", hollowLevels(word));
  return text;
}

void feed(Channel& channel, StreamKind kind, const std::string& text) {
  std::istringstream in(text);
  for (std::string token; in >> token;) {
    const size_t at = token.find('@');
    channel.reserve(1);
    Out out(&channel);
    const Word word = wordOf(token.substr(0, at), kind);
    const bool isBlock = out.elements() > 0 && !isControl(word);
    if (isBlock) std::fill_n(out.block(), out.elements(), valueOf(word));
    out.push(isBlock ? 0 : word, std::stoull(token.substr(at + 1)));
  }
}

}  // namespace

BlockRun runBlock(const Block& block, const std::vector<std::pair<StreamKind, std::string>>& inputs,
                  const std::vector<StreamKind>& outputs, const Storages& data, BlockShape shape, Memory memory) {
  Graph graph;
  const auto addStream = [&](StreamKind kind) {
    const StreamId id = graph.addStream(kind);
    if (kind == StreamKind::val) graph.stream(id).block = shape;
    return id;
  };
  const auto elementsOf = [&](StreamKind kind) {
    return kind == StreamKind::val ? static_cast<size_t>(shape.elements()) : 0;
  };
  for (const auto& [name, storage] : data) {
    Tensor tensor{name, {}, storage.block, storage.values.empty() && storage.levels.size() == 0};
    for (const LevelStorage& level : storage.levels) tensor.levels.push_back({level.format, level.size});
    graph.addTensor(std::move(tensor));
  }
  Node node{block, {}, {}, {}, {}};
  std::vector<std::unique_ptr<Channel>> channels;
  RunNode<Timed>::Site site{&graph, NodeId(0), {}, {}};
  for (const auto& [kind, text] : inputs) {
    node.inputs.push_back(addStream(kind));
    channels.push_back(std::make_unique<Channel>(64, true, elementsOf(kind)));
    site.inputs.push_back(channels.back()->addReader(0));
    feed(*channels.back(), kind, text);
  }
  std::vector<Channel*> results;
  for (StreamKind kind : outputs) {
    node.outputs.push_back(addStream(kind));
    channels.push_back(std::make_unique<Channel>(256, true, elementsOf(kind)));
    channels.back()->addReader(0);
    results.push_back(channels.back().get());
  }
  site.outputs = results;
  graph.addNode(std::move(node));
  Storages written;
  written["x"].levels.resize(3);
  const Inputs views = viewsOf(data);
  std::unique_ptr<RunNode<Timed>> made;
  if (memory == Memory::hbm) made = hbmFactory(views)(block, site, written);
  auto* client = dynamic_cast<MemoryClient*>(made.get());
  if (!made) made = NodeMaker<Timed>(graph, views, written).make(block, std::move(site));
  Hbm hbm;
  while (!made->done() && !made->fault() && made->advance())
    if (client && client->isWaiting()) hbm.serve({client});
  BlockRun run;
  run.clock = made->clock().t;
  if (made->fault()) run.fault = made->fault()->str();
  for (size_t i = 0; i < results.size(); ++i) {
    std::string text;
    for (size_t k = 0; k < results[i]->tail(); ++k) {
      Word word = results[i]->words()[k];
      if (results[i]->elements() > 0 && !isControl(word))
        word = bitsOf(results[i]->blocks()[k * results[i]->elements()]);
      text += fmt::format("{}{}@{}", k > 0 ? " " : "", textOf(word, outputs[i]), results[i]->stamps()[k]);
    }
    run.outputs.push_back(std::move(text));
  }
  return run;
}

}  // namespace tokamak::sim
