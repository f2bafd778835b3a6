"""Features: everything around the core. Each package here is one feature and stands in the top layer.

A feature may import the core's public modules and the few features that `scripts/doors.py` lists; the core imports no
feature. A feature's `FEATURE` lists its rows, and the core finds everything else through them (`league.rows`).

Features of other distributions import the classes of rows from here or from `league.rows`.
"""

from league.rows import CommandRow as CommandRow
from league.rows import DoorRow as DoorRow
from league.rows import ExportRow as ExportRow
from league.rows import Feature as Feature
from league.rows import FollowerRow as FollowerRow
from league.rows import GameRow as GameRow
from league.rows import PagesRow as PagesRow
from league.rows import ScriptRow as ScriptRow
from league.rows import SectionRow as SectionRow
from league.rows import StrategyRow as StrategyRow
from league.rows import ViewRow as ViewRow
