"""Which operations answer in which shape, by method and path. Where there are two shapes, the second is that of a dry
run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from segments.api.documentation.answers import contents, explanations, history, installation, replacement, work

_ENTRY: Final = "/api/v1/lineage/{table}/{entry}"
_RESTORE: Final = "/api/v1/tables/{table}/snapshots/{number}/restore"

#: {operation: models of its answer}
ANSWERS: Final[Mapping[str, tuple[Any, ...]]] = {
    "GET /tables": (work.TableNames,),
    "POST /tables": (work.TableChanged,),
    "PUT /tables/{table}": (work.TableChanged,),
    "DELETE /tables/{table}": (work.Status,),
    "GET /tables/{table}/state": (work.TableState,),
    "PUT /tables/{table}/state": (work.Status,),
    "POST /segments/{table}/startReplaceSegments": (replacement.StartedReplacement,),
    "GET /api/v1/tables/{table}/lineage/{entry}/preview": (replacement.RevertPreview,),
    "GET /api/v1/lineage/{table}/rollback": (replacement.RollbackPreview,),
    "POST /api/v1/lineage/{table}/rollback": (replacement.RollbackDone, replacement.RollbackPreview),
    f"GET {_ENTRY}/undo": (replacement.UndoPreview,),
    f"POST {_ENTRY}/undo": (replacement.UndoDone, replacement.UndoPreview),
    f"GET {_ENTRY}/checks": (replacement.CheckReport,),
    f"POST {_ENTRY}/checks": (replacement.CheckReport,),
    f"POST {_ENTRY}/pin": (replacement.Pin,),
    f"DELETE {_ENTRY}/pin": (replacement.Pin,),
    f"POST {_ENTRY}/heartbeat": (replacement.Heartbeat,),
    f"POST {_ENTRY}/end": (replacement.EndJob,),
    "GET /api/v1/jobs/{job}": (replacement.EndJob,),
    "POST /api/v1/jobs/{job}/cancel": (replacement.EndJob,),
    "DELETE /api/v1/jobs/{job}": (replacement.EndJob,),
    "GET /api/v1/tables/{table}/snapshots": (history.TableHistory,),
    f"GET {_RESTORE}": (history.ReturnPreview,),
    f"POST {_RESTORE}": (history.ReturnDone, history.ReturnPreview),
    "GET /api/v1/pushes": (work.Pushes,),
    "POST /api/v1/pushes": (work.Push,),
    "GET /api/v1/pushes/{push_id}": (work.PushDetails,),
    "POST /api/v1/pushes/{push_id}/cancel": (work.Push,),
    "POST /api/v1/pushes/{push_id}/finish": (work.Push,),
    "POST /tables/{table}/pauseConsumption": (work.PauseStatus,),
    "POST /tables/{table}/resumeConsumption": (work.PauseStatus,),
    "GET /tables/{table}/pauseStatus": (work.PauseStatus,),
    "GET /query/sql": (work.QueryAnswer,),
    "POST /query/sql": (work.QueryAnswer,),
    "GET /api/v1/audit": (work.AuditEvents,),
    "POST /schemas": (contents.SchemaChanged,),
    "PUT /schemas/{schema}": (contents.SchemaChanged,),
    "DELETE /schemas/{schema}": (work.Status,),
    "GET /tables/{table}/size": (contents.TableSize,),
    "GET /tables/{table}/metadata": (contents.TableTotals,),
    "GET /api/v1/tables/{table}/findings": (contents.TableFindings,),
    "GET /api/v1/tables/{table}/lag": (contents.TableLag,),
    "POST /tables/{table}/forceCommit": (contents.ForceCommitStarted,),
    "POST /api/v1/segments/{table}/delete": (contents.SegmentsChanged,),
    "POST /api/v1/segments/{table}/restore": (contents.SegmentsChanged,),
    "GET /api/v1/segments/{table}/deleted": (contents.KeptSegments,),
    "GET /api/v1/pushes/{push_id}/report": (contents.PushReport,),
    f"GET {_ENTRY}/explain": (explanations.Explanation,),
    "GET /api/v1/lineage/{table}/diff": (explanations.SnapshotDiff,),
    "GET /instances": (installation.Instances,),
    "GET /api/v1/instances/{instance}/drain": (installation.DrainState,),
    "POST /api/v1/instances/{instance}/drain": (installation.DrainState,),
    "DELETE /api/v1/instances/{instance}/drain": (installation.DrainEnded,),
    "GET /api/v1/clusters": (installation.Clusters,),
    "GET /api/v1/tokens": (installation.Tokens,),
    "POST /api/v1/tokens": (installation.NewToken,),
    "DELETE /api/v1/tokens/{token}": (installation.TokenRevoked,),
}

#: Models of answers that may also be empty, which OpenAPI cannot say: GET /segments/{table}/lineage.
MAYBE_EMPTY: Final = (replacement.TableLineage,)
