"""Joins, subqueries, WITH, unions and windows over several tables: read whole from one snapshot, then run by DuckDB.

Nothing of a query's text reaches DuckDB but constants: names are ours, and every part is compiled from what is allowed.
"""

from segments.dataplane.query.multistage.execution import execute_stages
from segments.dataplane.query.multistage.plan import StagesPlan, plan_stages
from segments.dataplane.query.multistage.statement import StagesStatement, stages_of, tables_read

__all__ = ["StagesPlan", "StagesStatement", "execute_stages", "plan_stages", "stages_of", "tables_read"]
