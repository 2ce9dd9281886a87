"""FusionBench: models before and after fusion, under any back end, in one report.

    fusionbench run --models 'bert|vit' --html report.html

A `Model` (model.py, models/) builds a module and its inputs; a `Backend` (backend.py, backends/) compiles it and says
what it knows of the result; measure.py asks one process after another for one row of the report; report.py draws it.
"""

VERSION = "0.1"
