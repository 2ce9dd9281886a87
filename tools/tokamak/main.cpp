#include "tool.h"

int main(int argc, char** argv) { return tokamak::tool::runTool(argc, argv); }
