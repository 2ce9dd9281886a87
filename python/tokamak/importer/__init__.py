"""ATen graphs, as AOTAutograd makes them, into plans: segments that Tokamak compiles and calls that ATen serves."""
