"""POST /ingestFromFile, /ingestFromURI: Pinot's endpoints that bring a single file into a table."""

from __future__ import annotations

import uuid
from typing import IO, Any, ClassVar, Final

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView, need_text, status, text_param
from segments.api.permissions import Right
from segments.domain.ingestion.single_file import PARAMETER, BatchConfig, parse_batch_config
from segments.errors import InvalidInput, PayloadTooLarge
from segments.names import OFFLINE, REALTIME, TableName, check_raw_table_name, shown, split_table_name
from segments.services.core.page_addresses import address_of
from segments.services.push import single_file
from segments.services.push.upload_folders import check_room, folder_of, remove_unless_needed

#: Seconds that an answer waits for its push; Pinot waits without end.
WAIT_S: Final = 60.0
_TABLE: Final = "tableNameWithType"
#: What a form puts around its file, and the bytes of one that is not read at all.
_FORM_BYTES: Final = 1 << 20
_CHECK_DISK_EVERY: Final = 64 << 20


class _KeptFile(FileUploadHandler):
    """Streams the only file of a form to the folder of its upload, piece by piece."""

    def __init__(self, request: HttpRequest, upload: uuid.UUID, most: int) -> None:
        super().__init__(request)
        self._upload, self._most, self._size, self._unchecked = upload, most, 0, 0
        self._out: IO[bytes] | None = None

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Raises InvalidInput for a second one."""
        super().new_file(*args, **kwargs)
        if self._out is not None:
            raise _not_one()
        check_room(0)
        folder_of(self._upload).mkdir(parents=True, exist_ok=True)
        self._out = (folder_of(self._upload) / "uploaded").open("xb")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Raises PayloadTooLarge, and Unavailable when the disk is full."""
        assert self._out is not None
        self._size += len(raw_data)
        self._unchecked += len(raw_data)
        if self._size > self._most:
            raise PayloadTooLarge(
                f"The file has more than the {self._most} bytes that are accepted.",
                remedy="Push its folder with POST /api/v1/pushes, or raise PINOTADMIN_MAX_UPLOAD_BYTES.",
            )
        if self._unchecked >= _CHECK_DISK_EVERY:
            self._unchecked = 0
            check_room(len(raw_data))
        self._out.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile[Any]:
        """The name and the size; the content is in its place."""
        self.close()
        return UploadedFile(self._out, self.file_name, self.content_type, file_size)

    def close(self) -> None:
        """Also after a form that broke off; more than once is fine."""
        if self._out is not None:
            self._out.close()


class _SingleFile(ApiView):
    """What both have: the table, what the parameter says, the push, and that its file does not stay."""

    rights: ClassVar[dict[str, Right]] = {"POST": "operate"}
    answers = {"POST": {200: "object", 202: "object"}}

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """As usual; nothing is written before a file comes."""
        self.upload, self.handlers = uuid.uuid4(), list[_KeptFile]()
        return super().initialize_request(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """As usual; the file goes, unless its push is under way."""
        made = super().finalize_response(request, response, *args, **kwargs)
        for handler in self.handlers:
            handler.close()
        if folder_of(self.upload).exists():
            remove_unless_needed(self.upload)
        return made

    def table_asked(self, request: Request) -> str | None:
        """The table of the parameter; None: it is missing."""
        name = text_param(request, _TABLE)
        return name if name is None else _table(name).typed

    def asked(self, request: Request) -> tuple[TableName, BatchConfig]:
        """Table and settings, checked as far as they can be before the file is read."""
        table = _table(need_text(request, _TABLE))
        batch = parse_batch_config(need_text(request, PARAMETER))
        single_file.check_table(self.ctx, table)
        return table, batch

    def ingest(self, table: TableName, batch: BatchConfig, source: str) -> Response:
        """Push the file that is in its place, and wait for it a while."""
        push = single_file.push_upload(self.ctx, table, self.upload, batch, self.actor, source=source)
        if not single_file.wait_for(self.ctx, push, WAIT_S):
            text = f"Ingestion of file into table: {table} goes on as push: {push.pk}"
            address = address_of(f"/api/v1/pushes/{push.pk}")
            return Response({"status": text, "push": str(push.pk)}, status=202, headers={"Location": address})
        names = list(push.segments.order_by("ordinal").values_list("name", flat=True))
        what = f"segment: {names[0]}" if len(names) == 1 else f"segments: {', '.join(names)}"
        return status(f"Successfully ingested file into table: {table} as {what}")


class IngestFromFile(_SingleFile):
    """Ingest the file that the form holds."""

    parameters = {"POST": (_TABLE, PARAMETER)}
    parser_classes = (MultiPartParser,)

    @property
    def largest_body(self) -> int:
        """A file, and what the form puts around it."""
        return int(settings.MAX_UPLOAD_BYTES) + _FORM_BYTES

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Set the handler before anything (CSRF check included) reads the body."""
        made = super().initialize_request(request, *args, **kwargs)
        self.handlers = [_KeptFile(request, self.upload, int(settings.MAX_UPLOAD_BYTES))]
        request.upload_handlers = list(self.handlers)
        return made

    def post(self, request: Request) -> Response:
        """Its rows are added to the OFFLINE table; ``batchConfigMapStr`` is a JSON object with ``inputFormat`` and
        Pinot's further keys. 200 when queries see them; 202 with the push to follow where that takes longer than a
        minute. 400 with the reason when the file is not taken.
        """
        table, batch = self.asked(request)
        if not (request.content_type or "").startswith("multipart/form-data"):
            raise InvalidInput("This upload must be multipart/form-data with the file as its one part.")
        request.data  # noqa: B018  # reads the body
        files = [file for _, listed in request.FILES.lists() for file in listed]
        if len(files) != 1:
            raise _not_one()
        (folder_of(self.upload) / "uploaded").rename(single_file.file_in(self.upload, batch))
        return self.ingest(table, batch, str(files[0].name))


class IngestFromUri(_SingleFile):
    """Ingest the file at an address."""

    parameters = {"POST": (_TABLE, PARAMETER, "sourceURIStr")}

    @property
    def largest_body(self) -> int:
        """None is read."""
        return _FORM_BYTES

    def post(self, request: Request) -> Response:
        """As ``/ingestFromFile``, with a file below the input roots; ``input.fs.*`` keys say how it is read, and are
        not kept.
        """
        table, batch = self.asked(request)
        uri, rules = need_text(request, "sourceURIStr"), wiring.input_rules()
        single_file.copy_uri(self.ctx, rules, table, uri, batch, single_file.file_in(self.upload, batch))
        return self.ingest(table, batch, uri)


def _table(name: str) -> TableName:
    raw, kind = split_table_name(name)
    if kind is None:
        raise InvalidInput(
            f"Must provide table name with type suffix for table: {shown(raw)}", remedy=f"Write {shown(raw)}_{OFFLINE}."
        )
    if kind == REALTIME:
        raise InvalidInput(f"Cannot ingest file into REALTIME table: {shown(name)}", remedy="Name the OFFLINE table.")
    return TableName(check_raw_table_name(raw), OFFLINE)


def _not_one() -> InvalidInput:
    return InvalidInput(
        "Invalid multi-part form: exactly one part with a file is allowed.", remedy="Send one request per file."
    )
